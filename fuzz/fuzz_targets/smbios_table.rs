//! Tables from firmware that gets its lengths wrong: never panics, always ends, and texts are
//! texts.
#![no_main]

use leaseless::agent::inventory::smbios::{Smbios, Version};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|table: &[u8]| {
    for version in [Version(2, 4), Version(3, 7)] {
        let smbios = Smbios::parse(table, version);
        let _ = smbios.memory_mib();
        assert!(smbios.memory_devices.len() <= table.len() / 6);
        for text in [smbios.system.serial, smbios.system.product, smbios.bios.vendor] {
            assert!(text.is_none_or(|text| text == text.trim() && !text.is_empty()));
        }
    }
});
