//! The normal form as JSON, for programs: references resolved, prefixes joined, ranks settled.

use serde_json::{Map, Value, json};

use crate::netdata::model::{Dns, LinkKind, LinkRef, Network, NetworkData, Route};
use crate::netdata::parse::bond_words;
use crate::netdata::render::bond_options;

use super::labels;

/// Renders the normal form. Links are named by id; unset fields are left out.
#[must_use]
pub fn normal(data: &NetworkData) -> Value {
    let links: Vec<Value> = (0..data.links.len()).map(|index| link(data, index)).collect();
    let networks: Vec<Value> =
        data.networks.iter().map(|network| self::network(data, network)).collect();
    json!({ "links": links, "networks": networks, "dns": dns(&data.dns) })
}

fn link(data: &NetworkData, index: usize) -> Value {
    let link = &data.links[index];
    let id_of = |link: LinkRef| data.links[link.0].id.clone();
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| {
        fields.insert(key.to_owned(), value);
    };
    set("id", link.id.clone().into());
    match &link.kind {
        LinkKind::Ethernet { hint } => {
            set("kind", "nic".into());
            set("type", (*hint).into());
        }
        LinkKind::Bond(bond) => {
            set("kind", "bond".into());
            set("mode", bond_words::mode_name(bond.mode).into());
            set("members", bond.members.iter().copied().map(id_of).collect());
            let mut options: Map<String, Value> = bond_options(bond)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_string().into()))
                .collect();
            if let Some(primary) = bond.options.primary {
                options.insert("primary".to_owned(), id_of(primary).into());
            }
            set("options", options.into());
        }
        LinkKind::Vlan { parent, id } => {
            set("kind", "vlan".into());
            set("parent", id_of(*parent).into());
            set("vlan_id", id.get().into());
        }
    }
    let optional = [
        ("name", link.name.as_ref().map(|name| name.as_str().into())),
        ("mac", link.mac.map(|mac| mac.to_string().into())),
        ("mtu", link.mtu.map(Value::from)),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            set(key, value);
        }
    }
    fields.into()
}

fn network(data: &NetworkData, network: &Network) -> Value {
    json!({
        "id": network.id,
        "network_id": network.network_id,
        "link": data.links[network.link.0].id,
        "address": labels::address(network),
        "routes": network.routes.iter().map(route).collect::<Vec<Value>>(),
        "dns": dns(&network.dns),
    })
}

fn route(route: &Route) -> Value {
    json!({
        "destination": route.destination.to_string(),
        "gateway": route.gateway.map(|gateway| gateway.to_string()),
        "onlink": route.onlink,
        "rank": route.rank,
    })
}

fn dns(dns: &Dns) -> Value {
    let servers: Vec<String> = dns.servers.iter().map(ToString::to_string).collect();
    json!({ "servers": servers, "search": dns.search })
}
