//! Which firmware started the kernel, and over which NIC.

use super::model::{Boot, BootMode};
use crate::sys::sysfs::Root;

pub(super) fn collect(root: &Root) -> Boot {
    let mode = if root.has("sys/firmware/efi") { BootMode::Uefi } else { BootMode::Bios };
    let line = root.lines("proc/cmdline").unwrap_or_default();
    let interface = line
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix("BOOTIF="))
        .next_back()
        .filter(|value| !value.is_empty())
        .map(ToOwned::to_owned);
    Boot { mode, interface }
}
