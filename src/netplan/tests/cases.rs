use super::*;
use crate::netplan::current::{Address, PROTOCOL_BOOT, Route as Known};
use crate::types::reason::Failure;

fn quiet(link: &str) -> [String; 2] {
    ["accept_ra", "autoconf"].map(|key| format!("sysctl -w net/ipv6/conf/{link}/{key}=0"))
}

#[test]
fn a_vlan_on_a_bond_is_built_from_below_and_routed_last() {
    let mut link = bond(BondMode::Ieee8023ad, &[2, 3]);
    link.mac = Some(mac(0));
    link.mtu = Some(1500);
    let mut top = vlan(1, 100);
    top.mtu = Some(9000);
    let mut network = fixed(0, "192.0.2.10/24");
    network.routes = vec![
        via("0.0.0.0/0", Some("192.0.2.1")),
        via("198.51.100.0/24", Some("192.0.2.2")),
        via("203.0.113.1/32", None),
    ];
    let mut host = host(2);
    host.devices[0].up = true;
    host.devices[0].addresses.push(Address {
        net: "192.0.2.77/24".parse().unwrap(),
        permanent: true,
        tentative: false,
        dad_failed: false,
    });
    let data = data(vec![top, link, nic(0), nic(1)], vec![network]);
    let expected = [
        "ip link set dev eth0 mtu 9000",
        "ip link set dev eth1 mtu 9000",
        "ip link add name bond0 address 02:00:00:00:00:00 mtu 9000 type bond mode 802.3ad miimon 100",
        "ip link set dev eth0 down",
        "ip address delete 192.0.2.77/24 dev eth0",
        "ip link set dev eth0 master bond0",
        "ip link set dev eth1 master bond0",
        "ip link add link bond0 name bond0.100 mtu 9000 type vlan id 100",
    ];
    let rest = [
        "ip link set dev bond0 up",
        "ip link set dev bond0.100 up",
        "ip address add 192.0.2.10/24 dev bond0.100",
        "ip route add 203.0.113.1/32 dev bond0.100 proto static metric 100",
        "ip route add 198.51.100.0/24 via 192.0.2.2 dev bond0.100 proto static metric 100",
        "ip route add default via 192.0.2.1 dev bond0.100 proto static metric 100",
    ];
    let mut all: Vec<String> = expected.map(str::to_owned).to_vec();
    all.extend(quiet("bond0"));
    all.extend(quiet("bond0.100"));
    all.extend(rest.map(str::to_owned));
    assert_eq!(plan(&host, &data), all);
    assert_eq!(plan(&applied(&host, &data), &data), [""; 0]);
}

#[test]
fn a_bond_with_the_wrong_mode_is_rebuilt_and_its_primary_alone_is_only_set() {
    let with = |mode, primary| {
        let mut link = bond(mode, &[0, 1]);
        let LinkKind::Bond(bond) = &mut link.kind else { panic!() };
        bond.options.primary = primary;
        data(vec![nic(0), nic(1), link], vec![])
    };
    let before = applied(&host(2), &with(BondMode::ActiveBackup, Some(LinkRef(0))));
    assert_eq!(
        plan(&before, &with(BondMode::ActiveBackup, Some(LinkRef(1)))),
        ["ip link set dev bond0 type bond primary eth1"]
    );
    let rebuilt = plan(&before, &with(BondMode::BalanceXor, None));
    assert_eq!(rebuilt[0], "ip link delete dev bond0");
    assert_eq!(rebuilt[1], "ip link add name bond0 type bond mode balance-xor miimon 100");
}

