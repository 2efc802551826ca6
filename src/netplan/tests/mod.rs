//! Plans on made-up hosts: properties for all, and cases with the exact operations.

mod cases;
mod properties;

use super::current::{Device, DeviceKind, Host, Ipv6Settings};
use super::{Policy, diff, resolve};
use crate::netdata::model::{
    Addressing, Bond, BondMode, BondOptions, Dns, Link, LinkKind, LinkRef, Network, NetworkData,
    Route,
};
use crate::types::{IfName, Mac, VlanId};

fn name(text: &str) -> IfName {
    text.parse().unwrap()
}

fn mac(number: u8) -> Mac {
    Mac::new([2, 0, 0, 0, 0, number])
}

/// A NIC `eth<number>` as the kernel shows it at boot.
fn port(number: u8) -> Device {
    Device {
        index: u32::from(number) + 2,
        name: name(&format!("eth{number}")),
        kind: DeviceKind::Nic { physical: true },
        permanent_mac: Some(mac(number)),
        mac: Some(mac(number)),
        mtu: 1500,
        up: false,
        carrier: false,
        master: None,
        addresses: Vec::new(),
        ipv6: Some(Ipv6Settings::KERNEL),
    }
}

fn host(ports: u8) -> Host {
    Host {
        devices: (0..ports).map(port).collect(),
        routes: Vec::new(),
        ipv6_default: Some(Ipv6Settings::KERNEL),
    }
}

fn nic(number: u8) -> Link {
    Link {
        id: format!("nic{number}"),
        name: None,
        mac: Some(mac(number)),
        mtu: None,
        kind: LinkKind::Ethernet { hint: "phy" },
    }
}

fn bond(mode: BondMode, members: &[usize]) -> Link {
    let members = members.iter().map(|position| LinkRef(*position)).collect();
    Link {
        id: format!("a bond of {members:?}"),
        name: None,
        mac: None,
        mtu: None,
        kind: LinkKind::Bond(Box::new(Bond { mode, members, options: BondOptions::default() })),
    }
}

fn vlan(parent: usize, id: u16) -> Link {
    Link {
        id: format!("vlan {id} on {parent}"),
        name: None,
        mac: None,
        mtu: None,
        kind: LinkKind::Vlan { parent: LinkRef(parent), id: VlanId::try_from(id).unwrap() },
    }
}

fn fixed(link: usize, address: &str) -> Network {
    network(link, Addressing::Static(address.parse().unwrap()))
}

fn network(link: usize, addressing: Addressing) -> Network {
    Network {
        id: "net".to_owned(),
        network_id: "net".to_owned(),
        link: LinkRef(link),
        addressing,
        routes: Vec::new(),
        dns: Dns::default(),
    }
}

fn via(destination: &str, gateway: Option<&str>) -> Route {
    Route {
        destination: destination.parse().unwrap(),
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        onlink: false,
        rank: 0,
    }
}

fn data(links: Vec<Link>, networks: Vec<Network>) -> NetworkData {
    NetworkData { links, networks, dns: Dns::default() }
}

/// The plan in iproute2's words.
fn plan(host: &Host, data: &NetworkData) -> Vec<String> {
    let resolved = resolve(data, host, &Policy::default());
    diff(host, &resolved.desired).0.iter().map(ToString::to_string).collect()
}

/// The host after its plan.
fn applied(host: &Host, data: &NetworkData) -> Host {
    let mut host = host.clone();
    for op in diff(&host, &resolve(data, &host, &Policy::default()).desired).0 {
        host.apply(&op);
    }
    host
}
