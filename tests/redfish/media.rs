use leaseless::bmc::{Class, Classified, VirtualMedia};
use serde_json::json;
use url::Url;

use crate::simulated_bmc::{Fault, Profile, SimulatedBmc};

const ISO: &str = "http://192.0.2.1/vm/0123456789abcdef.iso";

fn iso() -> Url {
    ISO.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_vendor_takes_an_image_into_the_slot_that_boots_and_gives_it_back() {
    for (name, profile, slot) in [
        ("generic", Profile::generic(), "CD"),
        ("iDRAC 9", Profile::idrac9(), "CD"),
        ("iDRAC 10", Profile::idrac10(), "1"),
        ("iLO 5", Profile::ilo5(), "2"),
        ("XCC", Profile::xcc(), "EXT1"),
        ("Supermicro", Profile::supermicro(), "VirtualMedia1"),
        ("AMI", Profile::ami(), "CD1"),
        ("DGX", Profile::dgx(), "CD1"),
        ("OpenBMC", Profile::openbmc(), "USB1"),
        ("sushy-tools", Profile::sushy_tools(), "CD"),
        ("Huawei", Profile::huawei(), "CD"),
    ] {
        let bmc = SimulatedBmc::start(profile).await;
        let redfish = bmc.connect().await.unwrap();
        let inserted =
            redfish.insert(&iso()).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!((inserted.id.as_str(), inserted.image.as_deref()), (slot, Some(ISO)), "{name}");
        let held = |slots: &[leaseless::bmc::MediaSlot]| {
            slots.iter().filter_map(|slot| slot.image.clone()).collect::<Vec<_>>()
        };
        assert_eq!(held(&redfish.media().await.unwrap()), [ISO], "{name}");
        redfish.eject().await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(held(&redfish.media().await.unwrap()).is_empty(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn supermicro_x10_mounts_by_its_own_resource() {
    let bmc = SimulatedBmc::start(Profile::supermicro_x10()).await;
    let redfish = bmc.connect().await.unwrap();
    redfish.insert(&iso()).await.unwrap();
    assert!(bmc.world().iso_mounted);
    let sent = bmc.sent("PATCH", "/CfgCD");
    assert_eq!(sent, [json!({"Host": "http://192.0.2.1", "Path": "/vm/0123456789abcdef.iso"})]);
    redfish.eject().await.unwrap();
    assert!(!bmc.world().iso_mounted);
}

#[tokio::test(start_paused = true)]
async fn only_the_image_is_sent_unless_more_is_asked_for() {
    let bmc = SimulatedBmc::start(Profile::supermicro()).await;
    bmc.connect().await.unwrap().insert(&iso()).await.unwrap();
    assert_eq!(bmc.sent("POST", "InsertMedia"), [json!({"Image": ISO})]);

    // A BMC of no known make that wants everything says so field by field.
    let profile = Profile { insert_needs: Profile::dgx().insert_needs, ..Profile::generic() };
    let bmc = SimulatedBmc::start(profile).await;
    bmc.connect().await.unwrap().insert(&iso()).await.unwrap();
    let sent = bmc.sent("POST", "InsertMedia");
    assert_eq!(sent.len(), 4);
    let all = json!({"Image": ISO, "TransferProtocolType": "HTTP", "TransferMethod": "Stream",
        "UserName": "none", "Password": "none"});
    assert_eq!(sent[3], all);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_a_slot_is_ejected_first_even_if_it_is_the_same() {
    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    let redfish = bmc.connect().await.unwrap();
    redfish.insert(&iso()).await.unwrap();
    redfish.insert(&iso()).await.unwrap();
    assert_eq!(bmc.sent("POST", "InsertMedia").len(), 2);
    assert_eq!(bmc.sent("POST", "EjectMedia").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_pretends_to_be_full_after_an_eject_does_not_stop_the_insert() {
    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    bmc.fault(Fault::StaleInserted);
    let redfish = bmc.connect().await.unwrap();
    redfish.insert(&iso()).await.unwrap();
    redfish.eject().await.unwrap();
    redfish.insert(&iso()).await.unwrap();
    assert_eq!(bmc.world().slots[1].image.as_deref(), Some(ISO));
}

#[tokio::test(start_paused = true)]
async fn a_fault_while_an_eject_is_finishing_is_waited_out() {
    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    bmc.fault(Fault::InsertsFail(2));
    bmc.connect().await.unwrap().insert(&iso()).await.unwrap();
    assert_eq!(bmc.sent("POST", "InsertMedia").len(), 3);

    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    bmc.fault(Fault::InsertsFail(9));
    let error = bmc.connect().await.unwrap().insert(&iso()).await.unwrap_err();
    assert_eq!(error.class(), Class::Transient);
    assert!(error.cause.to_string().contains("IDRAC.2.8.SYS446"), "{}", error.cause);
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_refuses_is_passed_over_and_all_of_them_are_told() {
    let bmc = SimulatedBmc::start(Profile::xcc()).await;
    bmc.fault(Fault::SlotRefuses("EXT1", 400));
    let inserted = bmc.connect().await.unwrap().insert(&iso()).await.unwrap();
    assert_eq!(inserted.id, "EXT2");

    let bmc = SimulatedBmc::start(Profile::openbmc()).await;
    bmc.fault(Fault::SlotRefuses("USB1", 405));
    let error = bmc.connect().await.unwrap().insert(&iso()).await.unwrap_err();
    let text = error.cause.to_string();
    assert!(text.contains("Slot_0: ") && text.contains("USB1: the BMC answered 405"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_insert_that_was_accepted_and_did_not_happen_is_an_error() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::InsertLies);
    let error = bmc.connect().await.unwrap().insert(&iso()).await.unwrap_err();
    assert_eq!(
        error.cause.to_string(),
        "the BMC accepted the request, but slot CD is still empty after 20 s"
    );
}

#[tokio::test(start_paused = true)]
async fn an_insert_that_is_a_task_is_waited_for_at_the_task_itself() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::InsertIsTask("Completed"));
    bmc.connect().await.unwrap().insert(&iso()).await.unwrap();
    assert_eq!(bmc.sent("GET", "/Tasks/7").len(), 3);
    assert!(bmc.sent("GET", "/Monitors/7").is_empty());

    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::InsertIsTask("Exception"));
    let error = bmc.connect().await.unwrap().insert(&iso()).await.unwrap_err();
    assert_eq!(
        error.cause.to_string(),
        "the BMC's task ended as Exception: The image can't be reached."
    );
}

#[tokio::test(start_paused = true)]
async fn a_bmc_without_slots_says_what_may_be_missing() {
    let profile = Profile { slots: Vec::new(), ..Profile::generic() };
    let bmc = SimulatedBmc::start(profile).await;
    let redfish = bmc.connect().await.unwrap();
    assert!(redfish.media().await.unwrap().is_empty());
    let error = redfish.insert(&iso()).await.unwrap_err();
    assert_eq!(error.class(), Class::Unsupported);
    assert!(error.cause.to_string().contains("licence"), "{}", error.cause);
}

#[tokio::test(start_paused = true)]
async fn looking_changes_nothing() {
    let bmc = SimulatedBmc::start(Profile::ami()).await;
    let redfish = bmc.connect().await.unwrap();
    assert!(redfish.media().await.unwrap().is_empty());
    assert!(bmc.world().slots_hidden);
}
