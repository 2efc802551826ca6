//! NICs, and whose an address is.

use std::collections::BTreeMap;

use leaseless::agent::inventory::model::{Nic, Problem};
use leaseless::agent::inventory::{Observed, PortFacts, collect};

use crate::tree::Tree;

const FIRST: &str = "pci0000:00/0000:00:1c.0/0000:01:00.0";
const SECOND: &str = "pci0000:00/0000:00:1c.0/0000:01:00.1";

fn two_ports() -> Tree {
    let tree = Tree::new();
    tree.nic(FIRST, "eno1", "02:00:00:00:00:01").nic(SECOND, "eno2", "02:00:00:00:00:02");
    tree
}

fn nics(tree: &Tree, observed: &Observed) -> Vec<Nic> {
    collect(&tree.root(), observed).0.nics
}

fn addresses(pairs: &[(&str, &str)]) -> Observed {
    let parse = |(name, ip): &(&str, &str)| (name.parse().unwrap(), ip.parse().unwrap());
    Observed { addresses: pairs.iter().map(parse).collect(), ..Observed::default() }
}

/// Names with their addresses.
fn given(tree: &Tree, pairs: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
    nics(tree, &addresses(pairs))
        .iter()
        .map(|nic| (nic.name.to_string(), nic.addresses.iter().map(ToString::to_string).collect()))
        .collect()
}

fn expect(rows: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let text = |list: &&[&str]| list.iter().map(|ip| (*ip).to_owned()).collect();
    rows.iter().map(|(name, list)| ((*name).to_owned(), text(list))).collect()
}

#[test]
fn a_nic_has_its_ids_driver_place_and_numa_node() {
    let nics = nics(&two_ports(), &Observed::default());
    let nic = &nics[0];
    assert_eq!(nic.name.as_str(), "eno1");
    assert_eq!(nic.mac.to_string(), "02:00:00:00:00:01");
    assert_eq!(nic.vendor.as_deref(), Some("0x8086"));
    assert_eq!(nic.product.as_deref(), Some("0x1521"));
    assert_eq!(nic.driver.as_deref(), Some("igb"));
    assert_eq!(nic.pci_address.as_deref(), Some("0000:01:00.0"));
    assert_eq!(nic.numa_node, Some(0));
    assert!(nic.has_carrier);
    assert_eq!(nic.neighbours, None);
}

#[test]
fn the_permanent_address_is_the_driver_s_then_the_bond_s_note_then_the_current_one() {
    let tree = two_ports();
    tree.files("sys/class/net/eno2", &[("bonding_slave/perm_hwaddr", "02:00:00:00:00:b2")]);
    let facts = |bytes: &[u8]| PortFacts {
        permanent_address: Some(bytes.to_vec()),
        max_speed_mbps: Some(25_000),
    };
    let ports = BTreeMap::from([("eno1".parse().unwrap(), facts(&[2, 0, 0, 0, 0, 0xa1]))]);
    let found = nics(&tree, &Observed { ports, ..Observed::default() });
    assert_eq!(found[0].mac.to_string(), "02:00:00:00:00:a1");
    assert_eq!(found[1].mac.to_string(), "02:00:00:00:00:b2");
    assert_eq!(found[0].speed_mbps, Some(25_000));
}

#[test]
fn without_link_modes_the_speed_is_the_link_s_and_a_link_without_speed_has_none() {
    let tree = two_ports();
    tree.files("sys/class/net/eno1", &[("speed", "1000")]);
    tree.files("sys/class/net/eno2", &[("speed", "-1")]);
    let speeds: Vec<_> = nics(&tree, &Observed::default()).iter().map(|n| n.speed_mbps).collect();
    assert_eq!(speeds, [Some(1000), None]);
}

#[test]
fn a_nic_s_own_addresses_are_its_own_and_link_local_ones_stand_aside() {
    let tree = two_ports();
    let pairs = [
        ("eno1", "2001:db8::1"),
        ("eno1", "192.0.2.1"),
        ("eno1", "fe80::1"),
        ("eno2", "fe80::2"),
        ("lo", "127.0.0.1"),
        ("lo", "::1"),
    ];
    let rows = [("eno1", &["192.0.2.1", "2001:db8::1"][..]), ("eno2", &[])];
    assert_eq!(given(&tree, &pairs), expect(&rows));
    let found = nics(&tree, &addresses(&pairs));
    assert_eq!(found[1].link_local, Some("fe80::2".parse().unwrap()));
}

