//! Ironic's `network-data-schema.json` (39.0), rule by rule. It applies to a node's
//! `network_data`, not to a config drive's.

use crate::netdata::parse::node::Node;
use crate::netdata::parse::object::{Object, whole};
use crate::netdata::problem::Problems;

use super::document::{CONVERT, Document, objects, quoted, text};

const NIC_TYPES: [&str; 9] =
    ["bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"];
const BOND_MODES: [&str; 7] = [
    "802.3ad",
    "balance-rr",
    "active-backup",
    "balance-xor",
    "broadcast",
    "balance-tlb",
    "balance-alb",
];

pub(super) fn check(document: &Document<'_>, problems: &mut Problems) {
    let mut schema = Schema { problems };
    for key in ["links", "networks", "services"] {
        schema.list(&document.root, key, true);
    }
    for link in &document.links {
        schema.link(link);
    }
    for network in &document.networks {
        schema.network(network);
    }
    for service in &document.services {
        schema.service(service, &[is_ipv4, is_ipv6_host]);
    }
}

/// A pattern of the schema.
type Pattern = fn(&str) -> bool;

struct Schema<'p> {
    problems: &'p mut Problems,
}

impl Schema<'_> {
    fn refuse(&mut self, object: &Object<'_>, key: &str, message: &str, fix: &str) {
        let message = format!("Ironic's schema: {message}");
        self.problems.error(object.at(key), quoted(object, key), message, fix);
    }

    /// A text that matches; `needed` where it may not be absent.
    fn text(&mut self, object: &Object<'_>, key: &str, needed: bool, patterns: &[Pattern]) {
        match object.raw(key) {
            None if needed => self.refuse(object, key, "missing", CONVERT),
            None => {}
            Some(Node::Text(text)) => {
                let fits = patterns.is_empty() || patterns.iter().any(|matches| matches(text));
                let message = "not in the form that it takes";
                if !fits {
                    self.refuse(object, key, message, advice(key, text));
                }
            }
            Some(_) => self.refuse(object, key, "must be a text", CONVERT),
        }
    }

    fn list(&mut self, object: &Object<'_>, key: &str, needed: bool) {
        match object.raw(key) {
            None if needed => self.refuse(object, key, "missing", "write an empty list"),
            None | Some(Node::List(_)) => {}
            Some(_) => self.refuse(object, key, "must be a list", "write a list"),
        }
    }

    fn link(&mut self, link: &Object<'_>) {
        self.text(link, "id", true, &[]);
        self.text(link, "vif_id", false, &[]);
        self.mtu(link);
        match text(link, "type") {
            Some("bond") => {
                self.text(link, "ethernet_mac_address", true, &[is_mac]);
                self.text(link, "bond_mode", true, &[|mode| BOND_MODES.contains(&mode)]);
                self.list(link, "bond_links", true);
                self.only_texts(link, "bond_links");
            }
            Some("vlan") => {
                self.text(link, "vlan_mac_address", true, &[is_mac]);
                self.text(link, "vlan_link", true, &[]);
                let id = link.raw("vlan_id");
                if !id.is_some_and(|id| is_number(id) && whole(id).is_some()) {
                    self.refuse(link, "vlan_id", "must be a whole number", CONVERT);
                }
            }
            Some(kind) if NIC_TYPES.contains(&kind) => {
                self.text(link, "ethernet_mac_address", true, &[is_mac]);
            }
            Some(_) | None => self.refuse(link, "type", "not a type that it knows", "write phy"),
        }
    }

    fn only_texts(&mut self, object: &Object<'_>, key: &str) {
        let Some(Node::List(items)) = object.raw(key) else { return };
        if items.iter().any(|item| !matches!(item, Node::Text(_))) {
            self.refuse(object, key, "every item must be a text", CONVERT);
        }
    }

    fn mtu(&mut self, link: &Object<'_>) {
        let fits = match link.raw("mtu") {
            None | Some(Node::Null) => true,
            Some(Node::Integer(mtu)) => (1..=65535).contains(mtu),
            Some(Node::Float(mtu)) => (1.0..=65535.0).contains(mtu),
            Some(Node::Bool(_) | Node::Text(_) | Node::List(_) | Node::Map(_)) => false,
        };
        if !fits {
            self.refuse(link, "mtu", "must be a number from 1 to 65535, or null", CONVERT);
        }
    }

    fn network(&mut self, network: &Object<'_>) {
        for key in ["id", "link", "network_id"] {
            self.text(network, key, true, &[]);
        }
        self.list(network, "routes", false);
        let rules: [Pattern; 4] = match text(network, "type") {
            Some("ipv4" | "ipv4_dhcp") => [is_ipv4, is_ipv4_mask, is_ipv4_network, is_ipv4],
            Some("ipv6" | "ipv6_dhcp" | "ipv6_slaac") => {
                [is_ipv6_host, is_ipv6_plain, is_ipv6_plain, is_ipv6]
            }
            Some(kind) if kind.starts_with("ipv6_dhcpv6") => {
                let fix = "Ironic knows ipv6_dhcp and ipv6_slaac alone: put the document into a \
                           config drive, which is not checked";
                return self.refuse(network, "type", "not a type that it knows", fix);
            }
            Some(_) | None => {
                return self.refuse(network, "type", "not a type that it knows", CONVERT);
            }
        };
        let [address, mask, destination, gateway] = rules;
        self.text(network, "ip_address", false, &[address]);
        self.text(network, "netmask", false, &[mask]);
        for route in objects(network, "routes") {
            self.text(&route, "network", true, &[destination]);
            self.text(&route, "netmask", true, &[mask]);
            self.text(&route, "gateway", true, &[gateway]);
            self.list(&route, "services", false);
            for service in objects(&route, "services") {
                self.service(&service, &[address]);
            }
        }
    }

    fn service(&mut self, service: &Object<'_>, patterns: &[Pattern]) {
        self.text(service, "type", true, &[|kind| kind == "dns"]);
        self.text(service, "address", true, patterns);
    }
}

