//! OpenStack network data that Ironic's schema, cloud-init and glean all take.
//!
//! What each insists on: `network_id` and `services` (Ironic's schema); MAC addresses everywhere
//! (schema, cloud-init for VLANs, glean for bonds); dotted IPv4 masks (schema, glean); the IPv6
//! mask beside the address (glean; the schema takes no `/128`); `routes` on every network (in
//! glean a network inherits from the one before it); MTU (Ironic rebuilds a config drive without);
//! every DNS server at the top (glean looks nowhere else).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::netdata::model::{
    Addressing, Bond, Dns, LinkKind, LinkRef, Network, NetworkData, Route,
};
use crate::netdata::parse::bond_words;

use super::bond::{self, OptionValue};
use super::derived;

/// Metric of the second of several routes to one destination, less one: above the kernel's
/// default, which is 0 for IPv4 and 1024 for IPv6.
const METRIC_BASE: u32 = 1024;

/// Renders network data so that parsing it again gives the same normal form.
#[must_use]
pub fn openstack(data: &NetworkData) -> Value {
    let links: Vec<Value> = (0..data.links.len()).map(|index| link(data, index)).collect();
    let networks: Vec<Value> =
        data.networks.iter().map(|network| self::network(data, network)).collect();
    json!({ "links": links, "networks": networks, "services": document_services(data) })
}

fn link(data: &NetworkData, index: usize) -> Value {
    let link = &data.links[index];
    let mac = derived::mac(data, link).map(|mac| mac.to_string());
    let mut fields = Map::new();
    fields.insert("id".into(), link.id.clone().into());
    if let Some(name) = &link.name {
        fields.insert("name".into(), name.as_str().into());
    }
    match &link.kind {
        LinkKind::Ethernet { hint } => {
            fields.insert("type".into(), (*hint).into());
            fields.insert("ethernet_mac_address".into(), mac.into());
        }
        LinkKind::Bond(bond) => {
            fields.insert("type".into(), "bond".into());
            fields.insert("ethernet_mac_address".into(), mac.into());
            bond_fields(data, bond, &mut fields);
        }
        LinkKind::Vlan { parent, id } => {
            fields.insert("type".into(), "vlan".into());
            fields.insert("vlan_mac_address".into(), mac.into());
            fields.insert("vlan_link".into(), link_id(data, *parent).into());
            fields.insert("vlan_id".into(), id.get().into());
        }
    }
    fields.insert("mtu".into(), derived::mtu(data, index).into());
    if link.mtu.is_none() {
        fields.insert("mtu_unset".into(), true.into());
    }
    Value::Object(fields)
}

fn bond_fields(data: &NetworkData, bond: &Bond, fields: &mut Map<String, Value>) {
    let members: Vec<&str> = bond.members.iter().map(|member| link_id(data, *member)).collect();
    fields.insert("bond_mode".into(), bond_words::mode_name(bond.mode).into());
    fields.insert("bond_links".into(), members.into());
    if let Some(primary) = bond.options.primary {
        fields.insert("bond_primary".into(), primary_text(data, primary).into());
    }
    for (name, value) in bond::options(bond) {
        let value = match value {
            OptionValue::Number(number) => number.into(),
            OptionValue::Flag(flag) => u8::from(flag).into(),
            OptionValue::Word(word) => word.into(),
            OptionValue::List(items) => items.into(),
            OptionValue::Address(mac) => mac.to_string().into(),
        };
        fields.insert(format!("bond_{name}"), value);
    }
}

/// cloud-init hands the primary on as a device name, so the name is better than the id, where it
/// is not another link's id.
fn primary_text(data: &NetworkData, primary: LinkRef) -> &str {
    let name = data.links.get(primary.0).and_then(|link| link.name.as_ref());
    match name {
        Some(name) if data.links.iter().all(|link| link.id != name.as_str()) => name.as_str(),
        Some(_) | None => link_id(data, primary),
    }
}

fn link_id(data: &NetworkData, link: LinkRef) -> &str {
    data.links.get(link.0).map_or("", |link| link.id.as_str())
}

fn network(data: &NetworkData, network: &Network) -> Value {
    let mut fields = Map::new();
    fields.insert("id".into(), network.id.clone().into());
    fields.insert("network_id".into(), network.network_id.clone().into());
    fields.insert("link".into(), link_id(data, network.link).into());
    fields.insert("type".into(), network_type(network.addressing).into());
    if let Addressing::Static(net) = network.addressing {
        fields.insert("ip_address".into(), net.addr().to_string().into());
        fields.insert("netmask".into(), net.netmask().to_string().into());
    }
    let routes: Vec<Value> = network.routes.iter().map(route).collect();
    fields.insert("routes".into(), routes.into());
    fields.insert("services".into(), services(&network.dns.servers).into());
    // cloud-init before 23.1 reads these keys alone.
    if !network.dns.servers.is_empty() {
        let servers: Vec<String> = network.dns.servers.iter().map(ToString::to_string).collect();
        fields.insert("dns_nameservers".into(), servers.into());
    }
    if !network.dns.search.is_empty() {
        fields.insert("dns_search".into(), network.dns.search.clone().into());
    }
    Value::Object(fields)
}

fn network_type(addressing: Addressing) -> &'static str {
    match addressing {
        Addressing::Static(IpNet::V4(_)) => "ipv4",
        Addressing::Static(IpNet::V6(_)) => "ipv6",
        Addressing::Dhcp4 => "ipv4_dhcp",
        Addressing::Dhcp6 => "ipv6_dhcp",
        Addressing::Dhcp6Stateless => "ipv6_dhcpv6-stateless",
        Addressing::Dhcp6Stateful => "ipv6_dhcpv6-stateful",
        Addressing::Slaac => "ipv6_slaac",
    }
}

fn route(route: &Route) -> Value {
    let gateway = route.gateway.unwrap_or(match route.destination {
        IpNet::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpNet::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    });
    let mut value = json!({
        "network": route.destination.network().to_string(),
        "netmask": route.destination.netmask().to_string(),
        "gateway": gateway.to_string(),
    });
    if route.rank > 0 {
        value["metric"] = METRIC_BASE.saturating_add(route.rank).into();
    }
    value
}

fn services<'a>(servers: impl IntoIterator<Item = &'a IpAddr>) -> Vec<Value> {
    let service = |server: &IpAddr| json!({ "type": "dns", "address": server.to_string() });
    servers.into_iter().map(service).collect()
}

/// The document's own servers, then those of networks. Search domains ride on the first.
fn document_services(data: &NetworkData) -> Vec<Value> {
    let of_networks = data.networks.iter().map(|network| &network.dns);
    let mut services =
        services(&derived::union([&data.dns].into_iter().chain(of_networks)).servers);
    let Dns { search, .. } = &data.dns;
    if let (Some(first), false) = (services.first_mut(), search.is_empty()) {
        first["search"] = search.clone().into();
    }
    services
}
