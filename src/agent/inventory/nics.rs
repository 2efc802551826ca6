//! NICs from `/sys/class/net`, and which of them an address of a bond or VLAN belongs to.
//!
//! An address on a stack of devices is given to one NIC only, the one whose permanent MAC the
//! stack carries, else the first by name: the answer stays the same when a bond fails over.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::IpAddr;

use super::model::{Nic, Problem};
use super::observe::{Observed, PortFacts};
use crate::sys::sysfs::{self, Root};
use crate::types::{IfName, Mac};

const CLASS: &str = "sys/class/net";
/// `linux/if_arp.h`.
const ARPHRD_ETHER: u32 = 1;
const ARPHRD_INFINIBAND: u32 = 32;
/// Devices on devices on devices: deeper than the kernel allows (`MAX_NEST_DEV`).
const DEPTH_MAX: usize = 8;

/// Network devices with hardware behind them, Ethernet and InfiniBand, by name.
#[must_use]
pub fn physical(root: &Root) -> Vec<IfName> {
    let names = root.names(CLASS).into_iter().filter_map(|name| name.parse().ok());
    names.filter(|name| is_physical(root, name)).collect()
}

fn is_physical(root: &Root, name: &IfName) -> bool {
    let kind = root.number::<u32>(attribute(name, "type"));
    root.has(attribute(name, "device"))
        && matches!(kind, Some(ARPHRD_ETHER | ARPHRD_INFINIBAND))
        && !root.has(attribute(name, "phy80211"))
}

pub(super) fn collect(root: &Root, observed: &Observed, problems: &mut Vec<Problem>) -> Vec<Nic> {
    let names = physical(root);
    if names.is_empty() {
        problems.push(Problem::Nic("no NIC at all: is its driver loaded?".to_owned()));
    }
    let mut nics: Vec<Nic> = names
        .into_iter()
        .filter_map(|name| {
            let facts = observed.ports.get(&name).cloned().unwrap_or_default();
            let nic = nic(root, &name, &facts);
            if nic.is_none() {
                problems.push(Problem::Nic(format!("{name} has no MAC address")));
            }
            nic
        })
        .collect();
    for nic in &mut nics {
        nic.neighbours = observed.heard.get(&nic.name).cloned();
    }
    for (device, address) in &observed.addresses {
        give(root, &mut nics, device, *address);
    }
    for nic in &mut nics {
        nic.addresses.sort();
        nic.addresses.dedup();
    }
    nics
}

fn nic(root: &Root, name: &IfName, facts: &PortFacts) -> Option<Nic> {
    let of = |key: &str| root.text(attribute(name, key));
    let address = facts
        .permanent_address
        .clone()
        .filter(|address| address.len() >= 6)
        .or_else(|| hardware_address(&of("bonding_slave/perm_hwaddr")?))
        .or_else(|| hardware_address(&of("address")?))?;
    let device = root.device(attribute(name, "device"));
    let pci = device.as_deref().and_then(|device| sysfs::ancestor(root, device, "pci"));
    let current = root.number::<u32>(attribute(name, "speed")).filter(|speed| *speed > 0);
    Some(Nic {
        name: name.clone(),
        mac: mac(&address)?,
        addresses: Vec::new(),
        link_local: None,
        has_carrier: root.flag(attribute(name, "carrier")).unwrap_or(false),
        speed_mbps: facts.max_speed_mbps.or(current),
        vendor: of("device/vendor"),
        product: of("device/device"),
        pci_address: pci.as_deref().map(|path| sysfs::base_name(path).to_owned()),
        driver: root.link_name(attribute(name, "device/driver")),
        client_id: client_id(&address),
        numa_node: pci.and_then(|pci| root.number(pci.join("numa_node"))),
        neighbours: None,
    })
}

fn attribute(name: &IfName, key: &str) -> String {
    format!("{CLASS}/{name}/{key}")
}

fn hardware_address(text: &str) -> Option<Vec<u8>> {
    text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
}

/// Of an InfiniBand port, the MAC that Ironic and its DHCP agents derive from the port GUID in the
/// last 8 of 20 bytes: without the two in the middle.
fn mac(address: &[u8]) -> Option<Mac> {
    let mac = match address {
        [.., a, b, c, _, _, d, e, f] if address.len() == 20 => Mac::new([*a, *b, *c, *d, *e, *f]),
        _ => Mac::from_slice(address)?,
    };
    (!mac.is_zero()).then_some(mac)
}

/// `dhcp-client-identifier` of an InfiniBand port: a fixed beginning, then the port GUID.
fn client_id(address: &[u8]) -> Option<String> {
    let guid = address.get(12..).filter(|guid| guid.len() == 8)?;
    let mut text = "ff:00:00:00:00:00:02:00:00:02:c9:00".to_owned();
    for byte in guid {
        write!(text, ":{byte:02x}").ok()?;
    }
    Some(text)
}

/// Gives the address to the NIC that stands for `device`.
fn give(root: &Root, nics: &mut [Nic], device: &IfName, address: IpAddr) {
    let own = nics.iter().any(|nic| nic.name == *device);
    if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
        return;
    }
    if matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local()) {
        if let Some(nic) = nics.iter_mut().find(|nic| nic.name == *device) {
            nic.link_local = nic.link_local.or(Some(address));
        }
        return;
    }
    let below = if own { BTreeSet::from([device.clone()]) } else { below(root, device) };
    let carried = root.text(attribute(device, "address")).and_then(|mac| mac.parse::<Mac>().ok());
    let members = || nics.iter().position(|nic| below.contains(&nic.name));
    let chosen = nics
        .iter()
        .position(|nic| below.contains(&nic.name) && Some(nic.mac) == carried)
        .or_else(members);
    if let Some(nic) = chosen.and_then(|place| nics.get_mut(place)) {
        nic.addresses.push(address);
    }
}

/// The devices without anything below them that `device` stands on.
fn below(root: &Root, device: &IfName) -> BTreeSet<IfName> {
    let mut level = BTreeSet::from([device.clone()]);
    let mut bottom = BTreeSet::new();
    for _ in 0..DEPTH_MAX {
        let mut next = BTreeSet::new();
        for name in &level {
            let lower: Vec<IfName> = root
                .names(format!("{CLASS}/{name}"))
                .iter()
                .filter_map(|entry| entry.strip_prefix("lower_")?.parse().ok())
                .collect();
            if lower.is_empty() {
                bottom.insert(name.clone());
            }
            next.extend(lower);
        }
        level = next;
    }
    bottom
}
