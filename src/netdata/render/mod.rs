//! The normal form out again: OpenStack network data, systemd-networkd files, nmstate.
//!
//! Pure and total: what parses can be rendered. What a consumer does with it is said by
//! [`check_for`](crate::netdata::check_for).

mod bond;
mod derived;
mod names;
mod networkd;
mod nmstate;
mod openstack;

pub(crate) use bond::options as bond_options;
pub use networkd::networkd;
pub use nmstate::nmstate;
pub use openstack::openstack;

#[cfg(test)]
mod tests;
