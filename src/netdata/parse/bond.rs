//! A bond's mode, members and every `bond_*` option: applied, or refused by name.
//!
//! Ranges, names and the modes that allow an option are those of
//! `drivers/net/bonding/bond_options.c` (Linux 6.12).

use std::net::IpAddr;

use crate::netdata::model::{BondMode, BondOptions};
use crate::netdata::problem::{Problems, Reported, did_you_mean};

use super::bond_words::{self as words, OPTIONS};
use super::links::BondDraft;
use super::node::Node;
use super::object::{Field, Object, whole};
use super::prefix::{self, Family};
use super::refs::Reference;

/// Most targets of a link monitor (`BOND_MAX_ARP_TARGETS`, `BOND_MAX_NS_TARGETS`).
const MAX_TARGETS: usize = 16;

/// Reads the bond part of a link.
pub(super) fn read(link: &Object<'_>, problems: &mut Problems) -> BondDraft {
    let mode = read_mode(link, problems);
    refuse_unknown(link, problems);
    if let Ok(mode) = mode {
        refuse_illegal(link, mode, problems);
    }
    let options = read_options(link, problems);
    refuse_both_monitors(link, &options, problems);
    let reference = |(path, text)| Reference { path, text };
    let members = link.texts("bond_links", problems).into_iter().map(reference).collect::<Vec<_>>();
    if members.is_empty() {
        let value = link.raw("bond_links").and_then(Node::quoted);
        let fix = "list the ids of the NICs that it bonds";
        problems.error(link.at("bond_links"), value, "a bond needs a member", fix);
    }
    let primary = link.text("bond_primary", problems).ok().flatten();
    let primary = primary.map(|text| Reference { path: link.at("bond_primary"), text });
    // A broken mode was reported; the document is refused whatever stands here.
    BondDraft { mode: mode.unwrap_or(BondMode::ActiveBackup), members, primary, options }
}

/// Names, the kernel's numbers, or those numbers as text.
fn read_mode(link: &Object<'_>, problems: &mut Problems) -> Result<BondMode, Reported> {
    const KEY: &str = "bond_mode";
    let Some(text) = link.text(KEY, problems)? else {
        // Ironic's regeneration of network data forgets the mode.
        let message = "missing; active-backup is used, Ironic's default for port groups, \
                       which asks nothing of the switch";
        let value = link.raw(KEY).and_then(Node::quoted);
        problems.warning(link.at(KEY), value, message, "write the mode that the switch expects");
        return Ok(BondMode::ActiveBackup);
    };
    let word = text.to_lowercase();
    let mode = words::MODES.iter().find(|(mode, name)| {
        *name == word || word.parse::<u8>().is_ok_and(|number| number == *mode as u8)
    });
    mode.map(|(mode, _)| *mode).ok_or_else(|| {
        let names = words::MODES.map(|(_, name)| name);
        let fix = match did_you_mean(&word, names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("write one of {}", names.join(", ")),
        };
        problems.error(link.at(KEY), Some(text), "not a bond mode", fix)
    })
}

fn refuse_unknown(link: &Object<'_>, problems: &mut Problems) {
    let known = || {
        let own = ["bond_mode", "bond_links", "bond_primary"];
        own.into_iter().chain(OPTIONS.iter().map(|option| option.key))
    };
    for key in link.keys().filter(|key| key.starts_with("bond_")) {
        if known().all(|known| known != key) {
            let fix = match did_you_mean(key, known()) {
                Some(near) => format!("did you mean {near}?"),
                None => "remove it: Linux has no such bond option".to_owned(),
            };
            let value = link.raw(key).and_then(Node::quoted);
            problems.error(link.at(key), value, "not a bond option", fix);
        }
    }
}

