//! Network data meets a machine: finds its NICs, names its bonds and VLANs, settles MTUs, and says
//! what is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::current::{Device, DeviceKind, ETHERNET_MTU, Host, IPV6_MIN_MTU};
use super::desired::{Automatic, Desired, Ipv6Wanted, Wanted, WantedBond, WantedKind, WantedRoute};
use super::names::Names;
use crate::netdata::model::{
    Addressing, Bond, BondMode, BondOptions, Dns, Link, LinkKind, LinkRef, NetworkData,
};
use crate::types::reason::Failure;
use crate::types::{IfName, Mac};

/// What may be done beyond what the data says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// Networks that need DHCP are wanted, not refused.
    pub allow_dhcp: bool,
    /// Every other physical NIC is brought up too, without addresses.
    pub own_machine: bool,
}

/// A NIC that the data names and the host does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The link of the data.
    pub link: LinkRef,
    /// Its MAC.
    pub mac: Mac,
}

/// Something of the data that this host can't have, in words and as a numbered reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The numbered reason.
    pub failure: Failure,
    /// What exactly, one line.
    pub detail: String,
}

/// Network data on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// What resolves.
    pub desired: Desired,
    /// NICs that are not there.
    pub missing: Vec<Missing>,
    /// MACs of the NICs that are there.
    pub present: Vec<Mac>,
    /// What can't be had.
    pub problems: Vec<Problem>,
    /// What was decided differently from the letter of the data.
    pub notes: Vec<String>,
}

impl Resolved {
    /// Missing NICs and problems as numbered reasons.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure> {
        let missing = self.missing.iter().map(|missing| Failure::MacNotFound {
            mac: missing.mac,
            present: self.present.clone(),
        });
        missing.chain(self.problems.iter().map(|problem| problem.failure.clone())).collect()
    }
}

/// Finds the links of `data` on `host`. What does not resolve leaves the rest alone.
#[must_use]
pub fn resolve(data: &NetworkData, host: &Host, policy: &Policy) -> Resolved {
    let mut resolver = Resolver {
        data,
        host,
        policy: *policy,
        names: BTreeMap::new(),
        out: Resolved { present: host.nic_macs(), ..Resolved::default() },
    };
    resolver.find_nics();
    resolver.name_the_rest();
    resolver.add_links();
    resolver.add_networks();
    resolver.settle_mtus();
    resolver.add_unlisted();
    resolver.out.desired.own_machine = policy.own_machine;
    resolver.out.desired.dns = collect_dns(data);
    resolver.out
}

struct Resolver<'a> {
    data: &'a NetworkData,
    host: &'a Host,
    policy: Policy,
    /// Links that resolve.
    names: BTreeMap<LinkRef, IfName>,
    out: Resolved,
}

