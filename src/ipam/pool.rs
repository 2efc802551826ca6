//! A pool as its owner writes it (`IPPool.spec` of `ipam.metal3.io`), and what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde::Deserialize;

/// `IPPool.spec`, with `exclude` and `reserveGateway` beside what upstream has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolSpec {
    /// Where addresses come from, used in this order.
    #[serde(default)]
    pub pools: Vec<RangeSpec>,
    /// How an address is picked.
    #[serde(default, rename = "allocationStrategy")]
    pub strategy: Strategy,
    /// Addresses kept for claims of these names.
    #[serde(default)]
    pub pre_allocations: BTreeMap<String, IpAddr>,
    /// Prefix of ranges that give none.
    pub prefix: Option<u8>,
    /// Gateway of ranges that give none.
    pub gateway: Option<IpAddr>,
    /// DNS servers of ranges that give none.
    #[serde(default)]
    pub dns_servers: Vec<IpAddr>,
    /// Addresses and networks that are never handed out.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// One range of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RangeSpec {
    /// First address; else the first of `subnet`.
    pub start: Option<IpAddr>,
    /// Last address; else the last of `subnet`.
    pub end: Option<IpAddr>,
    /// The subnet that the range lies in.
    pub subnet: Option<IpNet>,
    /// Prefix length of each address.
    pub prefix: Option<u8>,
    /// Gateway of each address.
    pub gateway: Option<IpAddr>,
    /// DNS servers of each address.
    #[serde(default)]
    pub dns_servers: Vec<IpAddr>,
}

/// How an address is picked. Whatever the strategy, an owner that held an address gets it again
/// while it is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strategy {
    /// The lowest that is free.
    #[default]
    Sequential,
    /// Any that is free.
    Random,
}

/// What is wrong with a pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct PoolProblem {
    /// The field, such as `pools[0].start`.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// A pool that can be allocated from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Ranges, in order, none touching another.
    pub ranges: Vec<Range>,
    /// How an address is picked.
    pub strategy: Strategy,
    /// Addresses kept for claims of these names, each once.
    pub pre_allocations: BTreeMap<String, IpAddr>,
    /// Addresses inside the ranges that are never handed out: networks, broadcasts, gateways,
    /// exclusions.
    pub reserved: Vec<IpNet>,
}

/// A range of one address family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// First address.
    pub first: IpAddr,
    /// Last address.
    pub last: IpAddr,
    /// Prefix length of each address.
    pub prefix: u8,
    /// Gateway, if there is one.
    pub gateway: Option<IpAddr>,
    /// DNS servers.
    pub dns_servers: Vec<IpAddr>,
}

impl Range {
    /// Whether the address lies in the range.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }
}

impl Pool {
    /// Checks a spec.
    ///
    /// # Errors
    /// Every problem at once.
    pub fn new(spec: &PoolSpec) -> Result<Self, Vec<PoolProblem>> {
        let mut check = Check::default();
        let ranges: Vec<Range> = spec
            .pools
            .iter()
            .enumerate()
            .filter_map(|(index, range)| check.range(&format!("pools[{index}]"), range, spec))
            .collect();
        if spec.pools.is_empty() {
            check.say("pools", "a pool needs at least one range");
        }
        check.overlaps(&ranges);
        check.pre_allocations(&spec.pre_allocations);
        let mut reserved = check.excluded(&spec.exclude);
        reserved.extend(ranges.iter().flat_map(reserved_of));
        if check.problems.is_empty() {
            let pre_allocations = spec.pre_allocations.clone();
            Ok(Self { ranges, strategy: spec.strategy, pre_allocations, reserved })
        } else {
            Err(check.problems)
        }
    }

    /// The range that an address lies in.
    #[must_use]
    pub fn range_of(&self, address: IpAddr) -> Option<&Range> {
        self.ranges.iter().find(|range| range.contains(address))
    }

    /// Whether the address is kept from everybody.
    #[must_use]
    pub fn is_reserved(&self, address: IpAddr) -> bool {
        self.reserved.iter().any(|net| net.contains(&address))
    }
}

