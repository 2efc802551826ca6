//! The inventory from trees of files as sysfs has them, from tables and frames of real hardware
//! (`LEASELESS_SAMPLES`), and from a wire between two network namespaces.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod contract;
mod disks;
mod lldp;
mod lldp_wire;
mod machine;
mod nics;
mod samples;
mod smbios;
mod tree;
