//! Block devices that a boot medium may be in, from sysfs, and the first kilobytes of one.
//!
//! `/sys/block` lists whole devices alone: partitions never show up here.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A whole block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// Kernel name, such as `sr0`.
    pub name: String,
    /// Whether it is a CD or DVD drive (SCSI peripheral type 5).
    pub is_rom: bool,
    /// Whether USB is on the way to it.
    pub is_usb: bool,
    /// Bytes; 0 for an empty drive.
    pub size: u64,
}

/// Every SCSI block device, by name.
#[must_use]
pub fn block_devices() -> Vec<BlockDevice> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.into_iter().filter_map(describe).collect()
}

fn describe(name: String) -> Option<BlockDevice> {
    let directory = Path::new("/sys/block").join(&name);
    let peripheral = fs::read_to_string(directory.join("device/type")).ok()?;
    let sectors = fs::read_to_string(directory.join("size")).ok()?;
    let way = fs::canonicalize(&directory).ok()?;
    let is_usb = way
        .components()
        .any(|part| part.as_os_str().to_str().is_some_and(|part| part.starts_with("usb")));
    // The unit is 512 bytes whatever the device's sectors are (Documentation/ABI/stable/sysfs-block).
    let size = sectors.trim().parse::<u64>().ok()?.saturating_mul(512);
    Some(BlockDevice { is_rom: peripheral.trim() == "5", is_usb, size, name })
}

/// Its device node.
#[must_use]
pub fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name)
}

/// Reads `length` bytes from `offset`.
///
/// # Errors
/// When there is no medium, or it can't be read.
pub fn read_at(name: &str, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    File::open(node(name))?.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}
