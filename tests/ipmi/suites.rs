//! Cipher suites: what is used, what is fallen back to, and that a stranger's client agrees.

use leaseless::bmc::ipmi::IpmiError;
use leaseless::bmc::{
    BootControl, BootDevice, BootOverride, EventLog, Power, PowerControl, PowerOff,
};
use leaseless::types::reason::{Failure, sel};

use super::responder::{Behaviour, Responder};
use super::wire::Suite;
use super::{admin, connect};

fn gateway_silent() -> Failure {
    Failure::GatewaySilent { gateway: "2001:db8::1".parse().unwrap() }
}

#[tokio::test]
async fn suite_17_does_power_boot_and_log() {
    let bmc = Responder::start(Behaviour::default());
    bmc.state().log = sel::encode(&gateway_silent(), 0xBEEF);
    let ipmi = connect(&bmc, admin()).await.unwrap();
    assert_eq!(bmc.state().suite, Some(Suite::Seventeen));
    assert_eq!(bmc.state().role, 0x14, "administrator, looked up by name alone");

    assert_eq!(ipmi.power().await.unwrap(), Power::Off);
    ipmi.power_on().await.unwrap();
    ipmi.power_on().await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::On);
    ipmi.power_cycle().await.unwrap();
    ipmi.power_reset().await.unwrap();
    ipmi.power_off(PowerOff::Soft).await.unwrap();
    ipmi.power_off(PowerOff::Hard).await.unwrap();
    assert_eq!(bmc.state().chassis_controls, [1, 2, 3, 5], "a state that holds is not set again");

    ipmi.boot_once(BootDevice::Cd).await.unwrap();
    let once = BootOverride { device: BootDevice::Cd, persistent: false };
    assert_eq!(ipmi.boot_override().await.unwrap(), once);
    let always = BootOverride { device: BootDevice::Disk, persistent: true };
    ipmi.restore_boot(always).await.unwrap();
    assert_eq!(ipmi.boot_override().await.unwrap(), always);
    assert_eq!(
        bmc.state().boot_options,
        [vec![3, 8], vec![5, 0xA0, 0x14, 0, 0, 0], vec![3, 8], vec![5, 0xE0, 0x08, 0, 0, 0]],
        "the 60 s time-out is lifted first, and a refusal of that is passed over"
    );

    let raw: Vec<[u8; 16]> =
        ipmi.entries().await.unwrap().iter().filter_map(|entry| entry.raw).collect();
    assert_eq!(sel::decode(&raw)[0].reason, sel::Known::Whole(gateway_silent()));

    drop(ipmi);
    // The good-bye is the last datagram, and loopback keeps the order.
    let again = connect(&bmc, admin()).await.unwrap();
    assert_eq!(bmc.state().opened, 2);
    assert_eq!(bmc.state().closed, 1);
    drop(again);
}

#[tokio::test]
async fn suite_3_is_fallen_back_to() {
    let only_3 = || vec![Suite::Three];
    for behaviour in [
        Behaviour { suites: only_3(), ..Behaviour::default() },
        Behaviour { downgrades: true, ..Behaviour::default() },
    ] {
        let bmc = Responder::start(behaviour);
        let ipmi = connect(&bmc, admin()).await.unwrap();
        assert_eq!(ipmi.power().await.unwrap(), Power::Off);
        assert_eq!(bmc.state().suite, Some(Suite::Three));
    }
}

#[tokio::test]
async fn silence_about_suite_17_is_a_no() {
    let bmc = Responder::start(Behaviour {
        suites: vec![Suite::Three],
        ignores_unknown_suites: true,
        ..Behaviour::default()
    });
    let ipmi = super::Ipmi::connect_with("127.0.0.1", bmc.port(), admin(), super::IMPATIENCE).await;
    assert_eq!(ipmi.unwrap().power().await.unwrap(), Power::Off);
    assert_eq!(bmc.state().suite, Some(Suite::Three));
}

#[tokio::test]
async fn a_bmc_without_either_suite_is_named() {
    let bmc = Responder::start(Behaviour { suites: vec![], ..Behaviour::default() });
    let error = connect(&bmc, admin()).await.unwrap_err();
    assert!(matches!(error, IpmiError::SuiteUnsupported), "{error}");
}

/// Shows that the responder speaks the protocol and not merely what our client speaks.
#[tokio::test]
async fn ipmitool_agrees_with_the_responder() {
    for (number, suite) in [("17", Suite::Seventeen), ("3", Suite::Three)] {
        let bmc = Responder::start(Behaviour::default());
        let Some(said) =
            super::openipmi::ipmitool(bmc.port(), number, &["chassis", "power", "status"])
        else {
            return;
        };
        assert!(said.contains("Chassis Power is off"), "{said}");
        assert_eq!(bmc.state().suite, Some(suite));
    }
}
