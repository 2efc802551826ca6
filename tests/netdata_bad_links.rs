//! Bad links get errors, not guesses: each row is a mistake, where it is reported, and what is said
//! of it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod netdata_rows;

use leaseless::netdata::Severity::{self, Error, Warning};
use netdata_rows::{LINKS, Row, hold, problems};

const LINKS_ALONE: &[Row] = &[
    (
        r#"{"type": "phy"}"#,
        &[(Error, "links[0].id", "missing"), (Error, "links[0].ethernet_mac_address", "missing")],
    ),
    (
        r#"{"id": "a", "type": "phy", "mac_address": "52:54:00:00:00:01"}"#,
        &[
            (Error, "links[0].ethernet_mac_address", "missing"),
            (Warning, "links[0].mac_address", "unknown key"),
        ],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00"}"#,
        &[(Error, "links[0].ethernet_mac_address", "not a MAC address")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "00:00:00:00:00:00"}"#,
        &[(Error, "links[0].ethernet_mac_address", "all zero")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "01:00:5e:00:00:01"}"#,
        &[(Warning, "links[0].ethernet_mac_address", "group bit")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1"}"#,
        &[(Warning, "links[0].ethernet_mac_address", "InfiniBand")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "mtu": 1500.5}"#,
        &[(Error, "links[0].mtu", "not a whole number")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "mtu": "jumbo"}"#,
        &[(Error, "links[0].mtu", "not a whole number")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "mtu": 0}"#,
        &[(Error, "links[0].mtu", "out of range")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "name": "a name too long for Linux"}"#,
        &[(Warning, "links[0].name", "not a name that Linux takes")],
    ),
    (
        r#"{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "bond_links": ["b"]}"#,
        &[(Warning, "links[0].bond_links", "the link is a NIC")],
    ),
    (
        r#"{"id": "a", "type": "vlna", "vlan_id": 5}"#,
        &[(Error, "links[0].type", "not a type of link")],
    ),
    (
        r#"{"id": "a", "type": "physical", "ethernet_mac_address": "52:54:00:00:00:01"}"#,
        &[(Warning, "links[0].type", "taken as a NIC")],
    ),
    (r#""eth0""#, &[(Error, "links[0]", "a text where an object belongs")]),
    (
        r#"{"id": "a", "id": "b", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}"#,
        &[(Error, "links[0].id", "stands twice")],
    ),
];

#[test]
fn links_alone() {
    for (link, expected) in LINKS_ALONE {
        let links = format!("[{link}]");
        hold(&problems(&links, "[]", "[]"), expected, &links);
    }
}

const LINKS_ON_LINKS: &[Row] = &[
    (
        r#"{"id": "eth2", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:09"}"#,
        &[(Error, "links[5].id", "links[4] has the same id")],
    ),
    (
        r#"{"id": "x", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:03"}"#,
        &[(Error, "links[5].ethernet_mac_address", "links[4] is the NIC")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "eth9", "vlan_id": 5}"#,
        &[(Error, "links[5].vlan_link", "no link has this id")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "eth2", "vlan_id": 4095}"#,
        &[(Error, "links[5].vlan_id", "out of range")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "eth2", "vlan_id": 0}"#,
        &[(Error, "links[5].vlan_id", "out of range")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "eth2", "vlan_id": "five"}"#,
        &[(Error, "links[5].vlan_id", "not a whole number")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "vlan7", "vlan_id": 5}"#,
        &[(Error, "links[5].vlan_link", "a VLAN on a VLAN")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "x", "vlan_id": 5}"#,
        &[(Error, "links[5].vlan_link", "a VLAN on a VLAN")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "eth0", "vlan_id": 5}"#,
        &[(Error, "links[5].vlan_link", "a member of bond0")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "bond0", "vlan_id": "7"}"#,
        &[(Error, "links[5].vlan_id", "links[3] is this VLAN")],
    ),
    (
        r#"{"id": "x", "type": "vlan", "vlan_link": "eth2", "vlan_id": 5, "vlan_mac_address": "01:00:00:00:00:01"}"#,
        &[(Error, "links[5].vlan_mac_address", "the kernel refuses it")],
    ),
    (
        r#"{"id": "x", "type": "bond", "bond_mode": 1, "bond_links": ["bond0"]}"#,
        &[(Error, "links[5].bond_links", "a bond in a bond")],
    ),
    (
        r#"{"id": "x", "type": "bond", "bond_mode": 1, "bond_links": ["vlan7"]}"#,
        &[(Error, "links[5].bond_links", "a VLAN in a bond")],
    ),
    (
        r#"{"id": "x", "type": "bond", "bond_mode": 1, "bond_links": ["eth1"]}"#,
        &[(Error, "links[5].bond_links", "already a member of bond0")],
    ),
    (
        r#"{"id": "x", "type": "bond", "bond_mode": 1, "bond_links": ["eth2", "eth2"]}"#,
        &[(Error, "links[5].bond_links[1]", "a member twice")],
    ),
    (
        r#"{"id": "x", "type": "bond", "bond_mode": 1, "bond_links": []}"#,
        &[(Error, "links[5].bond_links", "needs a member")],
    ),
    (
        r#"{"id": "x", "type": "bond", "bond_mode": 1, "bond_links": ["eth8"]}"#,
        &[(Error, "links[5].bond_links[0]", "no link has this id")],
    ),
];

#[test]
fn links_on_links() {
    for (link, expected) in LINKS_ON_LINKS {
        let links = LINKS.replace("\n]", &format!(",\n{link}]"));
        hold(&problems(&links, "[]", "[]"), expected, link);
    }
}

const BOND_OPTIONS: &[Row] = &[
    (r#""bond_mode": "lacp""#, &[(Error, "bond_mode", "not a bond mode")]),
    (r#""bond_mode": 7"#, &[(Error, "bond_mode", "not a bond mode")]),
    (r#""bond_mode": null"#, &[(Warning, "bond_mode", "active-backup is used")]),
    (r#""bond_mode": 1, "bond_miimom": 100"#, &[(Error, "bond_miimom", "not a bond option")]),
    (r#""bond_mode": 1, "bond_miimon": "often""#, &[(Error, "bond_miimon", "not a value")]),
    (
        r#""bond_mode": 1, "bond_lacp_rate": "fast""#,
        &[(Error, "bond_lacp_rate", "mode active-backup has no")],
    ),
    (
        r#""bond_mode": 4, "bond_primary": "eth0""#,
        &[(Error, "bond_primary", "mode 802.3ad has no")],
    ),
    (r#""bond_mode": 1, "bond_primary": "eth2""#, &[(Error, "bond_primary", "not a member")]),
    (
        r#""bond_mode": 1, "bond_primary": "eth7""#,
        &[(Error, "bond_primary", "no link has this id")],
    ),
    (
        r#""bond_mode": 4, "bond_arp_interval": 100"#,
        &[
            (Error, "bond_arp_interval", "mode 802.3ad has no"),
            (Error, "bond_arp_interval", "needs a target"),
        ],
    ),
    (
        r#""bond_mode": 1, "bond_miimon": 100, "bond_arp_interval": 100, "bond_arp_ip_target": "192.0.2.1""#,
        &[(Error, "bond_arp_interval", "exclude each other")],
    ),
    (
        r#""bond_mode": 1, "bond_arp_interval": 100"#,
        &[(Error, "bond_arp_interval", "needs a target")],
    ),
    (
        r#""bond_mode": 1, "bond_arp_interval": 100, "bond_arp_ip_target": ["192.0.2.1", "::1"]"#,
        &[(Error, "bond_arp_ip_target[1]", "an IPv6 address where")],
    ),
    (
        r#""bond_mode": 4, "bond_xmit_hash_policy": "layer4""#,
        &[(Error, "bond_xmit_hash_policy", "not a value")],
    ),
    (
        r#""bond_mode": 4, "bond_xmit_hash_policy": 6"#,
        &[(Error, "bond_xmit_hash_policy", "not a value")],
    ),
    (
        r#""bond_mode": 1, "bond_use_carrier": 2"#,
        &[(Error, "bond_use_carrier", "neither on nor off")],
    ),
    (
        r#""bond_mode": 0, "bond_num_grat_arp": 1, "bond_num_unsol_na": 2"#,
        &[(Error, "bond_num_unsol_na", "the same option")],
    ),
    (
        r#""bond_mode": 1, "bond_fail_over_mac": "active", "ethernet_mac_address": "52:54:00:00:00:09""#,
        &[(Warning, "ethernet_mac_address", "with fail_over_mac active")],
    ),
    (
        r#""bond_mode": 1, "ethernet_mac_address": "53:54:00:00:00:09""#,
        &[(Error, "ethernet_mac_address", "kernel refuses")],
    ),
    (
        r#""bond_mode": 4, "bond_ad_user_port_key": 1024"#,
        &[(Error, "bond_ad_user_port_key", "not a value")],
    ),
];

#[test]
fn bond_options() {
    for (fields, expected) in BOND_OPTIONS {
        let links = LINKS.replace(r#""bond_mode": "active-backup""#, fields);
        let expected: Vec<(Severity, String, &str)> = expected
            .iter()
            .map(|(severity, key, message)| (*severity, format!("links[2].{key}"), *message))
            .collect();
        let expected: Vec<(Severity, &str, &str)> =
            expected.iter().map(|(severity, path, m)| (*severity, path.as_str(), *m)).collect();
        hold(&problems(&links, "[]", "[]"), &expected, fields);
    }
}

#[test]
fn mtus() {
    let with = |links: &str, networks: &str| problems(links, networks, "[]");
    let low = LINKS.replace(r#""52:54:00:00:00:03""#, r#""52:54:00:00:00:03", "mtu": 1279"#);
    let v6 = r#"[{"id": "a", "type": "ipv6", "link": "eth2", "ip_address": "2001:db8::2/64"}]"#;
    hold(&with(&low, v6), &[(Error, "links[4].mtu", "which needs 1280")], "low");
    hold(&with(&low, "[]"), &[], "low, but no IPv6");
    let vlan = LINKS
        .replace(r#""vlan_id": 7"#, r#""vlan_id": 7, "mtu": 9000"#)
        .replace(r#""bond_mode""#, r#""mtu": "1500", "bond_mode""#);
    hold(&with(&vlan, "[]"), &[(Warning, "links[3].mtu", "more than bond0 has")], "vlan");
}
