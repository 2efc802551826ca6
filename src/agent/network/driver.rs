//! One run of bringing the network up: links, carrier, conflict probes, addresses and routes,
//! verification, neighbours. Each step says what failed and goes on.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::lease::Leases;
use super::view::{
    View, assigned, duplicates, gateways, is_tentative, to_add, without_address, without_carrier,
    without_partner,
};
use super::{Options, Outcome};
use crate::netdata::model::NetworkData;
use crate::netplan::current::Host;
use crate::netplan::{Desired, Op, diff, resolve};
use crate::sys::netlink::{Changes, Netlink, NetlinkError};
use crate::sys::{arp, resolv};
use crate::types::reason::Failure;
use crate::types::{IfName, Mac};

/// Rounds of diff and perform until nothing is left: what the kernel did beside what the plan
/// knew of is seen in the next snapshot.
const ROUNDS: u32 = 4;
/// Duplicate detection takes 1 to 1.5 s once there is carrier.
const DAD_WAIT: Duration = Duration::from_secs(5);
/// Whoever has an address of ours answers when asked; our own link-local address may need a second
/// before it can ask.
const OWNER_WAIT: Duration = Duration::from_secs(3);
/// A gateway is asked for this long even when carrier took all of its time.
const GATEWAY_WAIT: Duration = Duration::from_secs(4);

pub(super) struct Driver<'a> {
    netlink: Netlink,
    changes: Changes,
    data: &'a NetworkData,
    options: &'a Options,
    progress: &'a mut (dyn FnMut(&str) + Send),
    /// Addresses that somebody else has.
    withdrawn: BTreeSet<IpAddr>,
    conflicts: Vec<Failure>,
    changed: usize,
    leases: &'a mut Leases,
}

/// Which operations a round performs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Links,
    Everything,
}

impl<'a> Driver<'a> {
    pub(super) fn open(
        data: &'a NetworkData,
        options: &'a Options,
        leases: &'a mut Leases,
        progress: &'a mut (dyn FnMut(&str) + Send),
    ) -> io::Result<Self> {
        let changes = Netlink::subscribe()?;
        Ok(Self {
            netlink: Netlink::open()?,
            changes,
            data,
            options,
            progress,
            withdrawn: BTreeSet::new(),
            conflicts: Vec::new(),
            changed: 0,
            leases,
        })
    }

    pub(super) async fn run(mut self) -> Result<Outcome, NetlinkError> {
        let carrier_deadline = Instant::now() + self.options.carrier_wait;
        let mut view = self.raise_links().await?;
        for note in &view.resolved.notes {
            (self.progress)(note);
        }
        self.wait_for_carrier(view, carrier_deadline).await?;
        let unserved = self.ask_for_leases().await?;
        view = self.look().await?;
        let added = self.probe(&view).await;
        let refused = self.settle(Scope::Everything).await?;
        view = self.wait_for_dad().await?;
        view = self.wait_for_addresses(view).await?;
        self.announce(&view.host, &added).await;
        self.write_dns(&view.resolved.desired);
        let silent = self.ask_neighbours(&view, carrier_deadline).await;
        self.announce(&view.host, &added).await;
        view = self.look().await?;

        let mut failures = view.resolved.failures();
        failures.extend(without_carrier(&view));
        failures.append(&mut self.conflicts);
        failures.extend(refused);
        failures.extend(unserved);
        failures.extend(without_address(&view));
        failures.extend(silent);
        let mut outcome =
            Outcome { addresses: assigned(&view), changes: self.changed, ..Outcome::default() };
        for failure in failures {
            if !outcome.failures.contains(&failure) {
                outcome.failures.push(failure);
            }
        }
        Ok(outcome)
    }

    async fn look(&self) -> Result<View, NetlinkError> {
        let host = self.netlink.snapshot().await?;
        let policy = self.options.policy();
        let mut resolved = resolve(self.data, &host, &policy);
        self.leases.grant(&mut resolved.desired);
        for address in &self.withdrawn {
            resolved.desired.withdraw(*address);
        }
        Ok(View { host, resolved })
    }

    /// Makes and raises the links that are there, again as late NICs appear.
    async fn raise_links(&mut self) -> Result<View, NetlinkError> {
        let deadline = Instant::now() + self.options.late_nic_wait;
        let mut announced = false;
        loop {
            self.settle(Scope::Links).await?;
            let view = self.look().await?;
            if view.resolved.missing.is_empty() {
                return Ok(view);
            }
            if !announced {
                let macs: Vec<String> =
                    view.resolved.missing.iter().map(|missing| missing.mac.to_string()).collect();
                (self.progress)(&format!("waiting for NICs {}", macs.join(", ")));
                announced = true;
            }
            if !self.changed_before(deadline).await {
                return Ok(view);
            }
        }
    }