impl Resolver<'_> {
    fn links(&self) -> impl Iterator<Item = (LinkRef, &Link)> {
        self.data.links.iter().enumerate().map(|(position, link)| (LinkRef(position), link))
    }

    fn problem(&mut self, failure: Failure, detail: String) {
        self.out.problems.push(Problem { failure, detail });
    }

    fn find_nics(&mut self) {
        let data = self.data;
        for (position, link) in data.links.iter().enumerate() {
            let LinkKind::Ethernet { .. } = link.kind else { continue };
            let reference = LinkRef(position);
            match (find_nic(self.host, link), link.mac) {
                (Some(device), _) => {
                    self.names.insert(reference, device.name.clone());
                }
                (None, Some(mac)) => self.out.missing.push(Missing { link: reference, mac }),
                (None, None) => self.problem(
                    Failure::NetworkDataInvalid,
                    format!("link {:?} has no MAC, and no NIC has its name", link.id),
                ),
            }
        }
    }

    /// Names bonds and VLANs whose lower links resolve, lower ones first. A bond needs one member.
    fn name_the_rest(&mut self) {
        let (data, host) = (self.data, self.host);
        let mut names = Names::new(host);
        let mut asked: BTreeMap<LinkRef, IfName> = BTreeMap::new();
        for (reference, link) in self.links() {
            let (LinkKind::Bond(_) | LinkKind::Vlan { .. }) = link.kind else { continue };
            let Some(name) = &link.name else { continue };
            if names.claim(name) {
                asked.insert(reference, name.clone());
            }
        }
        let mut refused = BTreeSet::new();
        // Each pass names at least one link or is the last.
        for _ in 0..=data.links.len() {
            for (position, link) in data.links.iter().enumerate() {
                let reference = LinkRef(position);
                if self.names.contains_key(&reference) || refused.contains(&reference) {
                    continue;
                }
                let generated = match &link.kind {
                    LinkKind::Ethernet { .. } => continue,
                    LinkKind::Bond(bond) => {
                        let members = self.members(bond);
                        if members.is_empty() {
                            continue;
                        }
                        asked
                            .get(&reference)
                            .cloned()
                            .or_else(|| names.for_bond(&link.id, &members))
                    }
                    LinkKind::Vlan { parent, id } => {
                        let Some(below) = self.names.get(parent) else { continue };
                        asked.get(&reference).cloned().or_else(|| names.for_vlan(below, *id))
                    }
                };
                match generated {
                    Some(name) => {
                        self.note_other_name(link, &name);
                        self.names.insert(reference, name);
                    }
                    None => {
                        refused.insert(reference);
                        self.problem(
                            Failure::NetworkDataInvalid,
                            format!("link {:?}: no device name is free for it", link.id),
                        );
                    }
                }
            }
        }
    }

    fn note_other_name(&mut self, link: &Link, name: &IfName) {
        if let Some(asked) = link.name.as_ref().filter(|asked| *asked != name) {
            let id = &link.id;
            self.out.notes.push(format!("link {id:?} is {name}: the name {asked} is taken"));
        }
    }

    fn members(&self, bond: &Bond) -> Vec<IfName> {
        bond.members.iter().filter_map(|member| self.names.get(member).cloned()).collect()
    }

    /// Lower links first: a link goes in once everything below it is in.
    fn add_links(&mut self) {
        let data = self.data;
        let masters = self.masters();
        let mut todo: Vec<LinkRef> = self.names.keys().copied().collect();
        while !todo.is_empty() {
            let waiting = todo.clone();
            let ready = |reference: &LinkRef| match &data.links[reference.0].kind {
                LinkKind::Ethernet { .. } => true,
                LinkKind::Bond(bond) => !bond.members.iter().any(|below| waiting.contains(below)),
                LinkKind::Vlan { parent, .. } => !waiting.contains(parent),
            };
            let (now, later): (Vec<_>, Vec<_>) = todo.into_iter().partition(ready);
            if now.is_empty() {
                break;
            }
            for reference in now {
                self.add_link(reference, masters.get(&reference).cloned());
            }
            todo = later;
        }
    }

    fn masters(&self) -> BTreeMap<LinkRef, IfName> {
        let mut masters = BTreeMap::new();
        for (reference, link) in self.links() {
            let (LinkKind::Bond(bond), Some(name)) = (&link.kind, self.names.get(&reference))
            else {
                continue;
            };
            for member in &bond.members {
                masters.entry(*member).or_insert_with(|| name.clone());
            }
        }
        masters
    }

    fn add_link(&mut self, reference: LinkRef, master: Option<IfName>) {
        let data = self.data;
        let link = &data.links[reference.0];
        let Some(name) = self.names.get(&reference).cloned() else { return };
        if self.out.desired.link(&name).is_some() {
            // Two links of the data that are one NIC: the networks of both go on it.
            self.out.notes.push(format!("link {:?} is {name} too", link.id));
            return;
        }
        let (kind, mac) = match &link.kind {
            LinkKind::Ethernet { .. } => (WantedKind::Nic, None),
            LinkKind::Vlan { parent, id } => {
                let Some(below) = self.names.get(parent).cloned() else { return };
                // A VLAN follows the address below until one is set.
                let mac = link.mac.filter(|mac| data.links[parent.0].mac != Some(*mac));
                (WantedKind::Vlan { parent: below, id: *id }, mac)
            }
            LinkKind::Bond(bond) => {
                let primary = bond.options.primary.and_then(|member| self.names.get(&member));
                let wanted = WantedBond {
                    mode: bond.mode,
                    options: settle_options(bond),
                    primary: primary.cloned(),
                };
                // With fail_over_mac=active the bond has the address of whichever member is in use.
                let follows = bond.options.fail_over_mac == Some(1);
                if let Some(mac) = link.mac.filter(|_| follows) {
                    self.out.notes.push(format!("{name}: fail_over_mac rules out MAC {mac}"));
                }
                (WantedKind::Bond(Box::new(wanted)), link.mac.filter(|_| !follows))
            }
        };
        self.out.desired.links.push(Wanted {
            name,
            kind,
            master,
            mac,
            mtu: link.mtu,
            addresses: Vec::new(),
            automatic: Vec::new(),
            ipv6: Ipv6Wanted::default(),
        });
    }

    fn add_networks(&mut self) {
        let data = self.data;
        let has_default_route =
            data.networks.iter().flat_map(|network| &network.routes).any(|route| {
                route.destination.prefix_len() == 0 && route.destination.addr().is_ipv6()
            });
        for (position, network) in data.networks.iter().enumerate() {
            let Some(name) = self.names.get(&network.link).cloned() else { continue };
            if needs_dhcp(network.addressing) && !self.policy.allow_dhcp {
                let detail = format!("network {:?} needs DHCP, which is not allowed", network.id);
                self.problem(Failure::DhcpRefused, detail);
                continue;
            }
            let desired = &mut self.out.desired;
            let Some(link) = desired.links.iter_mut().find(|link| link.name == name) else {
                continue;
            };
            match network.addressing {
                Addressing::Static(net)
                    if !link.addresses.iter().any(|(_, known)| *known == net) =>
                {
                    link.addresses.push((position, net));
                }
                Addressing::Static(_) => {}
                addressing @ (Addressing::Dhcp4
                | Addressing::Dhcp6
                | Addressing::Dhcp6Stateless
                | Addressing::Dhcp6Stateful
                | Addressing::Slaac) => {
                    link.automatic.push(Automatic { network: position, addressing });
                }
            }
            merge_ipv6(&mut link.ipv6, network.addressing, has_default_route);
            let routes =
                network.routes.iter().map(|route| WantedRoute::new(position, route, &name));
            desired.routes.extend(routes);
        }
        self.out.desired.sort_routes();
    }

    /// A lower link is at least as large as what is on it; members follow their bond. Upper links
    /// first, so that what is below hears of all above.
    fn settle_mtus(&mut self) {
        let links = self.out.desired.links.clone();
        for link in links.iter().rev() {
            let members: Vec<&Wanted> =
                links.iter().filter(|below| below.master.as_ref() == Some(&link.name)).collect();
            let own = self.out.desired.link(&link.name).and_then(|link| link.mtu);
            let stated = own.or_else(|| members.iter().filter_map(|member| member.mtu).max());
            let mtu = self.at_least(&link.name, stated);
            self.note_mtu(&link.name, link.mtu, mtu);
            self.set_mtu(&link.name, mtu);
            for member in members.iter().filter(|_| mtu.is_some()) {
                self.set_mtu(&member.name, mtu);
            }
        }
        self.drop_ipv6_below_its_mtu();
    }

    /// The stated MTU, or more for the VLANs on the link; `None` where what it has will do.
    fn at_least(&self, link: &IfName, stated: Option<u32>) -> Option<u32> {
        let on_it = self.out.desired.links.iter().filter(|upper| match &upper.kind {
            WantedKind::Vlan { parent, .. } => parent == link,
            WantedKind::Nic | WantedKind::Bond(_) => false,
        });
        let upper = on_it.filter_map(|upper| upper.mtu).max();
        let current = match self.host.device(link) {
            Some(device) if device.is_port() => device.mtu,
            // It may have to be made anew, and is fresh then.
            Some(device) => device.mtu.min(ETHERNET_MTU),
            None => ETHERNET_MTU,
        };
        match (stated, upper) {
            (Some(stated), upper) => Some(stated.max(upper.unwrap_or(0))),
            (None, upper) => upper.filter(|upper| *upper > current),
        }
    }

    fn note_mtu(&mut self, link: &IfName, stated: Option<u32>, settled: Option<u32>) {
        if let (Some(stated), Some(mtu)) = (stated, settled)
            && stated != mtu
        {
            self.out
                .notes
                .push(format!("{link}: MTU {mtu} instead of {stated}, for its bond or VLANs"));
        }
    }

    fn set_mtu(&mut self, name: &IfName, mtu: Option<u32>) {
        if let Some(link) = self.out.desired.links.iter_mut().find(|link| link.name == *name) {
            link.mtu = mtu;
        }
    }

    fn drop_ipv6_below_its_mtu(&mut self) {
        let desired = &mut self.out.desired;
        for link in &mut desired.links {
            let Some(mtu) = link.mtu.filter(|mtu| *mtu < IPV6_MIN_MTU && link.ipv6.used) else {
                continue;
            };
            link.addresses.retain(|(_, net)| net.addr().is_ipv4());
            link.automatic.retain(|automatic| automatic.addressing == Addressing::Dhcp4);
            link.ipv6 = Ipv6Wanted::default();
            desired.routes.retain(|wanted| {
                wanted.route.device != link.name || wanted.route.destination.addr().is_ipv4()
            });
            let detail = format!("{}: no IPv6 with MTU {mtu}: it needs 1280", link.name);
            self.out.problems.push(Problem { failure: Failure::NetworkDataInvalid, detail });
        }
    }

    fn add_unlisted(&mut self) {
        if !self.policy.own_machine {
            return;
        }
        let host = self.host;
        for device in &host.devices {
            let physical =
                matches!(device.kind, DeviceKind::Nic { physical: true } | DeviceKind::Infiniband);
            if !physical || device.master.is_some() || self.out.desired.link(&device.name).is_some()
            {
                continue;
            }
            self.out.desired.links.push(Wanted {
                name: device.name.clone(),
                kind: WantedKind::Nic,
                master: None,
                mac: None,
                mtu: None,
                addresses: Vec::new(),
                automatic: Vec::new(),
                ipv6: Ipv6Wanted::default(),
            });
        }
    }
}

