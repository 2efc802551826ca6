use super::*;
use crate::netdata::parse;

const RACK: &str = include_str!("../../../tests/fixtures/netdata/rack.json");
const OPTIONS: &str = include_str!("../../../tests/fixtures/netdata/options.json");

#[test]
fn openstack_fills_in_what_consumers_insist_on() {
    let rendered = openstack(&parse(RACK).data.unwrap());
    let links = &rendered["links"];
    assert_eq!(links[0]["ethernet_mac_address"], "52:54:00:aa:00:01", "of its first member");
    assert_eq!(links[3]["vlan_mac_address"], "52:54:00:aa:00:01", "of its parent");
    assert_eq!((&links[4]["mtu"], &links[4]["mtu_unset"]), (&1500.into(), &true.into()));
    let networks = &rendered["networks"];
    assert_eq!(networks[0]["network_id"], "tenant4");
    assert_eq!(networks[0]["netmask"], "255.255.255.0");
    assert_eq!(networks[1]["ip_address"], "2001:db8:0:100::10");
    assert_eq!(networks[1]["netmask"], "ffff:ffff:ffff:ffff::");
    assert_eq!(networks[1]["routes"][0]["netmask"], "::");
    let top: Vec<&str> = rendered["services"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|service| service["address"].as_str())
        .collect();
    assert_eq!(top, ["2001:db8::53", "192.0.2.53"], "those of networks are repeated");
}

#[test]
fn networkd_gives_the_primary_units_and_ranks() {
    let files = networkd(&parse(OPTIONS).data.unwrap());
    let file = |name: &str| &files.iter().find(|(other, _)| other == name).unwrap().1;
    assert!(file("10-b0.netdev").contains("\nMIIMonitorSec=100ms\n"));
    assert!(file("10-b0.netdev").contains("\n# networkd has no setting for use_carrier=1\n"));
    assert!(file("10-b1.netdev").contains("\nARPIntervalSec=100ms\n"));
    assert!(!file("10-b1.netdev").contains("MIIMonitorSec"));
    assert!(file("10-b2.netdev").contains("\nMIIMonitorSec=100ms\n"), "a bond is always watched");
    assert!(file("30-e1.network").ends_with("Bond=b1\nPrimarySlave=yes\n"));
    let vlan = file("30-v.network");
    assert!(vlan.contains("Gateway=198.51.100.1\nGatewayOnLink=yes\n\n"), "{vlan}");
    assert!(vlan.contains("Gateway=192.0.2.99\nGatewayOnLink=yes\nMetric=1025\n"), "{vlan}");
    assert!(vlan.contains("Destination=10.0.0.0/8\nScope=link\n"), "{vlan}");
}

#[test]
fn nmstate_matches_nics_by_address_and_reaches_distant_gateways() {
    let state: serde_json::Value =
        serde_yaml_ng::from_str(&nmstate(&parse(OPTIONS).data.unwrap())).unwrap();
    let interfaces = &state["interfaces"];
    assert_eq!(interfaces[0]["identifier"], "mac-address");
    assert_eq!(interfaces[0]["mac-address"], "52:54:00:00:00:01");
    assert_eq!(interfaces[6]["link-aggregation"]["options"]["primary"], "e1");
    assert_eq!(interfaces[9]["vlan"]["base-iface"], "b0");
    assert_eq!(interfaces[9]["ipv6"]["address"][0]["prefix-length"], 128);
    let routes = &state["routes"]["config"];
    let gateway = routes.as_array().unwrap().iter().position(|route| {
        route["destination"] == "198.51.100.1/32" && route.get("next-hop-address").is_none()
    });
    assert!(gateway.is_some(), "{routes}");
}

#[test]
fn names_are_unique_valid_and_plain() {
    let text = r#"{"links": [
        {"id": "a%n", "name": "a%n", "type": "vlan", "vlan_link": "nic", "vlan_id": 5},
        {"id": "an id that Linux would not take", "type": "vlan", "vlan_link": "nic", "vlan_id": 6},
        {"id": "vlan6", "type": "vlan", "vlan_link": "nic", "vlan_id": 7},
        {"id": "nic", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}]}"#;
    let found = names::device_names(&parse(text).data.unwrap());
    assert_eq!(found, ["vlan5", "vlan6", "vlan7", "nic"]);
}