    /// Performs what differs until nothing does. Answers what the kernel refused in the last round.
    async fn settle(&mut self, scope: Scope) -> Result<Vec<Failure>, NetlinkError> {
        let mut refused = Vec::new();
        for _ in 0..ROUNDS {
            let view = self.look().await?;
            let mut ops = diff(&view.host, &view.resolved.desired).0;
            ops.retain(|op| scope == Scope::Everything || !op.is_layer3());
            if ops.is_empty() {
                return Ok(Vec::new());
            }
            refused = self.perform(&ops).await;
            // Refused once is refused again, unless something else moved.
            if refused.len() == ops.len() {
                break;
            }
        }
        if refused.is_empty() && scope == Scope::Everything {
            return self.verify().await;
        }
        Ok(refused)
    }

    /// Everything was accepted in the last round: is it so now?
    async fn verify(&mut self) -> Result<Vec<Failure>, NetlinkError> {
        let view = self.look().await?;
        let left = diff(&view.host, &view.resolved.desired).0;
        for op in &left {
            (self.progress)(&format!("accepted, yet not so: {op}"));
        }
        let unstable = Failure::KernelRefused { errno: nix::libc::EAGAIN.unsigned_abs() as u16 };
        Ok(left.first().map(|_| unstable).into_iter().collect())
    }

    async fn perform(&mut self, ops: &[Op]) -> Vec<Failure> {
        let mut refused = Vec::new();
        // Links that could not be made: what needs them would fail with less telling errors.
        let mut broken: BTreeSet<IfName> = BTreeSet::new();
        for op in ops {
            if depends_on(op, &broken) {
                broken.extend(op.link().cloned());
                continue;
            }
            (self.progress)(&op.to_string());
            match self.netlink.perform(op).await {
                Ok(()) => self.changed += 1,
                Err(error) => {
                    let failure = Failure::KernelRefused { errno: error.errno() };
                    (self.progress)(&describe(&error));
                    refused.push(failure);
                    if matches!(op, Op::CreateBond { .. } | Op::CreateVlan { .. }) {
                        broken.extend(op.link().cloned());
                    }
                }
            }
        }
        refused
    }

    async fn wait_for_carrier(
        &mut self,
        mut view: View,
        deadline: Instant,
    ) -> Result<(), NetlinkError> {
        let mut announced = false;
        loop {
            let waiting = without_carrier(&view);
            if waiting.is_empty() {
                return Ok(());
            }
            if !announced {
                (self.progress)(&format!("waiting for carrier on {} NICs", waiting.len()));
                announced = true;
            }
            if !self.changed_before(deadline).await {
                return Ok(());
            }
            self.settle(Scope::Links).await?;
            view = self.look().await?;
        }
    }

    /// Asks DHCP servers, where the data wants that and it is allowed.
    async fn ask_for_leases(&mut self) -> Result<Vec<Failure>, NetlinkError> {
        if !self.options.allow_dhcp {
            return Ok(Vec::new());
        }
        let policy = self.options.policy();
        let deadline = Instant::now() + DAD_WAIT;
        loop {
            let host = self.netlink.snapshot().await?;
            // Without the leases that are held: those are renewed.
            let resolved = resolve(self.data, &host, &policy);
            let view = View { host, resolved };
            // DHCPv6 needs the link-local address.
            let waiting = is_tentative(&view);
            if waiting && self.changed_before(deadline).await {
                continue;
            }
            return Ok(self.leases.ask(&view, self.options.address_wait).await);
        }
    }

    /// Looks for other owners of the IPv4 addresses that are about to be added, and gives those
    /// up that have one. Answers the addresses that are free.
    async fn probe(&mut self, view: &View) -> Vec<(IfName, Ipv4Addr)> {
        let own: Vec<Mac> = view.host.devices.iter().filter_map(|device| device.mac).collect();
        let wanted = to_add(view);
        let probes = wanted.iter().map(|(device, address)| {
            let own = &own;
            async move {
                let mac = device.mac.filter(|_| device.carrier)?;
                arp::probe(device.index, mac, own, *address).await.ok().flatten()
            }
        });
        let owners = join_all(probes).await;
        let mut free = Vec::new();
        for ((device, address), owner) in wanted.iter().zip(owners) {
            if owner.is_some() {
                self.give_up(IpAddr::V4(*address), owner);
            } else {
                free.push((device.name.clone(), *address));
            }
        }
        free
    }