/// The NIC of a link: by permanent address, then by the current one of a port that stands alone
/// (a member's current address is its bond's), then, without a MAC, by name or id.
fn find_nic<'a>(host: &'a Host, link: &Link) -> Option<&'a Device> {
    let ports = || host.devices.iter().filter(|device| device.is_port());
    let ethernet_first = |found: Vec<&'a Device>| {
        let nic = found.iter().find(|device| device.kind != DeviceKind::Infiniband).copied();
        nic.or_else(|| found.first().copied())
    };
    let Some(mac) = link.mac else {
        let is_named = |device: &&Device| {
            let name = link.name.as_ref().map_or(link.id.as_str(), IfName::as_str);
            device.name.as_str() == name
        };
        return ports().find(is_named);
    };
    let by_permanent = ports().filter(|device| device.permanent_mac == Some(mac)).collect();
    ethernet_first(by_permanent).or_else(|| {
        let alone = |device: &&Device| device.mac == Some(mac) && device.master.is_none();
        ethernet_first(ports().filter(alone).collect())
    })
}

/// Options as the kernel will report them: link monitoring is on, and delays are whole multiples
/// of its interval (`bond_option_updelay_set`).
fn settle_options(bond: &Bond) -> BondOptions {
    let mut options = bond.options.clone();
    options.primary = None;
    if options.miimon.is_none() && options.arp_interval.unwrap_or(0) == 0 {
        options.miimon = Some(100);
    }
    let interval = options.miimon.filter(|interval| *interval > 0);
    let whole = |delay: Option<u32>| match (delay, interval) {
        (Some(delay), Some(interval)) => Some(delay - delay % interval),
        (delay, None) | (delay @ None, Some(_)) => delay,
    };
    options.updelay = whole(options.updelay);
    options.downdelay = whole(options.downdelay);
    options.peer_notif_delay = whole(options.peer_notif_delay);
    if bond.mode != BondMode::Ieee8023ad {
        options.ad_actor_system = None;
    }
    options
}

