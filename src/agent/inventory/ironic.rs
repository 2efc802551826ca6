//! The inventory in the words of Ironic's ramdisk: the body of `continue_inspection`, key by key
//! as ironic-python-agent 13 sends it (`hardware.py`, `inspector.py`, `dmi_inspector.py`,
//! `numa_inspector.py`). What is unknown is `null`, except where that agent sends text.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Map, Value, json};

use super::disks::guess_root_disk;
use super::lldp::{Neighbour, Tlv};
use super::model::{BootMode, Cpu, Disk, Inventory, Memory, Nic, Transport};
use super::smbios::{MemoryDevice, Processor, Smbios};

/// `{"inventory": …, "plugin_data": …}`. The agent's logs, which the same body may carry, are not
/// hardware and not in it.
#[must_use]
pub fn inspection_data(inventory: &Inventory) -> Value {
    json!({ "inventory": ironic_inventory(inventory), "plugin_data": plugin_data(inventory) })
}

/// The inventory proper.
#[must_use]
pub fn ironic_inventory(inventory: &Inventory) -> Value {
    let mut value = json!({
        "interfaces": inventory.nics.iter().map(|nic| interface(nic, true)).collect::<Vec<_>>(),
        "cpu": cpu(&inventory.cpu),
        "disks": inventory.disks.iter().map(disk).collect::<Vec<_>>(),
        "memory": memory(inventory.memory),
        "bmc_address": inventory.bmc.map(|bmc| bmc.ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED)),
        "bmc_v6address": inventory.bmc.map(|bmc| {
            bmc.ipv6.map_or_else(|| "::/0".to_owned(), |address| address.to_string())
        }),
        "system_vendor": system_vendor(&inventory.smbios),
        "boot": {
            "current_boot_mode": match inventory.boot.mode {
                BootMode::Uefi => "uefi",
                BootMode::Bios => "bios",
            },
            "pxe_interface": inventory.boot.interface,
        },
        "hostname": inventory.hostname,
    });
    // The key is not there when the address is not known.
    if let (Some(object), Some(mac)) = (value.as_object_mut(), inventory.bmc.and_then(|b| b.mac)) {
        object.insert("bmc_mac".to_owned(), json!(mac));
    }
    value
}

/// What Ironic's inspection hooks take beside the inventory.
#[must_use]
pub fn plugin_data(inventory: &Inventory) -> Value {
    let interfaces: Map<String, Value> = inventory
        .nics
        .iter()
        .map(|nic| {
            let mut value = interface(nic, false);
            let pxe =
                inventory.boot.interface.as_deref().is_some_and(|boot| is_same_mac(boot, nic));
            value["pxe_enabled"] = json!(pxe);
            (nic.name.to_string(), value)
        })
        .collect();
    let lldp_raw: Map<String, Value> = inventory
        .nics
        .iter()
        .filter_map(|nic| Some((nic.name.to_string(), raw_tlvs(nic.neighbours.as_deref()?))))
        .collect();
    json!({
        "root_disk": guess_root_disk(&inventory.disks).map(disk),
        "boot_interface": inventory.boot.interface,
        "configuration": {
            "collectors": ["default", "pci-devices", "usb-devices", "numa-topology", "dmidecode"],
            "managers": [{ "name": "leaseless-agent", "version": env!("CARGO_PKG_VERSION") }],
        },
        "error": null,
        "all_interfaces": interfaces,
        "valid_interfaces": interfaces,
        "macs": inventory.nics.iter().map(|nic| nic.mac).collect::<Vec<_>>(),
        "lldp_raw": lldp_raw,
        "pci_devices": pci_devices(inventory),
        "usb_devices": usb_devices(inventory),
        "numa_topology": numa_topology(inventory),
        "dmi": dmi(&inventory.smbios),
    })
}

