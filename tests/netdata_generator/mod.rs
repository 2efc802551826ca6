//! Random network data in normal form, out of a tape of numbers: the same tape gives the same
//! document, a tape of zeros the smallest one, so proptest shrinks towards simple documents.

use std::collections::HashSet;
#![allow(clippy::unwrap_used, reason = "constants that are right")]
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use leaseless::netdata::model::{
    Addressing, Bond, BondMode, BondOptions, Dns, Link, LinkKind, LinkRef, Network, NetworkData,
    Route,
};
use leaseless::types::{Mac, VlanId};
use proptest::prelude::*;

/// Documents in normal form, all kinds of link and network.
pub fn network_data() -> impl Strategy<Value = NetworkData> {
    prop::collection::vec(any::<u32>(), 0..600).prop_map(|tape| document(&mut Tape::new(tape)))
}

/// Choices, read one after the other; zero when they are used up.
pub struct Tape(std::vec::IntoIter<u32>);

impl Tape {
    /// A tape of these numbers.
    pub fn new(numbers: Vec<u32>) -> Self {
        Self(numbers.into_iter())
    }

    fn next(&mut self) -> u32 {
        self.0.next().unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound.max(1)
    }

    fn flag(&mut self) -> bool {
        self.next() % 2 == 1
    }

