//! leaseless: bare metal provisioned without DHCP, TFTP or PXE.
//!
//! Layers point down, and a test reads the source to keep it so:
//!
//! | layer | modules | what |
//! |---|---|---|
//! | L0 | [`types`] | newtypes and wire documents that everybody shares |
//! | L1 | [`netdata`], [`netplan`], [`ipam`], [`provision`], [`image`] writers | pure decisions: no clock, no randomness, no I/O |
//! | L2 | [`bmc`], [`sys`] | ports: small traits in the field's words |
//! | L3 | `bmc::redfish`, `bmc::ipmi`, `sys::*`, `image::serve`, `cluster`, `apiserver` | adapters: one outside thing each |
//! | L4 | [`agent`], `controller` | drivers: node side and management side, strangers to each other |
//! | L5 | `cli` | one file per noun of the command line |

pub mod agent;
pub mod bmc;
pub mod image;
pub mod ipam;
pub mod netdata;
pub mod netplan;
pub mod provision;
pub mod sys;
pub mod types;

#[cfg(feature = "management")]
pub mod apiserver;
#[cfg(feature = "management")]
pub mod cli;
#[cfg(feature = "management")]
pub mod cluster;
#[cfg(feature = "management")]
pub mod controller;
