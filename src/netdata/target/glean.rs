//! glean 1.25.1: `get_config_drive_interfaces`, and its writers for Debian, the RHEL family
//! (ifcfg before release 10, keyfiles from then on) and systemd-networkd.

use std::collections::HashSet;

use crate::netdata::parse::node::Node;
use crate::netdata::parse::object::Object;
use crate::netdata::problem::Problems;
use crate::types::IfName;

use super::document::{CONVERT, Document, is_nic, objects, quoted, text, texts};

pub(super) fn check(document: &Document<'_>, problems: &mut Problems) {
    let mut rules = Rules { document, problems };
    for link in &document.links {
        rules.link(link);
        rules.families(link);
    }
    let mut ids = HashSet::new();
    for network in &document.networks {
        rules.network(network);
        if let Some(id) = text(network, "id")
            && !ids.insert(id)
        {
            rules.fail(network, "id", "keeps the last network of an id alone", CONVERT);
        }
    }
    rules.dns();
}

struct Rules<'d, 'p> {
    document: &'d Document<'d>,
    problems: &'p mut Problems,
}

impl Rules<'_, '_> {
    fn fail(&mut self, object: &Object<'_>, key: &str, message: &str, fix: &str) {
        let message = format!("glean {message}");
        self.problems.error(object.at(key), quoted(object, key), message, fix);
    }

    fn lose(&mut self, object: &Object<'_>, key: &str, message: &str, fix: &str) {
        let message = format!("glean {message}");
        self.problems.warning(object.at(key), quoted(object, key), message, fix);
    }

    fn needs(&mut self, object: &Object<'_>, keys: &[&str]) {
        for key in keys {
            if object.get(key).is_none() {
                self.fail(object, key, "fails without it", CONVERT);
            }
        }
    }

    fn link(&mut self, link: &Object<'_>) {
        self.needs(link, &["id", "type"]);
        let mtu = link.raw("mtu_unset").is_none().then(|| link.get("mtu")).flatten();
        if mtu.is_some_and(|mtu| *mtu != Node::Integer(1500)) {
            self.lose(link, "mtu", "sets no MTU", "expect the device's default");
        }
        match text(link, "type") {
            Some("bond") => self.bond(link),
            Some("vlan") => self.vlan(link),
            Some(_) | None => self.needs(link, &["ethernet_mac_address"]),
        }
    }

    fn bond(&mut self, bond: &Object<'_>) {
        self.needs(bond, &["ethernet_mac_address", "bond_links", "bond_mode"]);
        for member in texts(bond, "bond_links") {
            if !self.document.link(member).is_some_and(is_nic) {
                let message = format!("fails: no NIC has the id {member}");
                self.fail(bond, "bond_links", &message, "write ids of NICs");
            }
        }
        if text(bond, "id").is_some_and(|id| id.parse::<IfName>().is_err()) {
            let message = "gives the bond this as its device name, which Linux refuses";
            self.fail(bond, "id", message, "write an id of at most 15 letters and digits");
        }
        let message = "sets mode and options of a bond on Debian and networkd alone";
        self.lose(bond, "bond_mode", message, "expect balance-rr on the RHEL family");
    }

    fn vlan(&mut self, vlan: &Object<'_>) {
        self.needs(vlan, &["vlan_link", "vlan_id"]);
        if vlan.raw("vlan_mac_address") == Some(&Node::Null) {
            self.fail(vlan, "vlan_mac_address", "fails on null", CONVERT);
        }
        let Some(parent) = text(vlan, "vlan_link") else { return };
        match self.document.link(parent) {
            None => self.fail(vlan, "vlan_link", "skips the VLAN: no link has this id", CONVERT),
            Some(below) if texts(below, "bond_links").len() == 1 => {
                let message = "puts a VLAN over a bond of one member on that member";
                self.fail(vlan, "vlan_link", message, "give the bond a second member");
            }
            Some(_) => {}
        }
        let id = text(vlan, "id").unwrap_or_default();
        if self.document.networks_on(id).next().is_none() {
            self.lose(vlan, "id", "drops a VLAN without a network", "give it a network");
        }
    }