/// The network address, the broadcast address and the gateway (RFC 919; RFC 4291 §2.6.1 keeps the
/// first address of an IPv6 subnet for its routers). A /31, /32, /127 or /128 has no such ends.
fn reserved_of(range: &Range) -> Vec<IpNet> {
    let mut reserved: Vec<IpNet> = range.gateway.map(IpNet::from).into_iter().collect();
    for end in [range.first, range.last] {
        let Ok(net) = IpNet::new(end, range.prefix) else { continue };
        if net.max_prefix_len() - net.prefix_len() < 2 {
            continue;
        }
        reserved.push(net.network().into());
        if end.is_ipv4() {
            reserved.push(net.broadcast().into());
        }
    }
    reserved
}

#[derive(Default)]
struct Check {
    problems: Vec<PoolProblem>,
}

impl Check {
    fn say(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.problems.push(PoolProblem { path: path.into(), message: message.into() });
    }

    fn range(&mut self, path: &str, range: &RangeSpec, spec: &PoolSpec) -> Option<Range> {
        let known = self.problems.len();
        let subnet = range.subnet.map(|net| net.trunc());
        let Some(first) = range.start.or_else(|| subnet.map(first_host)) else {
            self.say(path, "needs `start`, or a `subnet` to start in");
            return None;
        };
        let Some(last) = range.end.or_else(|| subnet.map(last_host)) else {
            self.say(path, "needs `end`, or a `subnet` to end in");
            return None;
        };
        if first.is_ipv4() != last.is_ipv4() {
            self.say(format!("{path}.end"), format!("{last} is not of {first}'s address family"));
        } else if first > last {
            self.say(format!("{path}.end"), format!("{last} comes before the start, {first}"));
        }
        for (field, address) in [("start", range.start), ("end", range.end)] {
            if let (Some(net), Some(address)) = (subnet, address)
                && !net.contains(&address)
            {
                self.say(format!("{path}.{field}"), format!("{address} is outside {net}"));
            }
        }
        let prefix = self.prefix(path, range, spec, first);
        let gateway = range.gateway.or(spec.gateway);
        if let Some(gateway) = range.gateway
            && gateway.is_ipv4() != first.is_ipv4()
        {
            self.say(format!("{path}.gateway"), format!("{gateway} is of the other family"));
        }
        let given =
            if range.dns_servers.is_empty() { &spec.dns_servers } else { &range.dns_servers };
        let gateway = gateway.filter(|gateway| gateway.is_ipv4() == first.is_ipv4());
        let dns_servers = given.clone();
        (self.problems.len() == known).then_some(Range {
            first,
            last,
            prefix: prefix?,
            gateway,
            dns_servers,
        })
    }

    fn prefix(
        &mut self,
        path: &str,
        range: &RangeSpec,
        spec: &PoolSpec,
        first: IpAddr,
    ) -> Option<u8> {
        let from_subnet = range.subnet.map(|net| net.prefix_len());
        let Some(prefix) = range.prefix.or(from_subnet).or(spec.prefix) else {
            self.say(format!("{path}.prefix"), "no prefix here, in `subnet` or in the pool");
            return None;
        };
        let longest = if first.is_ipv4() { 32 } else { 128 };
        if prefix > longest {
            self.say(format!("{path}.prefix"), format!("{prefix} is more than {longest}"));
            return None;
        }
        Some(prefix)
    }

    fn overlaps(&mut self, ranges: &[Range]) {
        for (later, range) in ranges.iter().enumerate() {
            for earlier in &ranges[..later] {
                if earlier.contains(range.first) || range.contains(earlier.first) {
                    self.say(
                        "pools",
                        format!(
                            "{}-{} and {}-{} overlap: an address would be in both",
                            earlier.first, earlier.last, range.first, range.last
                        ),
                    );
                }
            }
        }
    }

    fn pre_allocations(&mut self, pre_allocations: &BTreeMap<String, IpAddr>) {
        let mut seen = BTreeSet::new();
        for (claim, address) in pre_allocations {
            if !seen.insert(address) {
                self.say(
                    format!("preAllocations.{claim}"),
                    format!("{address} is kept for another claim too"),
                );
            }
        }
    }

    fn excluded(&mut self, exclude: &[String]) -> Vec<IpNet> {
        let mut nets = Vec::new();
        for (index, text) in exclude.iter().enumerate() {
            let net = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            match net {
                Ok(net) => nets.push(net.trunc()),
                Err(_) => self.say(
                    format!("exclude[{index}]"),
                    format!("{text:?} is neither an address nor a network such as 192.0.2.0/28"),
                ),
            }
        }
        nets
    }
}

