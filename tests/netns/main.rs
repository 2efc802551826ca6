//! The network driver on real kernel devices: veth wires between two namespaces that each test
//! makes. Needs root.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod dhcp_server;
mod router;
mod wire;

use std::time::Duration;

use dhcp_server::DhcpServer;
use leaseless::agent::network::{Options, Outcome, bring_up};
use leaseless::netdata;
use leaseless::netdata::model::NetworkData;
use leaseless::types::Mac;
use leaseless::types::reason::Failure;
use router::Router;
use wire::{Wires, soon};

const A: &str = "02:00:00:00:00:0a";
const B: &str = "02:00:00:00:00:0b";

fn mac(text: &str) -> Mac {
    text.parse().unwrap()
}

fn data(text: &str) -> NetworkData {
    let parsed = netdata::parse(text);
    parsed.data.unwrap_or_else(|| panic!("{:?}", parsed.problems))
}

fn quick() -> Options {
    Options {
        late_nic_wait: Duration::from_millis(200),
        carrier_wait: Duration::from_secs(2),
        lacp_wait: Duration::from_secs(2),
        address_wait: Duration::from_secs(5),
        resolv_conf: None,
        ..Options::default()
    }
}

/// Brings the host of `wires` up, and says each step on stderr.
fn up(wires: &Wires, data: &NetworkData, options: &Options) -> Outcome {
    wires.in_host(async || soon(bring_up(data, options, &mut |step| eprintln!("  {step}"))).await)
}

fn addresses(outcome: &Outcome) -> Vec<String> {
    outcome.addresses.iter().map(|known| format!("{} {}", known.link, known.address)).collect()
}

/// One NIC with what stands in `networks`.
fn one_nic(networks: &str) -> NetworkData {
    one_nic_with_mtu(1500, networks)
}

fn one_nic_with_mtu(mtu: u32, networks: &str) -> NetworkData {
    data(&format!(
        r#"{{"links": [{{"id": "l0", "type": "phy", "ethernet_mac_address": "{A}", "mtu": {mtu}}}],
            "networks": [{networks}], "services": []}}"#
    ))
}

const DUAL_STACK: &str = r#"
    {"id": "v4", "type": "ipv4", "link": "l0", "ip_address": "192.0.2.10", "netmask": "255.255.255.0",
     "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"},
                {"network": "198.51.100.0", "netmask": "255.255.255.0", "gateway": "192.0.2.2"}]},
    {"id": "v6", "type": "ipv6", "link": "l0", "ip_address": "2001:db8::10", "netmask": "64",
     "routes": [{"network": "::", "netmask": "::", "gateway": "2001:db8::1"}]}"#;

fn dual_stack_world(wires: &Wires) {
    wires.wire("eth0", A);
    for address in ["192.0.2.1/24", "192.0.2.2/24", "2001:db8::1/64"] {
        wires.world(&format!("address add {address} dev eth0 nodad"));
    }
}

#[test]
fn a_nic_gets_static_addresses_and_routes_of_both_families_and_a_second_run_changes_nothing() {
    let Some(wires) = Wires::new() else { return };
    dual_stack_world(&wires);
    let data = one_nic(DUAL_STACK);
    let outcome = up(&wires, &data, &quick());
    assert_eq!(outcome.failures, []);
    assert_eq!(addresses(&outcome), ["eth0 192.0.2.10/24", "eth0 2001:db8::10/64"]);
    assert_eq!(outcome.addresses[0].mac, mac(A));
    let routes = wires.show("route show proto static");
    assert!(routes.contains("default via 192.0.2.1 dev eth0 metric 100"), "{routes}");
    assert!(routes.contains("198.51.100.0/24 via 192.0.2.2 dev eth0 metric 100"), "{routes}");
    let routes = wires.show("-6 route show proto static");
    assert!(routes.contains("default via 2001:db8::1 dev eth0 metric 100"), "{routes}");

    let again = up(&wires, &data, &quick());
    assert_eq!((again.changes, again.failures), (0, Vec::new()));
}

