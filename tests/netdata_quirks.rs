//! What producers write is taken: every spelling below means the same document.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use leaseless::netdata::model::{Addressing, BondMode, LinkKind, LinkRef, NetworkData};
use leaseless::netdata::{Parsed, Severity, parse, show};

fn accepted(text: &str) -> NetworkData {
    let Parsed { data, problems } = parse(text);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    data.unwrap_or_else(|| panic!("{text}\n{problems:#?}"))
}

fn network(fields: &str) -> NetworkData {
    accepted(&format!(
        r#"{{"links": [{{"id": "e", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}}],
            "networks": [{{"id": "n", "link": "e", {fields}}}]}}"#
    ))
}

#[test]
fn every_spelling_of_a_prefix() {
    for mask in [
        r#""ip_address": "192.0.2.10/24""#,
        r#""ip_address": "192.0.2.10/24", "netmask": "255.255.255.0""#,
        r#""ip_address": "192.0.2.10/255.255.255.0""#,
        r#""ip_address": "192.0.2.10", "netmask": "255.255.255.0""#,
        r#""ip_address": "192.0.2.10", "netmask": "24""#,
        r#""ip_address": "192.0.2.10", "netmask": "/24""#,
        r#""ip_address": " 192.0.2.10 ", "netmask": 24"#,
    ] {
        for kind in ["ipv4", "static", "IPv4"] {
            let data = network(&format!(r#""type": "{kind}", {mask}"#));
            let expected = Addressing::Static("192.0.2.10/24".parse().unwrap());
            assert_eq!(data.networks[0].addressing, expected, "{mask}");
        }
    }
    for mask in [
        r#""ip_address": "2001:DB8::10/64", "netmask": null"#,
        r#""ip_address": "2001:db8::10", "netmask": "64""#,
        r#""ip_address": "2001:db8::10", "netmask": "ffff:ffff:ffff:ffff::""#,
        r#""ip_address": "2001:db8::10", "netmask": "FFFF:FFFF:FFFF:FFFF:0:0:0:0""#,
    ] {
        for kind in ["ipv6", "static6", "static"] {
            let data = network(&format!(r#""type": "{kind}", {mask}"#));
            let expected = Addressing::Static("2001:db8::10/64".parse().unwrap());
            assert_eq!(data.networks[0].addressing, expected, "{mask}");
        }
    }
}

#[test]
fn every_spelling_of_a_default_route() {
    for (route, family) in [
        (r#""routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}]"#, 4),
        (r#""routes": [{"network": "0.0.0.0/0", "gateway": "192.0.2.1"}]"#, 4),
        (r#""routes": [{"network": "0.0.0.0", "netmask": 0, "gateway": "192.0.2.1"}]"#, 4),
        (r#""gateway": "192.0.2.1""#, 4),
        (
            r#""gateway": "192.0.2.1", "routes": [
                {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}]"#,
            4,
        ),
        (r#""routes": [{"network": "::", "netmask": "::", "gateway": "fe80::1"}]"#, 6),
        (r#""routes": [{"network": "::0", "netmask": "::0", "gateway": "fe80::1"}]"#, 6),
        (r#""routes": [{"network": "::/0", "netmask": "", "gateway": "fe80::1"}]"#, 6),
        (r#""gateway": "fe80::1""#, 6),
    ] {
        let address = if family == 4 {
            r#""type": "ipv4", "ip_address": "192.0.2.10/24""#
        } else {
            r#""type": "ipv6", "ip_address": "2001:db8::10/64""#
        };
        let data = network(&format!("{address}, {route}"));
        let [default] = data.networks[0].routes.as_slice() else { panic!("{route}: {data:?}") };
        assert_eq!(default.destination.prefix_len(), 0, "{route}");
        assert_eq!((default.onlink, default.rank), (false, 0), "{route}");
        let gateway = if family == 4 { "192.0.2.1" } else { "fe80::1" };
        assert_eq!(default.gateway, Some(gateway.parse().unwrap()), "{route}");
    }
}

#[test]
fn a_route_without_a_gateway_is_on_link() {
    for gateway in ["", r#", "gateway": """#, r#", "gateway": null"#, r#", "gateway": "0.0.0.0""#] {
        let data = network(&format!(
            r#""type": "ipv4", "ip_address": "192.0.2.10/24",
               "routes": [{{"network": "10.0.0.0/8"{gateway}}}]"#
        ));
        assert_eq!(data.networks[0].routes[0].gateway, None, "{gateway}");
    }
}

#[test]
fn routes_to_one_destination_are_ranked_by_metric_then_by_order() {
    let data = network(
        r#""type": "ipv4", "ip_address": "192.0.2.10/24", "routes": [
            {"network": "0.0.0.0/0", "gateway": "192.0.2.1", "metric": 200},
            {"network": "0.0.0.0/0", "gateway": "198.51.100.1", "metric": 100},
            {"network": "0.0.0.0/0", "gateway": "192.0.2.3", "metric": "200"}]"#,
    );
    let ranks: Vec<(u32, bool)> =
        data.networks[0].routes.iter().map(|route| (route.rank, route.onlink)).collect();
    assert_eq!(ranks, [(1, false), (0, true), (2, false)]);
}

#[test]
fn every_spelling_of_a_bond() {
    let link = |fields: &str| {
        accepted(&format!(
            r#"{{"links": [
                {{"id": "b", "type": "bond", "bond_links": ["e"], {fields}}},
                {{"id": "e", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}}]}}"#
        ))
    };
    for mode in [r#""802.3ad""#, "4", r#""4""#, r#""802.3AD""#] {
        for policy in [r#""layer3+4""#, "1", r#""1""#] {
            let data = link(&format!(
                r#""bond_mode": {mode}, "bond_xmit_hash_policy": {policy}, "bond_miimon": "100",
                   "bond_lacp_rate": "", "bond_updelay": null"#
            ));
            let LinkKind::Bond(bond) = &data.links[0].kind else { panic!("{data:?}") };
            assert_eq!(bond.mode, BondMode::Ieee8023ad);
            let options = &bond.options;
            assert_eq!((options.xmit_hash_policy, options.miimon), (Some(1), Some(100)));
            assert_eq!((options.lacp_rate, options.updelay), (None, None));
            assert_eq!(data.links[0].mac, data.links[1].mac, "the first member's, explicitly");
        }
    }
    for targets in [r#""192.0.2.1,192.0.2.2""#, r#"["192.0.2.1", "192.0.2.2"]"#] {
        let data = link(&format!(
            r#""bond_mode": 1, "bond_arp_interval": 100, "bond_arp_ip_target": {targets},
               "bond_primary": "e", "bond_fail_over_mac": "active""#
        ));
        let LinkKind::Bond(bond) = &data.links[0].kind else { panic!("{data:?}") };
        assert_eq!(bond.options.arp_ip_target.len(), 2);
        assert_eq!(bond.options.primary, Some(LinkRef(1)));
        assert_eq!(data.links[0].mac, None, "it is that of the active member");
    }
}

#[test]
fn every_kind_of_nic_is_a_nic() {
    for (kind, hint) in [
        ("\"phy\"", "phy"),
        ("\"bridge\"", "bridge"),
        ("\"OVS\"", "ovs"),
        ("null", "phy"),
        ("\"ethernet\"", "phy"),
        ("\"bgpovs\"", "phy"),
        ("\"cascading\"", "phy"),
    ] {
        let parsed = parse(&format!(
            r#"{{"links": [{{"id": 7, "type": {kind}, "mtu": null, "name": "",
                "ethernet_mac_address": "5254.0000.0001"}}], "networks": null}}"#
        ));
        assert_eq!(parsed.problems, [], "{kind}");
        let link = &parsed.data.unwrap().links[0];
        assert_eq!((link.id.as_str(), &link.kind), ("7", &LinkKind::Ethernet { hint }));
    }
}

#[test]
fn a_vlan_with_its_parents_address_inherits_it() {
    for mac in ["null", "\"\"", "\"52:54:00:00:00:01\"", "\"52-54-00-00-00-01\""] {
        let data = accepted(&format!(
            r#"{{"links": [
                {{"id": "v", "type": "vlan", "vlan_link": "e", "vlan_id": "100",
                  "vlan_mac_address": {mac}}},
                {{"id": "e", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}}]}}"#
        ));
        assert_eq!(data.links[0].mac, None, "{mac}");
    }
}

