//! The form of what Ironic gets: every key, with its type, and no other.

use leaseless::agent::inventory::{Observed, collect, ironic};
use serde_json::Value;

use crate::{machine, tree::Tree};

/// Types of values: `s` text, `i` integer, `b` truth, `n` null, `o` object, `a` array.
type Shape = &'static [(&'static str, &'static str)];

const INVENTORY: Shape = &[
    ("interfaces", "a"),
    ("cpu", "o"),
    ("disks", "a"),
    ("memory", "o"),
    ("bmc_address", "sn"),
    ("bmc_v6address", "sn"),
    ("system_vendor", "o"),
    ("boot", "o"),
    ("hostname", "s"),
];
const INTERFACE: Shape = &[
    ("name", "s"),
    ("mac_address", "s"),
    ("ipv4_address", "sn"),
    ("ipv6_address", "sn"),
    ("has_carrier", "b"),
    ("lldp", "an"),
    ("vendor", "sn"),
    ("product", "sn"),
    ("client_id", "sn"),
    ("biosdevname", "sn"),
    ("speed_mbps", "in"),
    ("pci_address", "sn"),
    ("driver", "sn"),
];
const CPU: Shape = &[
    ("model_name", "s"),
    ("frequency", "s"),
    ("count", "i"),
    ("architecture", "s"),
    ("flags", "a"),
    ("socket_count", "i"),
];
const DISK: Shape = &[
    ("name", "s"),
    ("model", "sn"),
    ("size", "i"),
    ("rotational", "b"),
    ("wwn", "sn"),
    ("serial", "sn"),
    ("vendor", "sn"),
    ("wwn_with_extension", "sn"),
    ("wwn_vendor_extension", "sn"),
    ("hctl", "sn"),
    ("by_path", "sn"),
    ("logical_sectors", "i"),
    ("physical_sectors", "i"),
    ("tran", "sn"),
];
const MEMORY: Shape = &[("total", "i"), ("physical_mb", "in")];
const VENDOR: Shape =
    &[("product_name", "s"), ("serial_number", "s"), ("manufacturer", "s"), ("firmware", "o")];
const FIRMWARE: Shape = &[("vendor", "s"), ("version", "s"), ("build_date", "s")];
const BOOT: Shape = &[("current_boot_mode", "s"), ("pxe_interface", "sn")];
const PLUGINS: Shape = &[
    ("root_disk", "on"),
    ("boot_interface", "sn"),
    ("configuration", "o"),
    ("error", "sn"),
    ("all_interfaces", "o"),
    ("valid_interfaces", "o"),
    ("macs", "a"),
    ("lldp_raw", "o"),
    ("pci_devices", "a"),
    ("usb_devices", "a"),
    ("numa_topology", "o"),
    ("dmi", "o"),
];
const PCI: Shape = &[
    ("vendor_id", "s"),
    ("product_id", "s"),
    ("class", "s"),
    ("revision", "s"),
    ("bus", "s"),
    ("numa_node_id", "in"),
];
const USB: Shape = &[("product", "s"), ("vendor", "s"), ("handle", "s")];
const NUMA: Shape = &[("ram", "a"), ("cpus", "a"), ("nics", "a")];

fn letter(value: &Value) -> char {
    match value {
        Value::Null => 'n',
        Value::Bool(_) => 'b',
        Value::Number(number) if number.is_u64() => 'i',
        Value::Number(_) => 'f',
        Value::String(_) => 's',
        Value::Array(_) => 'a',
        Value::Object(_) => 'o',
    }
}

fn assert_shape(what: &str, value: &Value, shape: Shape, optional: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("{what} is {value}"));
    for (key, types) in shape {
        let found = object.get(*key).unwrap_or_else(|| panic!("{what} has no {key}"));
        assert!(types.contains(letter(found)), "{what}.{key} is {found}, not one of {types}");
    }
    for key in object.keys() {
        let known = shape.iter().any(|(known, _)| known == key);
        assert!(known || optional.contains(&key.as_str()), "{what} has {key}");
    }
}

fn assert_contract(data: &Value) {
    let inventory = &data["inventory"];
    assert_shape("inventory", inventory, INVENTORY, &["bmc_mac"]);
    assert_shape("cpu", &inventory["cpu"], CPU, &[]);
    assert_shape("memory", &inventory["memory"], MEMORY, &[]);
    assert_shape("system_vendor", &inventory["system_vendor"], VENDOR, &[]);
    assert_shape("firmware", &inventory["system_vendor"]["firmware"], FIRMWARE, &[]);
    assert_shape("boot", &inventory["boot"], BOOT, &[]);
    let plugins = &data["plugin_data"];
    assert_shape("plugin_data", plugins, PLUGINS, &[]);
    assert_shape("numa_topology", &plugins["numa_topology"], NUMA, &[]);
    for (what, list, shape) in [
        ("interfaces", &inventory["interfaces"], INTERFACE),
        ("disks", &inventory["disks"], DISK),
        ("pci_devices", &plugins["pci_devices"], PCI),
        ("usb_devices", &plugins["usb_devices"], USB),
    ] {
        for value in list.as_array().unwrap() {
            assert_shape(what, value, shape, &[]);
        }
    }
    for (_, value) in plugins["all_interfaces"].as_object().unwrap() {
        assert_shape("all_interfaces", value, INTERFACE, &["pxe_enabled"]);
    }
}

#[test]
fn a_full_server_and_an_empty_one_have_every_key_with_its_type() {
    assert_contract(&ironic::inspection_data(&machine::inventory()));
    let (empty, _) = collect(&Tree::new().root(), &Observed::default());
    assert_contract(&ironic::inspection_data(&empty));
}