fn advice(key: &str, text: &str) -> &'static str {
    if key == "netmask" && matches!(text, "255.255.255.255" | "32" | "/32") {
        "it takes no IPv4 /32: use a wider prefix, or put the document into a config drive, which \
         is not checked"
    } else {
        CONVERT
    }
}

fn is_number(node: &Node) -> bool {
    matches!(node, Node::Integer(_) | Node::Float(_))
}

/// `(?i)^([0-9A-F]{2}[:-]){5}([0-9A-F]{2})$`
fn is_mac(text: &str) -> bool {
    text.len() == 17
        && text.bytes().enumerate().all(|(index, byte)| match index % 3 {
            2 => matches!(byte, b':' | b'-'),
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Four decimal numbers to 255, of up to three digits.
fn is_ipv4(text: &str) -> bool {
    let is_octet = |part: &str| {
        (1..=3).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse::<u8>().is_ok()
    };
    text.split('.').count() == 4 && text.split('.').all(is_octet)
}

/// A destination: the same without leading zeros.
fn is_ipv4_network(text: &str) -> bool {
    text.parse::<std::net::Ipv4Addr>().is_ok()
}

/// The mask's anchors bind to the outer alternatives alone, so that more passes than is a mask.
fn is_ipv4_mask(text: &str) -> bool {
    ["254", "252", "248", "240", "224", "192", "128", "0"].iter().any(|part| {
        text.starts_with(&format!("{part}.0.0.0"))
            || text.contains(&format!("255.{part}.0.0"))
            || text.contains(&format!("255.255.{part}.0"))
            || text.ends_with(&format!("255.255.255.{part}"))
    })
}

/// A network or mask: groups of hex digits, no IPv4 at the end.
fn is_ipv6_plain(text: &str) -> bool {
    !text.contains('.') && text.parse::<std::net::Ipv6Addr>().is_ok()
}

/// A gateway: also with IPv4 at the end, or link-local with a zone.
fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once('%').map_or((text, None), |(a, z)| (a, Some(z)));
    let zone_fits = zone.is_none_or(|zone| {
        !zone.is_empty()
            && zone.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && address.starts_with("fe80:")
    });
    zone_fits && address.parse::<std::net::Ipv6Addr>().is_ok()
}

/// A host: a prefix of at most two digits may follow.
fn is_ipv6_host(text: &str) -> bool {
    let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
    let prefix_fits = prefix.is_none_or(|prefix| {
        (1..=2).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_digit())
    });
    prefix_fits && is_ipv6(address)
}