/// A link-local address carries its interface in the inventory, and not in plugin data.
fn interface(nic: &Nic, with_zone: bool) -> Value {
    let link_local = nic.link_local.map(|address| {
        if with_zone { format!("{address}%{}", nic.name) } else { address.to_string() }
    });
    let first = |wanted: fn(&&IpAddr) -> bool| nic.addresses.iter().find(wanted);
    json!({
        "name": nic.name,
        "mac_address": nic.mac,
        "ipv4_address": first(|address| address.is_ipv4()),
        "ipv6_address": first(|address| address.is_ipv6()).map(ToString::to_string).or(link_local),
        "has_carrier": nic.has_carrier,
        "lldp": nic.neighbours.as_deref().map(raw_tlvs),
        "vendor": nic.vendor,
        "product": nic.product,
        "client_id": nic.client_id,
        "biosdevname": null,
        "speed_mbps": nic.speed_mbps,
        "pci_address": nic.pci_address,
        "driver": nic.driver,
    })
}

/// `BOOTIF` is `01-` and the MAC with hyphens; iPXE leaves the `01-` away.
fn is_same_mac(boot: &str, nic: &Nic) -> bool {
    let plain = if boot.len() == 20 { boot.get(3..).unwrap_or_default() } else { boot };
    plain.parse() == Ok(nic.mac)
}

/// TLVs of the first neighbour, as Ironic has room for one.
fn raw_tlvs(neighbours: &[Neighbour]) -> Value {
    let tlvs = neighbours.first().map(|neighbour| neighbour.tlvs.as_slice()).unwrap_or_default();
    let pair = |tlv: &Tlv| json!([tlv.kind, hex(&tlv.value)]);
    tlvs.iter().map(pair).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String can't fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

fn cpu(cpu: &Cpu) -> Value {
    json!({
        "model_name": cpu.model.as_deref().unwrap_or_default(),
        "frequency": cpu.max_mhz.map_or_else(String::new, |mhz| format!("{mhz:.4}")),
        "count": cpu.threads,
        "architecture": cpu.architecture,
        "flags": cpu.flags,
        "socket_count": cpu.sockets,
    })
}

fn memory(memory: Memory) -> Value {
    json!({ "total": memory.total_bytes, "physical_mb": memory.installed_mib })
}

fn disk(disk: &Disk) -> Value {
    json!({
        "name": disk.device(),
        "model": disk.model,
        "size": disk.size_bytes,
        "rotational": disk.rotational,
        "wwn": disk.wwn,
        "serial": disk.serial,
        "vendor": disk.vendor,
        "wwn_with_extension": disk.wwn_with_extension(),
        "wwn_vendor_extension": disk.wwn_extension,
        "hctl": disk.hctl,
        "by_path": disk.by_path(),
        "logical_sectors": disk.logical_sector,
        "physical_sectors": disk.physical_sector,
        "tran": disk.transport.map(transport),
    })
}

/// As `lsblk` writes them.
fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Nvme => "nvme",
        Transport::Sata => "sata",
        Transport::Sas => "sas",
        Transport::Usb => "usb",
        Transport::Fc => "fc",
        Transport::Iscsi => "iscsi",
        Transport::Virtio => "virtio",
        Transport::Mmc => "mmc",
    }
}

fn system_vendor(smbios: &Smbios) -> Value {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    json!({
        "product_name": text(&smbios.system.product),
        "serial_number": text(&smbios.system.serial),
        "manufacturer": text(&smbios.system.manufacturer),
        "firmware": {
            "vendor": text(&smbios.bios.vendor),
            "version": text(&smbios.bios.version),
            "build_date": text(&smbios.bios.date),
        },
    })
}

fn pci_devices(inventory: &Inventory) -> Value {
    let device = |device: &super::model::PciDevice| {
        json!({
            "vendor_id": device.vendor,
            "product_id": device.product,
            "class": device.class,
            "revision": device.revision,
            "bus": device.address,
            "numa_node_id": device.numa_node,
        })
    };
    inventory.pci.iter().map(device).collect()
}

