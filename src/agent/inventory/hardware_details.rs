//! The inventory in Metal3's words, as baremetal-operator makes them from Ironic's
//! (`pkg/provisioner/ironic/hardwaredetails`).

use super::lldp::Neighbour;
use super::model::{Cpu, Disk, Inventory, Memory, Nic};
use crate::types::hardware::{self, HardwareDetails, StorageType};

/// What goes into HardwareData. Without SMBIOS, memory is what the kernel has in blocks.
#[must_use]
pub fn hardware_details(inventory: &Inventory) -> HardwareDetails {
    let smbios = &inventory.smbios;
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    HardwareDetails {
        system_vendor: hardware::SystemVendor {
            manufacturer: or_empty(&smbios.system.manufacturer),
            product_name: or_empty(&smbios.system.product),
            serial_number: or_empty(&smbios.system.serial),
        },
        firmware: hardware::Firmware {
            bios: hardware::Bios {
                date: or_empty(&smbios.bios.date),
                vendor: or_empty(&smbios.bios.vendor),
                version: or_empty(&smbios.bios.version),
            },
        },
        ram_mebibytes: ram_mebibytes(inventory.memory),
        nics: inventory.nics.iter().flat_map(nic_entries).collect(),
        storage: inventory.disks.iter().map(storage).collect(),
        cpu: cpu(&inventory.cpu),
        hostname: inventory.hostname.clone(),
    }
}

fn ram_mebibytes(memory: Memory) -> u64 {
    memory.installed_mib.or(memory.blocks_mib).unwrap_or(memory.total_bytes >> 20)
}

fn cpu(cpu: &Cpu) -> hardware::Cpu {
    let mut flags = cpu.flags.clone();
    flags.sort();
    flags.dedup();
    hardware::Cpu {
        arch: cpu.architecture.clone(),
        model: cpu.model.clone().unwrap_or_default(),
        clock_megahertz: cpu.max_mhz.unwrap_or(0.0).round(),
        flags,
        count: cpu.threads,
    }
}

/// One entry per address; one without where there is none.
fn nic_entries(nic: &Nic) -> Vec<hardware::Nic> {
    let neighbour = nic.neighbours.iter().flatten().next();
    let bare = hardware::Nic {
        name: nic.name.to_string(),
        model: [&nic.vendor, &nic.product].map(|id| id.as_deref().unwrap_or_default()).join(" "),
        mac: nic.mac,
        ip: String::new(),
        speed_gbps: nic.speed_mbps.unwrap_or(0) / 1000,
        vlans: neighbour.map(vlans).unwrap_or_default(),
        vlan_id: neighbour.and_then(|neighbour| neighbour.port_vlan),
        pxe: false,
        lldp: neighbour.map(lldp),
        pci_address: nic.pci_address.clone().unwrap_or_default(),
    };
    let bare = hardware::Nic { model: bare.model.trim().to_owned(), ..bare };
    if nic.addresses.is_empty() {
        return vec![bare];
    }
    let with = |ip: &std::net::IpAddr| hardware::Nic { ip: ip.to_string(), ..bare.clone() };
    nic.addresses.iter().map(with).collect()
}

fn lldp(neighbour: &Neighbour) -> hardware::Lldp {
    hardware::Lldp {
        switch_id: neighbour.chassis.to_string(),
        port_id: neighbour.port.to_string(),
        switch_system_name: neighbour.system_name.clone().unwrap_or_default(),
    }
}

fn vlans(neighbour: &Neighbour) -> Vec<hardware::Vlan> {
    let vlans = neighbour.vlans.iter();
    vlans.map(|vlan| hardware::Vlan { id: vlan.id, name: vlan.name.clone() }).collect()
}

fn storage(disk: &Disk) -> hardware::Storage {
    let device = disk.device();
    let mut names = vec![device.clone()];
    let by_path = |name: &String| format!("/dev/disk/by-path/{name}");
    names.extend(disk.by_path.iter().map(by_path));
    names.extend(disk.other_paths.iter().map(|name| format!("/dev/{name}")));
    hardware::Storage {
        name: disk.by_path().unwrap_or(device),
        alternate_names: names,
        rotational: disk.rotational,
        kind: kind(disk),
        size_bytes: disk.size_bytes,
        vendor: disk.vendor.clone().unwrap_or_default(),
        model: disk.model.clone().unwrap_or_default(),
        serial_number: disk.serial.clone().unwrap_or_default(),
        wwn: disk.wwn.clone().unwrap_or_default(),
        wwn_vendor_extension: disk.wwn_extension.clone().unwrap_or_default(),
        wwn_with_extension: disk.wwn_with_extension().unwrap_or_default(),
        hctl: disk.hctl.clone().unwrap_or_default(),
    }
}

fn kind(disk: &Disk) -> StorageType {
    if disk.kernel_name.starts_with("nvme") {
        StorageType::Nvme
    } else if disk.rotational {
        StorageType::Hdd
    } else {
        StorageType::Ssd
    }
}
