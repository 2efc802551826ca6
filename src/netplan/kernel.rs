//! What Linux does for each operation, as far as a plan depends on it. Sources: `net/core/dev.c`,
//! `net/ipv4/devinet.c`, `net/ipv6/addrconf.c`, `net/8021q/vlan.c`,
//! `drivers/net/bonding/bond_main.c`.

use ipnet::IpNet;

use super::current::{
    Address, BondState, Device, DeviceKind, ETHERNET_MTU, Host, IPV6_MIN_MTU, Ipv6Settings,
};
use super::op::{Ipv6Setting, Op};
use crate::types::{IfName, Mac};

impl Host {
    /// Does to this copy of the host what the kernel would do. Operations on links that are not
    /// there do nothing.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::DeleteLink { link } => self.delete(link),
            Op::CreateBond { link, mode, options, mac, mtu } => {
                let state = BondState {
                    mode: *mode,
                    options: (**options).clone(),
                    primary: None,
                    active: None,
                    partner: None,
                };
                let kind = DeviceKind::Bond(Box::new(state));
                self.create(link, kind, *mac, mtu.unwrap_or(ETHERNET_MTU));
            }
            Op::CreateVlan { link, parent, id, mac, mtu } => {
                let below = self.device(parent);
                let inherited = below.and_then(|device| device.mac);
                let mtu = mtu.or_else(|| below.map(|device| device.mtu)).unwrap_or(ETHERNET_MTU);
                let kind = DeviceKind::Vlan { parent: Some(parent.clone()), id: id.get() };
                self.create(link, kind, mac.or(inherited), mtu);
            }
            Op::SetDown { link } => self.down(link),
            Op::SetUp { link } => self.with(link, |device| device.up = true),
            Op::SetMac { link, mac } => self.with(link, |device| device.mac = Some(*mac)),
            Op::SetMtu { link, mtu } => self.set_mtu(link, *mtu),
            Op::Enslave { link, master } => self.enslave(link, master),
            Op::Release { link } => self.release(link),
            Op::SetPrimary { link, primary } => self.with(link, |device| {
                if let DeviceKind::Bond(state) = &mut device.kind {
                    state.primary = Some(primary.clone());
                }
            }),
            Op::SetIpv6 { link, setting, value } => {
                self.set_ipv6(link.as_ref(), *setting, *value);
            }
            Op::AddAddress { link, address } => self.with(link, |device| {
                let tentative = matches!(address, IpNet::V6(_));
                let address =
                    Address { net: *address, permanent: true, tentative, dad_failed: false };
                device.addresses.push(address);
            }),
            Op::DeleteAddress { link, address } => self.delete_address(link, *address),
            Op::AddRoute(route) => self.routes.push(route.clone()),
            Op::DeleteRoute(route) => self.routes.retain(|known| known != route),
        }
    }

    fn with(&mut self, link: &IfName, change: impl FnOnce(&mut Device)) {
        if let Some(device) = self.device_mut(link) {
            change(device);
        }
    }

    fn create(&mut self, link: &IfName, kind: DeviceKind, mac: Option<Mac>, mtu: u32) {
        let ipv6 = self.ipv6_default.filter(|_| mtu >= IPV6_MIN_MTU);
        self.devices.push(Device {
            index: 0,
            name: link.clone(),
            kind,
            permanent_mac: None,
            mac,
            mtu,
            up: false,
            carrier: false,
            master: None,
            addresses: Vec::new(),
            ipv6,
        });
    }

    fn delete(&mut self, link: &IfName) {
        for member in self.names(|device| device.master.as_ref() == Some(link)) {
            self.release(&member);
        }
        for vlan in self.vlans_on(link) {
            self.delete(&vlan);
        }
        self.devices.retain(|device| device.name != *link);
        self.routes.retain(|route| route.device != *link);
    }

    fn down(&mut self, link: &IfName) {
        self.with(link, |device| {
            device.up = false;
            device.carrier = false;
            device.addresses.retain(|address| matches!(address.net, IpNet::V4(_)));
        });
        self.routes.retain(|route| route.device != *link);
        for vlan in self.vlans_on(link) {
            self.down(&vlan);
        }
    }

    /// A member is opened, takes the bond's MTU and, unless the bond says otherwise, its MAC.
    fn enslave(&mut self, link: &IfName, master: &IfName) {
        let Some(bond) = self.device(master) else { return };
        let mtu = bond.mtu;
        let keeps_mac = bond.bond().is_some_and(|state| state.options.fail_over_mac > Some(0));
        let mac = bond.mac.filter(|_| !keeps_mac);
        let own = self.device(link).and_then(|device| device.mac);
        self.with(master, |bond| bond.mac = bond.mac.or(own));
        self.with(link, |device| {
            device.permanent_mac = device.permanent_mac.or(device.mac);
            device.master = Some(master.clone());
            device.up = true;
            device.mac = mac.or(device.mac);
        });
        self.set_mtu(link, mtu);
    }

    fn release(&mut self, link: &IfName) {
        self.down(link);
        self.with(link, |device| {
            device.master = None;
            device.mac = device.permanent_mac.or(device.mac);
        });
    }

    /// Drags VLANs down, members along; below 1280 IPv6 goes, and comes back bare above it.
    fn set_mtu(&mut self, link: &IfName, mtu: u32) {
        let born_with = self.ipv6_default;
        self.with(link, |device| {
            device.mtu = mtu;
            if mtu < IPV6_MIN_MTU {
                device.ipv6 = None;
                device.addresses.retain(|address| matches!(address.net, IpNet::V4(_)));
            } else if device.ipv6.is_none() {
                device.ipv6 = born_with;
            }
        });
        if mtu < IPV6_MIN_MTU {
            self.routes
                .retain(|route| route.device != *link || matches!(route.destination, IpNet::V4(_)));
        }
        for member in self.names(|device| device.master.as_ref() == Some(link)) {
            self.set_mtu(&member, mtu);
        }
        for vlan in self.vlans_on(link) {
            if self.device(&vlan).is_some_and(|device| device.mtu > mtu) {
                self.set_mtu(&vlan, mtu);
            }
        }
    }

    fn set_ipv6(&mut self, link: Option<&IfName>, setting: Ipv6Setting, value: i32) {
        let settings = match link {
            None => self.ipv6_default.as_mut(),
            Some(link) => self.device_mut(link).and_then(|device| device.ipv6.as_mut()),
        };
        let Some(settings) = settings else { return };
        *settings.value_mut(setting) = value;
    }

    /// Deleting a primary IPv4 address takes its secondaries along (`promote_secondaries` is off
    /// by default), and the last one takes the routes.
    fn delete_address(&mut self, link: &IfName, address: IpNet) {
        let Some(device) = self.device_mut(link) else { return };
        let Some(position) = device.addresses.iter().position(|known| known.net == address) else {
            return;
        };
        let is_sibling = |known: &Address| known.net.trunc() == address.trunc();
        let is_primary = !device.addresses[..position].iter().any(is_sibling);
        device.addresses.remove(position);
        if matches!(address, IpNet::V4(_)) {
            if is_primary {
                device.addresses.retain(|known| !is_sibling(known));
            }
            if !device.addresses.iter().any(|known| matches!(known.net, IpNet::V4(_))) {
                self.routes.retain(|route| {
                    route.device != *link || matches!(route.destination, IpNet::V6(_))
                });
            }
        }
    }

    fn vlans_on(&self, link: &IfName) -> Vec<IfName> {
        self.names(|device| {
            matches!(&device.kind, DeviceKind::Vlan { parent: Some(parent), .. } if parent == link)
        })
    }

    fn names(&self, which: impl Fn(&Device) -> bool) -> Vec<IfName> {
        self.devices
            .iter()
            .filter(|device| which(device))
            .map(|device| device.name.clone())
            .collect()
    }
}

impl Ipv6Settings {
    /// The value of one setting.
    #[must_use]
    pub const fn value(&self, setting: Ipv6Setting) -> i32 {
        match setting {
            Ipv6Setting::AcceptRa => self.accept_ra,
            Ipv6Setting::Autoconf => self.autoconf,
            Ipv6Setting::AcceptDad => self.accept_dad,
            Ipv6Setting::DisableIpv6 => self.disable_ipv6,
        }
    }

    const fn value_mut(&mut self, setting: Ipv6Setting) -> &mut i32 {
        match setting {
            Ipv6Setting::AcceptRa => &mut self.accept_ra,
            Ipv6Setting::Autoconf => &mut self.autoconf,
            Ipv6Setting::AcceptDad => &mut self.accept_dad,
            Ipv6Setting::DisableIpv6 => &mut self.disable_ipv6,
        }
    }
}
