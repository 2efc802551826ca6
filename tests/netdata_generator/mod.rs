//! Random network data in normal form, out of a tape of numbers: the same tape gives the same
//! document, a tape of zeros the smallest one, so proptest shrinks towards simple documents.

#![allow(clippy::unwrap_used, reason = "constants that are right")]

mod links;

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use leaseless::netdata::model::{Addressing, Dns, LinkKind, LinkRef, Network, NetworkData, Route};
use proptest::prelude::*;

use links::{bonds, id, nics, vlans};

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

    /// A number below the bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound.max(1)
    }

    /// Yes or no.
    pub fn flag(&mut self) -> bool {
        self.next() % 2 == 1
    }

    fn some<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    /// One of several.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

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