fn first_host(net: IpNet) -> IpAddr {
    let network = net.network();
    if net.max_prefix_len() - net.prefix_len() < 2 { network } else { step(network, 1) }
}

fn last_host(net: IpNet) -> IpAddr {
    let broadcast = net.broadcast();
    let short = net.max_prefix_len() - net.prefix_len() < 2;
    if short || broadcast.is_ipv6() { broadcast } else { step(broadcast, -1) }
}

/// The neighbour of an address that is known to have one.
fn step(address: IpAddr, by: i8) -> IpAddr {
    from_number(to_number(address).wrapping_add_signed(by.into()), address.is_ipv4())
}

/// An address as a number; its family is kept beside it.
pub(super) fn to_number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address of a number that [`to_number`] made for this family.
pub(super) fn from_number(number: u128, v4: bool) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if v4 => IpAddr::V4(Ipv4Addr::from_bits(number)),
        Ok(_) | Err(_) => IpAddr::V6(Ipv6Addr::from_bits(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(yaml: &str) -> Result<Pool, Vec<String>> {
        let spec: PoolSpec = serde_yaml_ng::from_str(yaml).unwrap();
        Pool::new(&spec).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_subnet_alone_is_all_its_hosts() {
        for (subnet, first, last) in [
            ("192.0.2.0/24", "192.0.2.1", "192.0.2.254"),
            ("192.0.2.7/24", "192.0.2.1", "192.0.2.254"),
            ("192.0.2.6/31", "192.0.2.6", "192.0.2.7"),
            ("192.0.2.6/32", "192.0.2.6", "192.0.2.6"),
            ("2001:db8::/120", "2001:db8::1", "2001:db8::ff"),
            ("2001:db8::8/127", "2001:db8::8", "2001:db8::9"),
        ] {
            let pool = pool(&format!("pools: [{{subnet: '{subnet}'}}]")).unwrap();
            let range = &pool.ranges[0];
            assert_eq!(
                (range.first.to_string(), range.last.to_string()),
                (first.into(), last.into())
            );
        }
    }

    #[test]
    fn what_a_range_lacks_comes_from_the_pool() {
        let pool = pool(
            "{pools: [{start: 192.0.2.5, end: 192.0.2.9}], prefix: 24, gateway: 192.0.2.1,
              dnsServers: [192.0.2.53]}",
        )
        .unwrap();
        let range = &pool.ranges[0];
        assert_eq!((range.prefix, range.gateway), (24, "192.0.2.1".parse().ok()));
        assert_eq!(range.dns_servers, ["192.0.2.53".parse::<IpAddr>().unwrap()]);
    }

    #[test]
    fn every_problem_is_told_at_once_with_its_field() {
        let problems = pool(
            "{pools: [{start: 192.0.2.9, end: 192.0.2.5, prefix: 24}, {end: 192.0.2.9},
              {start: 192.0.2.1, end: 198.51.100.1, subnet: 192.0.2.0/24},
              {start: 192.0.2.1, end: '2001:db8::1', prefix: 24},
              {start: 192.0.2.1, end: 192.0.2.2, prefix: 33},
              {start: 192.0.2.1, end: 192.0.2.2}],
              preAllocations: {a: 192.0.2.3, b: 192.0.2.3}, exclude: [192.0.2.0/33]}",
        )
        .unwrap_err();
        assert_eq!(
            problems,
            [
                "pools[0].end: 192.0.2.5 comes before the start, 192.0.2.9",
                "pools[1]: needs `start`, or a `subnet` to start in",
                "pools[2].end: 198.51.100.1 is outside 192.0.2.0/24",
                "pools[3].end: 2001:db8::1 is not of 192.0.2.1's address family",
                "pools[4].prefix: 33 is more than 32",
                "pools[5].prefix: no prefix here, in `subnet` or in the pool",
                "preAllocations.b: 192.0.2.3 is kept for another claim too",
                "exclude[0]: \"192.0.2.0/33\" is neither an address nor a network such as 192.0.2.0/28",
            ]
        );
    }

    #[test]
    fn overlapping_ranges_are_refused() {
        let problems = pool("pools: [{subnet: 192.0.2.0/24}, {subnet: 192.0.2.128/25}]");
        assert!(problems.unwrap_err()[0].contains("overlap"));
    }
}
