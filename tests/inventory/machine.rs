//! A whole made-up server: everything at once, and both reports of it.

use std::collections::BTreeMap;

use leaseless::agent::inventory::hardware_details::hardware_details;
use leaseless::agent::inventory::lldp::Neighbour;
use leaseless::agent::inventory::{Inventory, Observed, PortFacts, Problem, collect, ironic};
use leaseless::sys::local_bmc::BmcLan;
use serde_json::{Value, json};

use crate::lldp::frame;
use crate::smbios::Table;
use crate::tree::Tree;

const CPU: &str = "processor\t: 0
model name\t: Example CPU  E5-2650 v2 @ 2.60GHz
cpu MHz\t\t: 1200.000
physical id\t: 0
flags\t\t: fpu sse4_2 avx

processor\t: 1
model name\t: Example CPU  E5-2650 v2 @ 2.60GHz
cpu MHz\t\t: 2100.000
physical id\t: 1
flags\t\t: fpu sse4_2 avx
";

/// A UEFI server with two CPUs, 32 GiB in two modules, an NVMe and a SATA disk, a bond of two
/// NICs with a VLAN on it, a switch on the first one, and a BMC.
pub(crate) fn server() -> (Tree, Observed) {
    let tree = Tree::new();
    tree.file("proc/cpuinfo", CPU)
        .file("proc/meminfo", "MemTotal:       32768000 kB\nMemFree:  1 kB\n")
        .file("proc/cmdline", "console=ttyS0 BOOTIF=01-02-00-00-00-00-02\n")
        .file("proc/sys/kernel/hostname", "node-1\n")
        .file("proc/sys/kernel/arch", "x86_64\n")
        .directory("sys/firmware/efi");
    for cpu in ["0", "1"] {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        tree.files(&topology, &[("physical_package_id", cpu), ("core_id", "0")]);
        tree.link(
            &format!("sys/devices/system/node/node{cpu}/cpu{cpu}"),
            &format!("sys/devices/system/cpu/cpu{cpu}"),
        );
        let meminfo = format!("Node {cpu} MemTotal:       16384000 kB\n");
        tree.file(&format!("sys/devices/system/node/node{cpu}/meminfo"), meminfo);
    }
    tree.file("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "3400000\n");
    tree.file("sys/firmware/dmi/tables/DMI", firmware());
    tree.file("sys/firmware/dmi/tables/smbios_entry_point", b"_SM3_\x00\x18\x03\x05\x00");
    disks(&tree);
    nics(&tree);
    tree.link("sys/bus/pci/devices/0000:01:00.0", &format!("sys/devices/{FIRST}"));
    tree.files(&format!("sys/devices/{FIRST}"), &[("class", "0x020000"), ("revision", "0x01")]);
    let usb = [("idVendor", "1d6b"), ("idProduct", "0002"), ("busnum", "1"), ("devnum", "1")];
    tree.files("sys/bus/usb/devices/usb1", &usb);
    tree.files("sys/bus/usb/devices/usb1", &[("product", "Host Controller")]);
    (tree, observed())
}

const FIRST: &str = "pci0000:00/0000:00:1c.0/0000:01:00.0";
const SECOND: &str = "pci0000:00/0000:00:1c.0/0000:01:00.1";

fn firmware() -> Vec<u8> {
    let strings = ["Example Corp", "Server 9", "SN-000017"];
    Table::default()
        .with(0, 0, &[1, 2, 0, 0xF0, 3, 0], &["Example BIOS", "2.3.4", "11/08/2016"])
        .with(1, 1, &[1, 2, 0, 3], &strings)
        .array(0x10, 3)
        .module(0x10, 0x4000, 0)
        .module(0x10, 0, 0)
        .module(0x10, 0x4000, 0)
        .end()
}

fn disks(tree: &Tree) {
    let controller = "pci0000:00/0000:00:1d.0/0000:04:00.0/nvme/nvme0";
    tree.pci("pci0000:00/0000:00:1d.0/0000:04:00.0").device(controller, "nvme", "");
    tree.disk(controller, "nvme0n1", 2_000_000_000);
    let strings = [("model", "Example NVMe 1TB"), ("serial", "S4EV")];
    tree.files(&format!("sys/devices/{controller}"), &strings);
    tree.files("sys/block/nvme0n1", &[("nsid", "1"), ("wwid", "eui.0025385b71b00e1d")]);

    let port = "pci0000:00/0000:00:1f.2/ata1";
    tree.pci("pci0000:00/0000:00:1f.2").device(port, "ata", "");
    tree.files("sys/class/ata_port/ata1", &[("port_no", "1")]);
    tree.scsi_disk(port, "0:0:0:0", "sda");
    tree.files("sys/block/sda", &[("queue/rotational", "1")]);
    tree.files("sys/block/sda/device", &[("vendor", "ATA     "), ("model", "Example HDD 10")]);
    tree.file("sys/block/sda/device/vpd_pg80", b"\0\x80\0\x07HDD0017");
    let page = [0, 0x83, 0, 12, 1, 3, 0, 8, 0x50, 0, 0xc5, 0, 0x15, 0xea, 0x71, 0xa0];
    tree.file("sys/block/sda/device/vpd_pg83", page);
}

fn nics(tree: &Tree) {
    tree.nic(FIRST, "eno1", "02:00:00:00:00:01").nic(SECOND, "eno2", "02:00:00:00:00:01");
    let note = [("bonding_slave/perm_hwaddr", "02:00:00:00:00:02"), ("carrier", "0")];
    tree.files("sys/class/net/eno2", &note);
    tree.upper("bond0", "02:00:00:00:00:01", &["eno1", "eno2"]);
    tree.upper("bond0.100", "02:00:00:00:00:01", &["bond0"]);
}

fn observed() -> Observed {
    let name = |text: &str| text.parse().unwrap();
    let vlans: [(u8, &[u8]); 4] = [
        (5, b"leaf-1"),
        (127, b"\x00\x80\xc2\x01\x00\x01"),
        (127, b"\x00\x80\xc2\x03\x00\x64\x04prod"),
        (127, b"\x00\x80\xc2\x03\x00\xc8\x00"),
    ];
    let facts = PortFacts { permanent_address: None, max_speed_mbps: Some(25_000) };
    Observed {
        addresses: vec![
            (name("bond0.100"), "192.0.2.10".parse().unwrap()),
            (name("bond0.100"), "2001:db8::10".parse().unwrap()),
            (name("bond0"), "fe80::1".parse().unwrap()),
            (name("eno2"), "fe80::2".parse().unwrap()),
        ],
        ports: BTreeMap::from([(name("eno1"), facts)]),
        heard: BTreeMap::from([
            (name("eno1"), vec![Neighbour::parse(&frame(&vlans)).unwrap()]),
            (name("eno2"), Vec::new()),
        ]),
        bmc: Some(BmcLan {
            ipv4: Some("192.0.2.200".parse().unwrap()),
            ipv6: None,
            mac: Some("02:00:00:00:00:bc".parse().unwrap()),
        }),
        problems: Vec::new(),
    }
}

pub(crate) fn inventory() -> Inventory {
    let (tree, observed) = server();
    let (inventory, problems) = collect(&tree.root(), &observed);
    assert_eq!(problems, []);
    inventory
}

fn storage_details() -> Value {
    json!([
        {
            "name": "/dev/disk/by-path/pci-0000:04:00.0-nvme-1",
            "alternateNames": ["/dev/nvme0n1", "/dev/disk/by-path/pci-0000:04:00.0-nvme-1"],
            "rotational": false,
            "type": "NVME",
            "sizeBytes": 1_024_000_000_000_u64,
            "model": "Example NVMe 1TB",
            "serialNumber": "S4EV",
            "wwn": "eui.0025385b71b00e1d",
            "wwnWithExtension": "eui.0025385b71b00e1d",
        },
        {
            "name": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0",
            "alternateNames": [
                "/dev/sda",
                "/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0",
                "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
            ],
            "rotational": true,
            "type": "HDD",
            "sizeBytes": 10_240_000_000_u64,
            "vendor": "ATA",
            "model": "Example HDD 10",
            "serialNumber": "HDD0017",
            "wwn": "0x5000c50015ea71a0",
            "wwnWithExtension": "0x5000c50015ea71a0",
            "hctl": "0:0:0:0",
        },
    ])
}

#[test]
fn hardware_details_are_what_baremetal_operator_would_make_of_it() {
    let nic = |name: &str, mac: &str, pci: &str| json!({ "name": name, "model": "0x8086 0x1521", "mac": mac, "pxe": false, "pciAddress": pci });
    let mut first = nic("eno1", "02:00:00:00:00:01", "0000:01:00.0");
    first["speedGbps"] = json!(25);
    first["vlanId"] = json!(1);
    first["vlans"] = json!([{ "id": 100, "name": "prod" }, { "id": 200 }]);
    first["lldp"] = json!({
        "switchID": "02:00:00:00:00:77", "portID": "Ethernet1/7", "switchSystemName": "leaf-1",
    });
    let with = |ip: &str| {
        let mut entry = first.clone();
        entry["ip"] = json!(ip);
        entry
    };
    let expected = json!({
        "systemVendor": {
            "manufacturer": "Example Corp", "productName": "Server 9", "serialNumber": "SN-000017",
        },
        "firmware": {
            "bios": { "date": "11/08/2016", "vendor": "Example BIOS", "version": "2.3.4" },
        },
        "ramMebibytes": 32_768,
        "nics": [
            with("192.0.2.10"),
            with("2001:db8::10"),
            nic("eno2", "02:00:00:00:00:02", "0000:01:00.1"),
        ],
        "storage": storage_details(),
        "cpu": {
            "arch": "x86_64",
            "model": "Example CPU E5-2650 v2 @ 2.60GHz",
            "clockMegahertz": 3400.0,
            "flags": ["avx", "fpu", "sse4_2"],
            "count": 2,
        },
        "hostname": "node-1",
    });
    assert_eq!(serde_json::to_value(hardware_details(&inventory())).unwrap(), expected);
}

#[test]
fn ironic_gets_its_own_words_and_the_raw_tlvs() {
    let data = ironic::inspection_data(&inventory());
    let (inventory, plugins) = (&data["inventory"], &data["plugin_data"]);
    assert_eq!(inventory["bmc_address"], "192.0.2.200");
    assert_eq!(inventory["bmc_v6address"], "::/0");
    assert_eq!(inventory["bmc_mac"], "02:00:00:00:00:bc");
    assert_eq!(inventory["memory"]["physical_mb"], 32_768);
    assert_eq!(inventory["memory"]["total"], 32_768_000_u64 * 1024);
    assert_eq!(inventory["cpu"]["frequency"], "3400.0000");
    assert_eq!(inventory["cpu"]["socket_count"], 2);
    assert_eq!(inventory["boot"]["current_boot_mode"], "uefi");
    assert_eq!(inventory["interfaces"][0]["lldp"][3], json!([5, "6c6561662d31"]));
    assert_eq!(inventory["interfaces"][1]["lldp"], json!([]));
    assert_eq!(inventory["interfaces"][1]["ipv6_address"], "fe80::2%eno2");
    assert_eq!(inventory["disks"][0]["tran"], "nvme");
    assert_eq!(inventory["disks"][1]["tran"], "sata");
    assert_eq!(plugins["lldp_raw"]["eno1"], inventory["interfaces"][0]["lldp"]);
    assert_eq!(plugins["root_disk"], inventory["disks"][1]);
    assert_eq!(plugins["all_interfaces"]["eno1"]["pxe_enabled"], false);
    assert_eq!(plugins["all_interfaces"]["eno2"]["pxe_enabled"], true);
    assert_eq!(plugins["all_interfaces"]["eno2"]["ipv6_address"], "fe80::2");
    assert_eq!(plugins["macs"], json!(["02:00:00:00:00:01", "02:00:00:00:00:02"]));
    assert_eq!(plugins["usb_devices"][0]["handle"], "USB:1:1");
    let function = json!({
        "vendor_id": "8086", "product_id": "1521", "class": "020000", "revision": "01",
        "bus": "0000:01:00.0", "numa_node_id": 0,
    });
    assert_eq!(plugins["pci_devices"], json!([function]));
    let core = json!({ "cpu": 0, "numa_node": 1, "thread_siblings": [1] });
    assert_eq!(plugins["numa_topology"]["cpus"][1], core);
    assert_eq!(
        plugins["numa_topology"]["ram"][0],
        json!({ "numa_node": 0, "size_kb": 16_384_000 })
    );
    assert_eq!(plugins["dmi"]["memory"]["devices"][0]["Size"], "16 GB");
    assert_eq!(plugins["dmi"]["memory"]["devices"][1]["Size"], "No Module Installed");
}

#[test]
fn a_bmc_that_is_not_there_and_one_without_addresses_are_told_apart() {
    let mut inventory = inventory();
    inventory.bmc = Some(BmcLan::default());
    let data = ironic::ironic_inventory(&inventory);
    assert_eq!(data["bmc_address"], "0.0.0.0");
    assert_eq!(data.get("bmc_mac"), None);
    inventory.bmc = None;
    let data = ironic::ironic_inventory(&inventory);
    assert_eq!((&data["bmc_address"], &data["bmc_v6address"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_machine_without_firmware_tables_reports_the_rest_and_says_what_is_missing() {
    let (tree, observed) = server();
    let path = tree.root().path("sys/firmware/dmi");
    std::fs::remove_dir_all(path).unwrap();
    let blocks = "sys/devices/system/memory";
    tree.files(blocks, &[("block_size_bytes", "8000000"), ("memory0/state", "online")]);
    tree.files(blocks, &[("memory8/state", "online"), ("memory9/state", "offline")]);
    let (inventory, problems) = collect(&tree.root(), &observed);
    assert!(matches!(problems.as_slice(), [Problem::Smbios(_)]), "{problems:?}");
    let details = hardware_details(&inventory);
    assert_eq!(details.ram_mebibytes, 256);
    assert_eq!(details.system_vendor.manufacturer, "");
    assert_eq!(details.nics.len(), 3);
    let data = ironic::ironic_inventory(&inventory);
    assert_eq!(data["memory"]["physical_mb"], Value::Null);
    assert_eq!(data["system_vendor"]["serial_number"], "");
}

#[test]
fn an_empty_tree_gives_an_empty_inventory_and_names_every_part() {
    let tree = Tree::new();
    let (inventory, problems) = collect(&tree.root(), &Observed::default());
    assert!(inventory.nics.is_empty() && inventory.disks.is_empty());
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for part in ["SMBIOS", "NIC", "CPU", "memory", "disk"] {
        assert!(said.iter().any(|text| text.starts_with(part)), "{part}: {said:?}");
    }
    let _ = hardware_details(&inventory);
}

#[test]
fn an_arm_server_has_its_model_from_the_firmware() {
    let tree = Tree::new();
    let cpu = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n";
    tree.file("proc/cpuinfo", cpu).file("proc/sys/kernel/arch", "aarch64\n");
    let mut body = vec![0; 0x20];
    body[0x10 - 4] = 1;
    let table = Table::default().with(4, 4, &body, &["Example Arm N1"]).end();
    tree.file("sys/firmware/dmi/tables/DMI", table);
    let cpu = collect(&tree.root(), &Observed::default()).0.cpu;
    assert_eq!(cpu.model.as_deref(), Some("Example Arm N1"));
    assert_eq!(cpu.architecture, "aarch64");
    assert_eq!(cpu.flags, ["fp", "asimd"]);
    assert_eq!((cpu.threads, cpu.sockets, cpu.max_mhz), (1, 1, None));
}
