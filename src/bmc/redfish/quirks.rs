//! How BMCs differ, as data: everything that depends on who built one is in this file.
//!
//! Not here: what every BMC is asked in the same way, which the other files do. What each row
//! rests on (capture, source or report) is in `docs/bmc.md`.

use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Answer;
use super::resource::Resource;

/// Who built a BMC's firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vendor {
    /// iDRAC.
    Dell,
    /// iLO.
    Hpe,
    /// XCC. Lenovo's AMI-based servers are [`Vendor::Ami`].
    Lenovo,
    /// Supermicro's own firmware.
    Supermicro,
    /// AMI MegaRAC, under many names.
    Ami,
    /// iBMC, xFusion, H3C.
    Huawei,
    /// iRMC.
    Fujitsu,
    /// CIMC.
    Cisco,
    /// OpenBMC of NVIDIA.
    Nvidia,
    /// Everything else.
    Other,
}

/// What tells one platform from another.
#[derive(Debug, Clone)]
pub(super) struct Platform {
    pub(super) vendor: Vendor,
    pub(super) system_model: String,
    pub(super) bmc_model: String,
}

/// How `Boot` wants to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootBody {
    /// Target, and Enabled if it differs. Mode is left alone.
    Changed,
    /// Target, Enabled and Mode together, whatever they were.
    Triple,
}

/// When `If-Match` is sent with a PATCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfMatch {
    /// When the BMC gave an ETag; without one after that was refused.
    WhenKnown,
    /// Always.
    Mandatory,
    /// Never.
    Never,
}

/// Fields that InsertMedia can want beside `Image`, in the order they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertField {
    /// `TransferProtocolType`, from the URL.
    Protocol,
    /// `TransferMethod: Stream`.
    Method,
    /// `UserName` and `Password`, "none" where there are none.
    Login,
}

/// What one platform does differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quirks {
    pub(super) boot_body: BootBody,
    pub(super) if_match: IfMatch,
    /// Names of a CD as boot target, best first.
    pub(super) cd_targets: &'static [&'static str],
    /// Fields that InsertMedia wants from the start.
    pub(super) insert_fields: &'static [InsertField],
    /// Beginnings of slot names, best first; names that match none come in between.
    pub(super) slots_first: &'static [&'static str],
    /// Beginnings of slot names that never boot.
    pub(super) slots_last: &'static [&'static str],
    /// Only the first slot boots, though others take images.
    pub(super) first_slot_only: bool,
    /// ForceRestart hangs the host: off and on instead.
    pub(super) restart_hangs: bool,
}

const GENERIC: Quirks = Quirks {
    boot_body: BootBody::Changed,
    if_match: IfMatch::WhenKnown,
    cd_targets: &["Cd", "UsbCd", "CD/DVD", "UefiCd", "UefiUsbCd"],
    insert_fields: &[],
    slots_first: &[],
    slots_last: &[],
    first_slot_only: false,
    restart_hangs: false,
};

impl Quirks {
    /// The row of a platform.
    pub(super) fn of(platform: &Platform) -> Self {
        let model = platform.system_model.as_str();
        match platform.vendor {
            // iDRAC 10: the second slot takes an image and never boots it.
            Vendor::Dell => Self { first_slot_only: is_idrac10(&platform.bmc_model), ..GENERIC },
            // RDOC slots are for uploads; the SR675 V3 hangs on ForceRestart.
            Vendor::Lenovo => Self {
                slots_first: &["EXT", "Remote"],
                slots_last: &["RDOC"],
                restart_hangs: model.contains("SR675 V3"),
                ..GENERIC
            },
            // `Cd` is the physical drive, except on this one. Mode is forgotten and Enabled goes
            // back to Once unless both are sent.
            Vendor::Supermicro => Self {
                boot_body: BootBody::Triple,
                cd_targets: if model.contains("ARS-111GL-NHR") {
                    &["Cd"]
                } else {
                    &["UsbCd", "Cd", "CD/DVD", "UefiUsbCd", "UefiCd"]
                },
                ..GENERIC
            },
            Vendor::Ami => Self {
                boot_body: BootBody::Triple,
                if_match: IfMatch::Mandatory,
                insert_fields: if model.contains("DGX") {
                    &[InsertField::Protocol, InsertField::Method, InsertField::Login]
                } else {
                    &[InsertField::Protocol, InsertField::Method]
                },
                ..GENERIC
            },
            Vendor::Fujitsu => Self {
                if_match: IfMatch::Mandatory,
                insert_fields: &[InsertField::Protocol],
                ..GENERIC
            },
            // Its daemon refuses tags that it gave itself.
            Vendor::Nvidia => Self { if_match: IfMatch::Never, ..GENERIC },
            // These need nothing that is not found out by asking.
            Vendor::Hpe | Vendor::Huawei | Vendor::Cisco | Vendor::Other => GENERIC,
        }
    }
}

/// Dell's manager says its generation: `17G Monolithic` and later are iDRAC 10.
fn is_idrac10(bmc_model: &str) -> bool {
    let generation = bmc_model.split('G').next().and_then(|number| number.trim().parse().ok());
    generation.is_some_and(|generation: u32| generation >= 17)
}