fn refuse_illegal(link: &Object<'_>, mode: BondMode, problems: &mut Problems) {
    let primary = ("bond_primary", words::PRIMARY_MODES);
    let options = OPTIONS.iter().map(|option| (option.key, option.modes));
    for (key, modes) in options.chain([primary]) {
        let Some(node) = link.get(key) else { continue };
        if modes.contains(&mode) || is_off(key, node) {
            continue;
        }
        let allowed: Vec<&str> = modes.iter().map(|mode| words::mode_name(*mode)).collect();
        let message = format!("mode {} has no such option", words::mode_name(mode));
        let fix = format!("remove it, or use mode {}", allowed.join(" or "));
        problems.error(link.at(key), node.quoted(), message, fix);
    }
}

/// Zero turns a monitor off, which is what a mode without it has anyway.
fn is_off(key: &str, node: &Node) -> bool {
    let off = whole(node) == Some(0)
        || matches!(node, Node::Text(text) if text.trim().eq_ignore_ascii_case("none"));
    off && matches!(key, "bond_arp_interval" | "bond_arp_validate" | "bond_fail_over_mac")
}

/// `bond_netlink.c`: "ARP monitoring cannot be used with MII monitoring".
fn refuse_both_monitors(link: &Object<'_>, options: &BondOptions, problems: &mut Problems) {
    if options.arp_interval.unwrap_or(0) == 0 {
        return;
    }
    let path = link.at("bond_arp_interval");
    let value = link.get("bond_arp_interval").and_then(Node::quoted);
    if options.miimon.unwrap_or(0) > 0 {
        let message = "ARP monitoring and MII monitoring (bond_miimon) exclude each other";
        problems.error(path.clone(), value.clone(), message, "remove one of the two");
    }
    if options.arp_ip_target.is_empty() && options.ns_ip6_target.is_empty() {
        let fix = "add bond_arp_ip_target or bond_ns_ip6_target";
        problems.error(path, value, "ARP monitoring needs a target", fix);
    }
}

fn read_options(link: &Object<'_>, problems: &mut Problems) -> BondOptions {
    let mut reader = OptionReader { link, problems };
    BondOptions {
        miimon: reader.number("bond_miimon"),
        updelay: reader.number("bond_updelay"),
        downdelay: reader.number("bond_downdelay"),
        peer_notif_delay: reader.number("bond_peer_notif_delay"),
        use_carrier: reader.flag("bond_use_carrier"),
        arp_interval: reader.number("bond_arp_interval"),
        arp_ip_target: reader.targets("bond_arp_ip_target", Family::V4, |address| match address {
            IpAddr::V4(v4) => Some(v4),
            IpAddr::V6(_) => None,
        }),
        ns_ip6_target: reader.targets("bond_ns_ip6_target", Family::V6, |address| match address {
            IpAddr::V6(v6) => Some(v6),
            IpAddr::V4(_) => None,
        }),
        arp_validate: reader.number("bond_arp_validate"),
        arp_all_targets: reader.number("bond_arp_all_targets"),
        missed_max: reader.number("bond_missed_max"),
        primary: None,
        primary_reselect: reader.number("bond_primary_reselect"),
        fail_over_mac: reader.number("bond_fail_over_mac"),
        xmit_hash_policy: reader.number("bond_xmit_hash_policy"),
        resend_igmp: reader.number("bond_resend_igmp"),
        num_peer_notif: reader.peer_notifications(),
        all_slaves_active: reader.flag("bond_all_slaves_active"),
        min_links: reader.number("bond_min_links"),
        lp_interval: reader.number("bond_lp_interval"),
        packets_per_slave: reader.number("bond_packets_per_slave"),
        lacp_rate: reader.number("bond_lacp_rate"),
        lacp_active: reader.flag("bond_lacp_active"),
        ad_select: reader.number("bond_ad_select"),
        ad_actor_sys_prio: reader.number("bond_ad_actor_sys_prio"),
        ad_user_port_key: reader.number("bond_ad_user_port_key"),
        ad_actor_system: reader.actor_system(),
        tlb_dynamic_lb: reader.flag("bond_tlb_dynamic_lb"),
    }
}

struct OptionReader<'a, 'o, 'p> {
    link: &'a Object<'o>,
    problems: &'p mut Problems,
}