    fn give_up(&mut self, address: IpAddr, by: Option<Mac>) {
        let failure = Failure::AddressInUse { address, by };
        (self.progress)(&failure.to_string());
        self.withdrawn.insert(address);
        self.conflicts.push(failure);
    }

    /// Waits until duplicate detection is through, and gives up what it found.
    async fn wait_for_dad(&mut self) -> Result<View, NetlinkError> {
        let deadline = Instant::now() + DAD_WAIT;
        loop {
            let view = self.look().await?;
            let duplicates = duplicates(&view);
            for (link, address) in &duplicates {
                self.withdrawn.insert(*address);
                self.settle(Scope::Everything).await?;
                let by = self.netlink.find_neighbour(link, *address, OWNER_WAIT).await;
                self.give_up(*address, by.ok().flatten());
            }
            if !duplicates.is_empty() {
                continue;
            }
            let is_done = !is_tentative(&view);
            if is_done || !self.changed_before(deadline).await {
                return Ok(view);
            }
        }
    }

    /// Waits for the kernel to change something. False once the deadline is over, however many
    /// changes wait to be read: a link that never settles makes them itself.
    async fn changed_before(&mut self, deadline: Instant) -> bool {
        Instant::now() < deadline && timeout_at(deadline, self.changes.next()).await.is_ok()
    }

    /// Waits for addresses that routers give out.
    async fn wait_for_addresses(&mut self, mut view: View) -> Result<View, NetlinkError> {
        let deadline = Instant::now() + self.options.address_wait;
        let mut announced = false;
        while !without_address(&view).is_empty() {
            if !announced {
                (self.progress)("waiting for a router advertisement");
                announced = true;
            }
            if !self.changed_before(deadline).await {
                break;
            }
            view = self.look().await?;
        }
        Ok(view)
    }

    async fn announce(&self, host: &Host, addresses: &[(IfName, Ipv4Addr)]) {
        for (link, address) in addresses {
            let Some(device) = host.device(link).filter(|device| device.carrier) else { continue };
            let Some(mac) = device.mac else { continue };
            let holds = device.addresses.iter().any(|known| known.net.addr() == *address);
            if holds {
                // Caches of others are stale for a while longer, nothing worse.
                arp::announce(device.index, mac, *address).await.ok();
            }
        }
    }

    fn write_dns(&mut self, desired: &Desired) {
        let Some(path) = &self.options.resolv_conf else { return };
        let Some(text) = resolv::render(&desired.dns) else { return };
        match resolv::write(path, &text) {
            Ok(true) => {
                self.changed += 1;
                (self.progress)(&format!("wrote {}", path.display()));
            }
            Ok(false) => {}
            Err(error) => (self.progress)(&format!("{} left as it is: {error}", path.display())),
        }
    }

    /// Gateways and LACP partners, all at once: neither waits for the other.
    async fn ask_neighbours(&mut self, view: &View, deadline: Instant) -> Vec<Failure> {
        let now = Instant::now();
        let wait = deadline.saturating_duration_since(now).max(GATEWAY_WAIT);
        let netlink = &self.netlink;
        let gateways = gateways(view);
        let gateways = join_all(gateways.into_iter().map(|(link, gateway)| async move {
            let found = netlink.find_neighbour(&link, gateway, wait).await.ok().flatten();
            found.is_none().then_some(Failure::GatewaySilent { gateway })
        }));
        let (gateways, lacp) = futures::join!(gateways, self.wait_for_lacp());
        gateways.into_iter().flatten().chain(lacp).collect()
    }

    async fn wait_for_lacp(&self) -> Vec<Failure> {
        let deadline = Instant::now() + self.options.lacp_wait;
        loop {
            let Ok(view) = self.look().await else { return Vec::new() };
            let silent = without_partner(&view);
            // A partner is not an event of its own: look again each second.
            if silent.is_empty() || Instant::now() >= deadline {
                return silent;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// The error with its cause, one line.
fn describe(error: &NetlinkError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {cause}")
}

fn depends_on(op: &Op, broken: &BTreeSet<IfName>) -> bool {
    let below = match op {
        Op::CreateVlan { parent, .. } => Some(parent),
        Op::Enslave { master, .. } => Some(master),
        _ => None,
    };
    op.link().is_some_and(|link| broken.contains(link))
        || below.is_some_and(|below| broken.contains(below))
}
