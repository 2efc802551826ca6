//! The vocabulary of bonds, as data: modes, options, their ranges, words and modes
//! (`drivers/net/bonding/bond_options.c`, Linux 6.12).

use crate::netdata::model::BondMode::{
    self, ActiveBackup, BalanceAlb, BalanceRr, BalanceTlb, BalanceXor, Broadcast, Ieee8023ad,
};

/// Modes by name.
pub(crate) const MODES: [(BondMode, &str); 7] = [
    (BalanceRr, "balance-rr"),
    (ActiveBackup, "active-backup"),
    (BalanceXor, "balance-xor"),
    (Broadcast, "broadcast"),
    (Ieee8023ad, "802.3ad"),
    (BalanceTlb, "balance-tlb"),
    (BalanceAlb, "balance-alb"),
];

/// A mode's name.
pub(crate) fn mode_name(mode: BondMode) -> &'static str {
    match mode {
        BalanceRr => "balance-rr",
        ActiveBackup => "active-backup",
        BalanceXor => "balance-xor",
        Broadcast => "broadcast",
        Ieee8023ad => "802.3ad",
        BalanceTlb => "balance-tlb",
        BalanceAlb => "balance-alb",
    }
}

/// One option: a number from `low` to `high`, where `words` name the numbers from 0 on.
#[derive(Debug)]
pub(crate) struct BondOption {
    pub(crate) key: &'static str,
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) words: &'static [&'static str],
    pub(crate) modes: &'static [BondMode],
}

const ALL: &[BondMode] =
    &[BalanceRr, ActiveBackup, BalanceXor, Broadcast, Ieee8023ad, BalanceTlb, BalanceAlb];
/// Modes that the ARP monitor works in.
const ARP: &[BondMode] = &[BalanceRr, ActiveBackup, BalanceXor, Broadcast];
const LACP: &[BondMode] = &[Ieee8023ad];
const ROUND_ROBIN: &[BondMode] = &[BalanceRr];
const TLB: &[BondMode] = &[BalanceTlb, BalanceAlb];
/// Modes with a primary.
pub(crate) const PRIMARY_MODES: &[BondMode] = &[ActiveBackup, BalanceTlb, BalanceAlb];

const INT_MAX: u32 = i32::MAX as u32;

const fn number(key: &'static str, low: u32, high: u32, modes: &'static [BondMode]) -> BondOption {
    BondOption { key, low, high, words: &[], modes }
}

const fn word(
    key: &'static str,
    words: &'static [&'static str],
    modes: &'static [BondMode],
) -> BondOption {
    BondOption { key, low: 0, high: words.len() as u32 - 1, words, modes }
}

/// Every option of `IFLA_BOND_*` but mode and primary.
pub(crate) const OPTIONS: [BondOption; 29] = [
    number("bond_miimon", 0, INT_MAX, ALL),
    number("bond_updelay", 0, INT_MAX, ALL),
    number("bond_downdelay", 0, INT_MAX, ALL),
    number("bond_peer_notif_delay", 0, 300_000, ALL),
    number("bond_use_carrier", 0, 1, ALL),
    number("bond_arp_interval", 0, INT_MAX, ARP),
    number("bond_arp_ip_target", 0, 0, ARP),
    number("bond_ns_ip6_target", 0, 0, ARP),
    word(
        "bond_arp_validate",
        &["none", "active", "backup", "all", "filter", "filter_active", "filter_backup"],
        ARP,
    ),
    word("bond_arp_all_targets", &["any", "all"], ALL),
    number("bond_missed_max", 1, 255, ARP),
    word("bond_primary_reselect", &["always", "better", "failure"], ALL),
    word("bond_fail_over_mac", &["none", "active", "follow"], ALL),
    word(
        "bond_xmit_hash_policy",
        &["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"],
        ALL,
    ),
    number("bond_resend_igmp", 0, 255, ALL),
    number("bond_num_peer_notif", 0, 255, ALL),
    number("bond_num_grat_arp", 0, 255, ALL),
    number("bond_num_unsol_na", 0, 255, ALL),
    number("bond_all_slaves_active", 0, 1, ALL),
    number("bond_min_links", 0, INT_MAX, ALL),
    number("bond_lp_interval", 1, INT_MAX, ALL),
    number("bond_packets_per_slave", 0, 65_535, ROUND_ROBIN),
    word("bond_lacp_rate", &["slow", "fast"], LACP),
    number("bond_lacp_active", 0, 1, LACP),
    word("bond_ad_select", &["stable", "bandwidth", "count"], ALL),
    number("bond_ad_actor_sys_prio", 1, 65_535, LACP),
    number("bond_ad_user_port_key", 0, 1_023, LACP),
    number("bond_ad_actor_system", 0, 0, LACP),
    number("bond_tlb_dynamic_lb", 0, 1, TLB),
];

/// Range and words of an option.
pub(crate) fn range(key: &str) -> (u32, u32, &'static [&'static str]) {
    OPTIONS
        .iter()
        .find(|option| option.key == key)
        .map_or((0, u32::MAX, &[]), |option| (option.low, option.high, option.words))
}