#[test]
fn leftovers_go_and_what_is_not_listed_stays() {
    let mut host = host(2);
    let address = |text: &str| Address {
        net: text.parse().unwrap(),
        permanent: true,
        tentative: false,
        dad_failed: false,
    };
    for device in &mut host.devices {
        device.up = true;
        device.addresses =
            ["10.0.0.5/8", "10.0.0.6/8", "2001:db8::5/64", "fe80::5/64"].map(address).to_vec();
    }
    for device in ["eth0", "eth1"] {
        host.routes.push(Known {
            destination: "0.0.0.0/0".parse().unwrap(),
            gateway: Some("10.0.0.1".parse().unwrap()),
            device: name(device),
            metric: 0,
            onlink: false,
            protocol: PROTOCOL_BOOT,
        });
    }
    let data = data(vec![nic(0)], vec![fixed(0, "192.0.2.10/24")]);
    let mut expected = quiet("eth0").to_vec();
    expected.extend(
        [
            "ip route delete default via 10.0.0.1 dev eth0 proto 3 metric 0",
            // Its secondary 10.0.0.6 goes with it.
            "ip address delete 10.0.0.5/8 dev eth0",
            "ip address delete 2001:db8::5/64 dev eth0",
            "ip address add 192.0.2.10/24 dev eth0",
        ]
        .map(str::to_owned),
    );
    assert_eq!(plan(&host, &data), expected);
    assert_eq!(applied(&host, &data).device(&name("eth1")), host.device(&name("eth1")));
}

#[test]
fn a_duplicate_or_short_lived_address_is_put_anew() {
    let data = data(vec![nic(0)], vec![fixed(0, "2001:db8::10/64"), fixed(0, "192.0.2.10/24")]);
    let mut host = applied(&host(1), &data);
    host.devices[0].addresses[0].dad_failed = true;
    host.devices[0].addresses[1].permanent = false;
    assert_eq!(
        plan(&host, &data),
        [
            "ip address delete 2001:db8::10/64 dev eth0",
            "ip address delete 192.0.2.10/24 dev eth0",
            "ip address add 2001:db8::10/64 dev eth0",
            "ip address add 192.0.2.10/24 dev eth0",
        ]
    );
}

#[test]
fn members_are_found_by_their_permanent_address_when_all_current_ones_are_the_bonds() {
    let data = data(vec![nic(0), nic(1), bond(BondMode::ActiveBackup, &[0, 1])], vec![]);
    let mut host = applied(&host(2), &data);
    for device in &mut host.devices {
        device.mac = Some(mac(0));
    }
    let resolved = resolve(&data, &host, &Policy::default());
    assert_eq!(resolved.missing, []);
    assert_eq!(diff(&host, &resolved.desired).0, []);
    // The bond's own address, and a member's borrowed one, match no link.
    host.devices[1].permanent_mac = Some(mac(9));
    let resolved = resolve(&data, &host, &Policy::default());
    assert_eq!(resolved.missing.len(), 1);
    assert_eq!(resolved.missing[0].mac, mac(1));
}

#[test]
fn missing_nics_are_named_with_those_that_are_there_and_take_only_what_is_on_them_along() {
    let links = vec![nic(0), nic(7), vlan(1, 5), bond(BondMode::ActiveBackup, &[1])];
    let networks = vec![fixed(0, "192.0.2.10/24"), fixed(2, "192.0.2.20/24")];
    let resolved = resolve(&data(links, networks), &host(2), &Policy::default());
    let present = vec![mac(0), mac(1)];
    assert_eq!(resolved.failures(), [Failure::MacNotFound { mac: mac(7), present }]);
    let names: Vec<&str> = resolved.desired.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["eth0"]);
}

#[test]
fn names_are_generated_that_fit_and_that_nobody_has() {
    let mut long = bond(BondMode::ActiveBackup, &[0]);
    long.name = Some(name("a-rather-long-1"));
    let mut taken = bond(BondMode::ActiveBackup, &[1]);
    taken.name = Some(name("eth0"));
    let links = vec![nic(0), nic(1), long, taken, vlan(2, 4094), vlan(3, 4094), vlan(2, 5)];
    let resolved = resolve(&data(links, vec![]), &host(2), &Policy::default());
    let names: Vec<&str> = resolved.desired.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(
        names,
        ["eth0", "eth1", "a-rather-long-1", "bond0", "vlan4094", "bond0.4094", "vlan5"]
    );
    assert_eq!(resolved.notes.len(), 1, "{:?}", resolved.notes);
}

