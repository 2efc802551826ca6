//! The machine as a whole: its boot, its memory, its clock, its power.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use nix::errno::Errno;
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};
use nix::time::{ClockId, clock_gettime};

/// `include/uapi/linux/magic.h`.
const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);

/// How a machine stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Power off.
    PowerOff,
    /// Start again.
    Reboot,
}

/// Writes what is in memory to disks, then stops the machine. Comes back only when it failed.
#[must_use]
pub fn stop(how: Stop) -> Errno {
    nix::unistd::sync();
    let mode = match how {
        Stop::PowerOff => RebootMode::RB_POWER_OFF,
        Stop::Reboot => RebootMode::RB_AUTOBOOT,
    };
    match reboot(mode) {
        Ok(never) => match never {},
        Err(errno) => errno,
    }
}

/// Whether the root is memory, as after a boot from an initramfs (`init/do_mounts.c`: tmpfs, or
/// ramfs where a root was named).
#[must_use]
pub fn root_is_ramdisk() -> bool {
    statfs("/").is_ok_and(|root| {
        let kind = root.filesystem_type();
        kind == TMPFS_MAGIC || kind == RAMFS_MAGIC
    })
}

/// The kernel's random id of this boot.
///
/// # Errors
/// When `/proc` can't be read.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Memory that the kernel sees, MiB.
#[must_use]
pub fn memory_mib() -> u32 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_ascii_whitespace().next())
        .and_then(|kib| kib.parse::<u64>().ok())
        .unwrap_or(0);
    u32::try_from(kib / 1024).unwrap_or(u32::MAX)
}

/// Seconds since the Unix epoch, by the host's clock.
#[must_use]
pub fn clock() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |s| -s),
    }
}

/// Time since the kernel started, as in its own messages.
#[must_use]
pub fn uptime() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}
