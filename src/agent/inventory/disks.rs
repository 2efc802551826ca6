//! Disks from `/sys/block`: whole devices that hold data. Not RAM disks, loop devices, floppies,
//! optical drives, partitions of an eMMC's boot area, empty card readers, or members of a
//! multipath device.

use std::path::Path;

use super::by_path;
use super::disk_identity::{self, Identity};
use super::model::{Disk, Problem, Transport};
use crate::sys::sysfs::{self, Root, base_name};

const BLOCK: &str = "sys/block";
/// `/sys/block/*/size` counts these, whatever the disk's own sectors are.
const SIZE_UNIT: u64 = 512;
/// SCSI peripheral device types: disk, optical memory, host managed zoned disk.
const SCSI_DISKS: [&str; 3] = ["0", "7", "20"];

pub(super) fn collect(root: &Root, problems: &mut Vec<Problem>) -> Vec<Disk> {
    let names = root.names(BLOCK);
    if names.is_empty() && !root.has(BLOCK) {
        problems.push(Problem::Disk(format!("/{BLOCK} is not there")));
    }
    let disks = names
        .into_iter()
        .filter(|name| is_candidate(root, name) && !is_multipath_member(root, name))
        .filter_map(|name| disk(root, name))
        .collect();
    collapse(disks)
}

/// By name and place, before anything is read.
fn is_candidate(root: &Root, name: &str) -> bool {
    const SKIPPED: [&str; 10] =
        ["ram", "zram", "loop", "fd", "sr", "nbd", "mtdblock", "ublkb", "zd", "drbd"];
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_emmc_boot_area =
        name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb"));
    let Some(device) = root.device(format!("{BLOCK}/{name}")) else { return false };
    let is_hidden = root.flag(format!("{BLOCK}/{name}/hidden")) == Some(true);
    let kind = root.text(format!("{BLOCK}/{name}/device/type"));
    let is_other_scsi = root.link_name(format!("{BLOCK}/{name}/device/subsystem")).as_deref()
        == Some("scsi")
        && kind.is_some_and(|kind| !SCSI_DISKS.contains(&kind.as_str()));
    !SKIPPED.contains(&stem)
        && !is_emmc_boot_area
        && !is_hidden
        && !is_other_scsi
        && (!is_virtual(&device) || is_multipath(root, name) || stem == "md")
}

/// Made by the kernel rather than attached; an NVMe disk with several controllers sits there too.
fn is_virtual(device: &Path) -> bool {
    device.starts_with("sys/devices/virtual")
        && !device.starts_with("sys/devices/virtual/nvme-subsystem")
}

/// A device-mapper device that multipathd made.
fn is_multipath(root: &Root, name: &str) -> bool {
    root.text(format!("{BLOCK}/{name}/dm/uuid")).is_some_and(|uuid| uuid.starts_with("mpath-"))
}

fn is_multipath_member(root: &Root, name: &str) -> bool {
    root.names(format!("{BLOCK}/{name}/holders")).iter().any(|holder| is_multipath(root, holder))
}

/// `None` for a disk of size 0: a drive without a medium.
fn disk(root: &Root, name: String) -> Option<Disk> {
    let of = |key: &str| root.text(format!("{BLOCK}/{name}/{key}"));
    let sectors: u64 = root.number(format!("{BLOCK}/{name}/size")).filter(|n| *n > 0)?;
    let device = root.device(format!("{BLOCK}/{name}"))?;
    let identity = identity(root, &name);
    let sector = |key: &str| root.number(format!("{BLOCK}/{name}/queue/{key}")).unwrap_or(512);
    let address = root.link_name(format!("{BLOCK}/{name}/device"));
    Some(Disk {
        size_bytes: sectors.saturating_mul(SIZE_UNIT),
        rotational: root.flag(format!("{BLOCK}/{name}/queue/rotational")).unwrap_or(false),
        vendor: of("device/vendor"),
        model: identity.model.or_else(|| of("device/model")).or_else(|| of("device/name")),
        serial: identity.serial.or_else(|| of("device/serial")).or_else(|| of("serial")),
        wwn: identity.wwn.or_else(|| of("wwid").filter(|id| is_nvme_name(id))),
        wwn_extension: identity.wwn_extension,
        hctl: address.filter(|address| by_path::hctl(address).is_some()),
        by_path: by_path::names(root, &device),
        other_paths: Vec::new(),
        logical_sector: sector("logical_block_size"),
        physical_sector: sector("physical_block_size"),
        transport: transport(root, &device),
        kernel_name: name,
    })
}

