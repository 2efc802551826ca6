//! One operation on the kernel, and how a person would type it.

use std::fmt;

use ipnet::IpNet;

use super::current::{PROTOCOL_STATIC, Route};
use crate::netdata::model::{BondMode, BondOptions};
use crate::types::{IfName, Mac, VlanId};

/// One operation: one netlink message, or one write below `/proc/sys`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields repeat the operation's words")]
pub enum Op {
    /// Removes a bond or VLAN; members are released, VLANs on it go too.
    DeleteLink { link: IfName },
    /// Creates a bond, down and empty. `primary` in `options` is unused.
    CreateBond {
        link: IfName,
        mode: BondMode,
        options: Box<BondOptions>,
        mac: Option<Mac>,
        mtu: Option<u32>,
    },
    /// Creates an 802.1Q VLAN, down.
    CreateVlan { link: IfName, parent: IfName, id: VlanId, mac: Option<Mac>, mtu: Option<u32> },
    /// Administratively down: IPv6 addresses and all routes of the link go.
    SetDown { link: IfName },
    /// Administratively up.
    SetUp { link: IfName },
    /// Sets the MAC of a bond or VLAN.
    SetMac { link: IfName, mac: Mac },
    /// Sets the MTU.
    SetMtu { link: IfName, mtu: u32 },
    /// Makes the link, which is down, a member of a bond.
    Enslave { link: IfName, master: IfName },
    /// Takes the link out of its bond or bridge.
    Release { link: IfName },
    /// Chooses the primary member of a bond.
    SetPrimary { link: IfName, primary: IfName },
    /// Writes an IPv6 setting; without a link, the one that new devices are born with.
    SetIpv6 { link: Option<IfName>, setting: Ipv6Setting, value: i32 },
    /// Adds an address.
    AddAddress { link: IfName, address: IpNet },
    /// Removes an address.
    DeleteAddress { link: IfName, address: IpNet },
    /// Adds a route.
    AddRoute(Route),
    /// Removes a route.
    DeleteRoute(Route),
}

/// The IPv6 settings that are ours to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the kernel's")]
pub enum Ipv6Setting {
    AcceptRa,
    Autoconf,
    AcceptDad,
    DisableIpv6,
}

impl Ipv6Setting {
    /// File name below `/proc/sys/net/ipv6/conf/<device>/`.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::AcceptRa => "accept_ra",
            Self::Autoconf => "autoconf",
            Self::AcceptDad => "accept_dad",
            Self::DisableIpv6 => "disable_ipv6",
        }
    }
}

/// Operations in the order in which they must be performed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan(pub Vec<Op>);

impl Plan {
    /// Nothing to do.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Op {
    /// Whether it is about addresses or routes, which wait for carrier and conflict probes.
    #[must_use]
    pub const fn is_layer3(&self) -> bool {
        match self {
            Self::AddAddress { .. } | Self::AddRoute(_) | Self::DeleteRoute(_) => true,
            Self::DeleteLink { .. }
            | Self::CreateBond { .. }
            | Self::CreateVlan { .. }
            | Self::SetDown { .. }
            | Self::SetUp { .. }
            | Self::SetMac { .. }
            | Self::SetMtu { .. }
            | Self::Enslave { .. }
            | Self::Release { .. }
            | Self::SetPrimary { .. }
            | Self::SetIpv6 { .. }
            | Self::DeleteAddress { .. } => false,
        }
    }

    /// The link that it is about; `None` for the settings of new devices.
    #[must_use]
    pub const fn link(&self) -> Option<&IfName> {
        match self {
            Self::DeleteLink { link }
            | Self::CreateBond { link, .. }
            | Self::CreateVlan { link, .. }
            | Self::SetDown { link }
            | Self::SetUp { link }
            | Self::SetMac { link, .. }
            | Self::SetMtu { link, .. }
            | Self::Enslave { link, .. }
            | Self::Release { link }
            | Self::SetPrimary { link, .. }
            | Self::AddAddress { link, .. }
            | Self::DeleteAddress { link, .. } => Some(link),
            Self::SetIpv6 { link, .. } => link.as_ref(),
            Self::AddRoute(route) | Self::DeleteRoute(route) => Some(&route.device),
        }
    }
}

