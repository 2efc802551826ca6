//! A document as a consumer walks it: objects and plain lookups, nothing interpreted.

use crate::netdata::parse::node::Node;
use crate::netdata::parse::object::Object;
use crate::netdata::problem::Problems;

/// The three sections; items that are no objects are left out, since parsing reports them.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) root: Object<'a>,
    pub(super) links: Vec<Object<'a>>,
    pub(super) networks: Vec<Object<'a>>,
    pub(super) services: Vec<Object<'a>>,
}

impl<'a> Document<'a> {
    pub(super) fn new(tree: &'a Node) -> Option<Self> {
        let mut silent = Problems::default();
        let root = Object::new(tree, "$", &mut silent).ok()?;
        let mut objects = |key| root.objects(key, &mut silent);
        let (links, networks, services) =
            (objects("links"), objects("networks"), objects("services"));
        Some(Self { root, links, networks, services })
    }

    /// The link with this id; the last one, as both consumers' dictionaries keep.
    pub(super) fn link(&self, id: &str) -> Option<&Object<'a>> {
        self.links.iter().rev().find(|link| text(link, "id") == Some(id))
    }

    /// Networks on a link.
    pub(super) fn networks_on(&self, id: &str) -> impl Iterator<Item = &Object<'a>> {
        self.networks.iter().filter(move |network| text(network, "link") == Some(id))
    }
}

/// A field that is a text, as it stands.
pub(super) fn text<'a>(object: &Object<'a>, key: &str) -> Option<&'a str> {
    match object.raw(key) {
        Some(Node::Text(text)) => Some(text),
        _ => None,
    }
}

/// Texts of a list.
pub(super) fn texts<'a>(object: &Object<'a>, key: &str) -> Vec<&'a str> {
    let Some(Node::List(items)) = object.raw(key) else { return Vec::new() };
    let text = |item: &'a Node| match item {
        Node::Text(text) => Some(text.as_str()),
        _ => None,
    };
    items.iter().filter_map(text).collect()
}

/// Objects of a list.
pub(super) fn objects<'a>(object: &Object<'a>, key: &str) -> Vec<Object<'a>> {
    object.objects(key, &mut Problems::default())
}

/// A value for a message.
pub(super) fn quoted(object: &Object<'_>, key: &str) -> Option<String> {
    object.raw(key).and_then(Node::quoted)
}

/// Whether the link is a NIC to its consumers: neither bond nor VLAN.
pub(super) fn is_nic(link: &Object<'_>) -> bool {
    !matches!(text(link, "type"), Some("bond" | "vlan"))
}

/// Where every consumer wants the same: that our own rendering has it.
pub(super) const CONVERT: &str = "use what `netdata convert --to openstack` prints";