/// The kernel makes up an `nvme.…` name where the namespace has neither EUI-64 nor NGUID; udev
/// takes that one too.
fn is_nvme_name(name: &str) -> bool {
    ["eui.", "nvme.", "uuid."].iter().any(|prefix| name.starts_with(prefix))
}

/// From vital product data: the unit's own serial number first, as in `lsblk`.
fn identity(root: &Root, name: &str) -> Identity {
    let page = |page: &str| root.bytes(format!("{BLOCK}/{name}/device/vpd_{page}"));
    let ata = page("pg89").map(|page| disk_identity::ata_information(&page)).unwrap_or_default();
    let named =
        page("pg83").map(|page| disk_identity::device_identification(&page)).unwrap_or_default();
    let unit = page("pg80").ok().and_then(|page| disk_identity::unit_serial(&page));
    Identity {
        model: ata.model.or(named.model),
        serial: ata.serial.or(unit).or(named.serial),
        wwn: named.wwn.or(ata.wwn),
        wwn_extension: named.wwn_extension,
    }
}

/// How a disk is attached, by the devices above it.
fn transport(root: &Root, device: &Path) -> Option<Transport> {
    let path = device.to_str()?;
    let has = |subsystem: &str| sysfs::ancestor(root, device, subsystem).is_some();
    let name = base_name(device);
    if name.starts_with("nvme") {
        Some(Transport::Nvme)
    } else if name.starts_with("mmcblk") {
        Some(Transport::Mmc)
    } else if path.contains("/rport-") {
        Some(Transport::Fc)
    } else if path.contains("/end_device-") {
        Some(Transport::Sas)
    } else if path.contains("/session") {
        Some(Transport::Iscsi)
    } else if has("usb") {
        Some(Transport::Usb)
    } else if path.contains("/ata") {
        Some(Transport::Sata)
    } else if has("virtio") && !has("scsi") {
        Some(Transport::Virtio)
    } else {
        None
    }
}

/// Where no multipathd runs, every path to a disk is a device of its own. Devices with the same
/// world wide name, serial number and size are one disk, known by the first.
fn collapse(disks: Vec<Disk>) -> Vec<Disk> {
    let mut kept: Vec<Disk> = Vec::with_capacity(disks.len());
    for disk in disks {
        let same = |other: &&mut Disk| {
            disk.wwn.is_some()
                && disk.serial.is_some()
                && (&disk.wwn, &disk.wwn_extension, &disk.serial, disk.size_bytes)
                    == (&other.wwn, &other.wwn_extension, &other.serial, other.size_bytes)
        };
        match kept.iter_mut().find(same) {
            Some(first) => first.other_paths.push(disk.kernel_name),
            None => kept.push(disk),
        }
    }
    kept
}

/// What Ironic's ramdisk takes without root device hints: the smallest disk of at least 4 GiB,
/// of equal ones the first by name.
#[must_use]
pub fn guess_root_disk(disks: &[Disk]) -> Option<&Disk> {
    const SMALLEST: u64 = 4 << 30;
    let large = disks.iter().filter(|disk| disk.size_bytes >= SMALLEST);
    large.min_by_key(|disk| (disk.size_bytes, &disk.kernel_name))
}
