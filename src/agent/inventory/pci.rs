//! PCI functions and USB devices from sysfs.

use super::model::{PciDevice, UsbDevice};
use crate::sys::sysfs::Root;

const PCI: &str = "sys/bus/pci/devices";
const USB: &str = "sys/bus/usb/devices";

pub(super) fn pci_devices(root: &Root) -> Vec<PciDevice> {
    root.names(PCI).into_iter().filter_map(|address| pci_device(root, address)).collect()
}

fn pci_device(root: &Root, address: String) -> Option<PciDevice> {
    let id = |key: &str| {
        let text = root.text(format!("{PCI}/{address}/{key}"))?;
        Some(text.strip_prefix("0x").unwrap_or(&text).to_owned())
    };
    Some(PciDevice {
        vendor: id("vendor")?,
        product: id("device")?,
        class: id("class")?,
        revision: id("revision").unwrap_or_default(),
        // -1 where the firmware does not say.
        numa_node: root.number(format!("{PCI}/{address}/numa_node")),
        address,
    })
}

/// Devices, not their interfaces, whose names have a colon.
pub(super) fn usb_devices(root: &Root) -> Vec<UsbDevice> {
    let names = root.names(USB).into_iter().filter(|name| !name.contains(':'));
    names.filter_map(|name| usb_device(root, name)).collect()
}

fn usb_device(root: &Root, name: String) -> Option<UsbDevice> {
    let of = |key: &str| root.text(format!("{USB}/{name}/{key}"));
    let number = |key: &str| root.number(format!("{USB}/{name}/{key}")).unwrap_or(0);
    Some(UsbDevice {
        vendor_id: of("idVendor")?,
        product_id: of("idProduct")?,
        vendor: of("manufacturer"),
        product: of("product"),
        serial: of("serial"),
        address: (number("busnum"), number("devnum")),
        name,
    })
}
