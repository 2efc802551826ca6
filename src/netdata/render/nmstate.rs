//! nmstate's desired state, as YAML (<https://nmstate.io/devel/yaml_api.html>). NICs are matched
//! by address (`identifier: mac-address`); their `name` is only what ports and routes refer to.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::netdata::model::{Addressing, Bond, LinkKind, LinkRef, Network, NetworkData, Route};
use crate::netdata::parse::bond_words;

use super::bond::{self, OptionValue};
use super::{derived, names};

/// Metric of the second of several routes to one destination, less one.
const METRIC_BASE: u32 = 1024;

/// Renders the desired state.
#[must_use]
pub fn nmstate(data: &NetworkData) -> String {
    let names = names::device_names(data);
    let interfaces: Vec<Value> =
        (0..data.links.len()).map(|index| interface(data, &names, index)).collect();
    let routes: Vec<Value> = data
        .networks
        .iter()
        .flat_map(|network| network.routes.iter().map(move |route| (network, route)))
        .flat_map(|(network, route)| routes(&names[network.link.0], route))
        .collect();
    let dns = [&data.dns].into_iter().chain(data.networks.iter().map(|network| &network.dns));
    let dns = derived::union(dns);
    let servers: Vec<String> = dns.servers.iter().map(ToString::to_string).collect();
    let state = json!({
        "interfaces": interfaces,
        "routes": { "config": routes },
        "dns-resolver": { "config": { "server": servers, "search": dns.search } },
    });
    serde_yaml_ng::to_string(&state).expect("a JSON value is YAML")
}

fn interface(data: &NetworkData, names: &[String], index: usize) -> Value {
    let link = &data.links[index];
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| {
        fields.insert(key.to_owned(), value);
    };
    set("name", names[index].clone().into());
    match &link.kind {
        LinkKind::Ethernet { .. } => {
            set("type", "ethernet".into());
            set("identifier", "mac-address".into());
        }
        LinkKind::Bond(bond) => {
            set("type", "bond".into());
            set("link-aggregation", aggregation(bond, names));
        }
        LinkKind::Vlan { parent, id } => {
            set("type", "vlan".into());
            set("vlan", json!({ "base-iface": names[parent.0], "id": id.get() }));
        }
    }
    set("state", "up".into());
    if let Some(mac) = link.mac {
        set("mac-address", mac.to_string().into());
    }
    if let Some(mtu) = derived::raised_mtu(data, index) {
        set("mtu", mtu.into());
    }
    let on = |network: &&Network| network.link == LinkRef(index);
    let networks: Vec<&Network> = data.networks.iter().filter(on).collect();
    set("ipv4", ipv4(&networks));
    set("ipv6", ipv6(&networks));
    fields.into()
}

fn aggregation(bond: &Bond, names: &[String]) -> Value {
    let ports: Vec<&str> = bond.members.iter().map(|member| names[member.0].as_str()).collect();
    let mut options = Map::new();
    if let Some(primary) = bond.options.primary {
        options.insert("primary".into(), names[primary.0].clone().into());
    }
    if bond.options.miimon.is_none() && bond.options.arp_interval.unwrap_or(0) == 0 {
        // Without a monitor a bond never notices that a member failed.
        options.insert("miimon".into(), 100.into());
    }
    for (name, value) in bond::options(bond) {
        let value = match value {
            OptionValue::Number(number) => number.into(),
            OptionValue::Flag(flag) => flag.into(),
            OptionValue::Word(word) => word.into(),
            OptionValue::List(items) => items.join(",").into(),
            OptionValue::Address(mac) => mac.to_string().into(),
        };
        options.insert(name.into(), value);
    }
    json!({ "mode": bond_words::mode_name(bond.mode), "port": ports, "options": options })
}

fn ipv4(networks: &[&Network]) -> Value {
    let dhcp = networks.iter().any(|network| network.addressing == Addressing::Dhcp4);
    let addresses = addresses(networks, IpAddr::is_ipv4);
    if !dhcp && addresses.is_empty() {
        return json!({ "enabled": false });
    }
    json!({ "enabled": true, "dhcp": dhcp, "address": addresses })
}

fn ipv6(networks: &[&Network]) -> Value {
    let addresses = addresses(networks, IpAddr::is_ipv6);
    let (mut dhcp, mut autoconf) = (false, false);
    for network in networks {
        match network.addressing {
            Addressing::Static(_) | Addressing::Dhcp4 => {}
            Addressing::Slaac => autoconf = true,
            Addressing::Dhcp6Stateful => dhcp = true,
            Addressing::Dhcp6 | Addressing::Dhcp6Stateless => (dhcp, autoconf) = (true, true),
        }
    }
    if !dhcp && !autoconf && addresses.is_empty() {
        return json!({ "enabled": false });
    }
    json!({ "enabled": true, "dhcp": dhcp, "autoconf": autoconf, "address": addresses })
}

fn addresses(networks: &[&Network], is_of: fn(&IpAddr) -> bool) -> Vec<Value> {
    let fixed = networks.iter().filter_map(|network| match network.addressing {
        Addressing::Static(net) => Some(net),
        Addressing::Dhcp4
        | Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful
        | Addressing::Slaac => None,
    });
    fixed
        .filter(|net| is_of(&net.addr()))
        .map(|net| json!({ "ip": net.addr().to_string(), "prefix-length": net.prefix_len() }))
        .collect()
}

/// nmstate has no word for a gateway outside the subnet: a host route makes it reachable first.
fn routes(interface: &str, route: &Route) -> Vec<Value> {
    let mut config = Vec::new();
    if let (Some(gateway), true) = (route.gateway, route.onlink) {
        let host = IpNet::from(gateway);
        config.push(json!({ "destination": host.to_string(), "next-hop-interface": interface }));
    }
    let mut own = json!({
        "destination": route.destination.to_string(),
        "next-hop-interface": interface,
    });
    if let Some(gateway) = route.gateway {
        own["next-hop-address"] = gateway.to_string().into();
    }
    if route.rank > 0 {
        own["metric"] = METRIC_BASE.saturating_add(route.rank).into();
    }
    config.push(own);
    config
}
