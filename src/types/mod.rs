//! Layer 0: the words of this crate. Each type can only be built from input that is right, so
//! nothing below the border checks again.
//!
//! Not here: behaviour, I/O, or anything that belongs to one module alone.

mod bmc_address;
pub mod boot;
pub mod hardware;
mod ifname;
mod mac;
pub mod nearest;
pub mod reason;
pub mod report;
mod secret;
mod vlan;
pub mod yaml;

pub use bmc_address::{BmcAddress, BmcAddressError, BmcDriver, BmcHost, Privilege, RedfishFlavour};
pub use ifname::{IfName, IfNameError};
pub use mac::{Mac, MacError};
pub use secret::Secret;
pub use vlan::{VlanId, VlanIdError};
