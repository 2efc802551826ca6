//! Links with their references resolved.

use crate::netdata::model::{Bond, BondMode, BondOptions, Link, LinkKind, LinkRef};
use crate::netdata::problem::Problems;
use crate::types::Mac;

use super::links::{BondDraft, KindDraft, LinkDraft};
use super::refs::{ByName, LinkTable};

/// Of `IFLA_BOND_FAIL_OVER_MAC`: the bond's address is that of the active member.
const FAIL_OVER_MAC_ACTIVE: u8 = 1;

/// A link and where it stands in the document.
#[derive(Debug)]
pub(super) struct PlacedLink {
    pub(super) path: String,
    pub(super) link: Link,
}

/// Resolves every link. One with an error of its own stands as a plain NIC, so that nothing
/// follows from it: the document is refused anyway.
pub(super) fn links(
    drafts: &[LinkDraft],
    table: &LinkTable<'_>,
    problems: &mut Problems,
) -> Vec<PlacedLink> {
    let mut links: Vec<PlacedLink> =
        drafts.iter().map(|draft| resolve(draft, table, problems)).collect();
    settle_bond_macs(&mut links, problems);
    settle_vlan_macs(&mut links);
    links
}

fn resolve(draft: &LinkDraft, table: &LinkTable<'_>, problems: &mut Problems) -> PlacedLink {
    let broken = LinkKind::Ethernet { hint: "phy" };
    let kind = match &draft.kind {
        KindDraft::Broken => broken,
        KindDraft::Ethernet { hint } => LinkKind::Ethernet { hint },
        KindDraft::Bond(bond) => LinkKind::Bond(Box::new(resolve_bond(bond, table, problems))),
        KindDraft::Vlan { parent, id } => {
            let parent =
                parent.as_ref().and_then(|parent| table.resolve(parent, ByName::Warned, problems));
            match (parent, *id) {
                (Some(parent), Some(id)) => LinkKind::Vlan { parent, id },
                (None, _) | (_, None) => broken,
            }
        }
    };
    PlacedLink {
        path: draft.path.clone(),
        link: Link {
            id: draft.id.clone().unwrap_or_default(),
            name: draft.name.clone(),
            mac: draft.mac,
            mtu: draft.mtu,
            kind,
        },
    }
}

fn resolve_bond(draft: &BondDraft, table: &LinkTable<'_>, problems: &mut Problems) -> Bond {
    let mut members: Vec<LinkRef> = Vec::new();
    for reference in &draft.members {
        let Some(member) = table.resolve(reference, ByName::Warned, problems) else { continue };
        if members.contains(&member) {
            let (path, value) = (&reference.path, Some(reference.text.clone()));
            problems.error(path, value, "a member twice", "list each member once");
        } else {
            members.push(member);
        }
    }
    let primary = draft.primary.as_ref().and_then(|reference| {
        let primary = table.resolve(reference, ByName::Usual, problems)?;
        if members.contains(&primary) {
            return Some(primary);
        }
        let (path, value) = (&reference.path, Some(reference.text.clone()));
        problems.error(path, value, "not a member of the bond", "name one of bond_links");
        None
    });
    let options = BondOptions { primary, ..draft.options.clone() };
    Bond { mode: draft.mode, members, options }
}

/// A bond without an address gets its first member's explicitly: Linux takes that of the first
/// NIC to be enslaved, which need not be the first listed.
fn settle_bond_macs(links: &mut [PlacedLink], problems: &mut Problems) {
    for index in 0..links.len() {
        let PlacedLink { path, link } = &links[index];
        let LinkKind::Bond(bond) = &link.kind else { continue };
        let first = bond.members.first().and_then(|first| links[first.0].link.mac);
        let follows = bond.mode == BondMode::ActiveBackup
            && bond.options.fail_over_mac == Some(FAIL_OVER_MAC_ACTIVE);
        let mac = if follows { None } else { link.mac.or(first.filter(settable)) };
        if let Some(dropped) = link.mac.filter(|own| follows && Some(*own) != first) {
            let message = "ignored: with fail_over_mac active the bond has its active member's";
            let path = format!("{path}.ethernet_mac_address");
            problems.warning(path, Some(dropped.to_string()), message, "remove one of the two");
        }
        links[index].link.mac = mac;
    }
}

fn settable(mac: &Mac) -> bool {
    !mac.is_multicast()
}

/// A VLAN with its parent's address inherits it.
fn settle_vlan_macs(links: &mut [PlacedLink]) {
    for index in 0..links.len() {
        let LinkKind::Vlan { parent, .. } = links[index].link.kind else { continue };
        if links[index].link.mac == parent_mac(&links[parent.0].link, links) {
            links[index].link.mac = None;
        }
    }
}

fn parent_mac(parent: &Link, links: &[PlacedLink]) -> Option<Mac> {
    match &parent.kind {
        LinkKind::Bond(bond) => {
            parent.mac.or_else(|| bond.members.first().and_then(|first| links[first.0].link.mac))
        }
        LinkKind::Ethernet { .. } | LinkKind::Vlan { .. } => parent.mac,
    }
}