/// As that agent takes them from `lshw`.
fn usb_devices(inventory: &Inventory) -> Value {
    let device = |device: &super::model::UsbDevice| {
        let (bus, number) = device.address;
        json!({
            "product": device.product.as_deref().unwrap_or(&device.product_id),
            "vendor": device.vendor.as_deref().unwrap_or(&device.vendor_id),
            "handle": format!("USB:{bus}:{number}"),
        })
    };
    inventory.usb.iter().map(device).collect()
}

fn numa_topology(inventory: &Inventory) -> Value {
    let ram = inventory.numa.iter();
    let ram = ram.map(|node| json!({ "numa_node": node.id, "size_kb": node.memory_kib }));
    let cpus = inventory.numa.iter().flat_map(|node| {
        let cores = node.cores.iter();
        cores.map(|(core, threads)| {
            json!({ "cpu": core, "numa_node": node.id, "thread_siblings": threads })
        })
    });
    let nics = inventory.nics.iter();
    let nics =
        nics.filter_map(|nic| Some(json!({ "name": nic.name, "numa_node": nic.numa_node? })));
    json!({
        "ram": ram.collect::<Vec<_>>(),
        "cpus": cpus.collect::<Vec<_>>(),
        "nics": nics.collect::<Vec<_>>(),
    })
}

/// `dmidecode`'s words for BIOS, processors and memory; what the firmware leaves out is left out.
fn dmi(smbios: &Smbios) -> Value {
    let slots: u32 = smbios.memory_arrays.iter().map(|array| u32::from(array.slots)).sum();
    json!({
        "bios": known([
            ("Vendor", smbios.bios.vendor.clone()),
            ("Version", smbios.bios.version.clone()),
            ("Release Date", smbios.bios.date.clone()),
        ]),
        "cpu": smbios.processors.iter().map(dmi_processor).collect::<Vec<_>>(),
        "memory": {
            "Number Of Devices": slots,
            "devices": smbios.memory_devices.iter().map(dmi_memory).collect::<Vec<_>>(),
        },
    })
}

fn dmi_processor(cpu: &Processor) -> Value {
    let mhz = |speed: Option<u16>| speed.map(|speed| format!("{speed} MHz"));
    let number = |count: Option<u16>| count.map(|count| count.to_string());
    known([
        ("Socket Designation", cpu.socket.clone()),
        ("Manufacturer", cpu.manufacturer.clone()),
        ("Version", cpu.version.clone()),
        ("Max Speed", mhz(cpu.max_speed_mhz)),
        ("Current Speed", mhz(cpu.current_speed_mhz)),
        ("Status", Some(if cpu.populated { "Populated" } else { "Unpopulated" }.to_owned())),
        ("Core Count", number(cpu.cores)),
        ("Thread Count", number(cpu.threads)),
    ])
}

fn dmi_memory(device: &MemoryDevice) -> Value {
    let size = match device.size_kib {
        None => "No Module Installed".to_owned(),
        Some(kib) if kib % (1 << 20) == 0 => format!("{} GB", kib >> 20),
        Some(kib) if kib % (1 << 10) == 0 => format!("{} MB", kib >> 10),
        Some(kib) => format!("{kib} kB"),
    };
    known([
        ("Size", Some(size)),
        ("Locator", device.locator.clone()),
        ("Bank Locator", device.bank.clone()),
        ("Speed", device.speed_mts.map(|speed| format!("{speed} MT/s"))),
        ("Manufacturer", device.manufacturer.clone()),
        ("Serial Number", device.serial.clone()),
        ("Part Number", device.part.clone()),
    ])
}

fn known<const N: usize>(pairs: [(&str, Option<String>); N]) -> Value {
    let pairs = pairs.into_iter();
    pairs.filter_map(|(key, text)| Some((key.to_owned(), json!(text?)))).collect()
}
