//! Bonds: every mode, every option, failover, LACP.

use std::time::Duration;

use leaseless::agent::network::bring_up;
use leaseless::netdata::model::{BondMode, BondOptions, LinkRef};
use leaseless::netplan::Op;
use leaseless::netplan::current::BondState;
use leaseless::sys::netlink::Netlink;
use leaseless::types::Mac;
use leaseless::types::reason::Failure;

use super::{
    bond, data, eventually, in_guest, name, network, nic, nic_mac, perform, quick, up, up_twice,
    wires,
};

/// Options for each mode; together they are all that there are, but for `use_carrier`, which new
/// kernels fix, and ARP monitoring, which excludes MII.
fn samples() -> Vec<(BondMode, BondOptions)> {
    let delays = BondOptions {
        miimon: Some(50),
        updelay: Some(100),
        downdelay: Some(150),
        peer_notif_delay: Some(200),
        use_carrier: Some(true),
        ..BondOptions::default()
    };
    vec![
        (
            BondMode::BalanceRr,
            BondOptions {
                packets_per_slave: Some(3),
                resend_igmp: Some(2),
                all_slaves_active: Some(true),
                ..delays.clone()
            },
        ),
        (
            BondMode::ActiveBackup,
            BondOptions {
                primary: Some(LinkRef(1)),
                primary_reselect: Some(2),
                num_peer_notif: Some(3),
                ..delays
            },
        ),
        (
            BondMode::ActiveBackup,
            BondOptions {
                arp_interval: Some(200),
                arp_ip_target: vec!["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()],
                ns_ip6_target: vec!["2001:db8::1".parse().unwrap()],
                arp_validate: Some(3),
                arp_all_targets: Some(1),
                missed_max: Some(5),
                ..BondOptions::default()
            },
        ),
        (BondMode::ActiveBackup, BondOptions { fail_over_mac: Some(1), ..BondOptions::default() }),
        (BondMode::BalanceXor, BondOptions { xmit_hash_policy: Some(5), ..BondOptions::default() }),
        (BondMode::Broadcast, BondOptions::default()),
        (
            BondMode::BalanceTlb,
            BondOptions {
                tlb_dynamic_lb: Some(false),
                lp_interval: Some(2),
                xmit_hash_policy: Some(1),
                ..BondOptions::default()
            },
        ),
        (BondMode::BalanceAlb, BondOptions { lp_interval: Some(3), ..BondOptions::default() }),
    ]
}

async fn bond_state(netlink: &Netlink) -> BondState {
    let host = netlink.snapshot().await.unwrap();
    host.device(&name("bond0")).unwrap().bond().unwrap().clone()
}

#[test]
fn every_mode_is_built_from_the_one_before_with_all_its_options_and_stays() {
    in_guest(async || {
        let netlink = wires(2).await;
        for (mode, options) in samples() {
            println!("  {mode:?}");
            let with_arp = options.arp_interval.is_some();
            let data =
                data(vec![nic(0), nic(1), bond(mode, options.clone())], vec![network(2, 10)]);
            let first = up(&data).await;
            // With ARP monitoring the carrier may go any time: nobody answers for the targets.
            assert!(first.failures.is_empty() || with_arp, "{:?}", first.failures);
            let again = up(&data).await;
            assert_eq!(again.changes, 0, "{mode:?}");
            let state = bond_state(&netlink).await;
            assert_eq!(state.mode, mode);
            let reported = BondOptions { primary: options.primary, ..state.options.clone() };
            assert_eq!(overlay(&reported, &options), reported);
            assert_eq!(state.primary, options.primary.map(|_| name("p1")));
            let host = netlink.snapshot().await.unwrap();
            for member in ["p0", "p1"] {
                assert_eq!(host.device(&name(member)).unwrap().master, Some(name("bond0")));
            }
        }
    });
}

/// `wanted` on top of `reported`, option by option.
fn overlay(reported: &BondOptions, wanted: &BondOptions) -> BondOptions {
    let w = wanted.clone();
    let r = reported.clone();
    BondOptions {
        miimon: w.miimon.or(r.miimon),
        updelay: w.updelay.or(r.updelay),
        downdelay: w.downdelay.or(r.downdelay),
        peer_notif_delay: w.peer_notif_delay.or(r.peer_notif_delay),
        use_carrier: w.use_carrier.or(r.use_carrier),
        arp_interval: w.arp_interval.or(r.arp_interval),
        arp_ip_target: if w.arp_ip_target.is_empty() { r.arp_ip_target } else { w.arp_ip_target },
        ns_ip6_target: if w.ns_ip6_target.is_empty() { r.ns_ip6_target } else { w.ns_ip6_target },
        arp_validate: w.arp_validate.or(r.arp_validate),
        arp_all_targets: w.arp_all_targets.or(r.arp_all_targets),
        missed_max: w.missed_max.or(r.missed_max),
        primary: w.primary.or(r.primary),
        primary_reselect: w.primary_reselect.or(r.primary_reselect),
        fail_over_mac: w.fail_over_mac.or(r.fail_over_mac),
        xmit_hash_policy: w.xmit_hash_policy.or(r.xmit_hash_policy),
        resend_igmp: w.resend_igmp.or(r.resend_igmp),
        num_peer_notif: w.num_peer_notif.or(r.num_peer_notif),
        all_slaves_active: w.all_slaves_active.or(r.all_slaves_active),
        min_links: w.min_links.or(r.min_links),
        lp_interval: w.lp_interval.or(r.lp_interval),
        packets_per_slave: w.packets_per_slave.or(r.packets_per_slave),
        lacp_rate: w.lacp_rate.or(r.lacp_rate),
        lacp_active: w.lacp_active.or(r.lacp_active),
        ad_select: w.ad_select.or(r.ad_select),
        ad_actor_sys_prio: w.ad_actor_sys_prio.or(r.ad_actor_sys_prio),
        ad_user_port_key: w.ad_user_port_key.or(r.ad_user_port_key),
        ad_actor_system: w.ad_actor_system.or(r.ad_actor_system),
        tlb_dynamic_lb: w.tlb_dynamic_lb.or(r.tlb_dynamic_lb),
    }
}

#[test]
fn when_the_active_member_loses_its_signal_the_other_takes_over() {
    in_guest(async || {
        let netlink = wires(2).await;
        let options = BondOptions { primary: Some(LinkRef(1)), ..BondOptions::default() };
        let bond = bond(BondMode::ActiveBackup, options);
        let data = data(vec![nic(0), nic(1), bond], vec![network(2, 10)]);
        up_twice(&netlink, &data).await;
        assert_eq!(bond_state(&netlink).await.active, Some(name("p1")));
        perform(&netlink, Op::SetDown { link: name("w1") }).await;
        let host = eventually(&netlink, "p0 is active", |host| {
            let bond = host.device(&name("bond0")).and_then(|device| device.bond());
            bond.is_some_and(|state| state.active == Some(name("p0")))
        })
        .await;
        let bond = host.device(&name("bond0")).unwrap();
        assert!(bond.carrier);
        assert_eq!(bond.addresses[0].net.to_string(), "192.0.2.10/24");
    });
}

#[test]
fn lacp_finds_its_partner_and_every_option_of_802_3ad_is_set() {
    in_guest(async || {
        let netlink = wires(2).await;
        let partner = Mac::new([2, 0, 0, 0, 0, 0x77]);
        let fast = BondOptions { miimon: Some(100), lacp_rate: Some(1), ..BondOptions::default() };
        for link in ["w0", "w1"] {
            perform(&netlink, Op::SetDown { link: name(link) }).await;
        }
        perform(
            &netlink,
            Op::CreateBond {
                link: name("switch"),
                mode: BondMode::Ieee8023ad,
                options: Box::new(fast.clone()),
                mac: Some(partner),
                mtu: None,
            },
        )
        .await;
        for link in ["w0", "w1"] {
            let (link, master) = (name(link), name("switch"));
            perform(&netlink, Op::Enslave { link, master }).await;
        }
        perform(&netlink, Op::SetUp { link: name("switch") }).await;

        let options = BondOptions {
            lacp_active: Some(true),
            ad_select: Some(2),
            min_links: Some(1),
            xmit_hash_policy: Some(1),
            ad_actor_sys_prio: Some(1000),
            ad_user_port_key: Some(7),
            ad_actor_system: Some(Mac::new([2, 0, 0, 0, 0, 0x55])),
            ..fast
        };
        let bond = bond(BondMode::Ieee8023ad, options.clone());
        let data = data(vec![nic(0), nic(1), bond], vec![network(2, 10)]);
        up_twice(&netlink, &data).await;
        let state = bond_state(&netlink).await;
        assert_eq!(state.partner, Some(partner));
        assert_eq!(overlay(&state.options, &options), state.options);
    });
}

#[test]
fn a_silent_lacp_partner_is_reported_and_the_address_is_there_all_the_same() {
    in_guest(async || {
        let _netlink = wires(2).await;
        let mut bond = bond(BondMode::Ieee8023ad, BondOptions::default());
        bond.mac = Some(nic_mac(1));
        let data = data(vec![nic(0), nic(1), bond], vec![network(2, 10)]);
        let options =
            leaseless::agent::network::Options { lacp_wait: Duration::from_secs(2), ..quick() };
        let outcome = bring_up(&data, &options, &mut |step| println!("    {step}")).await;
        assert_eq!(outcome.failures, [Failure::LacpSilent { mac: nic_mac(1) }]);
        assert_eq!(outcome.addresses.len(), 1);
    });
}

#[test]
fn members_bring_nothing_along_and_a_bond_with_one_member_missing_works() {
    in_guest(async || {
        let netlink = wires(1).await;
        let address = "198.51.100.7/24".parse().unwrap();
        perform(&netlink, Op::SetUp { link: name("p0") }).await;
        perform(&netlink, Op::AddAddress { link: name("p0"), address }).await;
        let bond = bond(BondMode::ActiveBackup, BondOptions::default());
        let data = data(vec![nic(0), nic(1), bond], vec![network(2, 10)]);
        let outcome = up(&data).await;
        let present = outcome.failures.iter().find_map(|failure| match failure {
            Failure::MacNotFound { mac, present } => Some((*mac, present.contains(&nic_mac(0)))),
            _ => None,
        });
        assert_eq!(present, Some((nic_mac(1), true)));
        assert_eq!(outcome.failures.len(), 1);
        assert_eq!(outcome.addresses.len(), 1);
        let host = netlink.snapshot().await.unwrap();
        assert_eq!(host.device(&name("p0")).unwrap().addresses, []);
    });
}
