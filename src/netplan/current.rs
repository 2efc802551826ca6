//! The network as it is: a snapshot in plain data, made by `sys::netlink`. Kernel routes are left
//! out: they come and go with addresses.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::netdata::model::{BondMode, BondOptions};
use crate::types::{IfName, Mac};

/// `RTPROT_BOOT` of `include/uapi/linux/rtnetlink.h`: `ip route add` without a protocol.
pub const PROTOCOL_BOOT: u8 = 3;
/// `RTPROT_STATIC`: what we set.
pub const PROTOCOL_STATIC: u8 = 4;
/// `RTPROT_RA`: from a router advertisement.
pub const PROTOCOL_RA: u8 = 9;
/// `RTPROT_DHCP`.
pub const PROTOCOL_DHCP: u8 = 16;

/// Below this MTU the kernel takes IPv6 off a device, its sysctls included (RFC 8200 §5).
pub const IPV6_MIN_MTU: u32 = 1280;

/// MTU of a fresh Ethernet device.
pub const ETHERNET_MTU: u32 = 1500;

/// One network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// Devices, by index.
    pub devices: Vec<Device>,
    /// Unicast routes of the main table, `proto kernel` left out.
    pub routes: Vec<Route>,
    /// IPv6 settings that new devices are born with; `None` where the kernel has no IPv6.
    pub ipv6_default: Option<Ipv6Settings>,
}

/// One network device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Kernel index; 0 in a model.
    pub index: u32,
    /// Kernel name.
    pub name: IfName,
    /// What it is.
    pub kind: DeviceKind,
    /// The address that the hardware came with, where the kernel knows it.
    pub permanent_mac: Option<Mac>,
    /// The address in use.
    pub mac: Option<Mac>,
    /// MTU, bytes.
    pub mtu: u32,
    /// `IFF_UP`: administratively up.
    pub up: bool,
    /// Up, with a signal, and ready to send (`operstate`).
    pub carrier: bool,
    /// The bond or bridge that it is a port of.
    pub master: Option<IfName>,
    /// Addresses, primaries before their secondaries.
    pub addresses: Vec<Address>,
    /// IPv6 settings; `None` where the device has no IPv6 (MTU below 1280).
    pub ipv6: Option<Ipv6Settings>,
}

/// Kinds of device, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceKind {
    /// An Ethernet port: what network data may name by MAC.
    Nic {
        /// Whether hardware (or a hypervisor) is behind it; false for veth.
        physical: bool,
    },
    /// An IP-over-InfiniBand port; its MACs here are bytes 12-14 and 17-19 of the 20.
    Infiniband,
    /// A bond.
    Bond(Box<BondState>),
    /// An 802.1Q VLAN.
    Vlan {
        /// The device below; `None` when it is in another namespace.
        parent: Option<IfName>,
        /// The tag.
        id: u16,
    },
    /// Anything else, with the kernel's word for it: never matched, never touched.
    Other(String),
}

/// A bond as the kernel reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BondState {
    /// Mode.
    pub mode: BondMode,
    /// Options; `primary` in them is unused.
    pub options: BondOptions,
    /// Primary member.
    pub primary: Option<IfName>,
    /// The member in use (active-backup, balance-tlb, balance-alb).
    pub active: Option<IfName>,
    /// 802.3ad: MAC of the partner; `None` until one answered.
    pub partner: Option<Mac>,
}

/// One address on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Address and prefix.
    pub net: IpNet,
    /// Without lifetime: not from DHCP or a router advertisement.
    pub permanent: bool,
    /// IPv6: duplicate detection still runs, or has not begun for lack of carrier.
    pub tentative: bool,
    /// IPv6: somebody else has it; unusable.
    pub dad_failed: bool,
}

/// One route of the main table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Destination.
    pub destination: IpNet,
    /// Next hop; `None` is on-link.
    pub gateway: Option<IpAddr>,
    /// Outgoing device.
    pub device: IfName,
    /// Metric (`RTA_PRIORITY`).
    pub metric: u32,
    /// `RTNH_F_ONLINK`: the gateway needs no route of its own.
    pub onlink: bool,
    /// `RTPROT_*`.
    pub protocol: u8,
}

/// `net.ipv6.conf.<device>.*` (`Documentation/networking/ip-sysctl.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Settings {
    /// Router advertisements are heeded (routes, prefixes, MTU).
    pub accept_ra: i32,
    /// Addresses are made from advertised prefixes.
    pub autoconf: i32,
    /// Duplicate address detection.
    pub accept_dad: i32,
    /// No IPv6 at all.
    pub disable_ipv6: i32,
}

impl Ipv6Settings {
    /// What a kernel starts with.
    pub const KERNEL: Self = Self { accept_ra: 1, autoconf: 1, accept_dad: 1, disable_ipv6: 0 };
}

impl Host {
    /// The device of that name.
    #[must_use]
    pub fn device(&self, name: &IfName) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == *name)
    }

    pub(super) fn device_mut(&mut self, name: &IfName) -> Option<&mut Device> {
        self.devices.iter_mut().find(|device| device.name == *name)
    }

    /// MACs of the ports that network data could name, sorted.
    #[must_use]
    pub fn nic_macs(&self) -> Vec<Mac> {
        let mut macs: Vec<Mac> = self
            .devices
            .iter()
            .filter(|device| device.is_port())
            .filter_map(Device::hardware_mac)
            .collect();
        macs.sort();
        macs.dedup();
        macs
    }
}

impl Device {
    /// Whether network data may name it by MAC.
    #[must_use]
    pub const fn is_port(&self) -> bool {
        matches!(self.kind, DeviceKind::Nic { .. } | DeviceKind::Infiniband)
    }

    /// The permanent MAC; where the kernel knows none (veth), the current one.
    #[must_use]
    pub fn hardware_mac(&self) -> Option<Mac> {
        self.permanent_mac.or(self.mac)
    }

    /// The bond that it is.
    #[must_use]
    pub fn bond(&self) -> Option<&BondState> {
        match &self.kind {
            DeviceKind::Bond(state) => Some(state),
            DeviceKind::Nic { .. }
            | DeviceKind::Infiniband
            | DeviceKind::Vlan { .. }
            | DeviceKind::Other(_) => None,
        }
    }
}
