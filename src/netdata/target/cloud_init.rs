//! cloud-init's `convert_net_json` and what its renderers do with the result (22.4.2).

use std::collections::HashSet;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::netdata::parse::node::Node;
use crate::netdata::parse::object::Object;
use crate::netdata::problem::Problems;

use super::document::{CONVERT, Document, is_nic, objects, quoted, text, texts};

const STATIC_TYPES: [&str; 4] = ["ipv4", "static", "ipv6", "static6"];

pub(super) fn check(document: &Document<'_>, problems: &mut Problems) {
    let mut rules = Rules { document, problems };
    for link in &document.links {
        rules.needs(link, &["id", "type"]);
        rules.link(link);
        rules.defaults(link);
    }
    for network in &document.networks {
        rules.needs(network, &["link", "type"]);
        rules.network(network);
    }
    for service in &document.services {
        if text(service, "type").is_some_and(|kind| kind != "dns") {
            let message = "takes any service for a DNS server";
            rules.lose(service, "type", message, "remove the service");
        }
    }
}

struct Rules<'d, 'p> {
    document: &'d Document<'d>,
    problems: &'p mut Problems,
}

impl Rules<'_, '_> {
    fn fail(&mut self, object: &Object<'_>, key: &str, message: &str, fix: &str) {
        let message = format!("cloud-init {message}");
        self.problems.error(object.at(key), quoted(object, key), message, fix);
    }

    fn lose(&mut self, object: &Object<'_>, key: &str, message: &str, fix: &str) {
        let message = format!("cloud-init {message}");
        self.problems.warning(object.at(key), quoted(object, key), message, fix);
    }

    fn needs(&mut self, object: &Object<'_>, keys: &[&str]) {
        for key in keys {
            if object.raw(key).is_none() {
                self.fail(object, key, "fails without it", CONVERT);
            }
        }
    }

    fn link(&mut self, link: &Object<'_>) {
        match text(link, "type") {
            Some("bond") => {
                self.needs(link, &["bond_links"]);
                for member in texts(link, "bond_links") {
                    if self.document.link(member).is_none() {
                        let message = format!("fails: no link has the id {member}");
                        self.fail(link, "bond_links", &message, "write ids");
                    }
                }
                self.primary(link);
            }
            Some("vlan") => {
                self.needs(link, &["vlan_link", "vlan_id", "vlan_mac_address"]);
                if let Some(parent) = text(link, "vlan_link")
                    && self.document.link(parent).is_none()
                {
                    self.fail(link, "vlan_link", "fails: no link has this id", "write an id");
                }
            }
            Some(_) | None => {
                let nameless = link.get("name").is_none();
                if nameless && link.get("ethernet_mac_address").is_none() {
                    let message = "fails on a NIC with neither MAC nor name";
                    self.fail(link, "ethernet_mac_address", message, "write the NIC's MAC");
                }
            }
        }
    }

    /// It is handed on as a device name.
    fn primary(&mut self, bond: &Object<'_>) {
        let Some(primary) = text(bond, "bond_primary") else { return };
        let names = self.document.links.iter().filter(|link| is_nic(link));
        if names.into_iter().all(|link| text(link, "name") != Some(primary)) {
            let message = "takes it for a device name";
            self.lose(bond, "bond_primary", message, "give the member a name, and write that");
        }
    }

    /// The sysconfig renderer raises on a second default route of a family on one link; it leaves
    /// out those of networks that router advertisements configure.
    fn defaults(&mut self, link: &Object<'_>) {
        let Some(id) = text(link, "id") else { return };
        let mut seen: HashSet<bool> = HashSet::new();
        let mut repeated = Vec::new();
        for network in self.document.networks_on(id) {
            let kind = text(network, "type").unwrap_or_default();
            if kind.starts_with("ipv6_") {
                continue;
            }
            for route in objects(network, "routes") {
                let Some(net) = destination(&route).filter(|net| net.prefix_len() == 0) else {
                    continue;
                };
                let is_first = seen.insert(net.addr().is_ipv6());
                if !is_first && matches!(kind, "ipv4" | "ipv6") {
                    repeated.push(route);
                }
            }
        }
        for route in repeated {
            let message = "configures nothing on the RHEL family: the link's second default route";
            self.fail(&route, "network", message, "keep one default route on a link");
        }
    }

