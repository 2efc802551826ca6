use leaseless::bmc::{BootControl, BootDevice, BootOverride, Class, Classified};
use serde_json::{Value, json};

use crate::simulated_bmc::{Fault, Profile, SimulatedBmc};

fn profiles() -> Vec<(&'static str, Profile)> {
    vec![
        ("generic", Profile::generic()),
        ("iDRAC 9", Profile::idrac9()),
        ("iDRAC 10", Profile::idrac10()),
        ("iLO 5", Profile::ilo5()),
        ("XCC", Profile::xcc()),
        ("Supermicro", Profile::supermicro()),
        ("Supermicro X10", Profile::supermicro_x10()),
        ("AMI", Profile::ami()),
        ("DGX", Profile::dgx()),
        ("OpenBMC", Profile::openbmc()),
        ("sushy-tools", Profile::sushy_tools()),
        ("Huawei", Profile::huawei()),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_vendor_boots_once_from_cd() {
    for (name, profile) in profiles() {
        let bmc = SimulatedBmc::start(profile).await;
        let redfish = bmc.connect().await.unwrap();
        redfish.boot_once(BootDevice::Cd).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let standing = redfish.boot_override().await.unwrap();
        let wanted = BootOverride { device: BootDevice::Cd, persistent: false };
        assert_eq!(standing, wanted, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_override_that_stood_before_is_put_back_exactly() {
    for (name, profile) in profiles() {
        let takes_continuous =
            profile.enabled.is_empty() || profile.enabled.contains(&"Continuous");
        let bmc = SimulatedBmc::start(profile).await;
        bmc.world().boot["BootSourceOverrideTarget"] = "Hdd".into();
        let enabled = if takes_continuous { "Continuous" } else { "Once" };
        bmc.world().boot["BootSourceOverrideEnabled"] = enabled.into();
        let before = bmc.world().boot.clone();
        let redfish = bmc.connect().await.unwrap();
        let standing = redfish.boot_override().await.unwrap();
        redfish.boot_once(BootDevice::Cd).await.unwrap();
        redfish.restore_boot(standing).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(bmc.world().boot, before, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_we_have_no_word_for_is_put_back_too() {
    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    bmc.world().profile.targets = &["None", "Cd", "UefiHttp"];
    bmc.world().boot["BootSourceOverrideTarget"] = "UefiHttp".into();
    bmc.world().boot["BootSourceOverrideEnabled"] = "Continuous".into();
    let redfish = bmc.connect().await.unwrap();
    let standing = redfish.boot_override().await.unwrap();
    redfish.boot_once(BootDevice::Cd).await.unwrap();
    redfish.restore_boot(standing).await.unwrap();
    assert_eq!(bmc.world().boot["BootSourceOverrideTarget"], "UefiHttp");
    assert_eq!(bmc.world().boot["BootSourceOverrideEnabled"], "Continuous");
}

#[tokio::test(start_paused = true)]
async fn an_override_is_taken_away() {
    for (name, profile) in profiles() {
        if !profile.targets.contains(&"None") {
            continue;
        }
        let bmc = SimulatedBmc::start(profile).await;
        let redfish = bmc.connect().await.unwrap();
        redfish.boot_once(BootDevice::Cd).await.unwrap();
        redfish
            .boot_once(BootDevice::None)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(redfish.boot_override().await.unwrap().device, BootDevice::None, "{name}");
    }
}

async fn boot_bodies(profile: Profile, path_end: &str) -> Vec<Value> {
    let bmc = SimulatedBmc::start(profile).await;
    let redfish = bmc.connect().await.unwrap();
    redfish.boot_once(BootDevice::Cd).await.unwrap();
    let mut bodies = bmc.sent("PATCH", path_end);
    // Sent again with another ETag.
    bodies.dedup();
    bodies
}

#[tokio::test(start_paused = true)]
async fn mode_is_left_alone_where_it_need_not_be_sent() {
    let once =
        [json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd"}})];
    assert_eq!(boot_bodies(Profile::ilo5(), "/Systems/1").await, once);
    assert_eq!(boot_bodies(Profile::idrac9(), "/System.Embedded.1").await, once);
    // What lives in the settings object goes there, and only there.
    assert_eq!(boot_bodies(Profile::idrac10(), "/Settings").await, once);
    assert_eq!(boot_bodies(Profile::idrac10(), "/System.Embedded.1").await, Vec::<Value>::new());
    assert_eq!(boot_bodies(Profile::openbmc(), "/Settings").await, once);
    assert_eq!(boot_bodies(Profile::xcc(), "/Pending").await, Vec::<Value>::new());
    assert_eq!(boot_bodies(Profile::xcc(), "/Systems/1").await, once);
}

#[tokio::test(start_paused = true)]
async fn supermicro_gets_the_usb_cd_and_ami_gets_all_three_at_its_settings() {
    let triple = |target: &str| {
        json!({"Boot": {"BootSourceOverrideMode": "UEFI", "BootSourceOverrideEnabled": "Once",
            "BootSourceOverrideTarget": target}})
    };
    assert_eq!(boot_bodies(Profile::supermicro(), "/Systems/1").await, [triple("UsbCd")]);
    assert_eq!(boot_bodies(Profile::ami(), "/SD").await, [triple("Cd")]);
    let odd = Profile { model: "ARS-111GL-NHR", ..Profile::supermicro() };
    assert_eq!(boot_bodies(odd, "/Systems/1").await, [triple("Cd")]);
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_holds_is_not_sent_again() {
    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    bmc.world().boot["BootSourceOverrideEnabled"] = "Once".into();
    let redfish = bmc.connect().await.unwrap();
    redfish.boot_once(BootDevice::Disk).await.unwrap();
    let sent = bmc.sent("PATCH", "/System.Embedded.1");
    assert_eq!(sent, [json!({"Boot": {"BootSourceOverrideTarget": "Hdd"}})]);
}

#[tokio::test(start_paused = true)]
async fn a_weak_etag_is_tried_as_it_is_and_then_strong() {
    let bmc = SimulatedBmc::start(Profile::ilo5()).await;
    let redfish = bmc.connect().await.unwrap();
    redfish.boot_once(BootDevice::Cd).await.unwrap();
    let world = bmc.world();
    let tags: Vec<_> = world.seen.iter().filter(|seen| seen.method == "PATCH").collect();
    let tags: Vec<_> = tags.iter().map(|seen| seen.if_match.as_deref().unwrap_or("-")).collect();
    assert_eq!(tags, ["W/\"1\"", "\"1\""]);
}

#[tokio::test(start_paused = true)]
async fn a_bmc_that_demands_an_etag_gets_one() {
    // Its vendor is not seen: only the 428 tells.
    let profile = Profile { vendor: None, oem: None, ..Profile::ami() };
    let profile = Profile { etag: crate::simulated_bmc::profile::Etag::None, ..profile };
    let profile = Profile { boot_rule: Profile::generic().boot_rule, ..profile };
    let bmc = SimulatedBmc::start(profile).await;
    let redfish = bmc.connect().await.unwrap();
    redfish.boot_once(BootDevice::Cd).await.unwrap();
    let world = bmc.world();
    let tags: Vec<_> = world.seen.iter().filter(|seen| seen.method == "PATCH").collect();
    assert_eq!(tags.len(), 2);
    assert_eq!(tags[1].if_match.as_deref(), Some("*"));
}

#[tokio::test(start_paused = true)]
async fn a_host_in_post_is_waited_for() {
    let bmc = SimulatedBmc::start(Profile::ilo5()).await;
    bmc.fault(Fault::InPost(3));
    let redfish = bmc.connect().await.unwrap();
    let start = tokio::time::Instant::now();
    redfish.boot_once(BootDevice::Cd).await.unwrap();
    assert!(start.elapsed().as_secs() >= 35, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_device_that_the_bmc_lacks_is_named_with_what_there_is() {
    let profile = Profile { targets: &["Pxe", "Hdd"], ..Profile::generic() };
    let bmc = SimulatedBmc::start(profile).await;
    let redfish = bmc.connect().await.unwrap();
    let error = redfish.boot_once(BootDevice::Cd).await.unwrap_err();
    assert_eq!(error.class(), Class::Unsupported);
    assert_eq!(error.cause.to_string(), "this BMC has no boot target Cd: it offers Pxe, Hdd");
}