/// Prints the command of iproute2 (or `sysctl`) that does the same.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeleteLink { link } => write!(f, "ip link delete dev {link}"),
            Self::CreateBond { link, mode, options, mac, mtu } => {
                write!(f, "ip link add name {link}")?;
                write_link_parameters(f, *mac, *mtu)?;
                write!(f, " type bond mode {}", mode_name(*mode))?;
                write_bond_options(f, options)
            }
            Self::CreateVlan { link, parent, id, mac, mtu } => {
                write!(f, "ip link add link {parent} name {link}")?;
                write_link_parameters(f, *mac, *mtu)?;
                write!(f, " type vlan id {id}")
            }
            Self::SetDown { link } => write!(f, "ip link set dev {link} down"),
            Self::SetUp { link } => write!(f, "ip link set dev {link} up"),
            Self::SetMac { link, mac } => write!(f, "ip link set dev {link} address {mac}"),
            Self::SetMtu { link, mtu } => write!(f, "ip link set dev {link} mtu {mtu}"),
            Self::Enslave { link, master } => write!(f, "ip link set dev {link} master {master}"),
            Self::Release { link } => write!(f, "ip link set dev {link} nomaster"),
            Self::SetPrimary { link, primary } => {
                write!(f, "ip link set dev {link} type bond primary {primary}")
            }
            Self::SetIpv6 { link, setting, value } => {
                let device = link.as_ref().map_or("default", IfName::as_str);
                write!(f, "sysctl -w net/ipv6/conf/{device}/{}={value}", setting.file())
            }
            Self::AddAddress { link, address } => write!(f, "ip address add {address} dev {link}"),
            Self::DeleteAddress { link, address } => {
                write!(f, "ip address delete {address} dev {link}")
            }
            Self::AddRoute(route) => write!(f, "ip route add {route}"),
            Self::DeleteRoute(route) => write!(f, "ip route delete {route}"),
        }
    }
}

/// Prints it as arguments of `ip route`.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.destination {
            IpNet::V4(net) if net.prefix_len() == 0 => f.write_str("default")?,
            IpNet::V6(net) if net.prefix_len() == 0 => f.write_str("::/0")?,
            net @ (IpNet::V4(_) | IpNet::V6(_)) => write!(f, "{net}")?,
        }
        if let Some(gateway) = self.gateway {
            write!(f, " via {gateway}")?;
        }
        write!(f, " dev {}", self.device)?;
        if self.protocol == PROTOCOL_STATIC {
            f.write_str(" proto static")?;
        } else {
            write!(f, " proto {}", self.protocol)?;
        }
        write!(f, " metric {}", self.metric)?;
        if self.onlink { f.write_str(" onlink") } else { Ok(()) }
    }
}

fn write_link_parameters(
    f: &mut fmt::Formatter<'_>,
    mac: Option<Mac>,
    mtu: Option<u32>,
) -> fmt::Result {
    if let Some(mac) = mac {
        write!(f, " address {mac}")?;
    }
    mtu.map_or(Ok(()), |mtu| write!(f, " mtu {mtu}"))
}

/// The kernel's name of a bond mode.
#[must_use]
pub(super) const fn mode_name(mode: BondMode) -> &'static str {
    match mode {
        BondMode::BalanceRr => "balance-rr",
        BondMode::ActiveBackup => "active-backup",
        BondMode::BalanceXor => "balance-xor",
        BondMode::Broadcast => "broadcast",
        BondMode::Ieee8023ad => "802.3ad",
        BondMode::BalanceTlb => "balance-tlb",
        BondMode::BalanceAlb => "balance-alb",
    }
}

/// Options in iproute2's words; enumerations by number, which it takes too.
fn write_bond_options(f: &mut fmt::Formatter<'_>, options: &BondOptions) -> fmt::Result {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let byte = |value: Option<u8>| value.map(|value| value.to_string());
    let flag = |value: Option<bool>| value.map(|value| u8::from(value).to_string());
    let list = |values: Vec<String>| (!values.is_empty()).then(|| values.join(","));
    let words: [(&str, Option<String>); 27] = [
        ("miimon", number(options.miimon)),
        ("updelay", number(options.updelay)),
        ("downdelay", number(options.downdelay)),
        ("peer_notify_delay", number(options.peer_notif_delay)),
        ("use_carrier", flag(options.use_carrier)),
        ("arp_interval", number(options.arp_interval)),
        ("arp_ip_target", list(options.arp_ip_target.iter().map(ToString::to_string).collect())),
        ("ns_ip6_target", list(options.ns_ip6_target.iter().map(ToString::to_string).collect())),
        ("arp_validate", number(options.arp_validate)),
        ("arp_all_targets", number(options.arp_all_targets)),
        ("missed_max", byte(options.missed_max)),
        ("primary_reselect", byte(options.primary_reselect)),
        ("fail_over_mac", byte(options.fail_over_mac)),
        ("xmit_hash_policy", byte(options.xmit_hash_policy)),
        ("resend_igmp", number(options.resend_igmp)),
        ("num_grat_arp", byte(options.num_peer_notif)),
        ("all_slaves_active", flag(options.all_slaves_active)),
        ("min_links", number(options.min_links)),
        ("lp_interval", number(options.lp_interval)),
        ("packets_per_slave", number(options.packets_per_slave)),
        ("lacp_rate", byte(options.lacp_rate)),
        ("lacp_active", flag(options.lacp_active)),
        ("ad_select", byte(options.ad_select)),
        ("ad_actor_sys_prio", options.ad_actor_sys_prio.map(|value| value.to_string())),
        ("ad_user_port_key", options.ad_user_port_key.map(|value| value.to_string())),
        ("ad_actor_system", options.ad_actor_system.map(|value| value.to_string())),
        ("tlb_dynamic_lb", flag(options.tlb_dynamic_lb)),
    ];
    for (word, value) in words {
        if let Some(value) = value {
            write!(f, " {word} {value}")?;
        }
    }
    Ok(())
}