#[test]
fn an_ipv4_address_that_another_machine_has_is_refused_with_its_mac_and_the_rest_works() {
    let Some(wires) = Wires::new() else { return };
    dual_stack_world(&wires);
    wires
        .world("address add 192.0.2.10/24 dev eth0")
        .world("link set eth0 address 02:00:00:00:00:99");
    let outcome = up(&wires, &one_nic(DUAL_STACK), &quick());
    let address = "192.0.2.10".parse().unwrap();
    let by = Some(mac("02:00:00:00:00:99"));
    assert_eq!(outcome.failures, [Failure::AddressInUse { address, by }]);
    assert_eq!(addresses(&outcome), ["eth0 2001:db8::10/64"]);
    assert_eq!(wires.show("route show proto static"), "");
}

#[test]
fn an_ipv6_address_that_another_machine_has_is_refused_and_the_rest_works() {
    let Some(wires) = Wires::new() else { return };
    dual_stack_world(&wires);
    wires.world("address add 2001:db8::10/64 dev eth0 nodad");
    let outcome = up(&wires, &one_nic(DUAL_STACK), &quick());
    let world = wires.world_mac("eth0");
    let address = "2001:db8::10".parse().unwrap();
    assert_eq!(outcome.failures, [Failure::AddressInUse { address, by: Some(world) }]);
    assert_eq!(addresses(&outcome), ["eth0 192.0.2.10/24"]);
    assert!(!wires.show("-6 address show dev eth0").contains("2001:db8::10"));
}

#[test]
fn a_missing_nic_is_reported_with_those_that_are_there_and_the_others_come_up() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A).world("address add 192.0.2.1/24 dev eth0");
    let outcome = up(&wires, &two_nics(), &quick());
    assert_eq!(outcome.failures, [Failure::MacNotFound { mac: mac(B), present: vec![mac(A)] }]);
    assert_eq!(addresses(&outcome), ["eth0 192.0.2.10/24"]);
}

#[test]
fn a_late_nic_is_waited_for() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A);
    let options = Options { late_nic_wait: Duration::from_secs(10), ..quick() };
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| up(&wires, &two_nics(), &options));
        // The first NIC is up, so the driver is past its first look.
        eventually(|| wires.show("link show eth0").contains("state UP"));
        wires.wire("eth1", B);
        running.join().unwrap()
    });
    assert_eq!(outcome.failures, []);
    assert_eq!(addresses(&outcome), ["eth0 192.0.2.10/24", "eth1 198.51.100.10/24"]);
}

#[test]
fn no_carrier_and_a_silent_gateway_are_told_apart_and_both_reported() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A).wire("eth1", B).world("link set eth1 down");
    let data = data(&format!(
        r#"{{"links": [{{"id": "l0", "type": "phy", "ethernet_mac_address": "{A}"}},
                       {{"id": "l1", "type": "phy", "ethernet_mac_address": "{B}"}}],
            "networks": [
              {{"id": "a", "type": "ipv4", "link": "l0", "ip_address": "192.0.2.10/24",
                "routes": [{{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.254"}}]}},
              {{"id": "b", "type": "ipv4", "link": "l1", "ip_address": "198.51.100.10/24"}}]}}"#
    ));
    let outcome = up(&wires, &data, &quick());
    let gateway = "192.0.2.254".parse().unwrap();
    assert_eq!(
        outcome.failures,
        [Failure::NoCarrier { mac: mac(B) }, Failure::GatewaySilent { gateway }]
    );
    // Both addresses are there all the same: the cable may come later.
    assert_eq!(outcome.addresses.len(), 2);
}

#[test]
fn gateways_off_the_link_and_link_local_ones_are_used() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A);
    for address in ["203.0.113.1/32", "fe80::1/64"] {
        wires.world(&format!("address add {address} dev eth0 nodad"));
    }
    wires.world("route add 192.0.2.0/24 dev eth0");
    let data = one_nic(
        r#"{"id": "v4", "type": "ipv4", "link": "l0", "ip_address": "192.0.2.10", "netmask": "255.255.255.0",
            "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "203.0.113.1"}]},
           {"id": "v6", "type": "ipv6", "link": "l0", "ip_address": "2001:db8::10/64",
            "routes": [{"network": "::0", "netmask": "::0", "gateway": "fe80::1"}]}"#,
    );
    let outcome = up(&wires, &data, &quick());
    assert_eq!(outcome.failures, []);
    let routes = wires.show("route show default");
    assert!(routes.contains("via 203.0.113.1 dev eth0 proto static metric 100 onlink"), "{routes}");
    let routes = wires.show("-6 route show default");
    assert!(routes.contains("via fe80::1 dev eth0 proto static metric 100"), "{routes}");
    assert_eq!(up(&wires, &data, &quick()).changes, 0);
}

