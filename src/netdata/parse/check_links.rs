//! Links held against each other: who may be below whom, names, addresses, MTU.

use std::collections::HashMap;

use crate::netdata::model::{Bond, Link, LinkKind, LinkRef};
use crate::netdata::problem::Problems;
use crate::types::{IfName, Mac, VlanId};

use super::assemble::PlacedLink;

/// Reports everything that Linux would refuse, or that can't be meant.
pub(super) fn check(links: &[PlacedLink], problems: &mut Problems) {
    unique_names(links, problems);
    unique_nics(links, problems);
    let masters = members(links, problems);
    vlans(links, &masters, problems);
    mtus(links, problems);
}

fn unique_names(links: &[PlacedLink], problems: &mut Problems) {
    let mut seen: HashMap<&IfName, &str> = HashMap::new();
    for PlacedLink { path, link } in links {
        let Some(name) = &link.name else { continue };
        if let Some(first) = seen.insert(name, path) {
            let message = format!("{first} wants the same name");
            let fix = "give each device a name of its own";
            problems.error(format!("{path}.name"), Some(name.to_string()), message, fix);
        }
    }
}

fn unique_nics(links: &[PlacedLink], problems: &mut Problems) {
    let mut seen: HashMap<Mac, &str> = HashMap::new();
    for PlacedLink { path, link } in links {
        let (LinkKind::Ethernet { .. }, Some(mac)) = (&link.kind, link.mac) else { continue };
        if let Some(first) = seen.insert(mac, path) {
            let message = format!("{first} is the NIC with this address");
            let path = format!("{path}.ethernet_mac_address");
            problems.error(path, Some(mac.to_string()), message, "write each NIC once");
        }
    }
}

/// The bond of each member.
fn members(links: &[PlacedLink], problems: &mut Problems) -> HashMap<LinkRef, LinkRef> {
    let mut masters = HashMap::new();
    for (index, PlacedLink { path, link }) in links.iter().enumerate() {
        let LinkKind::Bond(bond) = &link.kind else { continue };
        for member in &bond.members {
            let below = &links[member.0].link;
            let value = Some(below.id.clone());
            let path = format!("{path}.bond_links");
            match below.kind {
                LinkKind::Ethernet { .. } => {}
                LinkKind::Bond(_) => {
                    problems.error(path, value, "a bond in a bond", "list NICs");
                    continue;
                }
                LinkKind::Vlan { .. } => {
                    let message = "a VLAN in a bond";
                    problems.error(path, value, message, "list NICs, and put the VLAN on the bond");
                    continue;
                }
            }
            if let Some(LinkRef(first)) = masters.insert(*member, LinkRef(index)) {
                let message = format!("already a member of {}", links[first].link.id);
                problems.error(path, value, message, "a NIC belongs to one bond");
            }
        }
    }
    masters
}

fn vlans(links: &[PlacedLink], masters: &HashMap<LinkRef, LinkRef>, problems: &mut Problems) {
    let mut seen: HashMap<(LinkRef, VlanId), &str> = HashMap::new();
    for PlacedLink { path, link } in links {
        let LinkKind::Vlan { parent, id } = link.kind else { continue };
        let below = &links[parent.0].link;
        let at_parent = format!("{path}.vlan_link");
        if matches!(below.kind, LinkKind::Vlan { .. }) {
            let message = "a VLAN on a VLAN";
            let fix = "put it on the NIC or bond below: stacked tags are not supported";
            problems.error(at_parent, Some(below.id.clone()), message, fix);
        } else if let Some(bond) = masters.get(&parent) {
            let bond = &links[bond.0].link.id;
            let message = format!("a member of {bond}, which takes its traffic");
            problems.error(at_parent, Some(below.id.clone()), message, format!("write {bond}"));
        }
        if let Some(first) = seen.insert((parent, id), path) {
            let message = format!("{first} is this VLAN on the same link");
            problems.error(
                format!("{path}.vlan_id"),
                Some(id.to_string()),
                message,
                "a VLAN id stands once on a link",
            );
        }
    }
}

fn mtus(links: &[PlacedLink], problems: &mut Problems) {
    for PlacedLink { path, link } in links {
        let Some(mtu) = link.mtu else { continue };
        match &link.kind {
            LinkKind::Ethernet { .. } => {}
            LinkKind::Vlan { parent, .. } => {
                let below = &links[parent.0].link;
                if let Some(lower) = below.mtu.filter(|lower| *lower < mtu) {
                    let message = format!("more than {} has ({lower}); that is raised", below.id);
                    let fix = format!("write at most {lower}, or raise {}", below.id);
                    problems.warning(format!("{path}.mtu"), Some(mtu.to_string()), message, fix);
                }
            }
            LinkKind::Bond(bond) => member_mtus(path, mtu, bond, links, problems),
        }
    }
}

fn member_mtus(path: &str, mtu: u32, bond: &Bond, links: &[PlacedLink], problems: &mut Problems) {
    let differs = |link: &&Link| link.mtu.is_some_and(|other| other != mtu);
    let members = bond.members.iter().map(|member| &links[member.0].link);
    for member in members.filter(differs) {
        let message = format!("member {} says another; a bond sets its members'", member.id);
        let fix = "write the same on the bond and its members";
        problems.warning(format!("{path}.mtu"), Some(mtu.to_string()), message, fix);
    }
}
