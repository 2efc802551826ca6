//! Who holds which address of one pool, and who gets which next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use ipnet::IpNet;

use super::free::Intervals;
use super::pool::{Pool, Range, Strategy, from_number, to_number};

/// A claim object of either API, told apart from an equal-named one of the other and from an
/// earlier one of the same name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// API group and kind, such as `IPClaim.ipam.metal3.io`.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

/// What a claim asks for.
#[derive(Debug, Clone)]
pub struct Claim<'a> {
    /// Whose it will be.
    pub owner: &'a Owner,
    /// One address and no other.
    pub wanted: Option<IpAddr>,
    /// Who should get the same address again after a release: the host, mostly.
    pub sticky: Option<&'a str>,
}

/// What a claim got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The address.
    pub address: IpAddr,
    /// Its prefix length.
    pub prefix: u8,
    /// Its gateway.
    pub gateway: Option<IpAddr>,
    /// Its DNS servers.
    pub dns_servers: Vec<IpAddr>,
}

/// Why a claim got nothing. It may ask again whenever the pool or its owners change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Every address is held or kept.
    #[error("every address of the pool is in use")]
    Exhausted,
    /// The wanted address is not of this pool.
    #[error("{0} is not in the pool: ask for an address in one of its ranges")]
    NotInPool(IpAddr),
    /// The wanted address is never handed out.
    #[error("{0} is reserved: it is a gateway, a network or broadcast address, or excluded")]
    Reserved(IpAddr),
    /// The wanted address is kept for another claim.
    #[error("{address} is kept for a claim named {claim}")]
    KeptFor {
        /// The address.
        address: IpAddr,
        /// The claim.
        claim: String,
    },
    /// The wanted address is held.
    #[error("{address} is held by {}/{}", owner.namespace, owner.name)]
    Held {
        /// The address.
        address: IpAddr,
        /// Its holder.
        owner: Box<Owner>,
    },
}

/// Two owners were found to hold one address. The first keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The address.
    pub address: IpAddr,
    /// Who keeps it.
    pub kept_by: Owner,
    /// Who must claim anew.
    pub lost_by: Owner,
}

/// The state of one pool.
#[derive(Debug, Clone)]
pub struct Allocator {
    pool: Pool,
    /// Free addresses that nobody held yet, one set a range.
    fresh: Vec<Intervals>,
    /// Free addresses that somebody held, longest ago first.
    released: VecDeque<IpAddr>,
    by_owner: BTreeMap<Owner, IpAddr>,
    by_address: BTreeMap<IpAddr, Owner>,
    sticky: BTreeMap<String, IpAddr>,
    total: u128,
}

impl Allocator {
    /// The state that follows from what is assigned, in order of assignment: also after a restart
    /// or an edit of the pool. An address outside the pool stays its owner's.
    pub fn new(
        pool: Pool,
        assigned: impl IntoIterator<Item = (Owner, IpAddr)>,
    ) -> (Self, Vec<Conflict>) {
        let mut fresh: Vec<Intervals> = pool
            .ranges
            .iter()
            .map(|range| Intervals::full(to_number(range.first), to_number(range.last)))
            .collect();
        let kept: BTreeSet<IpAddr> = pool.pre_allocations.values().copied().collect();
        for (range, free) in pool.ranges.iter().zip(&mut fresh) {
            for net in same_family(&pool, range) {
                free.remove_all(to_number(net.network()), to_number(net.broadcast()));
            }
        }
        let total = fresh.iter().map(Intervals::len).sum();
        for address in kept {
            take(&pool, &mut fresh, address);
        }
        let mut state = Self {
            pool,
            fresh,
            released: VecDeque::new(),
            by_owner: BTreeMap::new(),
            by_address: BTreeMap::new(),
            sticky: BTreeMap::new(),
            total,
        };
        let conflicts = assigned
            .into_iter()
            .filter_map(|(owner, address)| state.adopt(owner, address))
            .collect();
        (state, conflicts)
    }

    fn adopt(&mut self, owner: Owner, address: IpAddr) -> Option<Conflict> {
        match self.by_address.get(&address) {
            Some(holder) if *holder == owner => None,
            Some(holder) => Some(Conflict { address, kept_by: holder.clone(), lost_by: owner }),
            None => {
                self.give(&owner, address);
                None
            }
        }
    }

    /// Assigns an address. The same owner gets the same answer again. `pick` is the randomness
    /// of the random strategy.
    ///
    /// # Errors
    /// Why there is none; the state is unchanged then.
    pub fn claim(&mut self, claim: &Claim<'_>, pick: u64) -> Result<Allocation, Refusal> {
        if let Some(&address) = self.by_owner.get(claim.owner) {
            return Ok(self.allocation(address));
        }
        let address = self.choose(claim, pick)?;
        self.give(claim.owner, address);
        if let Some(key) = claim.sticky {
            self.sticky.insert(key.to_owned(), address);
        }
        Ok(self.allocation(address))
    }

