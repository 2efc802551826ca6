//! What is read off a medium: an ISO's header, then a cpio archive. Neither may panic or hang.
#![no_main]

use leaseless::agent::medium::Volume;
use leaseless::agent::segment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Volume::parse(bytes);
    if let Some(content) = segment::find(bytes, "leaseless/boot.json") {
        assert!(content.len() <= bytes.len());
    }
});
