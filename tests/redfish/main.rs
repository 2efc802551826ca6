//! Redfish against a simulated BMC of each vendor, one file per service. Time is virtual.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "../simulated_bmc/mod.rs"]
mod simulated_bmc;

mod boot;
mod connection;
mod information;
mod media;
mod power;