#[test]
fn a_repeated_network_id_is_no_error_and_becomes_unique() {
    let one = r#"{"id": "n", "link": "e", "type": "ipv4_dhcp"}"#;
    let two = r#"{"id": "n", "link": "e", "type": "ipv6_slaac", "network_id": "x"}"#;
    let data = accepted(&format!(
        r#"{{"links": [{{"id": "e", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}}],
            "networks": [{one}, {two}]}}"#
    ));
    let ids: Vec<(&str, &str)> = data
        .networks
        .iter()
        .map(|network| (network.id.as_str(), network.network_id.as_str()))
        .collect();
    assert_eq!(ids, [("n", "n"), ("n-2", "x")]);
}

/// YAML types bare words: numbers, `802.3ad`, a MAC without separators.
const YAML: &str = r"
# a comment
base: &nic {type: phy, mtu: 9000}
links:
- <<: *nic
  id: 1
  ethernet_mac_address: 525400000001
- {id: 2, type: phy, ethernet_mac_address: 52:54:00:00:00:02, mtu: 9000}
- id: bond0
  type: bond
  bond_mode: 802.3ad
  bond_links: [1, 2]
networks:
- id: 1
  type: ipv4
  link: bond0
  ip_address: 192.0.2.10
  netmask: 24
  gateway: 192.0.2.1
