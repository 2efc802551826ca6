//! The normal form of network data: every reference resolved, every value typed. What can be
//! built here can be applied.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::types::{IfName, Mac, VlanId};

/// Index into [`NetworkData::links`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkRef(pub usize);

/// One host's network: links, the networks on them, and DNS for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkData {
    /// Links; members and parents are named by position, in any order.
    pub links: Vec<Link>,
    /// Layer 3 configuration.
    pub networks: Vec<Network>,
    /// DNS servers and search domains that belong to no network.
    pub dns: Dns,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The producer's id: opaque, unique, kept for rendering and messages.
    pub id: String,
    /// A wanted kernel name; honoured for bonds and VLANs, never needed for NICs.
    pub name: Option<IfName>,
    /// Ethernet: the NIC to match (permanent address first). Bond and VLAN: the address to set;
    /// `None` inherits.
    pub mac: Option<Mac>,
    /// MTU in bytes, 68 to 65535; `None` leaves it alone.
    pub mtu: Option<u32>,
    /// What it is.
    pub kind: LinkKind,
}

/// Kinds of link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkKind {
    /// A NIC, whatever the producer called it. Keeps that word for rendering.
    Ethernet {
        /// The producer's `type`, one that Ironic's schema knows, such as `phy` or `vif`.
        hint: &'static str,
    },
    /// A bond of other links.
    Bond(Box<Bond>),
    /// An IEEE 802.1Q VLAN on another link.
    Vlan {
        /// The link below.
        parent: LinkRef,
        /// The tag.
        id: VlanId,
    },
}

/// A bond (`Documentation/networking/bonding.rst`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bond {
    /// Mode.
    pub mode: BondMode,
    /// Member links, in the producer's order: the first is the default primary's candidate.
    pub members: Vec<LinkRef>,
    /// Every other `bond_*`, legal for the mode, units of the kernel.
    pub options: BondOptions,
}

/// Bond modes, with the kernel's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the kernel's")]
pub enum BondMode {
    BalanceRr = 0,
    ActiveBackup = 1,
    BalanceXor = 2,
    Broadcast = 3,
    Ieee8023ad = 4,
    BalanceTlb = 5,
    BalanceAlb = 6,
}

/// Options of a bond; `None` is the kernel's default. Names, units and numbers are those of
/// `IFLA_BOND_*` (`include/uapi/linux/if_link.h`, `drivers/net/bonding/bond_options.c`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the kernel's")]
pub struct BondOptions {
    /// Milliseconds.
    pub miimon: Option<u32>,
    /// Milliseconds.
    pub updelay: Option<u32>,
    /// Milliseconds.
    pub downdelay: Option<u32>,
    /// Milliseconds.
    pub peer_notif_delay: Option<u32>,
    pub use_carrier: Option<bool>,
    /// Milliseconds.
    pub arp_interval: Option<u32>,
    pub arp_ip_target: Vec<std::net::Ipv4Addr>,
    pub ns_ip6_target: Vec<std::net::Ipv6Addr>,
    /// 0 none … 6 filter_backup.
    pub arp_validate: Option<u32>,
    /// 0 any, 1 all.
    pub arp_all_targets: Option<u32>,
    pub missed_max: Option<u8>,
    /// A member.
    pub primary: Option<LinkRef>,
    /// 0 always, 1 better, 2 failure.
    pub primary_reselect: Option<u8>,
    /// 0 none, 1 active, 2 follow.
    pub fail_over_mac: Option<u8>,
    /// 0 layer2, 1 layer3+4, 2 layer2+3, 3 encap2+3, 4 encap3+4, 5 vlan+srcmac.
    pub xmit_hash_policy: Option<u8>,
    pub resend_igmp: Option<u32>,
    /// IFLA_BOND_NUM_PEER_NOTIF; `num_grat_arp` and `num_unsol_na` are its other names.
    pub num_peer_notif: Option<u8>,
    pub all_slaves_active: Option<bool>,
    pub min_links: Option<u32>,
    /// Seconds.
    pub lp_interval: Option<u32>,
    pub packets_per_slave: Option<u32>,
    /// 0 slow (30 s), 1 fast (1 s).
    pub lacp_rate: Option<u8>,
    pub lacp_active: Option<bool>,
    /// 0 stable, 1 bandwidth, 2 count.
    pub ad_select: Option<u8>,
    pub ad_actor_sys_prio: Option<u16>,
    pub ad_user_port_key: Option<u16>,
    pub ad_actor_system: Option<Mac>,
    pub tlb_dynamic_lb: Option<bool>,
}

/// Layer 3 configuration of one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The producer's id; a number is added where it was repeated, so it is unique here.
    pub id: String,
    /// The id of the network behind it; equal to `id` where the producer gave none.
    pub network_id: String,
    /// The link it is on.
    pub link: LinkRef,
    /// How the address comes about.
    pub addressing: Addressing,
    /// Routes, a `gateway` key included as a default route.
    pub routes: Vec<Route>,
    /// DNS of this network and of its routes.
    pub dns: Dns,
}

/// How a network gets its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressing {
    /// A fixed address with its prefix; host bits are the address.
    Static(IpNet),
    /// DHCPv4.
    Dhcp4,
    /// DHCPv6 as router advertisements say.
    Dhcp6,
    /// DHCPv6 for options alone; the address comes by SLAAC.
    Dhcp6Stateless,
    /// DHCPv6 for the address.
    Dhcp6Stateful,
    /// Router advertisements alone.
    Slaac,
}

/// One route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Destination, host bits zero.
    pub destination: IpNet,
    /// Next hop; `None` is on-link.
    pub gateway: Option<IpAddr>,
    /// Whether the gateway lies outside the link's subnets, so that it needs `onlink`.
    pub onlink: bool,
    /// Rank among routes to the same destination in the whole document: 0 is preferred.
    pub rank: u32,
}

/// DNS servers and search domains, in order, no duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dns {
    /// Servers.
    pub servers: Vec<IpAddr>,
    /// Search domains.
    pub search: Vec<String>,
}
