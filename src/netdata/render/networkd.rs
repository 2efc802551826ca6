//! systemd-networkd: `.netdev` files for bonds and VLANs, a `.network` file for every link
//! (`systemd.netdev(5)`, `systemd.network(5)`).

use std::fmt::Write as _;

use ipnet::IpNet;

use crate::netdata::model::{
    Addressing, Bond, Link, LinkKind, LinkRef, Network, NetworkData, Route,
};
use crate::netdata::parse::bond_words;

use super::bond::{self, OptionValue};
use super::{derived, names};

/// Metric of the second of several routes to one destination, less one.
const METRIC_BASE: u32 = 1024;

/// Renders files by name, to be put into `/etc/systemd/network`. A NIC is matched by its
/// permanent address. What networkd can't set of a bond stands there as a comment.
#[must_use]
pub fn networkd(data: &NetworkData) -> Vec<(String, String)> {
    let names = names::device_names(data);
    let mut files = Vec::new();
    for (index, link) in data.links.iter().enumerate() {
        let writer = Writer { data, names: &names, index, link };
        match &link.kind {
            LinkKind::Ethernet { .. } => {}
            LinkKind::Bond(bond) => {
                files.push((format!("10-{}.netdev", names[index]), writer.bond(bond)));
            }
            LinkKind::Vlan { id, .. } => {
                let text = writer.netdev("vlan") + &format!("\n[VLAN]\nId={id}\n");
                files.push((format!("20-{}.netdev", names[index]), text));
            }
        }
        files.push((format!("30-{}.network", names[index]), writer.network()));
    }
    files
}

struct Writer<'d> {
    data: &'d NetworkData,
    names: &'d [String],
    index: usize,
    link: &'d Link,
}

impl Writer<'_> {
    fn netdev(&self, kind: &str) -> String {
        let mut text = format!("[NetDev]\nName={}\nKind={kind}\n", self.names[self.index]);
        if let Some(mac) = self.link.mac {
            writeln!(text, "MACAddress={mac}").ok();
        }
        text
    }

    fn bond(&self, bond: &Bond) -> String {
        let mut text = self.netdev("bond");
        writeln!(text, "\n[Bond]\nMode={}", bond_words::mode_name(bond.mode)).ok();
        if bond.options.miimon.is_none() && bond.options.arp_interval.unwrap_or(0) == 0 {
            // Without a monitor a bond never notices that a member failed.
            text.push_str("MIIMonitorSec=100ms\n");
        }
        for (name, value) in bond::options(bond) {
            match bond_key(name).filter(|_| networkd_knows(&value)) {
                Some((key, unit)) => writeln!(text, "{key}={}{unit}", bond_value(&value)).ok(),
                None => writeln!(text, "# networkd has no setting for {name}={value}").ok(),
            };
        }
        text
    }

    fn network(&self) -> String {
        let name = &self.names[self.index];
        let mut text = match (&self.link.kind, self.link.mac) {
            (LinkKind::Ethernet { .. }, Some(mac)) => {
                format!("[Match]\nPermanentMACAddress={mac}\n")
            }
            (LinkKind::Ethernet { .. } | LinkKind::Bond(_) | LinkKind::Vlan { .. }, _) => {
                format!("[Match]\nName={name}\n")
            }
        };
        if let Some(mtu) = derived::raised_mtu(self.data, self.index) {
            writeln!(text, "\n[Link]\nMTUBytes={mtu}").ok();
        }
        text.push_str("\n[Network]\n");
        if let Some((master, bond)) = self.master() {
            writeln!(text, "Bond={}", self.names[master]).ok();
            if bond.options.primary == Some(LinkRef(self.index)) {
                text.push_str("PrimarySlave=yes\n");
            }
            return text;
        }
        for (other, link) in self.data.links.iter().enumerate() {
            if matches!(link.kind, LinkKind::Vlan { parent, .. } if parent.0 == self.index) {
                writeln!(text, "VLAN={}", self.names[other]).ok();
            }
        }
        self.layer_3(&mut text);
        text
    }

    fn master(&self) -> Option<(usize, &Bond)> {
        self.data.links.iter().enumerate().find_map(|(index, link)| match &link.kind {
            LinkKind::Bond(bond) if bond.members.contains(&LinkRef(self.index)) => {
                Some((index, bond.as_ref()))
            }
            LinkKind::Bond(_) | LinkKind::Ethernet { .. } | LinkKind::Vlan { .. } => None,
        })
    }

    fn layer_3(&self, text: &mut String) {
        let on = |network: &&Network| network.link == LinkRef(self.index);
        let networks: Vec<&Network> = self.data.networks.iter().filter(on).collect();
        let how = |wanted: Addressing| networks.iter().any(|n| n.addressing == wanted);
        writeln!(
            text,
            "DHCP={}",
            match (how(Addressing::Dhcp4), how(Addressing::Dhcp6Stateful)) {
                (true, true) => "yes",
                (true, false) => "ipv4",
                (false, true) => "ipv6",
                (false, false) => "no",
            }
        )
        .ok();
        writeln!(text, "IPv6AcceptRA={}", if accepts_ra(&networks) { "yes" } else { "no" }).ok();
        self.dns(&networks, text);
        let dynamic = how(Addressing::Dhcp6) || how(Addressing::Dhcp6Stateless);
        if how(Addressing::Slaac) && !dynamic {
            text.push_str("\n[IPv6AcceptRA]\nDHCPv6Client=no\n");
        }
        for network in &networks {
            if let Addressing::Static(net) = network.addressing {
                writeln!(text, "\n[Address]\nAddress={net}").ok();
            }
        }
        let is_fixed = |network: &&Network| matches!(network.addressing, Addressing::Static(_));
        let has_fixed = networks.iter().any(is_fixed);
        for route in networks.iter().flat_map(|network| &network.routes) {
            write_route(route, has_fixed, text);
        }
    }

    /// Servers of the document belong to no link; networkd wants one, so each link with a
    /// network gets them.
    fn dns(&self, networks: &[&Network], text: &mut String) {
        if networks.is_empty() {
            return;
        }
        let dns = networks.iter().map(|network| &network.dns).chain([&self.data.dns]);
        let dns = derived::union(dns);
        for server in &dns.servers {
            writeln!(text, "DNS={server}").ok();
        }
        if !dns.search.is_empty() {
            writeln!(text, "Domains={}", dns.search.join(" ")).ok();
        }
    }
}