impl OptionReader<'_, '_, '_> {
    /// A number in the option's range, or one of its words.
    fn number<T: TryFrom<u32>>(&mut self, key: &'static str) -> Option<T> {
        let node = self.link.get(key)?;
        let (low, high, names) = words::range(key);
        let found = match node {
            Node::Text(text) => {
                let word = text.trim().to_lowercase();
                let position = names.iter().position(|name| *name == word);
                position.and_then(|index| u32::try_from(index).ok())
            }
            _ => None,
        };
        let number = || whole(node).and_then(|number| u32::try_from(number).ok());
        let value = found.or_else(number).filter(|number| (low..=high).contains(number));
        if let Some(value) = value.and_then(|value| T::try_from(value).ok()) {
            return Some(value);
        }
        let fix = match names {
            [] => format!("write {low} to {high}"),
            names => format!("write one of {} ({low} to {high})", names.join(", ")),
        };
        let path = self.link.at(key);
        self.problems.error(path, node.quoted(), "not a value of this bond option", fix);
        None
    }

    fn flag(&mut self, key: &'static str) -> Option<bool> {
        let node = self.link.get(key)?;
        let flag = match node {
            Node::Bool(flag) => Some(*flag),
            Node::Text(text) => match text.trim().to_lowercase().as_str() {
                "1" | "on" | "yes" | "true" => Some(true),
                "0" | "off" | "no" | "false" => Some(false),
                _ => None,
            },
            _ => match whole(node) {
                Some(0) => Some(false),
                Some(1) => Some(true),
                _ => None,
            },
        };
        if flag.is_none() {
            let path = self.link.at(key);
            self.problems.error(path, node.quoted(), "neither on nor off", "write 1 or 0");
        }
        flag
    }

    fn targets<T>(
        &mut self,
        key: &'static str,
        family: Family,
        pick: impl Fn(IpAddr) -> Option<T>,
    ) -> Vec<T> {
        let texts = self.link.texts(key, self.problems);
        if texts.len() > MAX_TARGETS {
            let message = format!("{} targets, and Linux takes {MAX_TARGETS}", texts.len());
            self.problems.error(self.link.at(key), None, message, "remove some");
        }
        let mut targets = Vec::new();
        for (path, text) in texts {
            let address = prefix::address(&text, &path, Some(family), self.problems);
            if let Ok(address) = address {
                if let Some(why) = prefix::unusable(address) {
                    let message = format!("{why} never answers");
                    self.problems.error(path, Some(text), message, "write a neighbour's address");
                } else {
                    targets.extend(pick(address));
                }
            }
        }
        targets
    }

    /// One option of the kernel with three names; they must agree.
    fn peer_notifications(&mut self) -> Option<u8> {
        const KEYS: [&str; 3] = ["bond_num_peer_notif", "bond_num_grat_arp", "bond_num_unsol_na"];
        let given: Vec<(&str, u8)> =
            KEYS.into_iter().filter_map(|key| Some((key, self.number(key)?))).collect();
        let (first, rest) = given.split_first()?;
        for (key, value) in rest.iter().filter(|(_, value)| *value != first.1) {
            let message = format!("the same option as {}, which is {}", first.0, first.1);
            let path = self.link.at(key);
            self.problems.error(path, Some(value.to_string()), message, "remove one of them");
        }
        Some(first.1)
    }

    fn actor_system(&mut self) -> Option<crate::types::Mac> {
        const KEY: &str = "bond_ad_actor_system";
        // The kernel's default; it means the bond's own address.
        if matches!(self.link.get(KEY), Some(Node::Text(text)) if text == "00:00:00:00:00:00") {
            return None;
        }
        let mac: Field<crate::types::Mac> = self.link.mac(KEY, self.problems);
        let mac = mac.ok().flatten()?;
        if mac.is_multicast() {
            let fix = "write an address whose first byte is even";
            let message = "has the group bit set: the kernel refuses it";
            self.problems.error(self.link.at(KEY), Some(mac.to_string()), message, fix);
            return None;
        }
        Some(mac)
    }
}
