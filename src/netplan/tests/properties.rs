use std::net::IpAddr;

use ipnet::IpNet;
use proptest::prelude::*;

use super::*;
use crate::netplan::{Desired, Op, WantedKind};

/// NICs that the data may name; one more of them than the host has.
const NICS: u8 = 5;

fn mtu() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![Just(None), (1280_u32..2000).prop_map(Some), Just(Some(9000))]
}

fn mode() -> impl Strategy<Value = BondMode> {
    prop_oneof![Just(BondMode::BalanceRr), Just(BondMode::ActiveBackup), Just(BondMode::Ieee8023ad),]
}

/// NICs; then perhaps a bond of the first two and one of the next two; then VLANs on what is no
/// member.
fn links() -> impl Strategy<Value = Vec<Link>> {
    let mtus = proptest::collection::vec(mtu(), 16);
    let bonds = proptest::collection::vec(proptest::option::of(mode()), 2);
    let vlans = proptest::collection::vec((0_usize..7, 1_u16..4), 0..4);
    (mtus, bonds, vlans).prop_map(|(mtus, bonds, vlans)| {
        let mut links: Vec<Link> = (0..NICS).map(nic).collect();
        let mut free = vec![4];
        for (number, mode) in bonds.iter().enumerate() {
            let members = [2 * number, 2 * number + 1];
            match mode {
                Some(mode) => {
                    free.push(links.len());
                    links.push(bond(*mode, &members));
                }
                None => free.extend(members),
            }
        }
        for (parent, id) in vlans {
            let link = vlan(free[parent % free.len()], id);
            if !links.iter().any(|known| known.kind == link.kind) {
                links.push(link);
            }
        }
        for (link, mtu) in links.iter_mut().zip(mtus) {
            link.mtu = mtu;
        }
        links
    })
}

fn is_member(links: &[Link], position: usize) -> bool {
    links.iter().any(|link| match &link.kind {
        LinkKind::Bond(bond) => bond.members.contains(&LinkRef(position)),
        LinkKind::Ethernet { .. } | LinkKind::Vlan { .. } => false,
    })
}

/// Networks on links that are no members, each with an address and perhaps a default route.
fn network_data() -> impl Strategy<Value = NetworkData> {
    let networks = proptest::collection::vec((0_usize..12, any::<bool>(), any::<bool>()), 0..6);
    (links(), networks).prop_map(|(links, rows)| {
        let free: Vec<usize> =
            (0..links.len()).filter(|position| !is_member(&links, *position)).collect();
        let mut networks = Vec::new();
        for (number, (link, v6, routed)) in rows.into_iter().enumerate() {
            let link = free[link % free.len()];
            let (address, gateway, all) = if v6 {
                (format!("2001:db8:{number}::10/64"), format!("2001:db8:{number}::1"), "::/0")
            } else {
                (format!("10.0.{number}.10/24"), format!("10.0.{number}.1"), "0.0.0.0/0")
            };
            let mut network = fixed(link, &address);
            if routed {
                let mut route = via(all, Some(&gateway));
                route.rank = u32::try_from(number).unwrap();
                network.routes.push(route);
            }
            networks.push(network);
        }
        data(links, networks)
    })
}

/// A host with a past: it once had another network, and lost some of it.
fn past() -> impl Strategy<Value = Host> {
    let lost = proptest::collection::vec(any::<prop::sample::Index>(), 0..3);
    (network_data(), lost, any::<bool>()).prop_map(|(data, lost, fresh)| {
        let mut now = host(NICS - 1);
        if !fresh {
            now = applied(&now, &data);
        }
        for index in lost {
            let link = now.devices[index.index(now.devices.len())].name.clone();
            now.apply(&Op::SetDown { link });
        }
        now
    })
}

