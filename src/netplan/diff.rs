//! What must change, in the order in which the kernel takes it.

use ipnet::IpNet;

use super::current::{
    Address, Device, DeviceKind, Host, PROTOCOL_BOOT, PROTOCOL_DHCP, PROTOCOL_RA, PROTOCOL_STATIC,
    Route,
};
use super::desired::{Desired, Wanted, WantedBond, WantedKind};
use super::op::{Ipv6Setting, Op, Plan};
use crate::netdata::model::BondOptions;
use crate::types::{IfName, VlanId};

/// Operations that make `host` what `desired` says, and nothing else. Empty when it is so already.
#[must_use]
pub fn diff(host: &Host, desired: &Desired) -> Plan {
    let mut planner = Planner { now: host.clone(), desired, ops: Vec::new() };
    planner.clear_the_way();
    planner.lower_mtus();
    planner.prepare_own_machine();
    for link in &desired.links {
        planner.make(link);
    }
    for link in &desired.links {
        planner.set_ipv6(link);
    }
    for link in &desired.links {
        if planner.device(&link.name).is_some_and(|device| !device.up) {
            planner.push(Op::SetUp { link: link.name.clone() });
        }
    }
    for link in &desired.links {
        planner.remove_leftovers(link);
    }
    for link in &desired.links {
        planner.add_addresses(link);
    }
    planner.add_routes();
    Plan(planner.ops)
}

/// The plan so far, and the host as it will be then.
struct Planner<'a> {
    now: Host,
    desired: &'a Desired,
    ops: Vec<Op>,
}

