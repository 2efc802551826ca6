//! What sets one simulated BMC apart from another.

use std::time::Duration;

/// Where virtual media hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaAt {
    System,
    Manager,
}

/// How a slot takes an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// InsertMedia and EjectMedia.
    Action,
    /// PATCH alone.
    Patch,
    /// Huawei's VmmControl, as a task.
    Vmm,
    /// None.
    Never,
}

#[derive(Debug, Clone)]
pub(crate) struct SlotKind {
    pub(crate) id: &'static str,
    pub(crate) types: &'static [&'static str],
    pub(crate) way: Way,
}

/// What a PATCH of Boot must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BootRule {
    /// Anything.
    Lenient,
    /// Mode is read-only.
    ModeReadOnly,
    /// Mode, Enabled and Target together, or nothing happens.
    Triple,
    /// Target alone is refused.
    NeedsTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Etag {
    None,
    Strong,
    /// Given as weak, and taken only as strong.
    Weak,
}

#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) vendor: Option<&'static str>,
    pub(crate) oem: Option<&'static str>,
    pub(crate) manufacturer: Option<&'static str>,
    pub(crate) model: &'static str,
    pub(crate) manager_model: &'static str,
    pub(crate) system: &'static str,
    pub(crate) manager: &'static str,
    pub(crate) media_at: MediaAt,
    pub(crate) slots: Vec<SlotKind>,
    /// No slots until they are enabled.
    pub(crate) slots_hidden: bool,
    /// OEM ISO mount instead of slots.
    pub(crate) iso_config: bool,
    pub(crate) insert_needs: &'static [&'static str],
    pub(crate) targets: &'static [&'static str],
    pub(crate) enabled: &'static [&'static str],
    pub(crate) mode: Option<&'static str>,
    pub(crate) boot_rule: BootRule,
    /// Path of the settings object and the properties of Boot that live there.
    pub(crate) settings: Option<(&'static str, &'static [&'static str])>,
    pub(crate) reset_in_action_info: bool,
    pub(crate) etag: Etag,
    pub(crate) if_match_mandatory: bool,
    /// Eject wants `{}`.
    pub(crate) eject_wants_body: bool,
    pub(crate) has_sessions: bool,
    pub(crate) session_wants_domain: bool,
    pub(crate) power_takes: Duration,
    pub(crate) has_baseboard: bool,
    pub(crate) has_log: bool,
}

const CD: SlotKind = SlotKind { id: "CD", types: &["CD", "DVD"], way: Way::Action };
const TARGETS: &[&str] = &["None", "Pxe", "Hdd", "Cd", "BiosSetup"];

impl Profile {
    pub(crate) fn generic() -> Self {
        Self {
            vendor: None,
            oem: None,
            manufacturer: Some("Example"),
            model: "Server 1",
            manager_model: "BMC",
            system: "1",
            manager: "1",
            media_at: MediaAt::System,
            slots: vec![CD],
            slots_hidden: false,
            iso_config: false,
            insert_needs: &[],
            targets: TARGETS,
            enabled: &[],
            mode: Some("UEFI"),
            boot_rule: BootRule::Lenient,
            settings: None,
            reset_in_action_info: false,
            etag: Etag::None,
            if_match_mandatory: false,
            eject_wants_body: false,
            has_sessions: true,
            session_wants_domain: false,
            power_takes: Duration::from_secs(10),
            has_baseboard: false,
            has_log: true,
        }
    }

    pub(crate) fn idrac9() -> Self {
        let floppy = SlotKind { id: "RemovableDisk", types: &["USBStick"], way: Way::Action };
        Self {
            vendor: Some("Dell"),
            oem: Some("Dell"),
            manufacturer: Some("Dell Inc."),
            model: "PowerEdge R750",
            manager_model: "15G Monolithic",
            system: "System.Embedded.1",
            manager: "iDRAC.Embedded.1",
            media_at: MediaAt::Manager,
            slots: vec![floppy, CD],
            ..Self::generic()
        }
    }

    pub(crate) fn idrac10() -> Self {
        let slot = |id| SlotKind { id, ..CD };
        Self {
            manager_model: "17G Monolithic",
            media_at: MediaAt::System,
            slots: vec![slot("1"), slot("2")],
            settings: Some((
                "Settings",
                &["BootSourceOverrideEnabled", "BootSourceOverrideTarget"],
            )),
            ..Self::idrac9()
        }
    }

    pub(crate) fn ilo5() -> Self {
        let usb = SlotKind { id: "1", types: &["Floppy", "USBStick"], way: Way::Action };
        Self {
            vendor: Some("HPE"),
            oem: Some("Hpe"),
            manufacturer: Some("HPE"),
            model: "ProLiant DL385 Gen10",
            manager_model: "iLO 5",
            media_at: MediaAt::Manager,
            slots: vec![usb, SlotKind { id: "2", ..CD }],
            boot_rule: BootRule::ModeReadOnly,
            etag: Etag::Weak,
            eject_wants_body: true,
            ..Self::generic()
        }
    }

    pub(crate) fn xcc() -> Self {
        let all: &[&str] = &["CD", "DVD", "Floppy", "USBStick"];
        let slot = |id| SlotKind { id, types: all, way: Way::Patch };
        Self {
            vendor: Some("Lenovo"),
            oem: Some("Lenovo"),
            manufacturer: Some("Lenovo"),
            model: "ThinkSystem SR670 V2",
            manager_model: "Lenovo XClarity Controller",
            slots: vec![slot("RDOC1"), slot("Remote1"), slot("EXT1"), slot("EXT2")],
            enabled: &["Once", "Disabled"],
            settings: Some(("Pending", &[])),
            etag: Etag::Strong,
            ..Self::generic()
        }
    }

    /// X12, X13 and their like.
    pub(crate) fn supermicro() -> Self {
        Self {
            oem: Some("Supermicro"),
            manufacturer: Some("Supermicro"),
            model: "SYS-821GE-TNHR",
            manager_model: "ASPEED",
            slots: vec![SlotKind { id: "VirtualMedia1", ..CD }],
            targets: &["None", "Pxe", "Cd", "Hdd", "BiosSetup", "UsbCd"],
            boot_rule: BootRule::Triple,
            reset_in_action_info: true,
            etag: Etag::Strong,
            ..Self::generic()
        }
    }

    /// X10 and X11 without virtual media of the standard.
    pub(crate) fn supermicro_x10() -> Self {
        Self {
            slots: Vec::new(),
            media_at: MediaAt::Manager,
            iso_config: true,
            targets: &["None", "Pxe", "Hdd", "CD/DVD", "UsbCd", "UefiCd", "BiosSetup"],
            mode: None,
            boot_rule: BootRule::Lenient,
            ..Self::supermicro()
        }
    }

    pub(crate) fn ami() -> Self {
        Self {
            vendor: Some("AMI"),
            oem: Some("Ami"),
            manufacturer: Some("Example"),
            model: "Server on AMI",
            media_at: MediaAt::Manager,
            slots: vec![SlotKind { id: "CD1", ..CD }],
            slots_hidden: true,
            insert_needs: &["TransferProtocolType", "TransferMethod"],
            boot_rule: BootRule::Triple,
            settings: Some((
                "SD",
                &[
                    "BootSourceOverrideEnabled",
                    "BootSourceOverrideTarget",
                    "BootSourceOverrideMode",
                ],
            )),
            etag: Etag::Strong,
            if_match_mandatory: true,
            ..Self::generic()
        }
    }

    pub(crate) fn dgx() -> Self {
        Self {
            model: "DGXH100",
            insert_needs: &["TransferProtocolType", "TransferMethod", "UserName", "Password"],
            ..Self::ami()
        }
    }

    pub(crate) fn openbmc() -> Self {
        let usb: &[&str] = &["CD", "USBStick"];
        Self {
            vendor: Some("NVIDIA"),
            oem: Some("Nvidia"),
            manufacturer: None,
            model: "GB200 NVL",
            system: "System_0",
            manager: "BMC_0",
            media_at: MediaAt::Manager,
            slots: vec![
                SlotKind { id: "Slot_0", types: usb, way: Way::Never },
                SlotKind { id: "USB1", types: usb, way: Way::Action },
            ],
            mode: None,
            settings: Some((
                "Settings",
                &["BootSourceOverrideEnabled", "BootSourceOverrideTarget"],
            )),
            enabled: &["Once", "Continuous", "Disabled"],
            has_baseboard: true,
            ..Self::generic()
        }
    }

    pub(crate) fn sushy_tools() -> Self {
        Self {
            manufacturer: Some("Sushy Emulator"),
            targets: &["Pxe", "Cd", "Hdd", "UefiHttp"],
            boot_rule: BootRule::NeedsTarget,
            has_sessions: false,
            has_log: false,
            ..Self::generic()
        }
    }

    pub(crate) fn huawei() -> Self {
        Self {
            oem: Some("Huawei"),
            manufacturer: Some("Huawei"),
            model: "2288H V5",
            media_at: MediaAt::Manager,
            slots: vec![SlotKind { way: Way::Vmm, ..CD }],
            session_wants_domain: true,
            etag: Etag::Weak,
            ..Self::generic()
        }
    }
}
