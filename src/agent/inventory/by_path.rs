//! The names that udev would give a disk below `/dev/disk/by-path`, computed from where its device
//! sits in sysfs: a ramdisk has no udev, and root device hints written on an installed system must
//! hold in it. Follows `path_id` of systemd (`src/udev/udev-builtin-path_id.c`).

use std::path::Path;

use crate::sys::sysfs::{self, Root, base_name};

/// A name as it grows from the disk towards the root of the device tree.
#[derive(Default)]
struct Name {
    parts: Vec<String>,
    /// The older form that udev still links to, where it differs.
    older: Option<Vec<String>>,
    /// Whether the name says where the device is attached, rather than its number only.
    is_anchored: bool,
    /// Whether the way to the disk is of a kind that udev knows.
    has_transport: bool,
}

impl Name {
    fn push(&mut self, part: String) {
        self.push_both(part.clone(), part);
    }

    fn push_both(&mut self, part: String, older: String) {
        if part != older || self.older.is_some() {
            self.older.get_or_insert_with(|| self.parts.clone()).push(older);
        }
        self.parts.push(part);
    }

    fn finish(self) -> Vec<String> {
        if !self.is_anchored || !self.has_transport || self.parts.is_empty() {
            return Vec::new();
        }
        let join = |parts: Vec<String>| parts.into_iter().rev().collect::<Vec<_>>().join("-");
        std::iter::once(join(self.parts)).chain(self.older.map(join)).collect()
    }
}

/// Names of the disk whose resolved sysfs directory is `disk`, the preferred one first; none where
/// udev gives none.
#[must_use]
pub fn names(root: &Root, disk: &Path) -> Vec<String> {
    let mut name = Name::default();
    let mut at = disk.to_owned();
    // One directory up each turn at least.
    while let Some(parent) = at.parent().filter(|path| path.starts_with("sys/devices/")) {
        let parent = parent.to_owned();
        at = step(root, disk, &parent, &mut name);
    }
    name.finish()
}

/// Takes one device into account; answers from where to go on upwards.
fn step(root: &Root, disk: &Path, device: &Path, name: &mut Name) -> std::path::PathBuf {
    let unchanged = device.to_owned();
    match sysfs::subsystem(root, device).as_deref() {
        Some("scsi") => {
            let next = scsi(root, device, name);
            name.has_transport = true;
            next.unwrap_or(unchanged)
        }
        Some("nvme") => {
            let namespace = root.text(disk.join("nsid"));
            let Some(namespace) = namespace else { return unchanged };
            name.push(format!("nvme-{namespace}"));
            name.has_transport = true;
            name.is_anchored = true;
            last_of(root, device, "nvme")
        }
        Some("usb") => {
            // `1-4.2:1.0`: bus, ports, configuration and interface.
            let Some((_, port)) = base_name(device).split_once('-') else { return unchanged };
            name.push(format!("usb-0:{port}"));
            name.has_transport = true;
            last_of(root, device, "usb")
        }
        Some("virtio") => {
            name.has_transport = true;
            last_of(root, device, "virtio")
        }
        Some("pci") => {
            name.push(format!("pci-{}", base_name(device)));
            name.is_anchored = true;
            last_of(root, device, "pci")
        }
        Some(bus @ ("platform" | "amba")) => {
            name.push(format!("{bus}-{}", base_name(device)));
            name.is_anchored = true;
            name.has_transport = true;
            last_of(root, device, bus)
        }
        Some("acpi") => {
            name.push(format!("acpi-{}", base_name(device)));
            name.is_anchored = true;
            last_of(root, device, "acpi")
        }
        _ => unchanged,
    }
}

/// The topmost of the devices of one subsystem that stand directly above each other.
fn last_of(root: &Root, device: &Path, subsystem: &str) -> std::path::PathBuf {
    let same = |path: &&Path| sysfs::subsystem(root, path).as_deref() == Some(subsystem);
    device.ancestors().take_while(same).last().unwrap_or(device).to_owned()
}

/// One SCSI device, by the transport that its place in the tree shows.
fn scsi(root: &Root, device: &Path, name: &mut Name) -> Option<std::path::PathBuf> {
    if devtype(root, device).as_deref() != Some("scsi_device") {
        return None;
    }
    let path = device.to_str()?;
    if path.contains("/rport-") {
        name.is_anchored = true;
        return fibre_channel(root, device, name);
    }
    if path.contains("/end_device-") {
        name.is_anchored = true;
        return sas(root, device, name);
    }
    if path.contains("/session") {
        name.is_anchored = true;
        return iscsi(root, device, name);
    }
    if path.contains("/ata") {
        return ata(root, device, name);
    }
    scsi_default(root, device, name)
}

