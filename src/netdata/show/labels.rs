//! The words for links and networks, the same in every picture.

use std::net::IpAddr;

use crate::netdata::model::{Addressing, Dns, LinkKind, LinkRef, Network, NetworkData, Route};
use crate::netdata::parse::bond_words;
use crate::netdata::render::bond_options;

/// Longest id in a picture, in characters: producers use UUIDs, and longer.
const ID_LIMIT: usize = 48;

/// What a link is called: its name, else its id.
pub(super) fn link_name(data: &NetworkData, link: LinkRef) -> String {
    let link = &data.links[link.0];
    short(link.name.as_ref().map_or(link.id.as_str(), |name| name.as_str()))
}

/// What a link is, in a word or two.
pub(super) fn link_kind(data: &NetworkData, link: LinkRef) -> String {
    match &data.links[link.0].kind {
        LinkKind::Ethernet { .. } => "NIC".to_owned(),
        LinkKind::Bond(bond) => format!("bond {}", bond_words::mode_name(bond.mode)),
        LinkKind::Vlan { id, .. } => format!("VLAN {id}"),
    }
}

/// Address, MTU and options of a link.
pub(super) fn link_details(data: &NetworkData, link: LinkRef) -> Vec<String> {
    let link = &data.links[link.0];
    let mut details: Vec<String> = link.mac.iter().map(ToString::to_string).collect();
    details.extend(link.mtu.map(|mtu| format!("MTU {mtu}")));
    if let LinkKind::Bond(bond) = &link.kind {
        if let Some(primary) = bond.options.primary {
            details.push(format!("primary {}", link_name(data, primary)));
        }
        let options = bond_options(bond).into_iter();
        details.extend(options.map(|(name, value)| format!("{name} {value}")));
    }
    details
}

/// The address of a network, or how it comes about.
pub(super) fn address(network: &Network) -> String {
    match network.addressing {
        Addressing::Static(net) => net.to_string(),
        Addressing::Dhcp4 => "DHCPv4".to_owned(),
        Addressing::Dhcp6 => "DHCPv6".to_owned(),
        Addressing::Dhcp6Stateless => "SLAAC and DHCPv6 options".to_owned(),
        Addressing::Dhcp6Stateful => "DHCPv6 (stateful)".to_owned(),
        Addressing::Slaac => "SLAAC".to_owned(),
    }
}

/// `default via 192.0.2.1`, with what is special about it.
pub(super) fn route(route: &Route) -> String {
    let mut text = match route.destination.prefix_len() {
        0 => "default".to_owned(),
        _ => route.destination.to_string(),
    };
    match route.gateway {
        Some(gateway) => text.push_str(&format!(" via {gateway}")),
        None => text.push_str(" on-link"),
    }
    if route.onlink {
        text.push_str(" (outside the subnet)");
    }
    if route.rank > 0 {
        text.push_str(&format!(" (choice {})", route.rank + 1));
    }
    text
}

/// `DNS 192.0.2.53, 2001:db8::53` and `search example.com`, where there are any.
pub(super) fn dns(dns: &Dns) -> Vec<String> {
    let servers: Vec<String> = dns.servers.iter().map(IpAddr::to_string).collect();
    let line = |word: &str, items: &[String]| {
        (!items.is_empty()).then(|| format!("{word} {}", items.join(", ")))
    };
    line("DNS", &servers).into_iter().chain(line("search", &dns.search)).collect()
}

fn short(text: &str) -> String {
    match text.char_indices().nth(ID_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
