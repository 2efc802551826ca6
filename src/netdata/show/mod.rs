//! Network data for people: a tree of text, the normal form as JSON, and diagrams.

mod labels;
mod mermaid;
mod normal;
mod svg;
mod text;

pub use mermaid::mermaid;
pub use normal::normal;
pub use svg::svg;
pub use text::text;

use super::model::{LinkKind, LinkRef, NetworkData};

/// Links that stand on none: bonds and NICs outside bonds, in the document's order, each with
/// the VLANs on it.
fn stacks(data: &NetworkData) -> Vec<(LinkRef, Vec<LinkRef>)> {
    let all = || (0..data.links.len()).map(LinkRef);
    let vlans_on = |below: LinkRef| {
        all().filter(|link| on(data, *link) == Some(below)).collect::<Vec<LinkRef>>()
    };
    let roots = all().filter(|link| on(data, *link).is_none() && master(data, *link).is_none());
    roots.map(|root| (root, vlans_on(root))).collect()
}

/// The link below a VLAN.
fn on(data: &NetworkData, link: LinkRef) -> Option<LinkRef> {
    match data.links[link.0].kind {
        LinkKind::Vlan { parent, .. } => Some(parent),
        LinkKind::Ethernet { .. } | LinkKind::Bond(_) => None,
    }
}

/// The bond of a member.
fn master(data: &NetworkData, member: LinkRef) -> Option<LinkRef> {
    let is_master = |link: &LinkRef| members(data, *link).contains(&member);
    (0..data.links.len()).map(LinkRef).find(is_master)
}

/// Members of a bond; none for another link.
fn members(data: &NetworkData, link: LinkRef) -> &[LinkRef] {
    match &data.links[link.0].kind {
        LinkKind::Bond(bond) => &bond.members,
        LinkKind::Ethernet { .. } | LinkKind::Vlan { .. } => &[],
    }
}

#[cfg(test)]
mod tests;
