//! The inventory: what the host is made of, in the kernel's words. Reports are made from it alone.

use std::net::IpAddr;

use super::lldp::Neighbour;
use super::smbios::Smbios;
use crate::sys::local_bmc::BmcLan;
use crate::types::{IfName, Mac};

/// Everything found on one host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inventory {
    /// NICs, never bonds, VLANs or bridges; in the order of their names.
    pub nics: Vec<Nic>,
    /// Processors, all together.
    pub cpu: Cpu,
    /// Disks.
    pub disks: Vec<Disk>,
    /// Memory.
    pub memory: Memory,
    /// NUMA nodes.
    pub numa: Vec<NumaNode>,
    /// Where the host's own BMC is; `None` without one.
    pub bmc: Option<BmcLan>,
    /// How the host was started.
    pub boot: Boot,
    /// The kernel's host name.
    pub hostname: String,
    /// PCI functions.
    pub pci: Vec<PciDevice>,
    /// USB devices.
    pub usb: Vec<UsbDevice>,
    /// The firmware's tables.
    pub smbios: Smbios,
}

/// Something that could not be read. The inventory stands without it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Firmware tables.
    #[error("SMBIOS: {0}")]
    Smbios(String),
    /// Processors.
    #[error("CPU: {0}")]
    Cpu(String),
    /// Memory.
    #[error("memory: {0}")]
    Memory(String),
    /// NICs.
    #[error("NIC: {0}")]
    Nic(String),
    /// Disks.
    #[error("disk: {0}")]
    Disk(String),
    /// LLDP.
    #[error("LLDP: {0}")]
    Lldp(String),
    /// The local BMC.
    #[error("BMC: {0}")]
    Bmc(String),
}

/// One NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Kernel name.
    pub name: IfName,
    /// Permanent MAC; of an InfiniBand port, the one that Ironic knows it by.
    pub mac: Mac,
    /// Global addresses, of the NIC itself and of every bond, VLAN and bridge on top of it that it
    /// stands for; IPv4 first.
    pub addresses: Vec<IpAddr>,
    /// The NIC's own IPv6 link-local address.
    pub link_local: Option<IpAddr>,
    /// Whether there is a link now.
    pub has_carrier: bool,
    /// The fastest that the port supports, else what the link runs at, in Mbit/s.
    pub speed_mbps: Option<u32>,
    /// PCI (or virtio) vendor id, as `0x8086`.
    pub vendor: Option<String>,
    /// PCI (or virtio) device id, as `0x1521`.
    pub product: Option<String>,
    /// PCI address of the function it is on.
    pub pci_address: Option<String>,
    /// Kernel driver.
    pub driver: Option<String>,
    /// DHCP client id of an InfiniBand port.
    pub client_id: Option<String>,
    /// NUMA node of its bus.
    pub numa_node: Option<u32>,
    /// Switch ports heard; `None` where nobody listened.
    pub neighbours: Option<Vec<Neighbour>>,
}

/// Processors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cpu {
    /// The kernel's word for it: `x86_64`, `aarch64`.
    pub architecture: String,
    /// Model name of the first one.
    pub model: Option<String>,
    /// The fastest that any of them can run, in MHz.
    pub max_mhz: Option<f64>,
    /// Threads.
    pub threads: u32,
    /// Sockets with a processor in them.
    pub sockets: u32,
    /// Feature flags, in the kernel's order.
    pub flags: Vec<String>,
}

/// Memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// What the kernel can use, in bytes.
    pub total_bytes: u64,
    /// Installed modules, in MiB, as SMBIOS has them.
    pub installed_mib: Option<u64>,
    /// What the kernel has in memory blocks, in MiB: what is installed, rounded to blocks.
    pub blocks_mib: Option<u64>,
}

/// One NUMA node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// Memory, in KiB.
    pub memory_kib: u64,
    /// Cores, with the numbers of their threads.
    pub cores: Vec<(u32, Vec<u32>)>,
}

/// How a disk is attached (`lsblk`'s TRAN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// NVM Express.
    Nvme,
    /// Serial ATA.
    Sata,
    /// Serial Attached SCSI.
    Sas,
    /// USB mass storage.
    Usb,
    /// Fibre Channel.
    Fc,
    /// iSCSI.
    Iscsi,
    /// virtio-blk.
    Virtio,
    /// SD card or eMMC.
    Mmc,
}

/// One disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// Kernel name, such as `sda` or `nvme0n1`.
    pub kernel_name: String,
    /// Size, in bytes; never 0.
    pub size_bytes: u64,
    /// Whether platters turn.
    pub rotational: bool,
    /// Vendor.
    pub vendor: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World wide name, as udev has it: `0x5000…`, or `eui.…` for NVMe.
    pub wwn: Option<String>,
    /// Second half of a 16 byte NAA name.
    pub wwn_extension: Option<String>,
    /// SCSI host:channel:target:lun.
    pub hctl: Option<String>,
    /// Names below `/dev/disk/by-path`, the one that udev prefers first.
    pub by_path: Vec<String>,
    /// Kernel names of further paths to the same disk.
    pub other_paths: Vec<String>,
    /// Logical sector, in bytes.
    pub logical_sector: u32,
    /// Physical sector, in bytes.
    pub physical_sector: u32,
    /// How it is attached.
    pub transport: Option<Transport>,
}

impl Disk {
    /// `/dev/sda`.
    #[must_use]
    pub fn device(&self) -> String {
        format!("/dev/{}", self.kernel_name)
    }

    /// `/dev/disk/by-path/…`, where the disk has such a name.
    #[must_use]
    pub fn by_path(&self) -> Option<String> {
        self.by_path.first().map(|name| format!("/dev/disk/by-path/{name}"))
    }

    /// The WWN with its extension behind it.
    #[must_use]
    pub fn wwn_with_extension(&self) -> Option<String> {
        let extension = self.wwn_extension.as_deref().unwrap_or_default();
        self.wwn.as_ref().map(|wwn| format!("{wwn}{extension}"))
    }
}

/// Firmware interface that started the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BootMode {
    /// Legacy BIOS, or something without EFI runtime services.
    #[default]
    Bios,
    /// UEFI.
    Uefi,
}

/// How the host was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Boot {
    /// By which firmware.
    pub mode: BootMode,
    /// `BOOTIF` of the kernel's command line, as PXELINUX and iPXE set it.
    pub interface: Option<String>,
}

/// One PCI function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PciDevice {
    /// Address, `0000:3b:00.0`.
    pub address: String,
    /// Vendor id, four hex digits.
    pub vendor: String,
    /// Device id, four hex digits.
    pub product: String,
    /// Class code, six hex digits.
    pub class: String,
    /// Revision, two hex digits.
    pub revision: String,
    /// NUMA node, where there is one.
    pub numa_node: Option<u32>,
}

/// One USB device, hubs included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbDevice {
    /// Kernel name, such as `1-4.2`.
    pub name: String,
    /// Vendor id, four hex digits.
    pub vendor_id: String,
    /// Product id, four hex digits.
    pub product_id: String,
    /// Manufacturer's text.
    pub vendor: Option<String>,
    /// Product's text.
    pub product: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Bus and device number.
    pub address: (u32, u32),
}
