//! Which block device is the boot medium, from what its ISO 9660 header says. Pure; `sys::block`
//! lists devices, `config` waits for them and reads.
//!
//! A partition never counts: a deployed disk may carry a `config-2` partition of its last owner.

use crate::types::boot::CONFIG_DRIVE_LABEL;

/// Where the primary volume descriptor stands (ECMA-119 §6.2.1: sector 16).
pub const DESCRIPTOR_OFFSET: u64 = 0x8000;
/// Its size in bytes.
pub const DESCRIPTOR_SIZE: usize = 2048;
/// A USB disk of this many bytes or more is somebody's disk, not virtual media (Ironic's rule).
const LARGEST_USB: u64 = 4 << 30;
/// Ironic's label of a boot ISO without network data.
const BOOT_ISO_LABEL: &str = "VMEDIA_BOOT_ISO";

/// What an ISO 9660 volume calls itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Volume identifier, padding removed.
    pub label: String,
    /// Publisher identifier, padding removed: the nonce that ties a medium to this boot.
    pub publisher: String,
}

impl Volume {
    /// Reads a primary volume descriptor (ECMA-119 §8.4); `None` for anything else.
    #[must_use]
    pub fn parse(descriptor: &[u8]) -> Option<Self> {
        let text = |from: usize, to: usize| {
            let field = descriptor.get(from..to)?;
            let text: String = field.iter().map(|byte| char::from(*byte)).collect();
            Some(text.trim_end_matches([' ', '\0']).to_owned())
        };
        descriptor.starts_with(b"\x01CD001\x01").then_some(())?;
        Some(Self { label: text(40, 72)?, publisher: text(318, 446)? })
    }
}

/// A whole block device, as a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Kernel name, such as `sr0`.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Bytes.
    pub size: u64,
}

/// Kinds of block device, as far as they matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// A CD or DVD drive.
    Rom,
    /// A disk behind USB.
    UsbDisk,
    /// Any other disk.
    Disk,
}

impl Device {
    /// Whether a boot medium may be in it at all.
    #[must_use]
    pub const fn may_hold_medium(&self) -> bool {
        match self.kind {
            DeviceKind::Rom => self.size > 0,
            DeviceKind::UsbDisk => self.size > 0 && self.size < LARGEST_USB,
            DeviceKind::Disk => false,
        }
    }
}

/// The medium of this boot among `volumes`: the one whose publisher is `publisher_id`, and with no
/// such id the first with a known label. `last_call` accepts a known label in spite of an id, for
/// media whose maker wrote no publisher.
#[must_use]
pub fn choose<'a>(
    volumes: &'a [(Device, Volume)],
    publisher_id: Option<&str>,
    last_call: bool,
) -> Option<&'a (Device, Volume)> {
    let published = publisher_id.and_then(|id| {
        volumes.iter().find(|(_, volume)| volume.publisher.eq_ignore_ascii_case(id.trim()))
    });
    let labelled = || {
        volumes.iter().find(|(_, volume)| {
            [CONFIG_DRIVE_LABEL, BOOT_ISO_LABEL]
                .iter()
                .any(|label| volume.label.eq_ignore_ascii_case(label))
        })
    };
    published.or_else(|| (publisher_id.is_none() || last_call).then(labelled).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(label: &str, publisher: &str) -> Vec<u8> {
        let mut bytes = vec![b' '; DESCRIPTOR_SIZE];
        bytes[..7].copy_from_slice(b"\x01CD001\x01");
        bytes[40..40 + label.len()].copy_from_slice(label.as_bytes());
        bytes[318..318 + publisher.len()].copy_from_slice(publisher.as_bytes());
        bytes
    }

    fn cd(name: &str, label: &str, publisher: &str) -> (Device, Volume) {
        let device = Device { name: name.into(), kind: DeviceKind::Rom, size: 26 << 20 };
        (device, Volume::parse(&descriptor(label, publisher)).unwrap())
    }

    fn chosen(volumes: &[(Device, Volume)], id: Option<&str>, last_call: bool) -> Option<String> {
        choose(volumes, id, last_call).map(|(device, _)| device.name.clone())
    }

    #[test]
    fn a_header_gives_label_and_publisher_without_padding() {
        let volume = Volume::parse(&descriptor("config-2", "5D5AD6F0-3F6D")).unwrap();
        assert_eq!(volume, Volume { label: "config-2".into(), publisher: "5D5AD6F0-3F6D".into() });
    }

    #[test]
    fn what_is_no_primary_descriptor_is_nothing() {
        let mut boot_record = descriptor("config-2", "x");
        boot_record[0] = 0;
        assert_eq!(Volume::parse(&boot_record), None);
        assert_eq!(Volume::parse(&descriptor("config-2", "x")[..400]), None, "cut short");
        assert_eq!(Volume::parse(&[0; DESCRIPTOR_SIZE]), None);
        assert_eq!(Volume::parse(b""), None);
    }

    #[test]
    fn the_publisher_beats_the_label_in_any_case() {
        let volumes = [cd("sr0", "config-2", "OTHER"), cd("sr1", "whatever", "AB-CD")];
        assert_eq!(chosen(&volumes, Some("ab-cd"), false).as_deref(), Some("sr1"));
    }

    #[test]
    fn a_medium_of_another_boot_waits_for_the_last_call() {
        let volumes = [cd("sr0", "Config-2", "OTHER")];
        assert_eq!(chosen(&volumes, Some("ab-cd"), false), None);
        assert_eq!(chosen(&volumes, Some("ab-cd"), true).as_deref(), Some("sr0"));
        assert_eq!(chosen(&volumes, None, false).as_deref(), Some("sr0"));
        assert_eq!(chosen(&[cd("sr0", "DEBIAN", "x")], None, true), None);
    }

    #[test]
    fn only_cds_and_small_usb_disks_may_hold_a_medium() {
        let holds = |kind, size| Device { name: "x".into(), kind, size }.may_hold_medium();
        assert!(holds(DeviceKind::Rom, 9 << 30));
        assert!(!holds(DeviceKind::Rom, 0), "an empty drive");
        assert!(holds(DeviceKind::UsbDisk, (4 << 30) - 512));
        assert!(!holds(DeviceKind::UsbDisk, 4 << 30));
        assert!(!holds(DeviceKind::Disk, 1 << 20));
    }
}
