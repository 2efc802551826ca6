//! Kinds of servers and networks that report.

use leaseless::types::hardware::HardwareDetails;

use super::network_data::{BOND_WITH_VLAN, MAC, one_nic};
use super::rack::rack;
use super::run::Run;

/// What is the same for every server of the rack.
fn check(hardware: &HardwareDetails) {
    let vendor = &hardware.system_vendor;
    let vendor = [&vendor.manufacturer, &vendor.product_name, &vendor.serial_number];
    assert_eq!(vendor, ["Rack Works", "Simulated Server", "RW0001"]);
    assert_eq!(hardware.ram_mebibytes, 1024);
    let cpu = &hardware.cpu;
    assert_eq!((cpu.arch.as_str(), cpu.count), ("x86_64", 2));
    let [disk] = hardware.storage.as_slice() else { panic!("one disk: {:?}", hardware.storage) };
    assert_eq!((disk.size_bytes, disk.serial_number.as_str()), (6 << 30, "RWDISK0"));
}

/// Name, MAC and address of each NIC that has one.
fn addresses(hardware: &HardwareDetails) -> Vec<(String, String)> {
    let with_address = hardware.nics.iter().filter(|nic| !nic.ip.is_empty());
    with_address.map(|nic| (nic.mac.to_string(), nic.ip.clone())).collect()
}

#[test]
fn a_bios_server_reports() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&[]);
    let network = one_nic("type: ipv4, ip_address: 172.31.0.10/24, gateway: 172.31.0.1");
    let hardware = Run::start(&rack, &network, &[]).ends().hardware();
    check(&hardware);
    assert_eq!(addresses(&hardware), [(MAC.to_owned(), "172.31.0.10".to_owned())]);
    assert_eq!(hardware.firmware.bios.vendor, "Rack Firmware");
}

#[test]
fn a_uefi_server_with_secure_boot_and_ipv6_alone_reports() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&["firmware=secureboot"]);
    let network = one_nic("type: ipv6, ip_address: \"fd00:31::10/64\", gateway: \"fd00:31::1\"");
    // So that the kernel tells what it makes of Secure Boot.
    let loud = ["--kernel-args", "loglevel=6"];
    let hardware = Run::start(&rack, &network, &loud).ends().hardware();
    check(&hardware);
    assert_eq!(addresses(&hardware), [(MAC.to_owned(), "fd00:31::10".to_owned())]);
    assert!(rack.console().contains("locked down from EFI Secure Boot"), "{}", rack.console());
}

#[test]
fn a_server_with_a_bond_and_a_vlan_reports() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&["nics=2"]);
    let hardware = Run::start(&rack, BOND_WITH_VLAN, &[]).ends().hardware();
    check(&hardware);
    assert_eq!(addresses(&hardware), [(MAC.to_owned(), "172.31.42.10".to_owned())]);
}
