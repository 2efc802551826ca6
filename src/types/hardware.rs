//! `HardwareDetails` as Metal3 has it (`metal3.io/v1alpha1`, `hardwaredata_types.go` of
//! baremetal-operator): the report's shape on stdout, in HardwareData and on the wire.
//!
//! One NIC entry per address, so a dual-stack NIC stands there twice with one name and MAC.

use serde::{Deserialize, Serialize};

use super::{Mac, VlanId};

/// Everything an agent found out about its host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDetails {
    /// Who made the machine (SMBIOS type 1).
    #[serde(default)]
    pub system_vendor: SystemVendor,
    /// Firmware found on the host (SMBIOS type 0).
    #[serde(default)]
    pub firmware: Firmware,
    /// Installed memory, in MiB (SMBIOS type 17, populated slots).
    #[serde(rename = "ramMebibytes", default)]
    pub ram_mebibytes: u64,
    /// Network interfaces, one entry per address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// Disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<Storage>,
    /// Processor summary.
    #[serde(default)]
    pub cpu: Cpu,
    /// The host's name while it was inspected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hostname: String,
}

/// SMBIOS type 1, with vendors' placeholder texts removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    /// Manufacturer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manufacturer: String,
    /// Product name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub product_name: String,
    /// Serial number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub serial_number: String,
}

/// Firmware of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    /// The system firmware, be it BIOS or UEFI.
    #[serde(default)]
    pub bios: Bios,
}

/// SMBIOS type 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bios {
    /// Release date as the firmware spells it, usually `MM/DD/YYYY`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// Vendor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    /// Version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// Processors, all together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cpu {
    /// `x86_64`, `aarch64`, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arch: String,
    /// Model name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Highest clock, in MHz.
    #[serde(default)]
    pub clock_megahertz: f64,
    /// Feature flags, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Threads.
    #[serde(default)]
    pub count: u32,
}

/// One address of one network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Kernel name, such as `eno1`.
    pub name: String,
    /// PCI ids as `0xVEND 0xPROD`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Permanent MAC address.
    pub mac: Mac,
    /// One address, IPv4 or IPv6, without prefix; absent where the NIC has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ip: String,
    /// Highest link speed, in Gbit/s.
    #[serde(rename = "speedGbps", default, skip_serializing_if = "is_zero")]
    pub speed_gbps: u32,
    /// VLANs that the switch announced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vlans: Vec<Vlan>,
    /// Untagged VLAN that the switch announced.
    #[serde(rename = "vlanId", default, skip_serializing_if = "Option::is_none")]
    pub vlan_id: Option<VlanId>,
    /// Whether the host booted over this NIC by PXE: never, here.
    #[serde(default)]
    pub pxe: bool,
    /// What the switch says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lldp: Option<Lldp>,
    /// PCI address such as `0000:3b:00.0`.
    #[serde(rename = "pciAddress", default, skip_serializing_if = "String::is_empty")]
    pub pci_address: String,
}

/// A VLAN that an LLDP neighbour announced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vlan {
    /// VLAN id.
    pub id: VlanId,
    /// Its name at the switch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The LLDP neighbour of a port (IEEE 802.1AB).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lldp {
    /// Chassis id.
    #[serde(rename = "switchID", default, skip_serializing_if = "String::is_empty")]
    pub switch_id: String,
    /// Port id.
    #[serde(rename = "portID", default, skip_serializing_if = "String::is_empty")]
    pub port_id: String,
    /// System name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switch_system_name: String,
}

/// One disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// `/dev/disk/by-path/…` where there is one, else `/dev/sda`.
    pub name: String,
    /// Every other name of the same disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternate_names: Vec<String>,
    /// Whether the platters turn.
    #[serde(default)]
    pub rotational: bool,
    /// Kind.
    #[serde(rename = "type", default)]
    pub kind: StorageType,
    /// Size, in bytes.
    #[serde(default)]
    pub size_bytes: u64,
    /// Vendor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    /// Model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Serial number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub serial_number: String,
    /// World wide name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wwn: String,
    /// Vendor's extension of the WWN.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wwn_vendor_extension: String,
    /// WWN followed by its extension.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wwn_with_extension: String,
    /// SCSI host:channel:target:lun.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hctl: String,
}

/// The kinds of disk that Metal3 tells apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StorageType {
    /// Rotating.
    Hdd,
    /// Solid state behind SATA, SAS, USB or virtio.
    #[default]
    Ssd,
    /// NVM Express.
    Nvme,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
