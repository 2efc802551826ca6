//! Frames of real switches, made-up ones for what those lack, and noise.

use std::path::Path;

use leaseless::agent::inventory::lldp::{Capabilities, FrameError, NamedVlan, Neighbour};
use leaseless::types::VlanId;
use proptest::prelude::*;

use crate::samples;

fn vlan(id: u16) -> VlanId {
    VlanId::try_from(id).unwrap()
}

/// The frames of a classic pcap file in little-endian order: header 24 bytes, then records.
fn pcap(bytes: &[u8]) -> Vec<&[u8]> {
    assert_eq!(bytes[..4], 0xa1b2_c3d4_u32.to_le_bytes());
    let mut frames = Vec::new();
    let mut rest = &bytes[24..];
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        frames.push(&rest[16..16 + length]);
        rest = &rest[16 + length..];
    }
    frames
}

fn first_frame(path: &Path) -> Neighbour {
    let bytes = std::fs::read(path).unwrap();
    let frames = if path.extension().unwrap() == "pcap" { pcap(&bytes) } else { vec![&bytes[..]] };
    Neighbour::parse(frames[0]).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sample(extension: &str, name: &str) -> Option<Neighbour> {
    let files = samples::files("lldp", extension);
    files.iter().find(|path| samples::stem(path) == name).map(|path| first_frame(path))
}

#[test]
fn a_small_business_switch_says_port_chassis_and_its_med_inventory() {
    let Some(found) = sample("pcap", "sg200") else { return };
    assert_eq!(found.chassis.to_string(), "00:35:35:35:35:35");
    assert_eq!(found.port.to_string(), "g1");
    assert_eq!(found.ttl, 120);
    assert_eq!(found.med.model.as_deref(), Some("SG 200-08P"));
    assert_eq!(found.med.hardware.as_deref(), Some("V02"));
    assert_eq!(found.med.serial.as_deref(), Some("XXX11111ZZZ"));
    let (format, civic) = &found.med.locations[0];
    assert_eq!(*format, 2);
    assert!(String::from_utf8_lossy(civic).contains("Karl-Liebknecht-Strase"));
    assert_eq!(found.malformed, Vec::<String>::new());
}

#[test]
fn a_power_tlv_longer_than_older_standards_allow_costs_nothing() {
    let Some(found) = sample("pcap", "8023bt") else { return };
    assert_eq!(found.port.to_string(), "Gi1/0/2");
    assert_eq!(found.system_name.as_deref(), Some("cisco-bt-switch"));
    assert_eq!(found.management, ["192.168.1.1".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(found.port_vlan, Some(vlan(1)));
    assert!(found.is_switch());
    let power = found.power.unwrap();
    assert_eq!((power.requested, power.allocated), (Some(710), Some(510)));
    assert!(found.tlvs.iter().any(|tlv| tlv.kind == 127 && tlv.value.len() == 29));
    assert_eq!(found.malformed, Vec::<String>::new());
}

#[test]
fn a_broken_location_is_named_and_the_rest_of_the_frame_counts() {
    let Some(found) = sample("pcap", "med-loc-malformed") else { return };
    assert_eq!(found.system_name.as_deref(), Some("defensics"));
    assert_eq!(found.port_description.as_deref(), Some("eth0"));
    assert_eq!(found.port.to_string(), "3e:3e:3e:3e:3e:3e");
    assert!(found.med.capabilities.is_some());
    assert!(found.med.locations.is_empty());
    assert_eq!(found.malformed, ["TLV of type 127, 10 bytes"]);
    assert_eq!(found.tlvs.len(), 12);
}

#[test]
fn the_smallest_frame_reads_and_its_padding_does_not_matter() {
    let Some(found) = sample("raw", "lldp-0") else { return };
    assert_eq!(found.chassis.to_string(), "00:17:d1:a8:35:bf");
    assert_eq!(found.port.to_string(), "00:17:d1:a8:36:02");
    assert_eq!((found.ttl, found.tlvs.len()), (120, 3));
    assert!(!found.is_switch());
}

#[test]
fn a_linux_host_says_link_aggregation_and_its_med_inventory() {
    let Some(found) = sample("raw", "lldp-1") else { return };
    assert_eq!(found.system_name.as_deref().unwrap().len(), 26);
    let capabilities = Capabilities { supported: 0x1c, enabled: 0x14 };
    assert_eq!(found.capabilities, Some(capabilities));
    assert_eq!(found.max_frame_size, Some(1500));
    let aggregation = found.aggregation.unwrap();
    assert!(aggregation.capable && !aggregation.enabled);
    assert_eq!(found.med.manufacturer.as_deref(), Some("NEC Computers SAS"));
    assert_eq!(found.med.model.as_deref(), Some("POWERMATE VL350"));
    assert_eq!(found.malformed, Vec::<String>::new());
}

/// A frame with the three TLVs that must be there, and then `tlvs`.
pub(crate) fn frame(tlvs: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 0x77, 0x88, 0xcc];
    let chassis: (u8, &[u8]) = (1, &[4, 2, 0, 0, 0, 0, 0x77]);
    let port: (u8, &[u8]) = (2, b"\x05Ethernet1/7");
    for (kind, value) in [chassis, port, (3, &[0, 120])].iter().chain(tlvs) {
        let header = u16::from(*kind) << 9 | u16::try_from(value.len()).unwrap();
        bytes.extend(header.to_be_bytes());
        bytes.extend(*value);
    }
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn vlans_are_read_with_names_and_a_name_that_is_cut_off() {
    let found = Neighbour::parse(&frame(&[
        (127, b"\x00\x80\xc2\x01\x00\x64"),
        (127, b"\x00\x80\xc2\x03\x00\x64\x04prod"),
        (127, b"\x00\x80\xc2\x03\x00\x65\xffstor"),
        (127, b"\x00\x80\xc2\x03\x00\x66\x00"),
        (127, b"\x00\x80\xc2\x03\x0f\xff\x01x"),
        (127, b"\x00\x80\xc2\x02\x06\x00\xc8"),
    ]))
    .unwrap();
    let named = |id, name: &str| NamedVlan { id: vlan(id), name: name.to_owned() };
    assert_eq!(found.port_vlan, Some(vlan(100)));
    assert_eq!(found.vlans, [named(100, "prod"), named(101, "stor"), named(102, "")]);
    assert_eq!(found.protocol_vlans, [vlan(200)]);
    assert_eq!(found.malformed, ["TLV of type 127, 8 bytes"]);
    assert_eq!(found.tlvs.len(), 9);
}

#[test]
fn ids_are_shown_as_what_they_say_they_are() {
    for (kind, chassis, text) in [
        (4, &[2, 0, 0, 0, 0, 1][..], "02:00:00:00:00:01"),
        (5, &[1, 192, 0, 2, 1], "192.0.2.1"),
        (7, b"leaf-1", "leaf-1"),
        (7, &[0xde, 0xad, 0xbe], "de:ad:be"),
        (4, &[2, 0], "02:00"),
        (7, b"a\x1b[2J", "61:1b:5b:32:4a"),
    ] {
        let mut pdu = vec![2, u8::try_from(chassis.len() + 1).unwrap(), kind];
        pdu.extend(chassis);
        pdu.extend([4, 2, 7, b'p', 6, 2, 0, 1, 0, 0]);
        let source = "02:00:00:00:00:77".parse().unwrap();
        let found = Neighbour::parse_pdu(source, &pdu).unwrap();
        assert_eq!(found.chassis.to_string(), text);
    }
}

#[test]
fn every_cut_of_a_frame_ends_and_keeps_the_tlvs_before_it() {
    let whole = frame(&[(5, b"leaf-1"), (6, b"Example OS"), (4, b"uplink")]);
    let mandatory = whole.len() - 2 - 8 - 12 - 8;
    for length in 0..whole.len() {
        let parsed = Neighbour::parse(&whole[..length]);
        assert_eq!(parsed.is_ok(), length >= mandatory, "{length}");
        if length >= mandatory + 8 {
            assert_eq!(parsed.unwrap().system_name.as_deref(), Some("leaf-1"), "{length}");
        }
    }
}

#[test]
fn what_is_no_lldp_or_lacks_a_mandatory_tlv_is_refused() {
    let mut arp = frame(&[]);
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(Neighbour::parse(&arp), Err(FrameError::NotLldp));
    let mut frame = frame(&[]);
    frame[14] = 5 << 1;
    assert_eq!(Neighbour::parse(&frame), Err(FrameError::Mandatory("chassis id")));
    assert_eq!(Neighbour::parse(&[]), Err(FrameError::NotLldp));
}

#[test]
fn a_vlan_tag_in_front_does_not_hide_a_frame() {
    let mut tagged = frame(&[(5, b"leaf-1")]);
    tagged.splice(12..12, [0x81, 0x00, 0x00, 0x05]);
    assert_eq!(Neighbour::parse(&tagged).unwrap().system_name.as_deref(), Some("leaf-1"));
}

proptest! {
    #[test]
    fn noise_never_panics(bytes: Vec<u8>) {
        Neighbour::parse(&bytes).ok();
    }

    #[test]
    fn noise_inside_tlvs_costs_no_other_tlv(
        tlvs in prop::collection::vec((9u8..=127, prop::collection::vec(any::<u8>(), 0..80)), 0..20),
    ) {
        let mut all: Vec<(u8, &[u8])> = tlvs.iter().map(|(kind, v)| (*kind, v.as_slice())).collect();
        all.push((5, b"last"));
        let found = Neighbour::parse(&frame(&all)).unwrap();
        prop_assert_eq!(found.system_name.as_deref(), Some("last"));
        prop_assert_eq!(found.tlvs.len(), tlvs.len() + 4);
    }

    #[test]
    fn med_8021_and_8023_noise_never_panics(
        oui in prop::sample::select(vec![[0u8, 0x12, 0xbb], [0, 0x80, 0xc2], [0, 0x12, 0x0f]]),
        subtype in 0u8..16,
        data in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let value = [&oui[..], &[subtype], &data].concat();
        let found = Neighbour::parse(&frame(&[(127, &value)])).unwrap();
        prop_assert!(found.malformed.len() <= 1);
    }
}
