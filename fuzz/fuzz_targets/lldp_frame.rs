//! Frames from anybody on the wire: never panics, and what was read can be shown.
#![no_main]

use leaseless::agent::inventory::lldp::Neighbour;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|frame: &[u8]| {
    let Ok(neighbour) = Neighbour::parse(frame) else { return };
    let shown = format!("{} {}", neighbour.chassis, neighbour.port);
    assert!(!shown.contains(char::is_control), "{shown:?}");
    let inside: usize = neighbour.tlvs.iter().map(|tlv| tlv.value.len() + 2).sum();
    assert!(inside <= frame.len());
    assert!(neighbour.malformed.len() <= neighbour.tlvs.len() + 1);
});