#[test]
fn what_an_earlier_stage_left_is_flushed_and_links_that_are_not_listed_stay_untouched() {
    let Some(wires) = Wires::new() else { return };
    dual_stack_world(&wires);
    wires.wire("eth1", B).host("link set eth0 up").host("link set eth1 up");
    wires.host("address add 192.0.2.77/24 dev eth0").host("address add 192.0.2.78/24 dev eth0");
    wires.host("address add 2001:db8::77/64 dev eth0 nodad");
    wires.host("route add default via 192.0.2.2 dev eth0");
    wires.host("route add 203.0.113.0/24 via 192.0.2.2 dev eth0 proto static");
    wires.host("address add 198.51.100.5/25 dev eth1");
    wires.host("route add 10.0.0.0/8 via 198.51.100.1 dev eth1");
    let outcome = up(&wires, &one_nic(DUAL_STACK), &quick());
    assert_eq!(outcome.failures, []);
    let shown = wires.show("address show dev eth0");
    assert!(!shown.contains("192.0.2.77") && !shown.contains("192.0.2.78"), "{shown}");
    assert!(!shown.contains("2001:db8::77"), "{shown}");
    let routes = wires.show("route show");
    assert!(!routes.contains("203.0.113.0") && !routes.contains("proto boot dev eth0"), "{routes}");
    assert!(routes.contains("10.0.0.0/8 via 198.51.100.1 dev eth1"), "{routes}");
    assert!(wires.show("address show dev eth1").contains("198.51.100.5/25"));
}

#[test]
fn an_mtu_that_took_ipv6_away_is_raised_before_anything_else() {
    let Some(wires) = Wires::new() else { return };
    dual_stack_world(&wires);
    wires.world("link set eth0 mtu 9000").host("link set eth0 mtu 1000");
    let outcome = up(&wires, &one_nic_with_mtu(9000, DUAL_STACK), &quick());
    assert_eq!(outcome.failures, []);
    assert_eq!(outcome.addresses.len(), 2);
    assert!(wires.show("link show eth0").contains("mtu 9000"));
    assert_eq!(wires.sysctl("accept_ra", "eth0"), "0");
}

fn two_nics() -> NetworkData {
    data(&format!(
        r#"{{"links": [{{"id": "l0", "type": "phy", "ethernet_mac_address": "{A}"}},
                       {{"id": "l1", "type": "phy", "ethernet_mac_address": "{B}"}}],
            "networks": [
              {{"id": "a", "type": "ipv4", "link": "l0", "ip_address": "192.0.2.10/24"}},
              {{"id": "b", "type": "ipv4", "link": "l1", "ip_address": "198.51.100.10/24"}}]}}"#
    ))
}

/// Waits until something of the kernel's is so, for at most 10 s.
fn eventually(is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "not so within 10 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const SLAAC: &str = r#"{"id": "v6", "type": "ipv6_slaac", "link": "l0"}"#;

#[test]
fn slaac_takes_an_address_and_a_default_route_from_a_router_and_a_second_run_keeps_them() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A);
    // A link that was up and deaf: the router is asked again all the same.
    wires.host("link set eth0 up").set_sysctl("accept_ra", "eth0", "0");
    let router = Router::start(&wires);
    let outcome = up(&wires, &one_nic(SLAAC), &quick());
    assert_eq!(outcome.failures, []);
    assert_eq!(addresses(&outcome), ["eth0 2001:db8:5::ff:fe00:a/64"]);
    let routes = wires.show("-6 route show default");
    assert!(routes.contains("via fe80::") && routes.contains("proto ra"), "{routes}");
    let again = up(&wires, &one_nic(SLAAC), &quick());
    assert_eq!((again.changes, again.addresses.len()), (0, 1));

    // A static network with a default route of its own does not listen to routers.
    let fixed = up(&wires, &one_nic(DUAL_STACK), &quick());
    let gone = "2001:db8:5:";
    assert!(!addresses(&fixed).iter().any(|known| known.contains(gone)), "{fixed:?}");
    assert!(!wires.show("-6 route show default").contains("proto ra"));
    drop(router);
}