    /// What depends on all networks of a link together.
    fn families(&mut self, link: &Object<'_>) {
        let id = text(link, "id").unwrap_or_default();
        let networks: Vec<&Object<'_>> = self.document.networks_on(id).collect();
        let is = |network: &&&Object<'_>, wanted: &str| text(network, "type") == Some(wanted);
        if networks.iter().any(|network| is(&network, "ipv4") || is(&network, "ipv4_dhcp")) {
            return;
        }
        let v6 = networks.iter().find(|network| is(network, "ipv6") || is(network, "ipv6_slaac"));
        if let Some(network) = v6 {
            let message = "fails on the RHEL family, where a link needs IPv4 before IPv6";
            self.fail(network, "type", message, "add an IPv4 network to the link");
        }
    }

    fn network(&mut self, network: &Object<'_>) {
        self.needs(network, &["id", "link", "type"]);
        let routes = objects(network, "routes");
        for route in &routes {
            self.needs(route, &["network", "netmask", "gateway"]);
            self.unspecified_gateway(route);
        }
        if text(network, "link").is_some_and(|link| self.document.link(link).is_none()) {
            self.fail(network, "link", "skips the network: no link has this id", CONVERT);
        }
        let length = match text(network, "type") {
            Some("ipv4") => self.address(network, is_dotted),
            Some("ipv6") => self.address(network, is_groups),
            Some("ipv4_dhcp" | "manual") => return,
            Some("ipv6_slaac") => {
                let message = "fails on release 10 of the RHEL family, or takes ip_address for a \
                               static one";
                return self.fail(network, "type", message, "write a static address");
            }
            Some(_) | None => {
                let message = "knows ipv4, ipv4_dhcp, ipv6 and ipv6_slaac alone";
                return self.fail(network, "type", message, "write a static address");
            }
        };
        if !routes.is_empty() && length.is_some_and(|length| !(10..=99).contains(&length)) {
            let message = "fails on release 10 of the RHEL family: routes beside a prefix of one \
                           or three digits";
            self.fail(network, "netmask", message, "write a prefix from /10 to /99");
        }
    }

    /// The prefix length, where address and mask are in the form that it takes.
    fn address(&mut self, network: &Object<'_>, is_mask: fn(&str) -> Option<u8>) -> Option<u8> {
        self.needs(network, &["ip_address"]);
        if text(network, "ip_address").is_some_and(|address| address.contains('/')) {
            self.fail(network, "ip_address", "writes the prefix twice", CONVERT);
        }
        let length = text(network, "netmask").and_then(is_mask);
        if length.is_none() {
            self.fail(network, "netmask", "needs a dotted or an IPv6 mask", CONVERT);
        }
        for route in objects(network, "routes") {
            if text(&route, "netmask").is_some_and(|mask| is_mask(mask).is_none()) {
                self.fail(&route, "netmask", "needs a dotted or an IPv6 mask", CONVERT);
            }
        }
        length
    }

    fn unspecified_gateway(&mut self, route: &Object<'_>) {
        if matches!(text(route, "gateway"), Some("::" | "0.0.0.0")) {
            let message = "writes the unspecified address as gateway, which networkd and \
                           NetworkManager alone read as on-link";
            self.lose(route, "gateway", message, "widen the prefix of the address instead");
        }
    }

    /// It reads the top level, and on networkd that of networks.
    fn dns(&mut self) {
        let top: HashSet<&str> =
            self.document.services.iter().filter_map(|service| text(service, "address")).collect();
        for service in &self.document.services {
            self.needs(service, &["type", "address"]);
            self.search(service, "search");
        }
        for network in &self.document.networks {
            let routes = objects(network, "routes");
            let services = routes.iter().flat_map(|route| objects(route, "services"));
            for service in services.chain(objects(network, "services")) {
                if text(&service, "address").is_some_and(|address| !top.contains(address)) {
                    let message = "reads DNS servers at the top alone";
                    self.lose(&service, "address", message, "repeat it in services at the top");
                }
            }
            if texts(network, "dns_nameservers").iter().any(|server| !top.contains(server)) {
                let message = "does not read it";
                self.lose(network, "dns_nameservers", message, "write it in services at the top");
            }
            self.search(network, "dns_search");
        }
    }

    fn search(&mut self, object: &Object<'_>, key: &str) {
        if object.get(key).is_some() {
            self.lose(object, key, "sets no search domain", "write full names");
        }
    }
}

fn is_dotted(mask: &str) -> Option<u8> {
    ipnet::ipv4_mask_to_prefix(mask.parse().ok()?).ok()
}

fn is_groups(mask: &str) -> Option<u8> {
    // Its own reader takes `::0` for a mask of no bits.
    ipnet::ipv6_mask_to_prefix(mask.parse().ok()?).ok()
}