    fn some<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

const HINTS: [&str; 9] =
    ["phy", "vif", "ovs", "bridge", "tap", "dvs", "hw_veb", "hyperv", "vhostuser"];

/// One document.
pub fn document(tape: &mut Tape) -> NetworkData {
    let mut links = nics(tape);
    let free = bonds(tape, &mut links);
    let usable = vlans(tape, &mut links, free);
    let mut networks = networks(tape, &usable);
    drop_clashes(&mut networks);
    rank_and_place(tape, &mut networks);
    let mut dns = dns(tape);
    let placed: HashSet<IpAddr> =
        networks.iter().flat_map(|network| network.dns.servers.clone()).collect();
    dns.servers.retain(|server| !placed.contains(server));
    if dns.servers.is_empty() && placed.is_empty() {
        dns.search.clear();
    }
    shuffled(tape, NetworkData { links, networks, dns })
}

fn mac(tape: &mut Tape) -> Mac {
    let [a, b, c, d] = tape.next().to_be_bytes();
    Mac::new([0x02, 0x54, a, b, c, d])
}

fn mtu(tape: &mut Tape) -> Option<u32> {
    tape.some(|tape| tape.of(&[1500, 9000, 1280, 1400, 65535]))
}

fn nics(tape: &mut Tape) -> Vec<Link> {
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
fn id(tape: &mut Tape, prefix: &str, index: usize) -> String {
    match tape.below(4) {
        0 => format!("{prefix}{index}"),
        1 => format!("92750f6c-60a9-4897-9cd1-{prefix}{index}"),
        2 => format!("{prefix} \"{index}\" é"),
        _ => format!("{index}{prefix}.5/6:7"),
    }
}

/// Bonds over the first links; answers with the links that are members of none.
fn bonds(tape: &mut Tape, links: &mut Vec<Link>) -> Vec<usize> {
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
fn vlans(tape: &mut Tape, links: &mut Vec<Link>, free: Vec<usize>) -> Vec<usize> {
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

fn networks(tape: &mut Tape, usable: &[usize]) -> Vec<Network> {
    (0..tape.below(6))
        .map(|index| {
            let addressing = addressing(tape);
            let id = id(tape, "network", index);
            let routes = (0..tape.below(4)).map(|_| route(tape, addressing)).collect();
            Network {
                network_id: if tape.flag() { "shared".to_owned() } else { id.clone() },
                id,
                link: LinkRef(tape.of(usable)),
                addressing,
                routes,
                dns: if tape.flag() { dns(tape) } else { Dns::default() },
            }
        })
        .collect()
}

fn addressing(tape: &mut Tape) -> Addressing {
    match tape.below(12) {
        0..=3 => Addressing::Static(IpNet::V4(own_v4(tape))),
        4..=6 => Addressing::Static(IpNet::V6(own_v6(tape))),
        7 => Addressing::Dhcp4,
        8 => Addressing::Dhcp6,
        9 => Addressing::Dhcp6Stateless,
        10 => Addressing::Dhcp6Stateful,
        _ => Addressing::Slaac,
    }
}

fn v4(tape: &mut Tape) -> Ipv4Addr {
    let [_, b, c, d] = tape.next().to_be_bytes();
    Ipv4Addr::new(tape.of(&[192, 10, 172, 198, 1, 223]), b, c, d)
}

fn v6(tape: &mut Tape) -> Ipv6Addr {
    let head = tape.of(&[0x2001, 0xfd00, 0xfe80, 0x3fff]);
    let (high, low) = (tape.next(), tape.next());
    let second = if head == 0xfe80 { 0 } else { (high >> 16) as u16 };
    Ipv6Addr::new(head, second, 0, 0, high as u16, (low >> 16) as u16, 0, low as u16)
}

fn own_v4(tape: &mut Tape) -> Ipv4Net {
    let net = Ipv4Net::new(v4(tape), tape.of(&[24, 32, 31, 30, 16, 8, 22, 1])).unwrap();
    let ends = net.prefix_len() <= 30;
    if ends && (net.addr() == net.network() || net.addr() == net.broadcast()) {
        let first = Ipv4Addr::from(u32::from(net.network()) + 1);
        return Ipv4Net::new(first, net.prefix_len()).unwrap();
    }
    net
}

fn own_v6(tape: &mut Tape) -> Ipv6Net {
    Ipv6Net::new(v6(tape), tape.of(&[64, 128, 127, 48, 56, 96, 112, 1])).unwrap()
}

fn route(tape: &mut Tape, addressing: Addressing) -> Route {
    let is_v4 = match addressing {
        Addressing::Static(net) => net.addr().is_ipv4(),
        Addressing::Dhcp4 => true,
        Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful
        | Addressing::Slaac => false,
    };
    let destination = if is_v4 {
        IpNet::V4(Ipv4Net::new(v4(tape), tape.of(&[0, 24, 8, 32, 31])).unwrap())
    } else {
        IpNet::V6(Ipv6Net::new(v6(tape), tape.of(&[0, 64, 128, 48, 20])).unwrap())
    };
    let gateway = match (tape.below(4), addressing) {
        (0, Addressing::Static(net)) => neighbour(net),
        (1, _) => None,
        _ if is_v4 => Some(IpAddr::V4(v4(tape))),
        _ => Some(IpAddr::V6(v6(tape))),
    };
    Route { destination: destination.trunc(), gateway, onlink: false, rank: 0 }
}

fn neighbour(net: IpNet) -> Option<IpAddr> {
    match net {
        IpNet::V4(net) => Some(IpAddr::V4(Ipv4Addr::from(u32::from(net.addr()) ^ 3))),
        IpNet::V6(net) => Some(IpAddr::V6(Ipv6Addr::from(u128::from(net.addr()) ^ 3))),
    }
}

fn dns(tape: &mut Tape) -> Dns {
    let mut dns = Dns::default();
    for _ in 0..tape.below(3) {
        let server = if tape.flag() {
            IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, tape.below(4) as u16 + 1))
        } else {
            IpAddr::V4(Ipv4Addr::new(192, 0, 2, tape.below(4) as u8 + 1))
        };
        if !dns.servers.contains(&server) {
            dns.servers.push(server);
        }
    }
    for domain in ["example.com", "lab.example.net"] {
        if tape.flag() {
            dns.search.push(domain.to_owned());
        }
    }
    dns
}

/// Takes out what the format forbids over the whole document: a claimed address twice, an own
/// address or the end of a subnet as gateway.
fn drop_clashes(networks: &mut Vec<Network>) {
    let mut seen = HashSet::new();
    networks.retain(|network| match network.addressing {
        Addressing::Static(net) => seen.insert(net.addr()),
        _ => true,
    });
    let nets: Vec<IpNet> = networks
        .iter()
        .filter_map(|network| match network.addressing {
            Addressing::Static(net) => Some(net),
            _ => None,
        })
        .collect();
    for network in networks {
        network.routes.retain(|route| {
            route.gateway.is_none_or(|gateway| {
                !gateway.is_unspecified()
                    && usable(gateway)
                    && nets.iter().all(|net| {
                        net.addr() != gateway
                            && (!gateway.is_ipv4()
                                || (net.network() != gateway && net.broadcast() != gateway))
                    })
            })
        });
    }
}

fn usable(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => (1..224).contains(&v4.octets()[0]) && v4.octets()[0] != 127,
        IpAddr::V6(v6) => !v6.is_multicast() && !v6.is_loopback(),
    }
}

/// Ranks of routes to one destination are any permutation; `onlink` follows from the subnets.
fn rank_and_place(tape: &mut Tape, networks: &mut [Network]) {
    let subnets: Vec<(LinkRef, Addressing)> =
        networks.iter().map(|network| (network.link, network.addressing)).collect();
    let mut places: Vec<(usize, usize, u32)> = Vec::new();
    for (n, network) in networks.iter().enumerate() {
        for r in 0..network.routes.len() {
            places.push((n, r, tape.next()));
        }
    }
    places.sort_by_key(|(_, _, key)| *key);
    let mut ranks: Vec<(IpNet, u32)> = Vec::new();
    for (n, r, _) in places {
        let link = networks[n].link;
        let route = &mut networks[n].routes[r];
        match ranks.iter_mut().find(|(destination, _)| *destination == route.destination) {
            Some((_, rank)) => {
                *rank += 1;
                route.rank = *rank;
            }
            None => ranks.push((route.destination, 0)),
        }
        route.onlink = route.gateway.is_some_and(|gateway| {
            let link_local = matches!(gateway, IpAddr::V6(v6) if v6.is_unicast_link_local());
            let covers = |addressing: &Addressing| match addressing {
                Addressing::Static(net) => net.contains(&gateway),
                Addressing::Dhcp4 => gateway.is_ipv4(),
                _ => gateway.is_ipv6(),
            };
            !link_local && !subnets.iter().any(|(on, how)| *on == link && covers(how))
        });
    }
}

/// Links in any order, as producers write them.
fn shuffled(tape: &mut Tape, data: NetworkData) -> NetworkData {
    let mut order: Vec<(u32, usize)> =
        (0..data.links.len()).map(|index| (tape.next(), index)).collect();
    order.sort_unstable();
    let mut place = vec![0; order.len()];
    for (new, (_, old)) in order.iter().enumerate() {
        place[*old] = new;
    }
    let moved = |link: LinkRef| LinkRef(place[link.0]);
    let links = order
        .iter()
        .map(|(_, old)| {
            let mut link = data.links[*old].clone();
            match &mut link.kind {
                LinkKind::Ethernet { .. } => {}
                LinkKind::Vlan { parent, .. } => *parent = moved(*parent),
                LinkKind::Bond(bond) => {
                    bond.members = bond.members.iter().copied().map(moved).collect();
                    bond.options.primary = bond.options.primary.map(moved);
                }
            }
            link
        })
        .collect();
    let networks = data
        .networks
        .into_iter()
        .map(|network| Network { link: moved(network.link), ..network })
        .collect();
    NetworkData { links, networks, dns: data.dns }
}