const fn needs_dhcp(addressing: Addressing) -> bool {
    match addressing {
        Addressing::Dhcp4
        | Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful => true,
        Addressing::Static(_) | Addressing::Slaac => false,
    }
}

/// A static address without an IPv6 default route relies on the router for one; with it, routers
/// have no say.
fn merge_ipv6(ipv6: &mut Ipv6Wanted, addressing: Addressing, has_default_route: bool) {
    let (used, accept_ra, autoconf) = match addressing {
        Addressing::Static(net) => {
            let v6 = net.addr().is_ipv6();
            (v6, v6 && !has_default_route, false)
        }
        Addressing::Dhcp4 => (false, false, false),
        Addressing::Dhcp6Stateful => (true, true, false),
        Addressing::Dhcp6 | Addressing::Dhcp6Stateless | Addressing::Slaac => (true, true, true),
    };
    ipv6.used |= used;
    ipv6.accept_ra |= accept_ra;
    ipv6.autoconf |= autoconf;
}

/// Top level first, then networks in order, each once.
fn collect_dns(data: &NetworkData) -> Dns {
    let mut dns = Dns::default();
    let parts = std::iter::once(&data.dns).chain(data.networks.iter().map(|network| &network.dns));
    for part in parts {
        for server in &part.servers {
            if !dns.servers.contains(server) {
                dns.servers.push(*server);
            }
        }
        for domain in &part.search {
            if !dns.search.contains(domain) {
                dns.search.push(domain.clone());
            }
        }
    }
    dns
}
