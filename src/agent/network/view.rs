//! What a look at the machine says about what it should be: pure questions for the driver.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::Assigned;
use crate::netdata::model::BondMode;
use crate::netplan::current::{Address, Device, Host};
use crate::netplan::{Desired, Resolved, Wanted, WantedKind};
use crate::types::IfName;
use crate::types::reason::Failure;

/// The machine and what it should be, at one moment.
pub(super) struct View {
    pub(super) host: Host,
    pub(super) resolved: Resolved,
}

fn has_networks(link: &Wanted) -> bool {
    !link.addresses.is_empty() || !link.automatic.is_empty()
}

/// NICs under links that have networks and no carrier.
pub(super) fn without_carrier(view: &View) -> Vec<Failure> {
    let desired = &view.resolved.desired;
    let mut failures = Vec::new();
    for link in desired.links.iter().filter(|link| has_networks(link)) {
        let Some(device) = view.host.device(&link.name) else { continue };
        if device.carrier {
            continue;
        }
        for nic in nics_below(desired, link) {
            let Some(device) = view.host.device(&nic).filter(|device| !device.carrier) else {
                continue;
            };
            let failure = device.hardware_mac().map(|mac| Failure::NoCarrier { mac });
            failures.extend(failure.filter(|failure| !failures.contains(failure)));
        }
    }
    failures
}

fn nics_below(desired: &Desired, link: &Wanted) -> Vec<IfName> {
    match &link.kind {
        WantedKind::Nic => vec![link.name.clone()],
        WantedKind::Vlan { parent, .. } => {
            desired.link(parent).map(|below| nics_below(desired, below)).unwrap_or_default()
        }
        WantedKind::Bond(_) => {
            let members = desired.links.iter().filter(|m| m.master.as_ref() == Some(&link.name));
            members.flat_map(|member| nics_below(desired, member)).collect()
        }
    }
}

/// IPv4 addresses that are wanted and not there, with their devices.
pub(super) fn to_add(view: &View) -> Vec<(&Device, Ipv4Addr)> {
    let mut found = Vec::new();
    for link in &view.resolved.desired.links {
        let Some(device) = view.host.device(&link.name) else { continue };
        for (_, net) in &link.addresses {
            let IpNet::V4(net) = net else { continue };
            if !device.addresses.iter().any(|known| known.net.addr() == net.addr()) {
                found.push((device, net.addr()));
            }
        }
    }
    found
}

pub(super) fn duplicates(view: &View) -> Vec<(IfName, IpAddr)> {
    let links = view.resolved.desired.links.iter();
    let devices = links.filter_map(|link| Some((link, view.host.device(&link.name)?)));
    devices
        .flat_map(|(link, device)| {
            let failed = device.addresses.iter().filter(|address| address.dad_failed);
            let wanted =
                failed.filter(|address| link.addresses.iter().any(|(_, net)| *net == address.net));
            wanted.map(|address| (device.name.clone(), address.net.addr()))
        })
        .collect()
}

/// Whether an address of a link with carrier still waits for duplicate detection.
pub(super) fn is_tentative(view: &View) -> bool {
    let links = view.resolved.desired.links.iter().filter(|link| has_networks(link));
    links.filter_map(|link| view.host.device(&link.name)).filter(|device| device.carrier).any(
        |device| device.addresses.iter().any(|address| address.tentative && !address.dad_failed),
    )
}

/// Gateways of links with carrier, each once.
pub(super) fn gateways(view: &View) -> BTreeSet<(IfName, IpAddr)> {
    let routes = view.resolved.desired.routes.iter().map(|wanted| &wanted.route);
    routes
        .filter(|route| view.host.device(&route.device).is_some_and(|device| device.carrier))
        .filter_map(|route| Some((route.device.clone(), route.gateway?)))
        .collect()
}

pub(super) fn without_partner(view: &View) -> Vec<Failure> {
    let links = view.resolved.desired.links.iter();
    links
        .filter_map(|link| view.host.device(&link.name))
        .filter(|device| device.carrier)
        .filter_map(|device| {
            let state = device.bond()?;
            let silent = state.mode == BondMode::Ieee8023ad && state.partner.is_none();
            device.mac.filter(|_| silent).map(|mac| Failure::LacpSilent { mac })
        })
        .collect()
}

pub(super) fn assigned(view: &View) -> Vec<Assigned> {
    let mut found = Vec::new();
    for link in &view.resolved.desired.links {
        let Some(device) = view.host.device(&link.name) else { continue };
        let mac = if device.is_port() { device.hardware_mac() } else { device.mac };
        let Some(mac) = mac else { continue };
        let usable = device.addresses.iter().filter(|address| {
            let link_local =
                matches!(address.net, IpNet::V6(net) if net.addr().is_unicast_link_local());
            !link_local && !address.tentative && !address.dad_failed
        });
        found.extend(usable.map(|address| Assigned {
            link: link.name.clone(),
            mac,
            address: address.net,
        }));
    }
    found
}

/// Links with carrier that wait for an address from a router and have none yet.
pub(super) fn without_address(view: &View) -> Vec<Failure> {
    let waiting = view.resolved.desired.links.iter().filter(|link| link.ipv6.autoconf);
    waiting
        .filter_map(|link| view.host.device(&link.name))
        .filter(|device| device.carrier && !device.addresses.iter().any(is_from_router))
        .filter_map(|device| device.hardware_mac().map(|mac| Failure::NoAddress { mac }))
        .collect()
}

fn is_from_router(address: &Address) -> bool {
    let global = matches!(address.net, IpNet::V6(net) if !net.addr().is_unicast_link_local());
    global && !address.permanent && !address.tentative && !address.dad_failed
}
