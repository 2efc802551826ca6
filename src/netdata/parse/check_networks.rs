//! Networks held against the links and each other: members, addresses claimed twice, gateways,
//! MTU for IPv6.

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::netdata::model::{Addressing, Link, LinkKind, LinkRef};
use crate::netdata::problem::Problems;

use super::assemble::PlacedLink;
use super::networks::{NetworkDraft, family, own_address};
use super::prefix::Family;

/// IPv6 needs it (RFC 8200 §5); below it Linux removes every IPv6 address of the device.
const IPV6_MIN_MTU: u32 = 1280;

/// Reports what can't work.
pub(super) fn check(links: &[PlacedLink], networks: &[NetworkDraft], problems: &mut Problems) {
    on_members(links, networks, problems);
    claims(links, networks, problems);
    gateways(networks, problems);
    ipv6_mtus(links, networks, problems);
}

/// A bond takes its members' traffic: an address there never hears anything.
fn on_members(links: &[PlacedLink], networks: &[NetworkDraft], problems: &mut Problems) {
    let mut masters: HashMap<LinkRef, &Link> = HashMap::new();
    for PlacedLink { link, .. } in links {
        if let LinkKind::Bond(bond) = &link.kind {
            masters.extend(bond.members.iter().map(|member| (*member, link)));
        }
    }
    for network in networks {
        if let Some(bond) = masters.get(&network.link) {
            let message = format!("a member of {}, which takes its traffic", bond.id);
            let value = Some(links[network.link.0].link.id.clone());
            let path = format!("{}.link", network.path);
            problems.error(path, value, message, format!("write {}", bond.id));
        }
    }
}

fn claims(links: &[PlacedLink], networks: &[NetworkDraft], problems: &mut Problems) {
    let mut seen: HashMap<(IpAddr, Option<LinkRef>), &NetworkDraft> = HashMap::new();
    for network in networks {
        let Some(address) = own_address(network.addressing) else { continue };
        // A link-local address lives on its link alone.
        let scope = is_link_local(address).then_some(network.link);
        let Some(first) = seen.get(&(address, scope)) else {
            seen.insert((address, scope), network);
            continue;
        };
        let message =
            format!("{} claims this address too, on {}", first.path, links[first.link.0].link.id);
        let fix = "give each network an address of its own";
        let path = format!("{}.ip_address", network.path);
        problems.error(path, Some(address.to_string()), message, fix);
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn gateways(networks: &[NetworkDraft], problems: &mut Problems) {
    let own = |gateway: IpAddr, on: &NetworkDraft| {
        networks.iter().find(|network| {
            own_address(network.addressing) == Some(gateway)
                && (!is_link_local(gateway) || network.link == on.link)
        })
    };
    for network in networks {
        for draft in &network.routes {
            let Some(gateway) = draft.route.gateway else { continue };
            let path = match draft.path.ends_with(".gateway") {
                true => draft.path.clone(),
                false => format!("{}.gateway", draft.path),
            };
            let value = Some(gateway.to_string());
            let fix = "write the router's address";
            if let Some(owner) = own(gateway, network) {
                let message = format!("this host's own address, from {}", owner.path);
                problems.error(path, value, message, fix);
            } else if let Some(message) = end_of_subnet(gateway, network, networks) {
                problems.error(path, value, message, fix);
            }
        }
    }
}

/// The network or broadcast address of a subnet on the link.
fn end_of_subnet(gateway: IpAddr, on: &NetworkDraft, networks: &[NetworkDraft]) -> Option<String> {
    let IpAddr::V4(gateway) = gateway else { return None };
    networks.iter().filter(|network| network.link == on.link).find_map(|network| {
        let Addressing::Static(IpNet::V4(net)) = network.addressing else { return None };
        let which = match gateway {
            _ if net.prefix_len() > 30 => return None,
            address if address == net.network() => "network",
            address if address == net.broadcast() => "broadcast",
            _ => return None,
        };
        Some(format!("the {which} address of {}", net.trunc()))
    })
}

fn ipv6_mtus(links: &[PlacedLink], networks: &[NetworkDraft], problems: &mut Problems) {
    let mut reported: Vec<LinkRef> = Vec::new();
    for network in networks.iter().filter(|network| family(network.addressing) == Family::V6) {
        let PlacedLink { path, link } = &links[network.link.0];
        let Some(mtu) = effective_mtu(network.link, links).filter(|mtu| *mtu < IPV6_MIN_MTU) else {
            continue;
        };
        if !reported.contains(&network.link) {
            reported.push(network.link);
            let message = format!("{} is IPv6, which needs {IPV6_MIN_MTU}", network.path);
            let fix = format!("write {IPV6_MIN_MTU} or more, or leave it out");
            let value = link.mtu.unwrap_or(mtu).to_string();
            problems.error(format!("{path}.mtu"), Some(value), message, fix);
        }
    }
}

/// A link is raised to what the VLANs on it need.
fn effective_mtu(link: LinkRef, links: &[PlacedLink]) -> Option<u32> {
    let own = links[link.0].link.mtu?;
    let above = links.iter().filter_map(|PlacedLink { link: other, .. }| match other.kind {
        LinkKind::Vlan { parent, .. } if parent == link => other.mtu,
        LinkKind::Vlan { .. } | LinkKind::Ethernet { .. } | LinkKind::Bond(_) => None,
    });
    Some(above.chain([own]).max().unwrap_or(own))
}
