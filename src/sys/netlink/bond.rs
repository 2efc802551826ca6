//! Bond options to and from `IFLA_BOND_*`.

use rtnetlink::packet_route::link::{BondAdInfo, InfoBond};

use crate::netdata::model::{BondMode, BondOptions};
use crate::types::Mac;

/// What a bond says of itself; members still by index.
#[derive(Debug, Clone)]
pub(super) struct Reported {
    pub(super) mode: BondMode,
    pub(super) options: BondOptions,
    pub(super) primary: Option<u32>,
    pub(super) active: Option<u32>,
    pub(super) partner: Option<Mac>,
}

/// Attributes for creation. `primary` is not among them: members come later.
pub(super) fn render(mode: BondMode, options: &BondOptions) -> Vec<InfoBond> {
    let o = options;
    let mut attributes = vec![InfoBond::Mode((mode as u8).into())];
    attributes.extend(
        [
            o.miimon.map(InfoBond::MiiMon),
            o.updelay.map(InfoBond::UpDelay),
            o.downdelay.map(InfoBond::DownDelay),
            o.peer_notif_delay.map(InfoBond::PeerNotifDelay),
            o.use_carrier.map(InfoBond::UseCarrier),
            o.arp_interval.map(InfoBond::ArpInterval),
            (!o.arp_ip_target.is_empty()).then(|| InfoBond::ArpIpTarget(o.arp_ip_target.clone())),
            (!o.ns_ip6_target.is_empty()).then(|| InfoBond::NsIp6Target(o.ns_ip6_target.clone())),
            o.arp_validate.map(|value| InfoBond::ArpValidate(value.into())),
            o.arp_all_targets.map(|value| InfoBond::ArpAllTargets(value.into())),
            o.missed_max.map(InfoBond::MissedMax),
            o.primary_reselect.map(|value| InfoBond::PrimaryReselect(value.into())),
            o.fail_over_mac.map(|value| InfoBond::FailOverMac(value.into())),
            o.xmit_hash_policy.map(|value| InfoBond::XmitHashPolicy(value.into())),
            o.resend_igmp.map(InfoBond::ResendIgmp),
            o.num_peer_notif.map(InfoBond::NumPeerNotif),
            o.all_slaves_active.map(|on| InfoBond::AllPortsActive(u8::from(on).into())),
            o.min_links.map(InfoBond::MinLinks),
            o.lp_interval.map(InfoBond::LpInterval),
            o.packets_per_slave.map(InfoBond::PacketsPerPort),
            o.lacp_rate.map(|value| InfoBond::AdLacpRate(value.into())),
            o.lacp_active.map(InfoBond::AdLacpActive),
            o.ad_select.map(|value| InfoBond::AdSelect(value.into())),
            o.ad_actor_sys_prio.map(InfoBond::AdActorSysPrio),
            o.ad_user_port_key.map(InfoBond::AdUserPortKey),
            o.ad_actor_system.map(|mac| InfoBond::AdActorSystem(mac.octets())),
            o.tlb_dynamic_lb.map(InfoBond::TlbDynamicLb),
        ]
        .into_iter()
        .flatten(),
    );
    attributes
}

/// `None` for a mode that the model does not know.
pub(super) fn parse(attributes: &[InfoBond]) -> Option<Reported> {
    let mut mode = None;
    let mut reported = Reported {
        mode: BondMode::BalanceRr,
        options: BondOptions::default(),
        primary: None,
        active: None,
        partner: None,
    };
    for attribute in attributes {
        match attribute {
            InfoBond::Mode(value) => mode = Some(u8::from(*value)),
            InfoBond::Primary(index) => reported.primary = Some(*index).filter(|index| *index != 0),
            InfoBond::ActivePort(index) => {
                reported.active = Some(*index).filter(|index| *index != 0);
            }
            InfoBond::AdInfo(info) => reported.partner = partner(info),
            other => parse_option(&mut reported.options, other),
        }
    }
    reported.mode = known_mode(mode?)?;
    Some(reported)
}

fn parse_option(options: &mut BondOptions, attribute: &InfoBond) {
    let o = options;
    match attribute {
        InfoBond::MiiMon(value) => o.miimon = Some(*value),
        InfoBond::UpDelay(value) => o.updelay = Some(*value),
        InfoBond::DownDelay(value) => o.downdelay = Some(*value),
        InfoBond::PeerNotifDelay(value) => o.peer_notif_delay = Some(*value),
        InfoBond::UseCarrier(on) => o.use_carrier = Some(*on),
        InfoBond::ArpInterval(value) => o.arp_interval = Some(*value),
        InfoBond::ArpIpTarget(targets) => o.arp_ip_target.clone_from(targets),
        InfoBond::NsIp6Target(targets) => o.ns_ip6_target.clone_from(targets),
        InfoBond::ArpValidate(value) => o.arp_validate = Some((*value).into()),
        InfoBond::ArpAllTargets(value) => o.arp_all_targets = Some((*value).into()),
        InfoBond::MissedMax(value) => o.missed_max = Some(*value),
        InfoBond::PrimaryReselect(value) => o.primary_reselect = Some((*value).into()),
        InfoBond::FailOverMac(value) => o.fail_over_mac = Some((*value).into()),
        InfoBond::XmitHashPolicy(value) => o.xmit_hash_policy = Some((*value).into()),
        InfoBond::ResendIgmp(value) => o.resend_igmp = Some(*value),
        InfoBond::NumPeerNotif(value) => o.num_peer_notif = Some(*value),
        InfoBond::AllPortsActive(value) => o.all_slaves_active = Some(u8::from(*value) != 0),
        InfoBond::MinLinks(value) => o.min_links = Some(*value),
        InfoBond::LpInterval(value) => o.lp_interval = Some(*value),
        InfoBond::PacketsPerPort(value) => o.packets_per_slave = Some(*value),
        InfoBond::AdLacpRate(value) => o.lacp_rate = Some((*value).into()),
        InfoBond::AdLacpActive(on) => o.lacp_active = Some(*on),
        InfoBond::AdSelect(value) => o.ad_select = Some((*value).into()),
        InfoBond::AdActorSysPrio(value) => o.ad_actor_sys_prio = Some(*value),
        InfoBond::AdUserPortKey(value) => o.ad_user_port_key = Some(*value),
        InfoBond::AdActorSystem(mac) => o.ad_actor_system = Some(Mac::new(*mac)),
        InfoBond::TlbDynamicLb(on) => o.tlb_dynamic_lb = Some(*on),
        // Options that network data has no word for.
        _ => {}
    }
}

/// The kernel reports a partner of zeros until one answered.
fn partner(info: &[BondAdInfo]) -> Option<Mac> {
    info.iter().find_map(|info| match info {
        BondAdInfo::PartnerMac(mac) => Some(Mac::new(*mac)).filter(|mac| !mac.is_zero()),
        _ => None,
    })
}

const fn known_mode(number: u8) -> Option<BondMode> {
    Some(match number {
        0 => BondMode::BalanceRr,
        1 => BondMode::ActiveBackup,
        2 => BondMode::BalanceXor,
        3 => BondMode::Broadcast,
        4 => BondMode::Ieee8023ad,
        5 => BondMode::BalanceTlb,
        6 => BondMode::BalanceAlb,
        _ => return None,
    })
}
