//! Links of a random document: NICs, bonds over some of them, VLANs over what is left.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use leaseless::netdata::model::{Bond, BondMode, BondOptions, Link, LinkKind, LinkRef};
use leaseless::types::{Mac, VlanId};

use super::Tape;

const HINTS: [&str; 9] =
    ["phy", "vif", "ovs", "bridge", "tap", "dvs", "hw_veb", "hyperv", "vhostuser"];

fn mac(tape: &mut Tape) -> Mac {
    let [a, b, c, d] = tape.next().to_be_bytes();
    Mac::new([0x02, 0x54, a, b, c, d])
}

fn mtu(tape: &mut Tape) -> Option<u32> {
    tape.some(|tape| tape.of(&[1500, 9000, 1280, 1400, 65535]))
}

pub(super) fn nics(tape: &mut Tape) -> Vec<Link> {
    let mut seen = HashSet::new();
    (0..=tape.below(6))
        .filter_map(|index| {
            let link = Link {
                id: id(tape, "nic", index),
                name: tape.some(|_| format!("eno{index}").parse().unwrap()),
                mac: Some(mac(tape)),
                mtu: mtu(tape),
                kind: LinkKind::Ethernet { hint: tape.of(&HINTS) },
            };
            seen.insert(link.mac).then_some(link)
        })
        .collect()
}

/// Ids as producers have them: names, UUIDs, and what nobody should use.
pub(super) fn id(tape: &mut Tape, prefix: &str, index: usize) -> String {
    match tape.below(4) {
        0 => format!("{prefix}{index}"),
        1 => format!("92750f6c-60a9-4897-9cd1-{prefix}{index}"),
        2 => format!("{prefix} \"{index}\" é"),
        _ => format!("{index}{prefix}.5/6:7"),
    }
}

/// Bonds over the first links; answers with the links that are members of none.
pub(super) fn bonds(tape: &mut Tape, links: &mut Vec<Link>) -> Vec<usize> {
    let nics = links.len();
    let mut free: Vec<usize> = (0..nics).collect();
    for index in 0..tape.below(3) {
        let count = 1 + tape.below(3);
        if count > free.iter().filter(|link| **link < nics).count() {
            break;
        }
        let members: Vec<LinkRef> = free.drain(..count).map(LinkRef).collect();
        let bond = bond(tape, members);
        let follows = bond.mode == BondMode::ActiveBackup && bond.options.fail_over_mac == Some(1);
        let first = links[bond.members[0].0].mac;
        let own = if tape.flag() { Some(mac(tape)) } else { first };
        links.push(Link {
            id: id(tape, "bond", index),
            name: tape.some(|_| format!("bond{index}").parse().unwrap()),
            mac: if follows { None } else { own },
            mtu: mtu(tape),
            kind: LinkKind::Bond(Box::new(bond)),
        });
        free.push(links.len() - 1);
    }
    free
}

fn bond(tape: &mut Tape, members: Vec<LinkRef>) -> Bond {
    use BondMode::{
        ActiveBackup, BalanceAlb, BalanceRr, BalanceTlb, BalanceXor, Broadcast, Ieee8023ad,
    };
    let mode = tape.of(&[
        ActiveBackup,
        Ieee8023ad,
        BalanceRr,
        BalanceXor,
        Broadcast,
        BalanceTlb,
        BalanceAlb,
    ]);
    let lacp = mode == Ieee8023ad;
    let has_primary = matches!(mode, ActiveBackup | BalanceTlb | BalanceAlb);
    let arp = !matches!(mode, Ieee8023ad | BalanceTlb | BalanceAlb) && tape.flag();
    let primary = members[tape.below(members.len())];
    let options = BondOptions {
        miimon: if arp { None } else { tape.some(|tape| tape.of(&[100, 0, 50])) },
        updelay: tape.some(|_| 200),
        downdelay: tape.some(|_| 0),
        peer_notif_delay: tape.some(|tape| tape.of(&[0, 300_000])),
        use_carrier: tape.some(Tape::flag),
        arp_interval: arp.then_some(1000),
        arp_ip_target: if arp { vec![Ipv4Addr::new(192, 0, 2, 1)] } else { Vec::new() },
        ns_ip6_target: if arp && tape.flag() {
            vec!["2001:db8::1".parse().unwrap(), "fe80::1".parse().unwrap()]
        } else {
            Vec::new()
        },
        arp_validate: tape.some(|tape| tape.of(&[0, 3, 6])).filter(|_| arp),
        arp_all_targets: tape.some(|tape| tape.of(&[0, 1])),
        missed_max: tape.some(|_| 255).filter(|_| arp),
        primary: tape.some(|_| primary).filter(|_| has_primary),
        primary_reselect: tape.some(|tape| tape.of(&[0, 1, 2])),
        fail_over_mac: tape.some(|tape| tape.of(&[0, 1, 2])),
        xmit_hash_policy: tape.some(|tape| tape.of(&[0, 1, 2, 3, 4, 5])),
        resend_igmp: tape.some(|_| 255),
        num_peer_notif: tape.some(|_| 3),
        all_slaves_active: tape.some(Tape::flag),
        min_links: tape.some(|_| 2),
        lp_interval: tape.some(|_| 1),
        packets_per_slave: tape.some(|_| 65_535).filter(|_| mode == BalanceRr),
        lacp_rate: tape.some(|tape| tape.of(&[0, 1])).filter(|_| lacp),
        lacp_active: tape.some(Tape::flag).filter(|_| lacp),
        ad_select: tape.some(|tape| tape.of(&[0, 1, 2])),
        ad_actor_sys_prio: tape.some(|_| 65_535).filter(|_| lacp),
        ad_user_port_key: tape.some(|_| 1023).filter(|_| lacp),
        ad_actor_system: tape.some(mac).filter(|_| lacp),
        tlb_dynamic_lb: tape.some(Tape::flag).filter(|_| matches!(mode, BalanceTlb | BalanceAlb)),
    };
    Bond { mode, members, options }
}

/// VLANs on the free links; answers with every link that may carry networks.
pub(super) fn vlans(tape: &mut Tape, links: &mut Vec<Link>, free: Vec<usize>) -> Vec<usize> {
    let mut usable = free.clone();
    let mut seen = HashSet::new();
    for index in 0..tape.below(4) {
        let parent = tape.of(&free);
        let tag = VlanId::try_from(tape.of(&[1, 4094, 100, 200, 300])).unwrap();
        if !seen.insert((parent, tag)) {
            continue;
        }
        let below = effective_mac(links, parent);
        let own = tape.some(mac);
        links.push(Link {
            id: id(tape, "vlan", index),
            name: tape.some(|_| format!("v{index}").parse().unwrap()),
            mac: own.filter(|own| Some(*own) != below),
            mtu: mtu(tape),
            kind: LinkKind::Vlan { parent: LinkRef(parent), id: tag },
        });
        usable.push(links.len() - 1);
    }
    usable
}

fn effective_mac(links: &[Link], index: usize) -> Option<Mac> {
    let link = &links[index];
    match &link.kind {
        LinkKind::Bond(bond) => link.mac.or(links[bond.members[0].0].mac),
        LinkKind::Ethernet { .. } | LinkKind::Vlan { .. } => link.mac,
    }
}
