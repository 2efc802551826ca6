//! What has to be asked rather than read from files: addresses, ethtool, the BMC.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::lldp::Neighbour;
use super::model::Problem;
use crate::sys::ethtool::Ethtool;
use crate::sys::local_bmc::{BmcLan, LocalBmc};
use crate::sys::netlink::Netlink;
use crate::sys::sysfs::Root;
use crate::types::IfName;

/// What a driver says of its port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// The address burnt in: 6 bytes, 20 on InfiniBand.
    pub permanent_address: Option<Vec<u8>>,
    /// The fastest supported link mode, in Mbit/s.
    pub max_speed_mbps: Option<u32>,
}

/// Answers of the kernel and the BMC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Every address of every device, bonds and VLANs included.
    pub addresses: Vec<(IfName, IpAddr)>,
    /// By device.
    pub ports: BTreeMap<IfName, PortFacts>,
    /// LLDP neighbours by port; a port that is not in here was not listened on.
    pub heard: BTreeMap<IfName, Vec<Neighbour>>,
    /// Where the BMC is; `None` without one.
    pub bmc: Option<BmcLan>,
    /// What could not be asked.
    pub problems: Vec<Problem>,
}

/// Asks the kernel, and the BMC where there is one; a slow one takes up to 20 s.
pub async fn observe(root: &Root) -> Observed {
    let root = root.clone();
    // Drivers and BMCs answer when they like: not on a thread that others need.
    let blocking = tokio::task::spawn_blocking(move || ask_drivers_and_bmc(&root));
    let (addresses, drivers) = tokio::join!(addresses(), blocking);
    let mut observed = drivers.unwrap_or_else(|error| Observed {
        problems: vec![Problem::Nic(format!("asking the drivers failed: {error}"))],
        ..Observed::default()
    });
    match addresses {
        Ok(addresses) => observed.addresses = addresses,
        Err(problem) => observed.problems.push(problem),
    }
    observed
}

fn ask_drivers_and_bmc(root: &Root) -> Observed {
    let mut observed = Observed::default();
    match Ethtool::open() {
        Ok(ethtool) => observed.ports = ports(root, &ethtool),
        Err(error) => observed.problems.push(Problem::Nic(format!("no ethtool: {error}"))),
    }
    match LocalBmc::open().and_then(|bmc| bmc.map(|mut bmc| bmc.lan()).transpose()) {
        Ok(bmc) => observed.bmc = bmc,
        Err(error) => observed.problems.push(Problem::Bmc(error.to_string())),
    }
    observed
}

/// Addresses that can be used: not those that somebody else has, or may have.
async fn addresses() -> Result<Vec<(IfName, IpAddr)>, Problem> {
    let failed = |why: String| Problem::Nic(format!("no addresses: {why}"));
    let netlink = Netlink::open().map_err(|error| failed(error.to_string()))?;
    let host = netlink.snapshot().await.map_err(|error| failed(error.to_string()))?;
    let devices = host.devices.into_iter();
    let usable = devices.flat_map(|device| {
        let addresses = device.addresses.into_iter();
        let usable = addresses.filter(|address| !address.tentative && !address.dad_failed);
        usable.map(move |address| (device.name.clone(), address.net.addr()))
    });
    Ok(usable.collect())
}

fn ports(root: &Root, ethtool: &Ethtool) -> BTreeMap<IfName, PortFacts> {
    super::nics::physical(root)
        .into_iter()
        .map(|name| {
            let facts = PortFacts {
                permanent_address: ethtool.permanent_address(&name),
                max_speed_mbps: ethtool.max_speed_mbps(&name),
            };
            (name, facts)
        })
        .collect()
}
