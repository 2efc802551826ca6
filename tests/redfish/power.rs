use std::time::Duration;

use leaseless::bmc::{Class, Classified, Power, PowerControl, PowerOff};
use tokio::time::Instant;

use crate::simulated_bmc::{Fault, Profile, SimulatedBmc};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_host_is_switched_on_and_off_and_the_wait_sees_it() {
    for profile in [Profile::generic(), Profile::supermicro(), Profile::openbmc()] {
        let bmc = SimulatedBmc::start(profile).await;
        let redfish = bmc.connect().await.unwrap();
        assert_eq!(redfish.power().await.unwrap(), Power::Off);
        redfish.power_on().await.unwrap();
        redfish.wait_for_power(Power::On, MINUTE).await.unwrap();
        redfish.power_off(PowerOff::Hard).await.unwrap();
        redfish.wait_for_power(Power::Off, MINUTE).await.unwrap();
        let kinds: Vec<_> = bmc.sent("POST", "ComputerSystem.Reset");
        assert_eq!(
            kinds,
            [serde_json::json!({"ResetType": "On"}), serde_json::json!({"ResetType": "ForceOff"})]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_holds_already_is_not_asked_for_again() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let redfish = bmc.connect().await.unwrap();
    redfish.power_off(PowerOff::Hard).await.unwrap();
    assert!(bmc.sent("POST", "ComputerSystem.Reset").is_empty());
}

#[tokio::test(start_paused = true)]
async fn powering_on_counts_as_on_and_powering_off_as_off() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let redfish = bmc.connect().await.unwrap();
    bmc.world().power = "PoweringOn";
    assert_eq!(redfish.power().await.unwrap(), Power::On);
    bmc.world().power = "PoweringOff";
    assert_eq!(redfish.power().await.unwrap(), Power::Off);
}

#[tokio::test(start_paused = true)]
async fn a_cycle_goes_through_off() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.world().power = "On";
    let redfish = bmc.connect().await.unwrap();
    redfish.power_cycle().await.unwrap();
    redfish.wait_for_power(Power::On, MINUTE).await.unwrap();
    let kinds = bmc.sent("POST", "ComputerSystem.Reset");
    assert_eq!(kinds[0]["ResetType"], "ForceOff");
    assert_eq!(kinds[1]["ResetType"], "On");
}

#[tokio::test(start_paused = true)]
async fn idrac_10_refuses_on_for_a_minute_after_off_and_is_asked_again() {
    let bmc = SimulatedBmc::start(Profile::idrac10()).await;
    bmc.fault(Fault::ConflictOnOn(Instant::now() + Duration::from_secs(45)));
    let redfish = bmc.connect().await.unwrap();
    redfish.power_on().await.unwrap();
    redfish.wait_for_power(Power::On, MINUTE).await.unwrap();
    assert_eq!(bmc.sent("POST", "ComputerSystem.Reset").len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_never_ends_is_told_with_the_words_of_the_bmc() {
    let bmc = SimulatedBmc::start(Profile::idrac10()).await;
    bmc.fault(Fault::ConflictOnOn(Instant::now() + 60 * MINUTE));
    let redfish = bmc.connect().await.unwrap();
    let error = redfish.power_on().await.unwrap_err();
    assert_eq!(error.class(), Class::Transient);
    assert!(error.cause.to_string().contains("Unable to switch on now."), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_no_failure_if_the_host_is_as_wanted() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::ConflictThoughDone);
    let redfish = bmc.connect().await.unwrap();
    redfish.power_on().await.unwrap();
    assert_eq!(redfish.power().await.unwrap(), Power::On);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_move_is_told_after_the_deadline() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let redfish = bmc.connect().await.unwrap();
    let error = redfish.wait_for_power(Power::On, MINUTE).await.unwrap_err();
    assert_eq!(
        error.cause.to_string(),
        "the BMC accepted the request, but the host is still off after 60 s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_off_has_no_reset_button() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let redfish = bmc.connect().await.unwrap();
    assert_eq!(redfish.power_reset().await.unwrap_err().class(), Class::Unsupported);
    bmc.world().power = "On";
    redfish.power_reset().await.unwrap();
    assert_eq!(bmc.sent("POST", "ComputerSystem.Reset")[0]["ResetType"], "ForceRestart");
}

#[tokio::test(start_paused = true)]
async fn a_power_state_that_says_nothing_is_an_error_that_may_pass() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let redfish = bmc.connect().await.unwrap();
    bmc.world().power = "";
    assert_eq!(redfish.power().await.unwrap_err().class(), Class::Transient);
}