/// What the kernel would say to an operation now.
fn objection(host: &Host, op: &Op) -> Option<String> {
    let device = |name: &IfName| host.device(name);
    let link = op.link().and_then(device);
    let parent_mtu = |name: &IfName| match &device(name)?.kind {
        DeviceKind::Vlan { parent: Some(parent), .. } => Some(device(parent)?.mtu),
        _ => None,
    };
    let complaint = match op {
        Op::CreateBond { .. } => link.map(|_| "exists"),
        Op::CreateVlan { parent, mtu, .. } => match device(parent) {
            None => Some("no parent"),
            Some(parent) if mtu.is_some_and(|mtu| mtu > parent.mtu) => Some("larger than parent"),
            Some(_) => link.map(|_| "exists"),
        },
        _ if link.is_none() && !matches!(op, Op::SetIpv6 { link: None, .. }) => Some("no device"),
        Op::SetMtu { link, mtu } => {
            parent_mtu(link).filter(|parent| mtu > parent).map(|_| "larger than parent")
        }
        Op::Enslave { master, .. } => match (link, device(master)) {
            (Some(member), Some(_)) if member.up => Some("member is up"),
            (Some(member), Some(_)) if member.master.is_some() => Some("has a master"),
            (Some(member), Some(_)) if !member.addresses.is_empty() => Some("has addresses"),
            (_, None) => Some("no master"),
            _ => None,
        },
        Op::SetUp { link } => match device(link).map(|device| &device.kind) {
            Some(DeviceKind::Vlan { parent: Some(parent), .. }) => {
                device(parent).filter(|parent| !parent.up).map(|_| "parent is down")
            }
            _ => None,
        },
        Op::AddAddress { address, .. } => link.and_then(|device| {
            let twice = device.addresses.iter().any(|known| known.net == *address);
            let deaf = matches!(address, IpNet::V6(_)) && device.ipv6.is_none();
            twice.then_some("exists").or_else(|| deaf.then_some("no IPv6"))
        }),
        Op::SetIpv6 { link: Some(_), .. } => {
            link.filter(|device| device.ipv6.is_none()).map(|_| "no IPv6")
        }
        Op::AddRoute(route) => link.and_then(|device| {
            let covers =
                |gateway: IpAddr| device.addresses.iter().any(|known| known.net.contains(&gateway));
            let unreachable = route.gateway.is_some_and(|gateway| !covers(gateway));
            (!device.up)
                .then_some("down")
                .or_else(|| unreachable.then_some("gateway is unreachable"))
        }),
        _ => None,
    };
    complaint.map(|complaint| format!("{op}: {complaint}"))
}

/// Everything that is wanted is there, by its own reading of what that means.
fn lacks(host: &Host, desired: &Desired) -> Vec<String> {
    let mut lacks = Vec::new();
    for link in &desired.links {
        let Some(device) = host.device(&link.name) else {
            lacks.push(format!("no {}", link.name));
            continue;
        };
        let nature = match (&link.kind, &device.kind) {
            (WantedKind::Nic, DeviceKind::Nic { .. }) => true,
            (WantedKind::Bond(wanted), DeviceKind::Bond(state)) => wanted.mode == state.mode,
            (WantedKind::Vlan { parent, id }, DeviceKind::Vlan { parent: below, id: tag }) => {
                below.as_ref() == Some(parent) && id.get() == *tag
            }
            _ => false,
        };
        let mut wanted: Vec<IpNet> = link.addresses.iter().map(|(_, net)| *net).collect();
        let mut there: Vec<IpNet> = device.addresses.iter().map(|known| known.net).collect();
        wanted.sort();
        there.sort();
        let checks = [
            (nature, "nature"),
            (device.up, "up"),
            (device.master == link.master, "master"),
            (link.mtu.is_none_or(|mtu| mtu == device.mtu), "MTU"),
            (wanted == there, "addresses"),
        ];
        let wrong = checks.into_iter().filter(|(right, _)| !right);
        lacks.extend(wrong.map(|(_, what)| format!("{}: {what}", link.name)));
    }
    let mut wanted: Vec<String> =
        desired.routes.iter().map(|wanted| wanted.route.to_string()).collect();
    let mut there: Vec<String> = host.routes.iter().map(ToString::to_string).collect();
    wanted.sort();
    there
        .retain(|route| desired.links.iter().any(|l| route.contains(&format!(" dev {} ", l.name))));
    there.sort();
    if wanted != there {
        lacks.push(format!("routes {wanted:?}, not {there:?}"));
    }
    lacks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_plan_leads_from_any_past_to_what_is_wanted_and_every_step_is_legal(
        past in past(),
        data in network_data(),
    ) {
        let desired = resolve(&data, &past, &Policy::default()).desired;
        let mut now = past.clone();
        for op in diff(&past, &desired).0 {
            prop_assert_eq!(objection(&now, &op), None);
            now.apply(&op);
        }
        prop_assert_eq!(lacks(&now, &desired), Vec::<String>::new());
        prop_assert_eq!(diff(&now, &desired).0, vec![]);
    }

    #[test]
    fn resolving_again_after_the_plan_finds_nothing_to_do(
        past in past(),
        data in network_data(),
    ) {
        let now = applied(&past, &data);
        prop_assert_eq!(plan(&now, &data), Vec::<String>::new());
    }

    #[test]
    fn devices_that_the_data_does_not_name_stay_as_they_are(past in past(), data in network_data()) {
        let mut past = past;
        let mut foreign = port(77);
        foreign.up = true;
        foreign.addresses.push(crate::netplan::current::Address {
            net: "172.17.0.1/16".parse().unwrap(),
            permanent: true,
            tentative: false,
            dad_failed: false,
        });
        past.devices.push(foreign.clone());
        let now = applied(&past, &data);
        prop_assert_eq!(now.device(&foreign.name), Some(&foreign));
    }
}
