//! Bad networks, services and whole documents get errors, not guesses: each row is a mistake, where
//! it is reported, and what is said of it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod netdata_rows;

use leaseless::netdata::Severity::{Error, Warning};
use leaseless::netdata::{MAX_BYTES, parse};
use netdata_rows::{LINKS, Row, hold, problems};

const NETWORKS_AND_ROUTES: &[Row] = &[
    (r#"{"ip_address": "192.0.2.10"}"#, &[(Error, "networks[0].netmask", "has no prefix")]),
    (
        r#"{"ip_address": "192.0.2.10", "netmask": ""}"#,
        &[(Error, "networks[0].netmask", "has no prefix")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "netmask": "255.255.0.0"}"#,
        &[(Error, "networks[0].netmask", "a mask of /16")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/33"}"#,
        &[(Error, "networks[0].ip_address", "/33 is no IPv4 prefix")],
    ),
    (
        r#"{"ip_address": "192.0.2.10", "netmask": "255.0.255.0"}"#,
        &[(Error, "networks[0].netmask", "not an IPv4 mask")],
    ),
    (
        r#"{"ip_address": "192.0.2.10", "netmask": 33}"#,
        &[(Error, "networks[0].netmask", "not an IPv4 mask")],
    ),
    (
        r#"{"ip_address": "192.0.2.10", "netmask": "255.255.0.0zzz"}"#,
        &[(Error, "networks[0].netmask", "not an IPv4 mask")],
    ),
    (r#"{}"#, &[(Error, "networks[0].ip_address", "missing")]),
    (
        r#"{"ip_address": "192.0.2.010/24"}"#,
        &[(Error, "networks[0].ip_address", "not an IP address")],
    ),
    (
        r#"{"ip_address": "2001:db8::1/64"}"#,
        &[(Error, "networks[0].ip_address", "an IPv6 address where an IPv4 one")],
    ),
    (
        r#"{"type": "ipv6", "ip_address": "::ffff:192.0.2.1/96"}"#,
        &[(Error, "networks[0].ip_address", "IPv4-mapped")],
    ),
    (
        r#"{"ip_address": "192.0.2.0/24"}"#,
        &[(Error, "networks[0].ip_address", "network's own address")],
    ),
    (r#"{"ip_address": "192.0.2.255/24"}"#, &[(Error, "networks[0].ip_address", "broadcast")]),
    (r#"{"ip_address": "224.0.0.1/24"}"#, &[(Error, "networks[0].ip_address", "multicast")]),
    (r#"{"ip_address": "0.0.0.0/24"}"#, &[(Error, "networks[0].ip_address", "unspecified")]),
    (r#"{"ip_address": "127.0.0.1/8"}"#, &[(Error, "networks[0].ip_address", "loopback")]),
    (
        r#"{"type": "ipv6", "ip_address": "::1/128"}"#,
        &[(Error, "networks[0].ip_address", "loopback")],
    ),
    (
        r#"{"type": "ipv6", "ip_address": "ff02::1/64"}"#,
        &[(Error, "networks[0].ip_address", "multicast")],
    ),
    (
        r#"{"type": "ipv6", "ip_address": "2001:db8::/64"}"#,
        &[(Warning, "networks[0].ip_address", "subnet-router")],
    ),
    (r#"{"type": "ipv4_dhcp"}"#, &[(Warning, "networks[0].type", "needs a DHCP server")]),
    (r#"{"type": "ipv6_slaac"}"#, &[]),
    (
        r#"{"type": "ipv5", "ip_address": "192.0.2.10/24"}"#,
        &[(Error, "networks[0].type", "not a type of network")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "gateway": "192.0.2.10"}"#,
        &[(Error, "networks[0].gateway", "own address")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "gateway": "192.0.2.255"}"#,
        &[(Error, "networks[0].gateway", "the broadcast address of 192.0.2.0/24")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "gateway": "fe80::1"}"#,
        &[(Error, "networks[0].gateway", "an IPv6 address where an IPv4 one")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "gateway": "224.0.0.1"}"#,
        &[(Error, "networks[0].gateway", "multicast")],
    ),
    (
        r#"{"type": "ipv6", "ip_address": "2001:db8::2/64", "gateway": "fe80::1%eth2"}"#,
        &[(Warning, "networks[0].gateway", "zone is ignored")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "routes": [{"network": "10.0.0.0", "gateway": "192.0.2.1"}]}"#,
        &[(Error, "networks[0].routes[0].netmask", "has no prefix")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "routes": [{"network": "10.1.2.3/8", "gateway": "192.0.2.1"}]}"#,
        &[(Warning, "networks[0].routes[0].network", "bits set beyond its prefix")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "routes": [{"netmask": "0.0.0.0", "gateway": "192.0.2.1"}]}"#,
        &[(Error, "networks[0].routes[0].network", "missing")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "routes": [{"network": "::", "netmask": "::", "gateway": "fe80::1"}]}"#,
        &[
            (Error, "networks[0].routes[0].network", "an IPv6 address where an IPv4 one"),
            (Error, "networks[0].routes[0].gateway", "an IPv6 address where an IPv4 one"),
        ],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "routes": [
            {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"},
            {"network": "0.0.0.0", "netmask": 0, "gateway": "192.0.2.2"}]}"#,
        &[(Warning, "networks[0].routes[1]", "another default route")],
    ),
    (
        r#"{"ip_adress": "192.0.2.10/24"}"#,
        &[
            (Error, "networks[0].ip_address", "missing"),
            (Warning, "networks[0].ip_adress", "unknown key"),
        ],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "routes": {"network": "0.0.0.0"}}"#,
        &[(Error, "networks[0].routes", "an object where a list belongs")],
    ),
    (
        r#"{"ip_address": ["192.0.2.10/24"]}"#,
        &[(Error, "networks[0].ip_address", "a list where a text belongs")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "accept-ra": false}"#,
        &[(Warning, "networks[0].accept-ra", "ignored")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "link": "bond0.7"}"#,
        &[(Error, "networks[0].link", "no link has this id")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "link": "eth0"}"#,
        &[(Error, "networks[0].link", "a member of bond0")],
    ),
    (r#"{"ip_address": "192.0.2.10/24", "link": null}"#, &[(Error, "networks[0].link", "missing")]),
    (
        r#"{"ip_address": "192.0.2.10/24", "dns_nameservers": ["192.0.2.53", "dns.example.com"]}"#,
        &[(Error, "networks[0].dns_nameservers[1]", "not an IP address")],
    ),
    (
        r#"{"ip_address": "192.0.2.10/24", "dns_search": "example.com bad..name"}"#,
        &[(Error, "networks[0].dns_search", "not a domain name")],
    ),
];

#[test]
fn networks_and_routes() {
    for (network, expected) in NETWORKS_AND_ROUTES {
        let mut network: serde_json::Value = serde_json::from_str(network).unwrap();
        for (key, value) in [("id", "n"), ("type", "ipv4"), ("link", "eth2")] {
            if network.get(key).is_none() {
                network[key] = value.into();
            }
        }
        let row = format!("[{network}]");
        hold(&problems(LINKS, &row, "[]"), expected, &row);
    }
}

#[test]
fn an_address_claimed_twice_anywhere_is_an_error() {
    let networks = r#"[
        {"id": "a", "type": "ipv4", "link": "eth2", "ip_address": "192.0.2.10/24"},
        {"id": "b", "type": "ipv6", "link": "eth2", "ip_address": "fe80::1/64"},
        {"id": "c", "type": "ipv6", "link": "bond0", "ip_address": "fe80::1/64"},
        {"id": "d", "type": "ipv4", "link": "vlan7", "ip_address": "192.0.2.10/16"}]"#;
    let expected =
        [(Error, "networks[3].ip_address", "networks[0] claims this address too, on eth2")];
    hold(&problems(LINKS, networks, "[]"), &expected, networks);
}

const SERVICES: &[Row] = &[
    (r#"{"type": "ntp", "address": "192.0.2.1"}"#, &[(Warning, "services[0].type", "only dns")]),
    (r#"{"type": "dns"}"#, &[(Error, "services[0].address", "missing")]),
    (r#"{"address": "192.0.2.1"}"#, &[(Error, "services[0].type", "missing")]),
    (r#"{"type": "dns", "address": "0.0.0.0"}"#, &[(Error, "services[0].address", "unspecified")]),
    (r#"{"type": "dns", "address": "fe80::1"}"#, &[(Error, "services[0].address", "link-local")]),
    (
        r#"{"type": "dns", "address": "127.0.0.53"}"#,
        &[(Warning, "services[0].address", "loopback")],
    ),
    (r#"{"type": "dns", "address": "192.0.2.1", "search": "a\nb c"}"#, &[]),
    (
        r#"{"type": "dns", "address": "192.0.2.1", "search": ["a b"]}"#,
        &[(Error, "services[0].search[0]", "not a domain")],
    ),
];

#[test]
fn services() {
    for (service, expected) in SERVICES {
        hold(&problems("[]", "[]", &format!("[{service}]")), expected, service);
    }
}

#[test]
fn whole_documents() {
    let long = format!("# {}", "x".repeat(MAX_BYTES));
    let bomb: String =
        (1..9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            text + &format!("a{level}: &a{level} [{below}]\n")
        });
    let wide = format!("a: &a [{}]\nb: [{}]\n", "x, ".repeat(1000), "*a, ".repeat(300));
    let deep = format!("links: {}{}", "[".repeat(100), "]".repeat(100));
    let rows: &[(&str, &str, &str)] = &[
        ("", "$", "empty"),
        ("{\"links\": [}", "$", "not JSON"),
        ("links: [", "$", "not YAML"),
        ("links: !own [a]\n", "$", "not YAML"),
        ("just words", "$", "a text where an object belongs"),
        ("[]", "$", "a list where an object belongs"),
        ("{}", "$", "not network data"),
        ("linkz: []\n", "$", "not network data"),
        ("interfaces: []\n", "$", "nmstate"),
        ("network: {version: 2}\n", "$", "netplan"),
        ("network_data: {links: []}\n", "$", "one level too deep"),
        ("links: eth0\n", "links", "a text where a list belongs"),
        ("links: []\n---\nlinks: []\n", "$", "several documents"),
        (&long, "$", "more than 1048576"),
        (&bomb, "$", "repetition limit"),
        (&wide, "$", "aliases expanded"),
        (&deep, "$", "nested deeper"),
    ];
    for (text, path, message) in rows {
        let problems = parse(text).problems;
        let row = text.chars().take(60).collect::<String>();
        hold(&problems, &[(Error, path, message)], &row);
    }
}

#[test]
fn secrets() {
    let rows: &[(&str, &str, &str)] = &[
        ("kind: Secret\n", "stringData", "holds nothing"),
        (
            "kind: Secret\nstringData: {nmstate: x}\ndata: {userData: eA==}\n",
            "stringData",
            "neither networkData nor value, only nmstate, userData",
        ),
        ("kind: Secret\ndata: {networkData: '%%%'}\n", "data.networkData", "not the base64"),
        ("kind: Secret\ndata: {networkData: ''}\n", "data.networkData", "empty"),
        (
            "kind: Secret\nstringData: {networkData: {links: []}}\n",
            "stringData.networkData",
            "an object where a text belongs",
        ),
        ("kind: Secret\nstringData: {networkData: '{'}\n", "stringData.networkData", "not JSON"),
        ("kind: BareMetalHost\n", "kind", "not a Secret"),
    ];
    for (text, path, message) in rows {
        hold(&parse(text).problems, &[(Error, path, message)], text);
    }
}

#[test]
fn every_error_of_a_document_comes_at_once() {
    let text = "
links:
- {id: a, type: phy, ethernet_mac_address: nonsense, mtu: -1}
- {id: b, type: vlan, vlan_link: c, vlan_id: 5000}
networks:
- {id: n, type: ipv4, link: d, ip_address: 192.0.2.1, gateway: x}
services:
- {type: dns, address: y}
";
    let paths: Vec<String> = parse(text).problems.into_iter().map(|p| p.path).collect();
    assert_eq!(
        paths,
        [
            "links[0].ethernet_mac_address",
            "links[0].mtu",
            "links[1].vlan_id",
            "links[1].vlan_link",
            "networks[0].link",
            "networks[0].netmask",
            "networks[0].gateway",
            "services[0].address",
        ]
    );
}
