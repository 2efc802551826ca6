//! Brings the network of one host up and keeps it up: the driver around `netplan` (what to do) and
//! `sys::netlink` (doing it). The only place of the network half that knows time.

mod driver;
mod lease;
mod view;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::netdata::model::NetworkData;
use crate::netplan::Policy;
use crate::sys::netlink::NetlinkError;
use crate::types::reason::Failure;
use crate::types::{IfName, Mac};
use driver::Driver;
use lease::Leases;
pub use watch::watch;

/// What may be waited for, and what may be touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How long to wait for NICs that the data names and the kernel does not show yet.
    pub late_nic_wait: Duration,
    /// How long to wait for carrier on the links that networks need: spanning tree takes 30 s.
    pub carrier_wait: Duration,
    /// How long to wait for the LACP partner of an 802.3ad bond: slow PDUs come every 30 s.
    pub lacp_wait: Duration,
    /// How long to wait for an address by router advertisement or DHCP.
    pub address_wait: Duration,
    /// Whether networks that need DHCP may use a client instead of being refused by name.
    pub allow_dhcp: bool,
    /// Whether the machine is ours alone (the ramdisk): NICs that the data does not list are
    /// brought up without addresses, for LLDP. On an installed system they are left alone.
    pub own_machine: bool,
    /// Where DNS servers are written; `None` writes none.
    pub resolv_conf: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            late_nic_wait: Duration::from_secs(30),
            carrier_wait: Duration::from_secs(45),
            lacp_wait: Duration::from_secs(40),
            address_wait: Duration::from_secs(30),
            allow_dhcp: false,
            own_machine: false,
            resolv_conf: Some(PathBuf::from("/etc/resolv.conf")),
        }
    }
}

impl Options {
    const fn policy(&self) -> Policy {
        Policy { allow_dhcp: self.allow_dhcp, own_machine: self.own_machine }
    }
}

/// One address that is configured now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// The link it is on.
    pub link: IfName,
    /// Permanent MAC of a NIC; of a bond or VLAN, its current one.
    pub mac: Mac,
    /// The address with its prefix.
    pub address: IpNet,
}

/// How bringing the network up went: what works and what does not, side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Addresses that are configured and usable, IPv6 link-local ones left out.
    pub addresses: Vec<Assigned>,
    /// Everything that did not work.
    pub failures: Vec<Failure>,
    /// How many operations the kernel was asked for; 0 means that nothing had to change.
    pub changes: usize,
}

/// Makes the host's network what `data` says, verifies it, and says what came of it. Partial
/// failure hides nothing: what resolves is applied, the rest is in [`Outcome::failures`].
/// `progress` gets one line per step for whoever watches.
pub async fn bring_up(
    data: &NetworkData,
    options: &Options,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Outcome {
    bring_up_with(data, options, &mut Leases::default(), progress).await
}

async fn bring_up_with(
    data: &NetworkData,
    options: &Options,
    leases: &mut Leases,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Outcome {
    let outcome = match Driver::open(data, options, leases, progress) {
        Ok(driver) => driver.run().await.map_err(|error| error.errno()),
        Err(source) => Err(NetlinkError::Read { what: "anything", source }.errno()),
    };
    outcome.unwrap_or_else(|errno| Outcome {
        failures: vec![Failure::KernelRefused { errno }],
        ..Outcome::default()
    })
}
