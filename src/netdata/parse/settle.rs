//! The last step: what depends on the whole document. Ranks of routes, on-link gateways, unique
//! network ids, and where each DNS server belongs.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::netdata::model::{Addressing, Dns, Link, LinkRef, Network, NetworkData};
use crate::netdata::problem::Problems;

use super::networks::{NetworkDraft, RouteDraft, family};
use super::prefix::Family;

/// Builds the normal form.
pub(super) fn settle(
    links: Vec<Link>,
    mut drafts: Vec<NetworkDraft>,
    mut dns: Dns,
    problems: &mut Problems,
) -> NetworkData {
    rank_routes(&mut drafts, problems);
    let subnets: Vec<(LinkRef, Addressing)> =
        drafts.iter().map(|draft| (draft.link, draft.addressing)).collect();
    for draft in &mut drafts {
        for route in &mut draft.routes {
            let gateway = route.route.gateway;
            route.route.onlink = gateway.is_some_and(|g| is_off_link(g, draft.link, &subnets));
        }
    }
    let ids = unique_ids(&links, &drafts);
    // A server named on a network belongs there; at the top it is only repeated for glean.
    let placed: HashSet<&IpAddr> = drafts.iter().flat_map(|draft| &draft.dns.servers).collect();
    dns.servers.retain(|server| !placed.contains(server));
    let networks = drafts.into_iter().zip(ids).map(|(draft, id)| network(draft, id)).collect();
    NetworkData { links, networks, dns }
}

fn network(draft: NetworkDraft, id: String) -> Network {
    Network {
        id,
        network_id: draft.network_id,
        link: draft.link,
        addressing: draft.addressing,
        routes: draft.routes.into_iter().map(|route| route.route).collect(),
        dns: draft.dns,
    }
}

/// Ranks routes to the same destination by metric, then by their order. Only the first is used
/// while it stands.
fn rank_routes(drafts: &mut [NetworkDraft], problems: &mut Problems) {
    let mut groups: HashMap<IpNet, Vec<&mut RouteDraft>> = HashMap::new();
    let mut order: Vec<IpNet> = Vec::new();
    for route in drafts.iter_mut().flat_map(|draft| &mut draft.routes) {
        let destination = route.route.destination;
        groups
            .entry(destination)
            .or_insert_with(|| {
                order.push(destination);
                Vec::new()
            })
            .push(route);
    }
    for destination in order {
        let Some(mut group) = groups.remove(&destination) else { continue };
        group.sort_by_key(|route| route.metric);
        let preferred = group.first().map(|route| route.path.clone()).unwrap_or_default();
        for (rank, route) in (0..).zip(group) {
            route.route.rank = rank;
            if rank == 0 {
                continue;
            }
            let what = if destination.prefix_len() == 0 { "default route" } else { "route" };
            let message = format!("another {what} to {destination}; {preferred} is preferred");
            let value = route.route.gateway.map(|gateway| gateway.to_string());
            problems.warning(&route.path, value, message, "keep one, or order them by metric");
        }
    }
}

/// Whether a gateway is in no subnet of the link. Where a lease or an advertisement brings the
/// subnet it can't be known, and the gateway is taken to be inside.
fn is_off_link(gateway: IpAddr, link: LinkRef, subnets: &[(LinkRef, Addressing)]) -> bool {
    if matches!(gateway, IpAddr::V6(v6) if v6.is_unicast_link_local()) {
        return false;
    }
    subnets.iter().filter(|(on, _)| *on == link).all(|(_, addressing)| match addressing {
        Addressing::Static(net) => !net.contains(&gateway),
        Addressing::Dhcp4
        | Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful
        | Addressing::Slaac => family(*addressing) != Family::of(gateway),
    })
}

/// Producers repeat network ids, and glean keeps one network of each id, or none where a link
/// without networks has it: a repeated id gets a number.
fn unique_ids(links: &[Link], drafts: &[NetworkDraft]) -> Vec<String> {
    let used: HashSet<LinkRef> = drafts.iter().map(|draft| draft.link).collect();
    let idle = links.iter().enumerate().filter(|(index, _)| !used.contains(&LinkRef(*index)));
    let mut taken: HashSet<String> = idle.map(|(_, link)| link.id.clone()).collect();
    let written: HashSet<&str> = drafts.iter().map(|draft| draft.id.as_str()).collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut ids = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let mut id = draft.id.clone();
        let number = numbers.entry(&draft.id).or_insert(1);
        while taken.contains(&id) || (id != draft.id && written.contains(id.as_str())) {
            *number += 1;
            id = format!("{}-{number}", draft.id);
        }
        taken.insert(id.clone());
        ids.push(id);
    }
    ids
}
