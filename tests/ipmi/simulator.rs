//! OpenIPMI's `ipmi_sim`, driven to the effects it has on its host.

use leaseless::bmc::ipmi::{IpmiError, Login};
use leaseless::bmc::{BootControl, BootDevice, EventLog, Power, PowerControl, PowerOff};
use leaseless::types::reason::{Failure, sel};
use leaseless::types::{Privilege, Secret};

use super::admin;
use super::openipmi::{Simulator, ipmitool};

#[tokio::test]
async fn power_and_boot_device_reach_the_host() {
    let Some(simulator) = Simulator::start().await else { return };
    let ipmi = simulator.connect(admin()).await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::Off);
    ipmi.boot_once(BootDevice::Cd).await.unwrap();
    ipmi.power_on().await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::On);
    ipmi.power_off(PowerOff::Soft).await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::Off);
    ipmi.power_on().await.unwrap();
    ipmi.power_off(PowerOff::Hard).await.unwrap();
    ipmi.boot_once(BootDevice::None).await.unwrap();
    assert_eq!(simulator.done(), "boot cdrom\npower 1\nshutdown\npower 1\npower 0\nboot none\n");
}

#[tokio::test]
async fn a_reason_in_the_log_is_read_back() {
    let Some(simulator) = Simulator::start().await else { return };
    let ipmi = simulator.connect(admin()).await.unwrap();
    assert_eq!(ipmi.entries().await.unwrap(), []);
    let failure = Failure::AddressInUse {
        address: "192.0.2.10".parse().unwrap(),
        by: Some("52:54:00:12:34:56".parse().unwrap()),
    };
    for record in sel::encode(&failure, 0xBEEF) {
        let bytes: Vec<String> = record.iter().map(|byte| format!("{byte:#04x}")).collect();
        let mut arguments = vec!["raw", "0x0a", "0x44"];
        arguments.extend(bytes.iter().map(String::as_str));
        let Some(_) = ipmitool(simulator.port, "3", &arguments) else { return };
    }
    let entries = ipmi.entries().await.unwrap();
    let raw: Vec<[u8; 16]> = entries.iter().filter_map(|entry| entry.raw).collect();
    let found = sel::decode(&raw);
    assert_eq!((found[0].tag, &found[0].reason), (0xBEEF, &sel::Known::Whole(failure.clone())));
    let said = ipmitool(simulator.port, "3", &["sel", "list"]).unwrap();
    assert!(said.contains("004c4c | 03beef"), "a person reads LL-03: {said}");
    let found = sel::decode_text(said.lines());
    assert_eq!(found[0].reason, sel::Known::Whole(failure), "{said}");
}

#[tokio::test]
async fn an_operator_switches_power_and_a_mere_user_does_not() {
    let Some(simulator) = Simulator::start().await else { return };
    let operator = Login::new("oper", Secret::new("secret"));
    let user = simulator.connect(operator.clone().with_privilege(Privilege::User)).await.unwrap();
    assert_eq!(user.power().await.unwrap(), Power::Off);
    let error = user.power_on().await.unwrap_err();
    assert_eq!(error.to_string(), "Chassis Control needs a higher privilege than USER");
    let ipmi = simulator.connect(operator.with_privilege(Privilege::Operator)).await.unwrap();
    ipmi.power_on().await.unwrap();
    assert_eq!(simulator.done(), "power 1\n");
}

#[tokio::test]
async fn wrong_password_and_unknown_user_are_told_apart() {
    let Some(simulator) = Simulator::start().await else { return };
    let error = simulator.connect(Login::new("admin", Secret::new("wrong"))).await.unwrap_err();
    assert!(matches!(error, IpmiError::WrongPassword { .. }), "{error}");
    let error = simulator.connect(Login::new("nobody", Secret::new("secret"))).await.unwrap_err();
    assert!(matches!(error, IpmiError::UnknownUser { .. }), "{error}");
}