fn fibre_channel(root: &Root, device: &Path, name: &mut Name) -> Option<std::path::PathBuf> {
    let target = above(root, device, "scsi_target")?;
    let port = root.text(format!("sys/class/fc_transport/{}/port_name", base_name(target)))?;
    name.push(format!("fc-{port}-{}", lun(device)?));
    Some(device.to_owned())
}

/// A disk behind one phy is named by that, behind several (a wide port) by its address.
fn sas(root: &Root, device: &Path, name: &mut Name) -> Option<std::path::PathBuf> {
    let end_device = above(root, device, "scsi_target")?.parent()?;
    let port = end_device.parent()?;
    let attribute = |class: &str, of: &Path, key: &str| {
        root.text(format!("sys/class/{class}/{}/{key}", base_name(of)))
    };
    let lun = lun(device)?;
    if attribute("sas_port", port, "num_phys").as_deref() != Some("1") {
        let address = attribute("sas_device", end_device, "sas_address")?;
        name.push(format!("sas-{address}-{lun}"));
        return Some(device.to_owned());
    }
    let phy = attribute("sas_device", end_device, "phy_identifier")?;
    let expander = attribute("sas_device", port.parent()?, "sas_address");
    name.push(match expander {
        Some(address) => format!("sas-exp{address}-phy{phy}-{lun}"),
        None => format!("sas-phy{phy}-{lun}"),
    });
    Some(device.to_owned())
}

fn iscsi(root: &Root, device: &Path, name: &mut Name) -> Option<std::path::PathBuf> {
    let session = device.ancestors().find(|path| base_name(path).starts_with("session"))?;
    let number = base_name(session).strip_prefix("session")?;
    let target = root.text(format!("sys/class/iscsi_session/{}/targetname", base_name(session)))?;
    let connection =
        |key: &str| root.text(format!("sys/class/iscsi_connection/connection{number}:0/{key}"));
    let (address, port) = (connection("persistent_address")?, connection("persistent_port")?);
    name.push(format!("ip-{address}:{port}-iscsi-{target}-{}", lun(device)?));
    Some(device.to_owned())
}

/// `ata-PORT.TARGET`; a port multiplier's ports are buses.
fn ata(root: &Root, device: &Path, name: &mut Name) -> Option<std::path::PathBuf> {
    let host = above(root, device, "scsi_host")?;
    let port = host.parent()?;
    let number = root.text(format!("sys/class/ata_port/{}/port_no", base_name(port)))?;
    let [_, bus, target, _] = hctl(base_name(device))?;
    let part =
        if bus != 0 { format!("ata-{number}.{bus}.0") } else { format!("ata-{number}.{target}") };
    name.push_both(part, format!("ata-{number}"));
    Some(host.to_owned())
}

/// `scsi-H:C:T:L`, the host's number counted from the first one of the same controller: host
/// numbers depend on the order in which drivers load.
fn scsi_default(root: &Root, device: &Path, name: &mut Name) -> Option<std::path::PathBuf> {
    let host = above(root, device, "scsi_host")?;
    let [number, channel, target, lun] = hctl(base_name(device))?;
    let siblings = root.names(host.parent()?);
    let first = siblings.iter().filter_map(|name| name.strip_prefix("host")?.parse().ok()).min();
    let local = number.saturating_sub(first.unwrap_or(number));
    name.push(format!("scsi-{local}:{channel}:{target}:{lun}"));
    Some(host.to_owned())
}

/// The nearest device above of this SCSI kind.
fn above<'a>(root: &Root, device: &'a Path, kind: &str) -> Option<&'a Path> {
    device.ancestors().skip(1).find(|path| devtype(root, path).as_deref() == Some(kind))
}

/// `DEVTYPE` of a device's uevent.
fn devtype(root: &Root, device: &Path) -> Option<String> {
    let uevent = root.text(device.join("uevent"))?;
    uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).map(ToOwned::to_owned)
}

/// The four numbers of a SCSI device's name.
#[must_use]
pub fn hctl(name: &str) -> Option<[u64; 4]> {
    let numbers: Option<Vec<u64>> = name.split(':').map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// `lun-3`; from 256 on, as the 8 byte LUN of SAM in hex.
fn lun(device: &Path) -> Option<String> {
    let [.., lun] = hctl(base_name(device))?;
    Some(match lun {
        0..=255 => format!("lun-{lun}"),
        _ => format!("lun-0x{:04x}{:04x}00000000", lun & 0xFFFF, lun >> 16 & 0xFFFF),
    })
}
