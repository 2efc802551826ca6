//! Any manifest, and any span of an overlay composed for it: the span equals that slice of the whole.
#![no_main]

use leaseless::image::manifest::Manifest;
use leaseless::image::overlay::{HostMedia, Overlay, PublisherId};
use leaseless::types::Secret;
use leaseless::types::boot::BootConfig;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// Larger ISOs show nothing new.
const LARGEST: u64 = 1 << 16;

fuzz_target!(|input: (&str, [(u16, u16); 6], u64, u64, &str)| {
    let (text, extents, start, end, kernel_args) = input;
    // Both the fuzzer's own document and a well-formed one with the fuzzer's extents.
    Manifest::parse(text.as_bytes()).ok();
    let extent = |at: usize| json!({"offset": extents[at].0, "length": extents[at].1});
    let file = json!({"file": "x", "size": LARGEST, "sha256": ""});
    let document = json!({
        "format": 1, "kernel_release": "", "agent_sha256": "", "packages": {},
        "memory_floor_mib": {"bios": 0, "uefi": 0}, "iso": file, "kernel": file, "initramfs": file,
        "reserved": {"publisher": extent(0), "segment": extent(1), "network_data": extent(2),
            "meta_data": extent(3), "kernel_args": [extent(4), extent(5)]}
    });
    let Ok(manifest) = Manifest::parse(document.to_string().as_bytes()) else { return };
    let boot = BootConfig {
        version: 1,
        host_id: text.to_owned(),
        controller_urls: Vec::new(),
        ca_pem: String::new(),
        token: Secret::new(""),
        issued_at: 0,
        allow_dhcp: false,
    };
    let publisher = PublisherId::from_random([1; 16]);
    let host = HostMedia {
        boot: &boot,
        network_data: &json!({ "x": text }),
        meta_data: &HostMedia::meta_data(&publisher),
        publisher: &publisher,
        kernel_args,
    };
    let Ok(overlay) = Overlay::compose(&manifest, &host) else { return };
    let whole = read(&overlay, 0, LARGEST);
    let end = end % (LARGEST + 1);
    let start = start % (end + 1);
    assert_eq!(read(&overlay, start, end), whole[start as usize..end as usize]);
});

fn read(overlay: &Overlay, start: u64, end: u64) -> Vec<u8> {
    let mut bytes = vec![0; (end - start) as usize];
    let mut last = start;
    for (at, piece) in overlay.within(start..end) {
        assert!(at >= last && !piece.is_empty());
        last = at + piece.len() as u64;
        assert!(last <= end);
        let from = (at - start) as usize;
        bytes[from..from + piece.len()].copy_from_slice(&piece);
    }
    bytes
}
