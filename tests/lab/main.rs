//! The whole way of one host on real parts: `leaseless inspect` against a rack without any DHCP
//! server, made of QEMU, libvirt, sushy-emulator (Redfish over TLS) and OpenIPMI's `ipmi_sim`.
//!
//! Needs root, `LEASELESS_LAB` (from `tests/lab/setup.sh`) and `LEASELESS_IMAGE` (a boot image).
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod failures;
mod inspect;
mod interrupted;
mod network_data;
mod rack;
mod run;
