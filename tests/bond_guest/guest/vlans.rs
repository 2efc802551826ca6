//! VLANs on NICs and bonds, and the MTUs of a stack.

use leaseless::netdata::model::{BondMode, BondOptions, Link, LinkKind, LinkRef};
use leaseless::netplan::Host;
use leaseless::netplan::current::{Device, DeviceKind};
use leaseless::types::{Mac, VlanId};

use super::{bond, data, in_guest, name, network, nic, nic_mac, up, up_twice, wires};

fn vlan(parent: usize, id: u16, mtu: Option<u32>) -> Link {
    Link {
        id: format!("vlan-{parent}-{id}"),
        name: None,
        mac: None,
        mtu,
        kind: LinkKind::Vlan { parent: LinkRef(parent), id: VlanId::try_from(id).unwrap() },
    }
}

fn device<'a>(host: &'a Host, text: &str) -> &'a Device {
    host.device(&name(text)).unwrap_or_else(|| panic!("no {text}"))
}

fn mtus(host: &Host, names: &[&str]) -> Vec<u32> {
    names.iter().map(|name| device(host, name).mtu).collect()
}

#[test]
fn a_vlan_on_a_nic_follows_its_mac_until_one_is_given() {
    in_guest(async || {
        let netlink = wires(1).await;
        let own = Mac::new([2, 0, 0, 0, 0, 0x44]);
        let mut with_mac = vlan(0, 6, None);
        with_mac.mac = Some(own);
        let data =
            data(vec![nic(0), vlan(0, 5, None), with_mac], vec![network(1, 10), network(2, 11)]);
        let host = up_twice(&netlink, &data).await;
        assert_eq!(device(&host, "p0.5").mac, Some(nic_mac(0)));
        assert_eq!(device(&host, "p0.6").mac, Some(own));
        assert_eq!(device(&host, "p0").mac, Some(nic_mac(0)));
        let parent = Some(name("p0"));
        assert_eq!(device(&host, "p0.5").kind, DeviceKind::Vlan { parent, id: 5 });
    });
}

#[test]
fn a_large_vlan_on_a_small_bond_raises_the_bond_and_its_members_and_lowering_goes_back() {
    in_guest(async || {
        let netlink = wires(2).await;
        let stack = |vlan_mtu: u32| {
            let mut links = vec![
                vlan(1, 100, Some(vlan_mtu)),
                bond(BondMode::BalanceXor, BondOptions::default()),
                nic(0),
                nic(1),
            ];
            links[1].mtu = Some(1500);
            links[2].mtu = Some(1500);
            links[3].mtu = Some(1500);
            let LinkKind::Bond(bond) = &mut links[1].kind else { panic!() };
            bond.members = vec![LinkRef(2), LinkRef(3)];
            data(links, vec![network(0, 10)])
        };
        let all = ["p0", "p1", "bond0", "bond0.100"];
        let host = up_twice(&netlink, &stack(9000)).await;
        assert_eq!(mtus(&host, &all), [9000; 4]);
        let host = up_twice(&netlink, &stack(1400)).await;
        assert_eq!(mtus(&host, &all), [1500, 1500, 1500, 1400]);
    });
}

#[test]
fn a_vlan_whose_id_or_parent_changed_is_made_anew() {
    in_guest(async || {
        let netlink = wires(2).await;
        let named = |parent, id| {
            let mut link = vlan(parent, id, None);
            link.name = Some(name("service"));
            data(vec![nic(0), nic(1), link], vec![network(2, 10)])
        };
        for (parent, id) in [(0, 5), (0, 6), (1, 6)] {
            let host = up_twice(&netlink, &named(parent, id)).await;
            let below = Some(name(["p0", "p1"][parent]));
            assert_eq!(device(&host, "service").kind, DeviceKind::Vlan { parent: below, id });
        }
    });
}

#[test]
fn rebuilding_a_bond_brings_its_vlan_back() {
    in_guest(async || {
        let netlink = wires(2).await;
        let with = |mode| {
            let bond = bond(mode, BondOptions::default());
            data(vec![nic(0), nic(1), bond, vlan(2, 7, None)], vec![network(3, 10), network(2, 11)])
        };
        up_twice(&netlink, &with(BondMode::ActiveBackup)).await;
        let outcome = up(&with(BondMode::Broadcast)).await;
        assert_eq!(outcome.failures, []);
        let mut addresses: Vec<String> = outcome
            .addresses
            .iter()
            .map(|known| format!("{} {}", known.link, known.address))
            .collect();
        addresses.sort();
        assert_eq!(addresses, ["bond0 192.0.2.11/24", "bond0.7 192.0.2.10/24"]);
    });
}