/// Advertisements are refused where the document has no IPv6, or brings its own default route.
fn accepts_ra(networks: &[&Network]) -> bool {
    networks.iter().any(|network| match network.addressing {
        Addressing::Static(IpNet::V4(_)) | Addressing::Dhcp4 => false,
        Addressing::Static(IpNet::V6(_)) => {
            let is_default = |route: &Route| route.destination.prefix_len() == 0;
            !network.routes.iter().any(is_default)
        }
        Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful
        | Addressing::Slaac => true,
    })
}

/// Without a fixed address networkd takes every gateway to be on-link, and wants it said.
fn write_route(route: &Route, has_fixed: bool, text: &mut String) {
    writeln!(text, "\n[Route]\nDestination={}", route.destination).ok();
    match route.gateway {
        Some(gateway) => writeln!(text, "Gateway={gateway}").ok(),
        // IPv6 routes have no scope.
        None if route.destination.addr().is_ipv4() => writeln!(text, "Scope=link").ok(),
        None => None,
    };
    if route.gateway.is_some() && (route.onlink || !has_fixed) {
        text.push_str("GatewayOnLink=yes\n");
    }
    if route.rank > 0 {
        writeln!(text, "Metric={}", METRIC_BASE.saturating_add(route.rank)).ok();
    }
}

/// networkd's key for a bond option, and the unit that its value needs.
fn bond_key(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "miimon" => ("MIIMonitorSec", "ms"),
        "updelay" => ("UpDelaySec", "ms"),
        "downdelay" => ("DownDelaySec", "ms"),
        "arp_interval" => ("ARPIntervalSec", "ms"),
        "lp_interval" => ("LearnPacketIntervalSec", "s"),
        "arp_ip_target" => ("ARPIPTargets", ""),
        "arp_validate" => ("ARPValidate", ""),
        "arp_all_targets" => ("ARPAllTargets", ""),
        "primary_reselect" => ("PrimaryReselectPolicy", ""),
        "fail_over_mac" => ("FailOverMACPolicy", ""),
        "xmit_hash_policy" => ("TransmitHashPolicy", ""),
        "resend_igmp" => ("ResendIGMP", ""),
        "num_peer_notif" => ("GratuitousARP", ""),
        "all_slaves_active" => ("AllSlavesActive", ""),
        "min_links" => ("MinLinks", ""),
        "packets_per_slave" => ("PacketsPerSlave", ""),
        "lacp_rate" => ("LACPTransmitRate", ""),
        "ad_select" => ("AdSelect", ""),
        "ad_actor_sys_prio" => ("AdActorSystemPriority", ""),
        "ad_user_port_key" => ("AdUserPortKey", ""),
        "ad_actor_system" => ("AdActorSystem", ""),
        "tlb_dynamic_lb" => ("DynamicTransmitLoadBalancing", ""),
        _ => return None,
    })
}

/// Values of the kernel that networkd (252) has no word for.
fn networkd_knows(value: &OptionValue) -> bool {
    let unknown = ["vlan+srcmac", "filter", "filter_active", "filter_backup"];
    !matches!(value, OptionValue::Word(word) if unknown.contains(word))
}

fn bond_value(value: &OptionValue) -> String {
    match value {
        OptionValue::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        OptionValue::List(items) => items.join(" "),
        OptionValue::Number(_) | OptionValue::Word(_) | OptionValue::Address(_) => {
            value.to_string()
        }
    }
}