impl Planner<'_> {
    fn push(&mut self, op: Op) {
        self.now.apply(&op);
        self.ops.push(op);
    }

    fn device(&self, name: &IfName) -> Option<&Device> {
        self.now.device(name)
    }

    /// Removes bonds and VLANs that are not what they should be, and takes ports out of masters
    /// that they should not be in. Upper links first.
    fn clear_the_way(&mut self) {
        for link in self.desired.links.iter().rev() {
            for name in in_the_way(&self.now, link) {
                self.push(Op::DeleteLink { link: name });
            }
        }
        for link in &self.desired.links {
            let extra: Vec<IfName> = self
                .now
                .devices
                .iter()
                .filter(|device| device.master.as_ref() == Some(&link.name))
                .filter(|device| {
                    let wanted = self.desired.link(&device.name);
                    wanted.and_then(|wanted| wanted.master.as_ref()) != Some(&link.name)
                })
                .map(|device| device.name.clone())
                .collect();
            for link in extra {
                self.push(Op::Release { link });
            }
            let Some(device) = self.now.device(&link.name) else { continue };
            if device.master.is_some() && device.master != link.master {
                self.push(Op::Release { link: link.name.clone() });
            }
        }
    }

    /// Upper links first: a VLAN may never be larger than what it is on.
    fn lower_mtus(&mut self) {
        for link in self.desired.links.iter().rev() {
            let Some(mtu) = link.mtu else { continue };
            if self.device(&link.name).is_some_and(|device| device.mtu > mtu) {
                self.push(Op::SetMtu { link: link.name.clone(), mtu });
            }
        }
    }

    fn prepare_own_machine(&mut self) {
        if !self.desired.own_machine {
            return;
        }
        let loopback = self.now.devices.iter().find(|device| device.name.as_str() == "lo");
        if let Some(link) = loopback.filter(|device| !device.up).map(|device| device.name.clone()) {
            self.push(Op::SetUp { link });
        }
        for setting in [Ipv6Setting::AcceptRa, Ipv6Setting::Autoconf] {
            if self.now.ipv6_default.is_some_and(|settings| settings.value(setting) != 0) {
                self.push(Op::SetIpv6 { link: None, setting, value: 0 });
            }
        }
    }

    /// Creates the link if it is not there, fills the bond, raises the MTU. Lower links are done.
    fn make(&mut self, link: &Wanted) {
        if self.device(&link.name).is_none() {
            let (name, mac, mtu) = (link.name.clone(), link.mac, link.mtu);
            match &link.kind {
                WantedKind::Nic => return,
                WantedKind::Bond(bond) => self.push(Op::CreateBond {
                    link: name,
                    mode: bond.mode,
                    options: Box::new(bond.options.clone()),
                    mac,
                    mtu,
                }),
                WantedKind::Vlan { parent, id } => {
                    let (parent, id) = (parent.clone(), *id);
                    self.push(Op::CreateVlan { link: name, parent, id, mac, mtu });
                }
            }
        }
        if let WantedKind::Bond(bond) = &link.kind {
            self.fill(link, bond);
        }
        let Some(device) = self.device(&link.name) else { return };
        let (current_mac, current_mtu) = (device.mac, device.mtu);
        if let Some(mac) = link.mac.filter(|mac| current_mac != Some(*mac)) {
            self.push(Op::SetMac { link: link.name.clone(), mac });
        }
        if let Some(mtu) = link.mtu.filter(|mtu| current_mtu != *mtu) {
            self.push(Op::SetMtu { link: link.name.clone(), mtu });
        }
    }

    /// Members must be down when they are enslaved, and bring nothing along.
    fn fill(&mut self, link: &Wanted, bond: &WantedBond) {
        let members: Vec<IfName> = self
            .desired
            .links
            .iter()
            .filter(|member| member.master.as_ref() == Some(&link.name))
            .map(|member| member.name.clone())
            .collect();
        for member in members {
            let Some(device) = self.device(&member) else { continue };
            if device.master.is_some() {
                continue;
            }
            if device.up {
                self.push(Op::SetDown { link: member.clone() });
            }
            self.flush(&member);
            self.push(Op::Enslave { link: member, master: link.name.clone() });
        }
        let current = self.device(&link.name).and_then(Device::bond);
        let drifted = current.is_some_and(|state| state.primary != bond.primary);
        if let Some(primary) = bond.primary.clone().filter(|_| drifted) {
            self.push(Op::SetPrimary { link: link.name.clone(), primary });
        }
    }

    fn flush(&mut self, link: &IfName) {
        while let Some(address) =
            self.device(link).and_then(|device| device.addresses.first()).map(|known| known.net)
        {
            self.push(Op::DeleteAddress { link: link.clone(), address });
        }
    }

    fn set_ipv6(&mut self, link: &Wanted) {
        if link.master.is_some() {
            return;
        }
        // Routers are asked when a link comes up, and only then (`addrconf_dad_completed`).
        let asks_now = link.ipv6.autoconf
            && self.device(&link.name).is_some_and(|device| {
                device.up && device.ipv6.is_some_and(|settings| settings.accept_ra == 0)
            });
        if asks_now {
            self.push(Op::SetDown { link: link.name.clone() });
        }
        let wanted = [
            (Ipv6Setting::DisableIpv6, link.ipv6.used.then_some(0)),
            (Ipv6Setting::AcceptRa, Some(i32::from(link.ipv6.accept_ra))),
            (Ipv6Setting::Autoconf, Some(i32::from(link.ipv6.autoconf))),
            (Ipv6Setting::AcceptDad, link.ipv6.used.then_some(1)),
        ];
        for (setting, value) in wanted {
            let Some(value) = value else { continue };
            let current = self.device(&link.name).and_then(|device| device.ipv6);
            if current.is_some_and(|settings| settings.value(setting) != value) {
                self.push(Op::SetIpv6 { link: Some(link.name.clone()), setting, value });
            }
        }
    }

    /// Removes routes and addresses that an earlier stage left on a link of ours.
    fn remove_leftovers(&mut self, link: &Wanted) {
        let routes: Vec<Route> = self
            .now
            .routes
            .iter()
            .filter(|route| route.device == link.name && is_leftover(route, link))
            .filter(|route| !self.desired.routes.iter().any(|wanted| wanted.route == **route))
            .cloned()
            .collect();
        for route in routes {
            self.push(Op::DeleteRoute(route));
        }
        // One at a time: a primary takes its secondaries along.
        while let Some(address) = self.device(&link.name).and_then(|device| {
            device.addresses.iter().find(|address| !keeps(link, address)).map(|known| known.net)
        }) {
            self.push(Op::DeleteAddress { link: link.name.clone(), address });
        }
    }

    fn add_addresses(&mut self, link: &Wanted) {
        for (_, address) in &link.addresses {
            let there = self
                .device(&link.name)
                .is_none_or(|device| device.addresses.iter().any(|known| known.net == *address));
            if !there {
                self.push(Op::AddAddress { link: link.name.clone(), address: *address });
            }
        }
    }

    fn add_routes(&mut self) {
        for wanted in &self.desired.routes {
            if !self.now.routes.contains(&wanted.route) {
                self.push(Op::AddRoute(wanted.route.clone()));
            }
        }
    }
}