#[test]
fn a_bond_s_address_is_with_the_member_whose_mac_it_carries() {
    let tree = two_ports();
    tree.upper("bond0", "02:00:00:00:00:02", &["eno1", "eno2"]);
    let rows = [("eno1", &[][..]), ("eno2", &["192.0.2.1"])];
    assert_eq!(given(&tree, &[("bond0", "192.0.2.1")]), expect(&rows));
}

#[test]
fn an_address_on_a_vlan_on_a_bond_with_a_foreign_mac_is_with_the_first_member() {
    let tree = two_ports();
    tree.upper("bond0", "02:00:00:00:00:99", &["eno1", "eno2"]);
    tree.upper("bond0.100", "02:00:00:00:00:99", &["bond0"]);
    let rows = [("eno1", &["192.0.2.1", "2001:db8::1"][..]), ("eno2", &[])];
    let pairs = [("bond0.100", "2001:db8::1"), ("bond0.100", "192.0.2.1")];
    assert_eq!(given(&tree, &pairs), expect(&rows));
}

#[test]
fn an_address_on_a_vlan_or_bridge_is_with_the_nic_below() {
    let tree = two_ports();
    tree.upper("eno2.5", "02:00:00:00:00:02", &["eno2"]);
    tree.upper("br0", "02:00:00:00:00:77", &["eno2.5"]);
    let rows = [("eno1", &[][..]), ("eno2", &["192.0.2.9"])];
    assert_eq!(given(&tree, &[("br0", "192.0.2.9")]), expect(&rows));
}

#[test]
fn a_bond_without_members_or_a_ring_of_devices_gives_its_address_to_nobody() {
    let tree = two_ports();
    tree.upper("bond0", "02:00:00:00:00:99", &[]);
    tree.upper("a", "02:00:00:00:00:98", &["b"]).upper("b", "02:00:00:00:00:97", &["a"]);
    let rows = [("eno1", &[][..]), ("eno2", &[])];
    assert_eq!(given(&tree, &[("bond0", "192.0.2.1"), ("a", "192.0.2.2")]), expect(&rows));
}

#[test]
fn virtual_and_wireless_devices_are_no_nics() {
    let tree = two_ports();
    tree.upper("veth0", "02:00:00:00:00:55", &[]);
    tree.nic("pci0000:00/0000:00:1d.0", "wlan0", "02:00:00:00:00:66");
    tree.directory("sys/class/net/wlan0/phy80211");
    let found = nics(&tree, &Observed::default());
    assert_eq!(found.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>(), ["eno1", "eno2"]);
}

#[test]
fn an_infiniband_port_has_the_mac_and_client_id_that_ironic_knows() {
    let tree = Tree::new();
    tree.nic(FIRST, "ib0", "00:00:00:68:fe:80:00:00:00:00:00:00:7c:fe:90:03:00:29:26:52");
    tree.file("sys/class/net/ib0/type", "32\n");
    let found = nics(&tree, &Observed::default());
    assert_eq!(found[0].mac.to_string(), "7c:fe:90:29:26:52");
    let id = "ff:00:00:00:00:00:02:00:00:02:c9:00:7c:fe:90:03:00:29:26:52";
    assert_eq!(found[0].client_id.as_deref(), Some(id));
}

#[test]
fn a_nic_behind_virtio_has_the_pci_address_of_its_function() {
    let tree = Tree::new();
    let virtio = format!("{FIRST}/virtio0");
    tree.pci(FIRST).device(&virtio, "virtio", "");
    tree.files(&format!("sys/devices/{virtio}"), &[("vendor", "0x1af4"), ("device", "0x0001")]);
    let path = format!("sys/devices/{virtio}/net/eth0");
    tree.files(&path, &[("address", "52:54:00:00:00:01"), ("type", "1")]);
    tree.link(&format!("{path}/device"), &format!("sys/devices/{virtio}"));
    tree.link("sys/class/net/eth0", &path);
    let found = nics(&tree, &Observed::default());
    assert_eq!(found[0].pci_address.as_deref(), Some("0000:01:00.0"));
    assert_eq!(found[0].product.as_deref(), Some("0x0001"));
}

#[test]
fn a_host_without_nics_and_a_nic_without_address_are_problems() {
    let (_, problems) = collect(&Tree::new().root(), &Observed::default());
    assert!(problems.iter().any(|p| matches!(p, Problem::Nic(text) if text.contains("no NIC"))));
    let tree = Tree::new();
    tree.nic(FIRST, "eno1", "00:00:00:00:00:00");
    let (inventory, problems) = collect(&tree.root(), &Observed::default());
    assert!(inventory.nics.is_empty());
    let said = Problem::Nic("eno1 has no MAC address".to_owned());
    assert!(problems.contains(&said), "{problems:?}");
}