#[test]
fn router_advertisements_are_heeded_only_where_the_data_needs_them() {
    let mut with_default = fixed(0, "2001:db8::10/64");
    with_default.routes = vec![via("::/0", Some("2001:db8::1"))];
    let rows = [
        (vec![fixed(0, "192.0.2.10/24")], (false, false)),
        (vec![fixed(0, "2001:db8::10/64")], (true, false)),
        (vec![with_default], (false, false)),
        (vec![network(0, Addressing::Slaac)], (true, true)),
    ];
    for (networks, expected) in rows {
        let data = data(vec![nic(0)], networks);
        let resolved = resolve(&data, &host(1), &Policy::default());
        let ipv6 = resolved.desired.links[0].ipv6;
        assert_eq!((ipv6.accept_ra, ipv6.autoconf), expected, "{:?}", data.networks);
    }
}

#[test]
fn dhcp_is_refused_by_name_unless_allowed() {
    let data = data(vec![nic(0)], vec![network(0, Addressing::Dhcp4)]);
    let refused = resolve(&data, &host(1), &Policy::default());
    assert_eq!(refused.failures(), [Failure::DhcpRefused]);
    assert_eq!(refused.problems[0].detail, "network \"net\" needs DHCP, which is not allowed");
    let allowed = resolve(&data, &host(1), &Policy { allow_dhcp: true, ..Policy::default() });
    assert_eq!(allowed.failures(), []);
    assert_eq!(allowed.desired.links[0].automatic.len(), 1);
}

#[test]
fn ipv6_on_an_mtu_below_1280_is_refused_and_ipv4_stays() {
    let mut link = nic(0);
    link.mtu = Some(1000);
    let networks = vec![fixed(0, "192.0.2.10/24"), fixed(0, "2001:db8::10/64")];
    let resolved = resolve(&data(vec![link], networks), &host(1), &Policy::default());
    assert_eq!(resolved.failures(), [Failure::NetworkDataInvalid]);
    assert_eq!(resolved.desired.links[0].addresses.len(), 1);
}

#[test]
fn on_our_own_machine_other_nics_come_up_quiet_and_without_addresses() {
    let data = data(vec![nic(0)], vec![]);
    let policy = Policy { own_machine: true, ..Policy::default() };
    let host = host(2);
    let ops: Vec<String> = diff(&host, &resolve(&data, &host, &policy).desired)
        .0
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut expected = quiet("default").to_vec();
    expected.extend(quiet("eth0"));
    expected.extend(quiet("eth1"));
    expected.extend(["ip link set dev eth0 up", "ip link set dev eth1 up"].map(str::to_owned));
    assert_eq!(ops, expected);
}

#[test]
fn an_address_that_is_given_up_takes_its_networks_routes_along_and_no_others() {
    let mut first = fixed(0, "192.0.2.10/24");
    first.routes = vec![via("0.0.0.0/0", Some("192.0.2.1"))];
    let mut second = fixed(0, "198.51.100.10/24");
    second.routes = vec![via("203.0.113.0/24", Some("198.51.100.1"))];
    let data = data(vec![nic(0)], vec![first, second]);
    let mut desired = resolve(&data, &host(1), &Policy::default()).desired;
    desired.withdraw("192.0.2.10".parse().unwrap());
    let ops = diff(&host(1), &desired).0;
    let left: Vec<String> =
        ops.iter().filter(|op| op.is_layer3()).map(ToString::to_string).collect();
    assert_eq!(
        left,
        [
            "ip address add 198.51.100.10/24 dev eth0",
            "ip route add 203.0.113.0/24 via 198.51.100.1 dev eth0 proto static metric 100",
        ]
    );
}
