//! Bodies that real BMCs gave, read as this module reads them. They are not part of the project:
//! `LEASELESS_SAMPLES` is a directory with `redfish/` below it.

use std::path::PathBuf;

use serde_json::Value;

use super::answer::Answer;
use super::quirks::{self, BootBody, IfMatch, Platform, Quirks, Vendor};
use super::resource::{Boot, Resource, Slot};
use super::task::{Progress, task_progress};

/// The directory, or a line on stderr that nothing was checked.
fn samples() -> Option<PathBuf> {
    let found = std::env::var_os("LEASELESS_SAMPLES");
    if found.is_none() {
        eprintln!("NOT RUN on captured Redfish bodies: LEASELESS_SAMPLES is not set");
    }
    found.map(|samples| PathBuf::from(samples).join("redfish"))
}

fn read(name: &str) -> Resource {
    let path = samples().unwrap().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let value: Value = serde_json::from_str(&text).unwrap();
    let path = super::resource::text(&value, "/@odata.id").unwrap_or_default();
    Resource { path, etag: None, allow: Vec::new(), value }.tagged()
}

fn slot(name: &str) -> Slot {
    Slot::read(&read(name))
}

fn boot(name: &str) -> Boot {
    Boot::read(&read(name)).unwrap_or_default()
}

#[test]
fn every_body_is_read_without_a_complaint() {
    let Some(directory) = samples() else { return };
    let mut count = 0;
    for vendor in std::fs::read_dir(directory).unwrap().flatten() {
        let Ok(files) = std::fs::read_dir(vendor.path()) else { continue };
        for file in files.flatten() {
            let name = format!("{}/{}", vendor.file_name().display(), file.file_name().display());
            let body = read(&name);
            let (slot, _) = (Slot::read(&body), Boot::read(&body));
            assert!(body.kind().is_none_or(|kind| !kind.contains('#')), "{name}");
            assert!(slot.holds().is_none() || slot.image.is_some(), "{name}");
            assert!(Answer::read(400, &body.value).to_string().len() < 4000, "{name}");
            count += 1;
        }
    }
    assert!(count >= 80, "{count} bodies");
}

#[test]
fn platforms_are_told_by_vendor_oem_or_manufacturer() {
    if samples().is_none() {
        return;
    }
    for (directory, root, system, manager, vendor) in [
        ("dell", "", "_idrac9_6.00", "_idrac9", Vendor::Dell),
        ("hpe", "_ilo5", "_ilo5", "_ilo5", Vendor::Hpe),
        ("lenovo", "_xcc", "_xcc2.83", "_xcc2.83", Vendor::Lenovo),
        ("supermicro", "_x13", "_x13", "_x13", Vendor::Supermicro),
        ("supermicro", "_x10", "_x10", "_x10", Vendor::Supermicro),
        ("ami", "_dgx", "_dgx", "_dgx", Vendor::Ami),
    ] {
        let root = read(&format!("{directory}/service_root{root}.json"));
        let system = read(&format!("{directory}/system{system}.json"));
        let manager = read(&format!("{directory}/manager{manager}.json"));
        let platform = Platform::detect(&root, &system, Some(&manager));
        assert_eq!(platform.vendor, vendor, "{directory}");
        let quirks = Quirks::of(&platform);
        assert!(!quirks.first_slot_only, "{directory} is no iDRAC 10");
        let is_triple = matches!(vendor, Vendor::Supermicro | Vendor::Ami);
        assert_eq!(quirks.boot_body == BootBody::Triple, is_triple, "{directory}");
        assert_eq!(quirks.if_match == IfMatch::Mandatory, vendor == Vendor::Ami, "{directory}");
    }
    let (root, system) = ("openbmc-nvidia/service_root_gb200", "openbmc-nvidia/system_gb200_host");
    let (root, system) = (read(&format!("{root}.json")), read(&format!("{system}.json")));
    assert_eq!(Platform::detect(&root, &system, None).vendor, Vendor::Nvidia);
    let (root, system) = (read("sushy-tools/root.json"), read("sushy-tools/system.json"));
    assert_eq!(Platform::detect(&root, &system, None).vendor, Vendor::Other);
}

#[test]
fn the_cd_target_of_every_system_is_one_that_it_offers() {
    if samples().is_none() {
        return;
    }
    let generic: &[&str] = &["Cd", "UsbCd", "CD/DVD"];
    let supermicro: &[&str] = &["UsbCd", "Cd", "CD/DVD"];
    for (system, names, target) in [
        ("dell/system_idrac9_6.00.json", generic, Some("Cd")),
        ("hpe/system_ilo5.json", generic, Some("Cd")),
        ("lenovo/system_xcc2.83.json", generic, Some("Cd")),
        ("supermicro/system_x13.json", supermicro, Some("UsbCd")),
        ("supermicro/system_x10.json", supermicro, Some("UsbCd")),
        ("ami/system_sd.json", generic, Some("Cd")),
        ("openbmc-nvidia/system_gb200_host.json", generic, Some("Cd")),
        ("openbmc-nvidia/system_bluefield3.json", generic, None),
        ("sushy-tools/system.json", generic, Some("Cd")),
    ] {
        let boot = boot(system);
        let chosen = names.iter().find(|name| boot.target.allows(name)).copied();
        assert_eq!(chosen, target, "{system}");
    }
}

