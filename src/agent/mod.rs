//! Layer 4, node side: boots, finds its configuration, brings the network up, looks at the
//! hardware, reports. Never imports `controller`.

pub mod network;
