//! Kernel names for bonds and VLANs that have none: the same ones each time the same data meets
//! the same host, and never one that somebody else has.

use std::collections::BTreeSet;

use super::current::{DeviceKind, Host};
use crate::types::{IfName, VlanId};

/// Names that mean something else below `/proc/sys/net/ipv6/conf` or to the kernel.
const RESERVED: [&str; 3] = ["lo", "all", "default"];

/// Names that are given out, and the host that has the others.
pub(super) struct Names<'a> {
    host: &'a Host,
    taken: BTreeSet<IfName>,
}

impl<'a> Names<'a> {
    /// With the names that the data itself asks for set aside.
    pub(super) fn new(host: &'a Host) -> Self {
        Self { host, taken: BTreeSet::new() }
    }

    /// Sets a name aside. `false` when it is taken, reserved, or belongs to a device that is
    /// neither bond nor VLAN.
    pub(super) fn claim(&mut self, name: &IfName) -> bool {
        self.is_usable(name) && self.taken.insert(name.clone())
    }

    fn is_usable(&self, name: &IfName) -> bool {
        let ours_to_replace = self.host.device(name).is_none_or(|device| {
            matches!(device.kind, DeviceKind::Bond(_) | DeviceKind::Vlan { .. })
        });
        ours_to_replace && !RESERVED.contains(&name.as_str()) && !self.taken.contains(name)
    }

    /// For a bond: its id where that can be a name, else the bond that already has our members,
    /// else the first `bond<N>` that nobody has.
    pub(super) fn for_bond(&mut self, id: &str, members: &[IfName]) -> Option<IfName> {
        let by_id = id.parse().ok();
        let by_members = members
            .iter()
            .filter_map(|member| self.host.device(member)?.master.clone())
            .find(|master| self.host.device(master).is_some_and(|device| device.bond().is_some()));
        let counted = (0..1000_u32)
            .filter_map(|number| format!("bond{number}").parse().ok())
            .filter(|name| self.host.device(name).is_none());
        let candidates: Vec<IfName> = by_id.into_iter().chain(by_members).chain(counted).collect();
        self.first(candidates)
    }

    /// For a VLAN: `<parent>.<id>`, or `vlan<id>` where that is longer than 15 bytes.
    pub(super) fn for_vlan(&mut self, parent: &IfName, id: VlanId) -> Option<IfName> {
        let spellings = [format!("{parent}.{id}"), format!("vlan{id}")];
        let counted = (1..1000_u32).map(|number| format!("vlan{id}.{number}"));
        let candidates: Vec<IfName> =
            spellings.into_iter().chain(counted).filter_map(|name| name.parse().ok()).collect();
        self.first(candidates)
    }

    fn first(&mut self, candidates: Vec<IfName>) -> Option<IfName> {
        candidates.into_iter().find(|name| self.claim(name))
    }
}