/// Bonds and VLANs that keep `link` from being made: itself with another nature, or the same VLAN
/// under another name, which the kernel has only once.
fn in_the_way(host: &Host, link: &Wanted) -> Vec<IfName> {
    let blocks = |device: &&Device| match (&link.kind, &device.kind) {
        (WantedKind::Bond(wanted), DeviceKind::Bond(state)) => {
            device.name == link.name
                && !(state.mode == wanted.mode && holds(&wanted.options, &state.options))
        }
        (WantedKind::Vlan { parent, id }, DeviceKind::Vlan { parent: on, id: tag }) => {
            let same_vlan = is_vlan(parent, *id, on.as_ref(), *tag);
            (device.name == link.name) != same_vlan && (device.name == link.name || same_vlan)
        }
        (WantedKind::Bond(_), DeviceKind::Vlan { .. })
        | (WantedKind::Vlan { .. }, DeviceKind::Bond(_)) => device.name == link.name,
        (WantedKind::Nic, _)
        | (
            WantedKind::Bond(_) | WantedKind::Vlan { .. },
            DeviceKind::Nic { .. } | DeviceKind::Infiniband | DeviceKind::Other(_),
        ) => false,
    };
    host.devices.iter().filter(blocks).map(|device| device.name.clone()).collect()
}

fn is_vlan(parent: &IfName, id: VlanId, on: Option<&IfName>, tag: u16) -> bool {
    on == Some(parent) && tag == id.get()
}

/// Whether every option that is asked for has its value. `use_carrier` is left out: from Linux
/// 6.18 on it is 1 whatever one asks.
fn holds(wanted: &BondOptions, current: &BondOptions) -> bool {
    fn option<T: PartialEq>(wanted: Option<&T>, current: Option<&T>) -> bool {
        wanted.is_none() || wanted == current
    }
    let (w, c) = (wanted, current);
    option(w.miimon.as_ref(), c.miimon.as_ref())
        && option(w.updelay.as_ref(), c.updelay.as_ref())
        && option(w.downdelay.as_ref(), c.downdelay.as_ref())
        && option(w.peer_notif_delay.as_ref(), c.peer_notif_delay.as_ref())
        && option(w.arp_interval.as_ref(), c.arp_interval.as_ref())
        && (w.arp_ip_target.is_empty() || w.arp_ip_target == c.arp_ip_target)
        && (w.ns_ip6_target.is_empty() || w.ns_ip6_target == c.ns_ip6_target)
        && option(w.arp_validate.as_ref(), c.arp_validate.as_ref())
        && option(w.arp_all_targets.as_ref(), c.arp_all_targets.as_ref())
        && option(w.missed_max.as_ref(), c.missed_max.as_ref())
        && option(w.primary_reselect.as_ref(), c.primary_reselect.as_ref())
        && option(w.fail_over_mac.as_ref(), c.fail_over_mac.as_ref())
        && option(w.xmit_hash_policy.as_ref(), c.xmit_hash_policy.as_ref())
        && option(w.resend_igmp.as_ref(), c.resend_igmp.as_ref())
        && option(w.num_peer_notif.as_ref(), c.num_peer_notif.as_ref())
        && option(w.all_slaves_active.as_ref(), c.all_slaves_active.as_ref())
        && option(w.min_links.as_ref(), c.min_links.as_ref())
        && option(w.lp_interval.as_ref(), c.lp_interval.as_ref())
        && option(w.packets_per_slave.as_ref(), c.packets_per_slave.as_ref())
        && option(w.lacp_rate.as_ref(), c.lacp_rate.as_ref())
        && option(w.lacp_active.as_ref(), c.lacp_active.as_ref())
        && option(w.ad_select.as_ref(), c.ad_select.as_ref())
        && option(w.ad_actor_sys_prio.as_ref(), c.ad_actor_sys_prio.as_ref())
        && option(w.ad_user_port_key.as_ref(), c.ad_user_port_key.as_ref())
        && option(w.ad_actor_system.as_ref(), c.ad_actor_system.as_ref())
        && option(w.tlb_dynamic_lb.as_ref(), c.tlb_dynamic_lb.as_ref())
}

/// Routes of earlier stages: those of `ip route`, DHCP and ourselves, and of router advertisements
/// where they are off. Routing daemons keep theirs.
fn is_leftover(route: &Route, link: &Wanted) -> bool {
    if link.expects_lease(route.destination.addr().is_ipv6()) {
        return false;
    }
    match route.protocol {
        PROTOCOL_BOOT | PROTOCOL_STATIC | PROTOCOL_DHCP => true,
        PROTOCOL_RA => !link.ipv6.accept_ra,
        _ => false,
    }
}

/// Whether an address may stay: it is wanted and usable, link-local, came by router advertisement
/// where that is wanted, or a lease is to come that may be about it.
fn keeps(link: &Wanted, address: &Address) -> bool {
    let wanted = link.addresses.iter().any(|(_, net)| *net == address.net);
    if wanted {
        return address.permanent && !address.dad_failed;
    }
    if link.expects_lease(address.net.addr().is_ipv6()) {
        return true;
    }
    match address.net {
        IpNet::V4(_) => false,
        IpNet::V6(net) => {
            link.master.is_none()
                && (net.addr().is_unicast_link_local()
                    || (!address.permanent && link.ipv6.accept_ra))
        }
    }
}
