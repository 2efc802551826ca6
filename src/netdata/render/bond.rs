//! A bond's options as named values, in the kernel's names; each format spells them its own way.

use std::fmt;

use crate::netdata::model::{Bond, BondOptions};
use crate::netdata::parse::bond_words;
use crate::types::Mac;

/// Value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OptionValue {
    Number(u32),
    Flag(bool),
    Word(&'static str),
    List(Vec<String>),
    Address(Mac),
}

impl fmt::Display for OptionValue {
    /// As the kernel's sysfs has it, lists with commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{}", u8::from(*flag)),
            Self::Word(word) => f.write_str(word),
            Self::List(items) => f.write_str(&items.join(",")),
            Self::Address(mac) => write!(f, "{mac}"),
        }
    }
}

/// Every option that is set but the primary, by its kernel name, in the order of the model.
pub(crate) fn options(bond: &Bond) -> Vec<(&'static str, OptionValue)> {
    let o = &bond.options;
    let numbers = numbers(o).into_iter().filter_map(|(name, value)| {
        let value = value?;
        let (_, _, words) = bond_words::range(&format!("bond_{name}"));
        let word = usize::try_from(value).ok().and_then(|index| words.get(index));
        Some((name, word.map_or(OptionValue::Number(value), |word| OptionValue::Word(word))))
    });
    let flags = [
        ("use_carrier", o.use_carrier),
        ("all_slaves_active", o.all_slaves_active),
        ("lacp_active", o.lacp_active),
        ("tlb_dynamic_lb", o.tlb_dynamic_lb),
    ];
    let flags = flags.into_iter().filter_map(|(name, flag)| Some((name, OptionValue::Flag(flag?))));
    let lists = [
        ("arp_ip_target", o.arp_ip_target.iter().map(ToString::to_string).collect()),
        ("ns_ip6_target", o.ns_ip6_target.iter().map(ToString::to_string).collect::<Vec<_>>()),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    let lists = lists.map(|(name, items)| (name, OptionValue::List(items)));
    let system = o.ad_actor_system.map(|mac| ("ad_actor_system", OptionValue::Address(mac)));
    numbers.chain(flags).chain(lists).chain(system).collect()
}

fn numbers(o: &BondOptions) -> [(&'static str, Option<u32>); 20] {
    [
        ("miimon", o.miimon),
        ("updelay", o.updelay),
        ("downdelay", o.downdelay),
        ("peer_notif_delay", o.peer_notif_delay),
        ("arp_interval", o.arp_interval),
        ("arp_validate", o.arp_validate),
        ("arp_all_targets", o.arp_all_targets),
        ("missed_max", o.missed_max.map(u32::from)),
        ("primary_reselect", o.primary_reselect.map(u32::from)),
        ("fail_over_mac", o.fail_over_mac.map(u32::from)),
        ("xmit_hash_policy", o.xmit_hash_policy.map(u32::from)),
        ("resend_igmp", o.resend_igmp),
        ("num_peer_notif", o.num_peer_notif.map(u32::from)),
        ("min_links", o.min_links),
        ("lp_interval", o.lp_interval),
        ("packets_per_slave", o.packets_per_slave),
        ("lacp_rate", o.lacp_rate.map(u32::from)),
        ("ad_select", o.ad_select.map(u32::from)),
        ("ad_actor_sys_prio", o.ad_actor_sys_prio.map(u32::from)),
        ("ad_user_port_key", o.ad_user_port_key.map(u32::from)),
    ]
}