/// Names in `Vendor`, in keys of `Oem` and in `Manufacturer`, lower case.
const NAMES: [(&str, Vendor); 16] = [
    ("ami", Vendor::Ami),
    ("dell", Vendor::Dell),
    ("hpe", Vendor::Hpe),
    ("hp", Vendor::Hpe),
    ("hewlett packard enterprise", Vendor::Hpe),
    ("lenovo", Vendor::Lenovo),
    ("supermicro", Vendor::Supermicro),
    ("huawei", Vendor::Huawei),
    ("xfusion", Vendor::Huawei),
    ("h3c", Vendor::Huawei),
    ("public", Vendor::Huawei),
    ("fujitsu", Vendor::Fujitsu),
    ("ts_fujitsu", Vendor::Fujitsu),
    ("cisco", Vendor::Cisco),
    ("cisco systems inc", Vendor::Cisco),
    ("nvidia", Vendor::Nvidia),
];

fn vendor_of(name: &str) -> Option<Vendor> {
    let name = name.trim().trim_end_matches('.').trim_end_matches(" inc").to_lowercase();
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, vendor)| *vendor)
}

impl Platform {
    /// Finds out who built this. AMI's firmware shows in `Oem` whatever name is on the box.
    pub(super) fn detect(root: &Resource, system: &Resource, manager: Option<&Resource>) -> Self {
        let resources = [Some(root), manager, Some(system)];
        let keys = |resource: &Resource| -> Vec<String> {
            let oem = resource.value.get("Oem").and_then(Value::as_object);
            oem.into_iter().flat_map(|oem| oem.keys().cloned()).collect()
        };
        let oem: Vec<Vendor> = resources
            .into_iter()
            .flatten()
            .flat_map(keys)
            .filter_map(|key| vendor_of(&key))
            .collect();
        let named = |resource: &Resource, pointer: &str| {
            resource.text(pointer).and_then(|name| vendor_of(&name))
        };
        let vendor = if oem.contains(&Vendor::Ami) {
            Some(Vendor::Ami)
        } else {
            named(root, "/Vendor")
                .or_else(|| oem.first().copied())
                .or_else(|| named(system, "/Manufacturer"))
        };
        let model = |resource: Option<&Resource>| {
            resource.and_then(|resource| resource.text("/Model")).unwrap_or_default()
        };
        Self {
            vendor: vendor.unwrap_or(Vendor::Other),
            system_model: model(Some(system)),
            bmc_model: model(manager),
        }
    }
}

/// AMI: slots appear only after this action of the manager.
pub(super) const ENABLE_REMOTE_MEDIA: &str = "AMIVirtualMedia.EnableRMedia";
/// Its parameters.
pub(super) fn enable_remote_media() -> Value {
    json!({"RMediaState": "Enable"})
}
/// How long AMI's slots take to appear.
pub(super) const REMOTE_MEDIA_APPEARS: Duration = Duration::from_secs(5);

/// Supermicro X10 and X11: below the manager's `VirtualMedia`, mounted by own actions.
pub(super) const ISO_CONFIG: &str = "CfgCD";
/// Mounts what `Host` and `Path` say.
pub(super) const ISO_CONFIG_MOUNT: &str = "IsoConfig.Mount";
/// The opposite.
pub(super) const ISO_CONFIG_UNMOUNT: &str = "IsoConfig.UnMount";

/// Huawei: parameters of `VmmControl` that connect an image.
pub(super) fn vmm_connect(image: &str) -> Value {
    json!({"VmmControlType": "Connect", "Image": image})
}
/// And those that disconnect it.
pub(super) fn vmm_disconnect() -> Value {
    json!({"VmmControlType": "Disconnect"})
}

/// Huawei: a session wants to know which directory the user is in.
pub(super) fn wants_login_domain(answer: &Answer) -> bool {
    answer.status == 400 && answer.mentions("Domain")
}
/// The BMC's own users.
pub(super) fn login_domain() -> Value {
    json!({"Huawei": {"Domain": "LocaliBMC"}})
}

/// How often, and after how long, something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Backoff {
    /// Tries in all.
    pub(super) tries: u32,
    /// Wait after the first; doubles.
    pub(super) first: Duration,
    /// Longest wait.
    pub(super) most: Duration,
}

/// Waits between the tries of a [`Backoff`].
pub(super) struct Waits {
    left: u32,
    next: Duration,
    most: Duration,
}

impl Backoff {
    pub(super) const fn waits(self) -> Waits {
        Waits { left: self.tries - 1, next: self.first, most: self.most }
    }
}

impl Iterator for Waits {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let wait = self.next.min(self.most);
        self.next = wait * 2;
        Some(wait)
    }
}

const fn every(tries: u32, seconds: u64) -> Backoff {
    let wait = Duration::from_secs(seconds);
    Backoff { tries, first: wait, most: wait }
}

/// Refusals that only mean "not now", by a part of their message id.
const PASSING: [(&str, Backoff); 3] = [
    // iDRAC: an operation of its own is under way.
    ("SYS518", every(10, 3)),
    // iLO, for a while after a power change.
    ("InvalidOperationForSystemState", every(10, 3)),
    // iLO while the host is in POST.
    (
        "UnableToModifyDuringSystemPOST",
        Backoff { tries: 7, first: Duration::from_secs(5), most: Duration::from_secs(30) },
    ),
];

/// How to try a write again after this answer; `None` if it will not change its mind.
pub(super) fn passing_refusal(answer: &Answer) -> Option<Backoff> {
    PASSING.iter().find(|(marker, _)| answer.has_id(marker)).map(|(_, backoff)| *backoff)
}

/// iDRAC 10 refuses On for a minute after it switched off.
pub(super) const POWER_CONFLICT: (&str, Backoff) = ("ActionParameterValueConflict", every(7, 10));
/// iDRAC answers 5xx to an insert while an eject is finishing.
pub(super) const INSERT_FAULT: Backoff = every(3, 3);
/// iDRAC: a job is not found just after it was created.
pub(super) const NEW_TASK_MISSING: Backoff = every(4, 10);
