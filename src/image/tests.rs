//! Shared by this module's tests.

/// A manifest of a small ISO, with the first extent at `publisher`.
pub(super) fn manifest_json(format: u32, publisher: u64, iso_size: u64) -> String {
    format!(
        r#"{{"format": {format}, "kernel_release": "6.1.0", "source_date_epoch": 1,
        "agent_sha256": "00", "memory_floor_mib": {{"bios": 256, "uefi": 384}},
        "iso": {{"file": "leaseless.iso", "size": {iso_size}, "sha256": "00"}},
        "kernel": {{"file": "vmlinuz", "size": 1, "sha256": "00"}},
        "initramfs": {{"file": "initramfs.gz", "size": 1, "sha256": "00"}},
        "reserved": {{
            "publisher": {{"offset": {publisher}, "length": 128}},
            "segment": {{"offset": 1000, "length": 4096}},
            "network_data": {{"offset": 6000, "length": 2048}},
            "meta_data": {{"offset": 8048, "length": 512}},
            "kernel_args": [{{"offset": 600, "length": 200}}, {{"offset": 9000, "length": 200}}]}},
        "packages": {{}}}}"#
    )
}