#[test]
fn each_boot_property_is_seen_where_it_lives() {
    if samples().is_none() {
        return;
    }
    for (body, enabled, target, mode) in [
        ("ami/system_sd.json", true, true, true),
        ("dell/system_settings_object.json", false, false, true),
        ("lenovo/system_pending.json", false, false, false),
        ("openbmc-nvidia/system_bluefield3_settings.json", true, true, true),
        ("openbmc-nvidia/system_gb200_host.json", true, true, false),
        ("supermicro/system_x10.json", true, true, false),
    ] {
        let boot = boot(body);
        let seen = (boot.enabled.present, boot.target.present, boot.mode.present);
        assert_eq!(seen, (enabled, target, mode), "{body}");
    }
    let empty = boot("openbmc-nvidia/system_bluefield_empty_enums.json");
    assert_eq!((empty.enabled.value, empty.target.value), (None, None));
    assert!(boot("lenovo/system_xcc2.83.json").enabled.allows("Once"));
    assert!(!boot("lenovo/system_xcc2.83.json").enabled.allows("Continuous"));
}

#[test]
fn slots_are_told_apart_by_what_they_take_and_hold() {
    if samples().is_none() {
        return;
    }
    for (name, is_cd, has_insert, holds) in [
        ("cisco/vmedia_cimc_3.json", true, true, Some("http://myhttp/iso/boot.iso")),
        ("dell/vmedia_manager_cd.json", true, true, None),
        ("dell/vmedia_manager_removabledisk.json", false, true, None),
        ("hpe/vmedia_1_usb.json", false, true, None),
        ("hpe/vmedia_2_cd.json", true, true, None),
        ("hpe/vmedia_gofish.json", false, true, None),
        ("lenovo/vmedia_ext1.json", true, false, None),
        ("openbmc-nvidia/vmedia_gb200_usb1.json", true, true, None),
        ("supermicro/vmedia_1_empty.json", true, true, None),
        ("supermicro/vmedia_gb300_slot0.json", true, false, None),
        ("sushy-tools/vmedia_cd.json", true, true, None),
        ("sushy-tools/vmedia_cd_inserted.json", true, true, Some("http://127.0.0.1:9998/test.iso")),
    ] {
        let slot = slot(name);
        assert_eq!((slot.is_cd(), slot.insert.is_some()), (is_cd, has_insert), "{name}");
        assert_eq!(slot.holds(), holds, "{name}");
    }
    assert_eq!(slot("supermicro/vmedia_1_empty.json").eject, None);
}

#[test]
fn systems_and_actions_are_found() {
    if samples().is_none() {
        return;
    }
    let reset = |name: &str| read(name).action("ComputerSystem.Reset");
    assert!(reset("dell/system_idrac9_6.00.json").unwrap().reset_types.len() >= 8);
    assert!(reset("supermicro/system_x13.json").unwrap().info.is_some());
    assert_eq!(reset("openbmc-nvidia/system_gb200_hgx.json"), None);
    assert!(read("ami/manager_dgx.json").oem_action(quirks::ENABLE_REMOTE_MEDIA).is_some());
    let iso = read("supermicro/vmedia_x11_cfgcd.json");
    assert!(iso.action(quirks::ISO_CONFIG_MOUNT).is_some());
    assert!(iso.action(quirks::ISO_CONFIG_UNMOUNT).is_some());
    assert!(read("ami/vmedia_collection_empty.json").members().is_empty());
    assert_eq!(read("lenovo/vmedia_collection.json").members().len(), 10);
}

#[test]
fn refusals_say_what_to_do_next() {
    if samples().is_none() {
        return;
    }
    let answer = |name: &str| Answer::read(400, &read(name).value);
    for name in [
        "errors/ami_transferprotocol_1.5.json",
        "errors/ami_transferprotocol_1.12.json",
        "errors/general_transferprotocol.json",
    ] {
        assert!(answer(name).mentions("TransferProtocolType"), "{name}");
        assert!(!answer(name).mentions("UserName"), "{name}");
    }
    let dgx = answer("errors/dgx_credentials_required.json");
    assert!(dgx.mentions("UserName") && !dgx.mentions("TransferMethod"));
    assert!(quirks::passing_refusal(&answer("errors/ilo_during_post.json")).is_some());
    assert!(quirks::passing_refusal(&answer("errors/idrac_image_unreachable.json")).is_none());
    let said = answer("sushy-tools/error_404_image.json").to_string();
    assert!(said.contains("got error 404 from the server"), "{said}");
}

#[test]
fn tasks_end_as_they_say() {
    if samples().is_none() {
        return;
    }
    for (name, ended) in [
        ("completed", Some(true)),
        ("failed", Some(false)),
        ("pending", None),
        ("running", None),
        ("scheduled", None),
        ("starting", None),
        ("unknown", None),
    ] {
        let body = read(&format!("tasks/smc_task_{name}.json"));
        let state = body.text("/TaskState").unwrap_or_default();
        let progress = task_progress(&state, &body.value);
        let got = match progress {
            Progress::Done => Some(true),
            Progress::Failed { .. } => Some(false),
            Progress::Running => None,
        };
        assert_eq!(got, ended, "{name}: {state}");
    }
}
