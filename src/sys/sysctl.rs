//! IPv6 settings below `/proc/sys/net/ipv6/conf`, of the caller's network namespace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::netplan::current::Ipv6Settings;
use crate::types::IfName;

/// Writes one setting of a device; without a device, the one that new devices are born with.
///
/// # Errors
/// The kernel's: `ENOENT` where the device has no IPv6.
pub fn write_ipv6(device: Option<&IfName>, file: &str, value: i32) -> io::Result<()> {
    fs::write(path(device).join(file), value.to_string())
}

/// What new devices are born with.
///
/// # Errors
/// The kernel's: `ENOENT` where there is no IPv6.
pub fn read_ipv6_default() -> io::Result<Ipv6Settings> {
    let read = |file: &str| -> io::Result<i32> {
        let text = fs::read_to_string(path(None).join(file))?;
        text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
    };
    Ok(Ipv6Settings {
        accept_ra: read("accept_ra")?,
        autoconf: read("autoconf")?,
        accept_dad: read("accept_dad")?,
        disable_ipv6: read("disable_ipv6")?,
    })
}

fn path(device: Option<&IfName>) -> PathBuf {
    Path::new("/proc/sys/net/ipv6/conf").join(device.map_or("default", IfName::as_str))
}
