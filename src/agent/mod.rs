//! Layer 4, node side: boots, finds its configuration, brings the network up, looks at the
//! hardware, reports. Never imports `controller`.

pub mod announce;
pub mod cli;
mod cli_inventory;
mod cli_network;
pub mod clock;
pub mod coldplug;
pub mod config;
pub mod controller_client;
pub mod init;
pub mod inventory;
pub mod kernel_line;
pub mod medium;
pub mod modules;
pub mod network;
pub mod run;
pub mod segment;
pub mod telemetry;