    /// Frees what an owner holds, to be handed out again after everything that is fresher.
    pub fn release(&mut self, owner: &Owner) -> Option<IpAddr> {
        let address = self.by_owner.remove(owner)?;
        self.by_address.remove(&address);
        if self.may_be_given(address) {
            self.released.push_back(address);
        }
        Some(address)
    }

    /// Addresses that can be handed out at all, free or not.
    #[must_use]
    pub const fn total(&self) -> u128 {
        self.total
    }

    /// Addresses that are held.
    #[must_use]
    pub fn used(&self) -> usize {
        self.by_owner.len()
    }

    /// Addresses that any claim could get now.
    #[must_use]
    pub fn free(&self) -> u128 {
        self.fresh.iter().map(Intervals::len).sum::<u128>() + self.released.len() as u128
    }

    /// Who holds what, by address.
    pub fn held(&self) -> impl Iterator<Item = (IpAddr, &Owner)> {
        self.by_address.iter().map(|(address, owner)| (*address, owner))
    }

    /// The pool.
    #[must_use]
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// How many of these numbers of a range are kept from everybody.
    pub(super) fn reserved_within(&self, range: &Range, first: u128, last: u128) -> u128 {
        let mut open = Intervals::full(first, last);
        let all = open.len();
        for net in same_family(&self.pool, range) {
            open.remove_all(to_number(net.network()), to_number(net.broadcast()));
        }
        all - open.len()
    }

    fn choose(&self, claim: &Claim<'_>, pick: u64) -> Result<IpAddr, Refusal> {
        if let Some(&kept) = self.pool.pre_allocations.get(&claim.owner.name) {
            return self.exactly(kept, claim.owner);
        }
        if let Some(wanted) = claim.wanted {
            return self.exactly(wanted, claim.owner);
        }
        let earlier = claim.sticky.and_then(|key| self.sticky.get(key)).copied();
        if let Some(address) = earlier
            && self.exactly(address, claim.owner).is_ok()
        {
            return Ok(address);
        }
        self.any(pick).ok_or(Refusal::Exhausted)
    }

    fn exactly(&self, address: IpAddr, owner: &Owner) -> Result<IpAddr, Refusal> {
        if self.pool.range_of(address).is_none() {
            return Err(Refusal::NotInPool(address));
        }
        let kept = self.pool.pre_allocations.iter().find(|(_, kept)| **kept == address);
        match kept {
            Some((claim, _)) if *claim != owner.name => {
                return Err(Refusal::KeptFor { address, claim: claim.clone() });
            }
            // Whoever keeps an address for a name means it, reserved or not.
            Some(_) => {}
            None if self.pool.is_reserved(address) => return Err(Refusal::Reserved(address)),
            None => {}
        }
        match self.by_address.get(&address) {
            Some(holder) => Err(Refusal::Held { address, owner: Box::new(holder.clone()) }),
            None => Ok(address),
        }
    }

    fn any(&self, pick: u64) -> Option<IpAddr> {
        let fresh = self.pool.ranges.iter().zip(&self.fresh).find(|(_, free)| free.len() > 0);
        let Some((range, free)) = fresh else { return self.released.front().copied() };
        let number = match self.pool.strategy {
            Strategy::Sequential => free.first(),
            Strategy::Random => free.at(u128::from(pick) % free.len()),
        };
        number.map(|number| from_number(number, range.first.is_ipv4()))
    }

    fn give(&mut self, owner: &Owner, address: IpAddr) {
        if !take(&self.pool, &mut self.fresh, address) {
            self.released.retain(|released| *released != address);
        }
        if let Some(before) = self.by_owner.insert(owner.clone(), address) {
            self.by_address.remove(&before);
        }
        self.by_address.insert(address, owner.clone());
    }

    fn may_be_given(&self, address: IpAddr) -> bool {
        self.pool.range_of(address).is_some()
            && !self.pool.is_reserved(address)
            && !self.pool.pre_allocations.values().any(|kept| *kept == address)
    }

    fn allocation(&self, address: IpAddr) -> Allocation {
        let range = self.pool.range_of(address);
        Allocation {
            address,
            prefix: range.map_or(if address.is_ipv4() { 32 } else { 128 }, |range| range.prefix),
            gateway: range.and_then(|range| range.gateway),
            dns_servers: range.map(|range| range.dns_servers.clone()).unwrap_or_default(),
        }
    }
}

fn same_family<'a>(pool: &'a Pool, range: &Range) -> impl Iterator<Item = &'a IpNet> {
    let v4 = range.first.is_ipv4();
    pool.reserved.iter().filter(move |net| net.addr().is_ipv4() == v4)
}

/// Takes an address out of the fresh ones; false where it was not among them.
fn take(pool: &Pool, fresh: &mut [Intervals], address: IpAddr) -> bool {
    let mut ranges = pool.ranges.iter().zip(fresh);
    ranges
        .find(|(range, _)| range.contains(address))
        .is_some_and(|(_, free)| free.remove(to_number(address)))
}

#[cfg(test)]
mod tests;