#[test]
fn without_a_router_slaac_fails_by_name_in_time() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A);
    let options = Options { address_wait: Duration::from_secs(1), ..quick() };
    let outcome = up(&wires, &one_nic(SLAAC), &options);
    assert_eq!(outcome.failures, [Failure::NoAddress { mac: mac(A) }]);
}

#[test]
fn a_network_that_needs_dhcp_is_refused_and_the_others_come_up() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A);
    let networks = r#"{"id": "d", "type": "ipv4_dhcp", "link": "l0"},
                      {"id": "s", "type": "ipv4", "link": "l0", "ip_address": "192.0.2.10/24"}"#;
    let outcome = up(&wires, &one_nic(networks), &quick());
    assert_eq!(outcome.failures, [Failure::DhcpRefused]);
    assert_eq!(addresses(&outcome), ["eth0 192.0.2.10/24"]);
}

#[test]
fn a_link_that_went_down_and_up_gets_everything_back() {
    let Some(wires) = Wires::new() else { return };
    dual_stack_world(&wires);
    let data = one_nic(DUAL_STACK);
    assert_eq!(up(&wires, &data, &quick()).failures, []);
    wires.in_host(async || {
        let options = quick();
        let mut quiet = |step: &str| eprintln!("  {step}");
        let watching = leaseless::agent::network::watch(&data, &options, &mut quiet);
        let bouncing = tokio::task::spawn_blocking({
            let host = wires.host.clone();
            move || {
                let show = |what: &str| wire::run(&format!("ip -n {host} {what}"));
                std::thread::sleep(Duration::from_millis(300));
                show("link set eth0 down");
                assert!(!show("route show").contains("default"));
                show("link set eth0 up");
                eventually(|| show("route show").contains("default via 192.0.2.1"));
                eventually(|| show("-6 route show").contains("default via 2001:db8::1"));
            }
        });
        tokio::select! {
            ended = watching => panic!("{ended:?}"),
            bounced = soon(bouncing) => bounced.unwrap(),
        }
    });
}

#[test]
fn dhcp_of_both_families_gives_addresses_routes_and_dns_where_it_is_allowed() {
    let Some(wires) = Wires::new() else { return };
    dual_stack_world(&wires);
    let Some(_server) = DhcpServer::start(&wires) else { return };
    let directory = tempfile::tempdir().unwrap();
    let resolv_conf = directory.path().join("resolv.conf");
    let options = Options {
        allow_dhcp: true,
        address_wait: Duration::from_secs(15),
        resolv_conf: Some(resolv_conf.clone()),
        ..quick()
    };
    let networks = r#"{"id": "d4", "type": "ipv4_dhcp", "link": "l0"},
                      {"id": "d6", "type": "ipv6_dhcpv6-stateful", "link": "l0"}"#;
    let outcome = up(&wires, &one_nic(networks), &options);
    assert_eq!(outcome.failures, []);
    assert_eq!(addresses(&outcome), ["eth0 192.0.2.100/24", "eth0 2001:db8::100/128"]);
    let routes = wires.show("route show default");
    assert!(routes.contains("via 192.0.2.1 dev eth0 proto static metric 600"), "{routes}");
    let resolv_conf = std::fs::read_to_string(resolv_conf).unwrap();
    assert!(resolv_conf.contains("nameserver 192.0.2.53\n"), "{resolv_conf}");
    let again = up(&wires, &one_nic(networks), &options);
    assert_eq!((again.changes, again.failures), (0, Vec::new()));
}

#[test]
fn without_a_dhcp_server_the_network_fails_by_name_in_time() {
    let Some(wires) = Wires::new() else { return };
    wires.wire("eth0", A);
    let options = Options { allow_dhcp: true, address_wait: Duration::from_secs(1), ..quick() };
    let networks = r#"{"id": "d4", "type": "ipv4_dhcp", "link": "l0"}"#;
    let outcome = up(&wires, &one_nic(networks), &options);
    assert_eq!(outcome.failures, [Failure::NoAddress { mac: mac(A) }]);
}