    fn network(&mut self, network: &Object<'_>) {
        let is_static = text(network, "type").is_some_and(|kind| STATIC_TYPES.contains(&kind));
        let address = text(network, "ip_address");
        if is_static
            && address.is_some_and(|address| !address.contains('/'))
            && network.get("netmask").is_none()
        {
            self.fail(network, "netmask", "guesses /24 or /64", "write the mask");
        }
        for route in objects(network, "routes") {
            self.route(&route, network);
        }
        let listed = texts(network, "dns_nameservers");
        for service in objects(network, "services") {
            if text(&service, "address").is_some_and(|address| !listed.contains(&address)) {
                let message = "reads servers of a network from 23.1 on";
                self.lose(&service, "address", message, "repeat it in dns_nameservers");
            }
        }
    }

    fn route(&mut self, route: &Object<'_>, network: &Object<'_>) {
        let target = text(route, "network").unwrap_or_default();
        if route.get("netmask").is_none() && !target.contains('/') {
            self.fail(route, "netmask", "guesses /24 or /64", "write the mask");
        }
        if route.get("gateway").is_none() {
            self.fail(route, "gateway", "fails on the RHEL family without it", CONVERT);
        }
        for service in objects(route, "services") {
            if text(&service, "address").is_some() {
                let message = "reads servers of a route from 23.1 on";
                self.lose(&service, "address", message, "write it in services at the top");
            }
        }
        let gateway = text(route, "gateway").and_then(|text| text.parse::<IpAddr>().ok());
        let Some(gateway) = gateway else { return };
        if gateway.is_ipv6() && gateway.is_unspecified() {
            let message = "passes :: on as a gateway: networkd and NetworkManager take that for \
                           on-link, ip(8) in the scripts of Debian and RHEL 7 refuses it";
            self.lose(route, "gateway", message, "widen the prefix of the address instead");
        } else if is_off_subnet(gateway, network, self.document) {
            let message = "does not make the gateway on-link, and Linux refuses one outside the \
                           subnet";
            self.lose(route, "gateway", message, "write a gateway inside the subnet");
        }
    }
}

fn destination(route: &Object<'_>) -> Option<IpNet> {
    let network = text(route, "network")?;
    if let Ok(net) = network.parse() {
        return Some(net);
    }
    let mask = match route.raw("netmask")? {
        Node::Text(mask) => mask.clone(),
        Node::Integer(length) => length.to_string(),
        Node::Null | Node::Bool(_) | Node::Float(_) | Node::List(_) | Node::Map(_) => {
            return None;
        }
    };
    join(network, &mask)
}

fn join(address: &str, mask: &str) -> Option<IpNet> {
    match mask.parse::<IpAddr>() {
        Ok(mask) => IpNet::with_netmask(address.parse().ok()?, mask).ok(),
        Err(_) => IpNet::new(address.parse().ok()?, mask.parse().ok()?).ok(),
    }
}

/// Whether no static address of the link covers the gateway, where every address is static.
fn is_off_subnet(gateway: IpAddr, network: &Object<'_>, document: &Document<'_>) -> bool {
    if gateway.is_unspecified() || matches!(gateway, IpAddr::V6(v6) if v6.is_unicast_link_local()) {
        return false;
    }
    let Some(link) = text(network, "link") else { return false };
    document.networks_on(link).all(|network| {
        let is_static = text(network, "type").is_some_and(|kind| STATIC_TYPES.contains(&kind));
        let address = text(network, "ip_address").unwrap_or_default();
        let net = address
            .parse::<IpNet>()
            .ok()
            .or_else(|| join(address, text(network, "netmask").unwrap_or_default()));
        match net {
            Some(net) if is_static => !net.contains(&gateway),
            // Another family's lease says nothing.
            Some(_) | None => {
                let is_v6 = text(network, "type").is_some_and(|kind| kind.contains("v6"));
                is_static || is_v6 != gateway.is_ipv6()
            }
        }
    })
}
