//! Values that consumers insist on and the normal form leaves open.

use crate::netdata::model::{Dns, Link, LinkKind, LinkRef, NetworkData};
use crate::types::Mac;

/// What Linux gives an Ethernet device.
const DEFAULT_MTU: u32 = 1500;

/// The address a link will have. `None` only where a bond without an address has no member.
pub(super) fn mac(data: &NetworkData, link: &Link) -> Option<Mac> {
    link.mac.or_else(|| match &link.kind {
        LinkKind::Ethernet { .. } => None,
        LinkKind::Bond(bond) => data.links.get(bond.members.first()?.0)?.mac,
        // A VLAN's parent is no VLAN, so this goes down two levels at most.
        LinkKind::Vlan { parent, .. } => match data.links.get(parent.0)? {
            below if matches!(below.kind, LinkKind::Vlan { .. }) => below.mac,
            below => mac(data, below),
        },
    })
}

/// The MTU a link will have when nobody sets one: at least what the links above it ask for.
pub(super) fn mtu(data: &NetworkData, index: usize) -> u32 {
    let Some(link) = data.links.get(index) else { return DEFAULT_MTU };
    if let Some(mtu) = link.mtu {
        return mtu;
    }
    let parent = match &link.kind {
        LinkKind::Vlan { parent, .. } => {
            let below = data.links.get(parent.0);
            let is_vlan = below.is_some_and(|below| matches!(below.kind, LinkKind::Vlan { .. }));
            return if is_vlan { DEFAULT_MTU } else { mtu(data, parent.0) };
        }
        LinkKind::Bond(bond) => bond.members.first().copied(),
        LinkKind::Ethernet { .. } => None,
    };
    let beside = parent.and_then(|member| data.links.get(member.0)?.mtu);
    let above = data.links.iter().filter(|other| stands_on(other, LinkRef(index)));
    above.filter_map(|other| other.mtu).chain(beside).max().unwrap_or(DEFAULT_MTU)
}

fn stands_on(link: &Link, below: LinkRef) -> bool {
    match &link.kind {
        LinkKind::Ethernet { .. } => false,
        LinkKind::Bond(bond) => bond.members.contains(&below),
        LinkKind::Vlan { parent, .. } => *parent == below,
    }
}

/// The MTU to set: the link's own, raised to what the VLANs on it need, and a bond's for its
/// members. `None` leaves it alone.
pub(super) fn raised_mtu(data: &NetworkData, index: usize) -> Option<u32> {
    let own = data.links.get(index)?.mtu;
    let above = data.links.iter().filter(|other| stands_on(other, LinkRef(index)));
    let above = above.filter_map(|other| other.mtu).max();
    match &data.links[index].kind {
        LinkKind::Vlan { .. } => own,
        LinkKind::Ethernet { .. } | LinkKind::Bond(_) => own.max(above),
    }
}

/// Several sets of servers and domains as one, in order, each once.
pub(super) fn union<'a>(parts: impl IntoIterator<Item = &'a Dns>) -> Dns {
    let mut all = Dns::default();
    for dns in parts {
        for server in &dns.servers {
            if !all.servers.contains(server) {
                all.servers.push(*server);
            }
        }
        for domain in &dns.search {
            if !all.search.contains(domain) {
                all.search.push(domain.clone());
            }
        }
    }
    all
}
