//! `networks[]`: how each link gets its addresses.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::netdata::model::{Addressing, Dns, LinkRef, Route};
use crate::netdata::problem::{Problems, Reported, did_you_mean};

use super::node::Node;
use super::object::Object;
use super::prefix::{self, Family};
use super::refs::{ByName, LinkTable, Reference};
use super::{routes, services};

const KEYS: [&str; 15] = [
    "id",
    "type",
    "link",
    "network_id",
    "ip_address",
    "netmask",
    "gateway",
    "routes",
    "services",
    "dns_nameservers",
    "dns_search",
    "mode",
    "accept-ra",
    "vif_id",
    "metadata",
];
/// Keys that are known and have no say: the type decides.
const IGNORED: [&str; 2] = ["mode", "accept-ra"];

const TYPES: [(&str, Kind); 12] = [
    ("ipv4", Kind::Static(Some(Family::V4))),
    ("ipv6", Kind::Static(Some(Family::V6))),
    ("static", Kind::Static(None)),
    ("static6", Kind::Static(Some(Family::V6))),
    ("ipv4_dhcp", Kind::Dynamic(Addressing::Dhcp4)),
    ("ipv6_dhcp", Kind::Dynamic(Addressing::Dhcp6)),
    ("ipv6_slaac", Kind::Dynamic(Addressing::Slaac)),
    ("ipv6_dhcpv6-stateless", Kind::Dynamic(Addressing::Dhcp6Stateless)),
    ("ipv6_dhcpv6-stateful", Kind::Dynamic(Addressing::Dhcp6Stateful)),
    ("ipv6_dhcpv6_stateless", Kind::Dynamic(Addressing::Dhcp6Stateless)),
    ("ipv6_dhcpv6_stateful", Kind::Dynamic(Addressing::Dhcp6Stateful)),
    ("slaac", Kind::Dynamic(Addressing::Slaac)),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A fixed address; the family where the type tells it.
    Static(Option<Family>),
    Dynamic(Addressing),
}

/// A network as it was read. Routes are ranked later, over the whole document.
#[derive(Debug)]
pub(super) struct NetworkDraft {
    pub(super) path: String,
    pub(super) id: String,
    pub(super) network_id: String,
    pub(super) link: LinkRef,
    pub(super) addressing: Addressing,
    pub(super) routes: Vec<RouteDraft>,
    pub(super) dns: Dns,
}

/// A route with what its rank comes from.
#[derive(Debug)]
pub(super) struct RouteDraft {
    pub(super) path: String,
    pub(super) route: Route,
    pub(super) metric: u32,
}

/// Reads every network; one with an error is reported and left out.
pub(super) fn read(
    document: &Object<'_>,
    links: &LinkTable<'_>,
    problems: &mut Problems,
) -> Vec<NetworkDraft> {
    let networks = document.objects("networks", problems);
    let read = |(index, network)| read_network(index, network, links, problems).ok();
    networks.iter().enumerate().filter_map(read).collect()
}

/// Looks at every field before it gives up, so that all errors of a network come at once.
fn read_network(
    index: usize,
    network: &Object<'_>,
    links: &LinkTable<'_>,
    problems: &mut Problems,
) -> Result<NetworkDraft, Reported> {
    warn_ignored(network, problems);
    let id = read_id(index, network, problems);
    let link = read_link(network, links, problems);
    let kind = read_kind(network, problems);
    let network_id = network.text("network_id", problems);
    let addressing = match kind {
        Ok(Kind::Static(family)) => read_static(network, family, problems),
        Ok(Kind::Dynamic(addressing)) => Ok(addressing),
        Err(Reported) => Err(Reported),
    };
    let family = match (kind, addressing) {
        (_, Ok(addressing)) => Some(family(addressing)),
        (Ok(Kind::Static(family)), Err(Reported)) => family,
        (Ok(Kind::Dynamic(_)) | Err(Reported), Err(Reported)) => None,
    };
    let mut dns = services::of_routes(network, problems);
    let routes = routes::read(network, family, problems);
    services::of_network(network, &mut dns, problems);
    let id = id?;
    Ok(NetworkDraft {
        path: network.path().to_owned(),
        network_id: network_id?.unwrap_or_else(|| id.clone()),
        id,
        link: link?,
        addressing: addressing?,
        routes,
        dns,
    })
}