services: []
";

#[test]
fn yaml_and_secrets_hold_the_same_document() {
    let plain = accepted(YAML);
    assert_eq!(
        show::text(&plain),
        "bond0  bond 802.3ad  52:54:00:00:00:01\n  member 1  NIC  52:54:00:00:00:01  MTU 9000\n  \
         member 2  NIC  52:54:00:00:00:02  MTU 9000\n  192.0.2.10/24\n    default via 192.0.2.1\n"
    );
    let indented: String = YAML.lines().map(|line| format!("    {line}\n")).collect();
    let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, YAML);
    for (key, section) in [("networkData", "stringData"), ("value", "stringData")] {
        let secret = format!("apiVersion: v1\nkind: Secret\n{section}:\n  {key}: |\n{indented}");
        assert_eq!(accepted(&secret), plain);
        let many = format!("kind: BareMetalHost\n---\n{secret}---\n");
        assert_eq!(accepted(&many), plain, "the only Secret of a stream");
        let encoded = format!("kind: Secret\ndata:\n  {key}: {base64}\n");
        assert_eq!(accepted(&encoded), plain);
    }
    let both =
        format!("kind: Secret\nstringData:\n  value: nonsense\n  networkData: |\n{indented}");
    assert_eq!(accepted(&both), plain, "networkData before value");
}

#[test]
fn a_name_stands_for_an_id_with_a_warning() {
    let parsed = parse(
        r#"{"links": [
            {"id": "l0", "name": "mgmt", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}],
            "networks": [{"id": "n", "link": "mgmt", "type": "ipv6_slaac"}]}"#,
    );
    assert_eq!(parsed.data.unwrap().networks[0].link, LinkRef(0));
    let found: Vec<(Severity, &str)> =
        parsed.problems.iter().map(|p| (p.severity, p.path.as_str())).collect();
    assert_eq!(found, [(Severity::Warning, "networks[0].link")]);
}

#[test]
fn dns_comes_from_every_place_and_belongs_to_its_network() {
    let data = accepted(
        r#"{"links": [{"id": "e", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}],
            "networks": [{"id": "n", "link": "e", "type": "ipv4", "ip_address": "192.0.2.10/24",
              "dns_nameservers": "192.0.2.3", "dns_search": "a.example b.example",
              "services": [{"type": "dns", "address": "192.0.2.2"}],
              "routes": [{"network": "0.0.0.0/0", "gateway": "192.0.2.254",
                "services": [{"type": "dns", "address": "192.0.2.1"}]}]}],
            "services": [{"type": "dns", "address": "192.0.2.2"},
                         {"type": "dns", "address": "192.0.2.9", "search": ["c.example"]}]}"#,
    );
    let dns = &data.networks[0].dns;
    let servers: Vec<String> = dns.servers.iter().map(ToString::to_string).collect();
    assert_eq!(servers, ["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    assert_eq!(dns.search, ["a.example", "b.example"]);
    assert_eq!(data.dns.servers, ["192.0.2.9".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(data.dns.search, ["c.example"]);
}