fn warn_ignored(network: &Object<'_>, problems: &mut Problems) {
    network.warn_unknown(&[&KEYS], problems);
    for key in IGNORED {
        if let Some(node) = network.get(key) {
            let message = "ignored: the network's type decides this";
            problems.warning(network.at(key), node.quoted(), message, "remove it");
        }
    }
}

fn read_id(
    index: usize,
    network: &Object<'_>,
    problems: &mut Problems,
) -> Result<String, Reported> {
    if let Some(id) = network.text("id", problems)? {
        return Ok(id);
    }
    let id = format!("network{index}");
    let message = format!("missing; {id} is used");
    problems.warning(network.at("id"), None, message, "write an id: Ironic insists on it");
    Ok(id)
}

fn read_link(
    network: &Object<'_>,
    links: &LinkTable<'_>,
    problems: &mut Problems,
) -> Result<LinkRef, Reported> {
    let text = network.text("link", problems);
    let text = network.need("link", text, "write the id of the link it is on", problems)?;
    let reference = Reference { path: network.at("link"), text };
    links.resolve(&reference, ByName::Warned, problems).ok_or(Reported)
}

fn read_kind(network: &Object<'_>, problems: &mut Problems) -> Result<Kind, Reported> {
    let text = network.text("type", problems);
    let fix = "write ipv4, ipv6, ipv4_dhcp, ipv6_dhcp or ipv6_slaac";
    let text = network.need("type", text, fix, problems)?;
    let word = text.to_lowercase();
    if let Some((_, kind)) = TYPES.iter().find(|(name, _)| *name == word) {
        if needs_dhcp(*kind) {
            let message = "needs a DHCP server: the agent refuses it unless DHCP is allowed";
            let fix = "write a fixed address, or allow DHCP";
            problems.warning(network.at("type"), Some(text), message, fix);
        }
        return Ok(*kind);
    }
    let fix = match did_you_mean(&word, TYPES.map(|(name, _)| name)) {
        Some(near) => format!("did you mean {near}?"),
        None => fix.to_owned(),
    };
    Err(problems.error(network.at("type"), Some(text), "not a type of network", fix))
}

fn needs_dhcp(kind: Kind) -> bool {
    match kind {
        Kind::Static(_) | Kind::Dynamic(Addressing::Static(_) | Addressing::Slaac) => false,
        Kind::Dynamic(
            Addressing::Dhcp4
            | Addressing::Dhcp6
            | Addressing::Dhcp6Stateless
            | Addressing::Dhcp6Stateful,
        ) => true,
    }
}

fn read_static(
    network: &Object<'_>,
    family: Option<Family>,
    problems: &mut Problems,
) -> Result<Addressing, Reported> {
    const KEY: &str = "ip_address";
    let net = prefix::address_with_prefix(network, KEY, family, problems);
    let net = network.need(KEY, net, "write the address, such as 192.0.2.10/24", problems)?;
    let value = network.get(KEY).and_then(Node::quoted);
    if let Some(why) = prefix::unusable_as_own(net) {
        let message = format!("{why}: no host can own it");
        let fix = "write the address of this host";
        return Err(problems.error(network.at(KEY), value, message, fix));
    }
    if is_subnet_router(net) {
        let message = "the subnet-router address (RFC 4291 §2.6.1) belongs to routers";
        problems.warning(network.at(KEY), value, message, "write a host's address");
    }
    Ok(Addressing::Static(net))
}

fn is_subnet_router(net: IpNet) -> bool {
    match net {
        IpNet::V6(net) => net.prefix_len() < 127 && net.addr() == net.network(),
        IpNet::V4(_) => false,
    }
}

/// The family of an addressing.
pub(super) fn family(addressing: Addressing) -> Family {
    match addressing {
        Addressing::Static(net) => Family::of(net.addr()),
        Addressing::Dhcp4 => Family::V4,
        Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful
        | Addressing::Slaac => Family::V6,
    }
}

/// The address of an addressing, where it is fixed.
pub(super) fn own_address(addressing: Addressing) -> Option<IpAddr> {
    match addressing {
        Addressing::Static(net) => Some(net.addr()),
        Addressing::Dhcp4
        | Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful
        | Addressing::Slaac => None,
    }
}
