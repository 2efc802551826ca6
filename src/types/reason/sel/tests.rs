use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::types::Mac;

fn mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac::new)
}

/// Every reason, with lists of MACs no longer than what a log keeps.
fn failure() -> impl Strategy<Value = Failure> {
    let macs = proptest::collection::vec(mac(), 0..=arguments::MACS_KEPT);
    prop_oneof![
        mac().prop_map(|mac| Failure::NoCarrier { mac }),
        (mac(), macs).prop_map(|(mac, present)| Failure::MacNotFound { mac, present }),
        (any::<IpAddr>(), proptest::option::of(mac()))
            .prop_map(|(address, by)| Failure::AddressInUse { address, by }),
        any::<IpAddr>().prop_map(|gateway| Failure::GatewaySilent { gateway }),
        any::<(IpAddr, u16, bool)>().prop_map(|(address, port, refused)| {
            Failure::ControllerUnreachable { address, port, refused }
        }),
        any::<(IpAddr, u16)>().prop_map(|(address, port)| Failure::TlsFailed { address, port }),
        any::<(i64, i64)>().prop_map(|(host, issued)| Failure::ClockWrong { host, issued }),
        any::<u32>().prop_map(|memory_mib| Failure::ImageTruncated { memory_mib }),
        Just(Failure::NoConfiguration),
        Just(Failure::NetworkDataInvalid),
        Just(Failure::DhcpRefused),
        mac().prop_map(|mac| Failure::LacpSilent { mac }),
        any::<u16>().prop_map(|status| Failure::ControllerRefused { status }),
        any::<u16>().prop_map(|errno| Failure::KernelRefused { errno }),
        mac().prop_map(|mac| Failure::NoAddress { mac }),
    ]
}

/// As a BMC keeps it: an id for each record, its time in heads.
fn stored(records: &[[u8; 16]]) -> Vec<[u8; 16]> {
    let mut stored = records.to_vec();
    for (record, id) in stored.iter_mut().zip(1u16..) {
        record[..2].copy_from_slice(&id.to_le_bytes());
        if record[2] == HEAD_TYPE {
            record[3..7].copy_from_slice(&1_780_000_000u32.to_le_bytes());
        }
    }
    stored
}

fn gateway_silent() -> Failure {
    Failure::GatewaySilent { gateway: "192.0.2.1".parse().unwrap() }
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(failure in failure(), tag: u16) {
        prop_assert!(title(failure.code()).is_some());
        let found = decode(&stored(&encode(&failure, tag)));
        let expected =
            Decoded { tag, reason: Known::Whole(failure), time: Some(1_780_000_000) };
        prop_assert_eq!(found, vec![expected]);
    }

    #[test]
    fn order_doubles_and_other_vendors_do_not_matter(
        failures in proptest::collection::vec((failure(), any::<u16>()), 1..5),
        noise in proptest::collection::vec(any::<[u8; 16]>(), 0..20),
        order in any::<u64>(),
    ) {
        let mut records: Vec<[u8; 16]> =
            failures.iter().flat_map(|(failure, tag)| encode(failure, *tag)).collect();
        records.extend(records.clone());
        records.extend(noise.into_iter().filter(|record| Piece::from_record(record).is_none()));
        records.sort_by_key(|record| {
            record.iter().fold(order, |hash, byte| hash.wrapping_mul(31).wrapping_add((*byte).into()))
        });
        let found = decode(&records);
        for (failure, tag) in failures {
            let whole = Known::Whole(failure);
            prop_assert!(found.iter().any(|found| found.tag == tag && found.reason == whole));
        }
    }

    #[test]
    fn a_lost_part_leaves_the_number(
        failure in failure(),
        tag: u16,
        lost in any::<prop::sample::Index>(),
    ) {
        let mut records = encode(&failure, tag);
        prop_assume!(records.len() > 1);
        records.remove(1 + lost.index(records.len() - 1));
        prop_assert_eq!(&decode(&records)[0].reason, &Known::Number(failure.code()));
    }

    #[test]
    fn a_lost_head_costs_only_the_time(failure in failure(), tag: u16) {
        let records = stored(&encode(&failure, tag));
        prop_assume!(records.len() > 1);
        let expected = Decoded { tag, reason: Known::Whole(failure), time: None };
        prop_assert_eq!(decode(&records[1..]), vec![expected]);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        records in proptest::collection::vec(any::<[u8; 16]>(), 0..50),
        marked in proptest::collection::vec(any::<[u8; 11]>(), 0..50),
        text in ".{0,200}",
    ) {
        let _ = decode(&records);
        let marked: Vec<[u8; 16]> = marked
            .iter()
            .map(|data| {
                let mut record = [0, 0, PART_TYPE, b'L', b'L', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                record[5..].copy_from_slice(data);
                record
            })
            .collect();
        for found in decode(&marked) {
            found.reason.to_string();
        }
        let _ = decode_text([text.as_str()]);
    }

    #[test]
    fn hex_in_texts_decodes_however_it_is_printed(failure in failure(), tag: u16) {
        let records = encode(&failure, tag);
        let expected = [Decoded { tag, reason: Known::Whole(failure), time: None }];
        let print = |each: fn(&[u8; 16]) -> String| records.iter().map(each).collect::<Vec<_>>();
        for texts in [
            print(|r| format!("OEM event: {}", hex(&r[2..], ""))),
            print(|r| format!("Raw data: {}", hex(r, " "))),
            print(|r| format!("SEL 0x{}", hex(&r[2..], " 0x"))),
            print(|r| match r[2] {
                HEAD_TYPE => format!("OEM record c1 | 00{} | {}", hex(&r[7..9], ""), hex(&r[10..], "")),
                _ => format!("OEM record e1 | {}", hex(&r[3..], "")),
            }),
        ] {
            prop_assert_eq!(&decode_text(texts.iter().map(String::as_str)), &expected);
        }
    }
}

fn hex(bytes: &[u8], separator: &str) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator)
}

#[test]
fn a_person_finds_the_marker_and_the_number_in_hex() {
    let records = encode(&Failure::LacpSilent { mac: Mac::new([2, 0, 0, 0, 0, 1]) }, 0xBEEF);
    assert_eq!(hex(&records[0][7..14], ""), "4c4c0012beef01");
    assert_eq!(hex(&records[1][3..9], ""), "4c4c12beef01");
    assert_eq!(&records[1][10..], [2, 0, 0, 0, 0, 1]);
}

/// `docs/event-log.md` shows these lines; ipmitool printed them.
#[test]
fn the_documented_example_is_what_the_documentation_says() {
    let documented = include_str!("../../../../docs/event-log.md");
    let found = decode_text(documented.lines().filter(|line| line.contains("OEM record")));
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(found.tag, 0xBEEF);
    let sentence = found.reason.to_string();
    assert_eq!(sentence, "LL-03 address 192.0.2.10 is in use by 52:54:00:12:34:56");
    assert!(documented.contains(&sentence));
}

#[test]
fn a_long_list_of_macs_is_cut_and_says_so() {
    let present: Vec<Mac> = (0..20).map(|last| Mac::new([2, 0, 0, 0, 0, last])).collect();
    let mac = Mac::new([2, 0, 0, 0, 1, 0]);
    let records = encode(&Failure::MacNotFound { mac, present: present.clone() }, 1);
    assert_eq!(records.len(), 11);
    let kept = Failure::MacNotFound { mac, present: present[..8].to_vec() };
    let found = &decode(&records)[0].reason;
    assert_eq!(found, &Known::Cut(kept, 12));
    assert!(found.to_string().ends_with("02:00:00:00:00:07 and at least 12 more"), "{found}");
}

#[test]
fn every_number_has_a_title_and_unknown_ones_still_make_a_sentence() {
    for code in 1..=15 {
        let sentence = Known::Number(code).to_string();
        assert!(sentence.contains("the log lost the details"), "{sentence}");
    }
    assert_eq!(Known::Number(99).to_string(), "LL-99 (a reason that this version does not know)");
}

#[test]
fn records_of_other_vendors_are_not_ours() {
    let mut head = encode(&gateway_silent(), 7)[0];
    head[7..10].copy_from_slice(&[0xB2, 0x02, 0x00]);
    let mut system_event = encode(&gateway_silent(), 7)[1];
    system_event[2] = 0x02;
    let mut no_decimal = encode(&gateway_silent(), 7)[0];
    no_decimal[10] = 0x0B;
    assert_eq!(decode(&[head, system_event, no_decimal]), []);
    assert_eq!(decode_text(["Fan 1: no signal", "deadbeef", "4c4c", ""]), []);
}

#[test]
fn parts_of_two_reasons_are_never_mixed() {
    let other = Failure::GatewaySilent { gateway: "2001:db8::1".parse().unwrap() };
    let (mut a, b) = (encode(&gateway_silent(), 7), encode(&other, 7));
    a[1][10] ^= 0xFF;
    let found = decode(&[a, b].concat());
    assert_eq!(found[0].reason, Known::Number(4));
    assert_eq!(found[1].reason, Known::Whole(other));
}

#[test]
fn a_bmc_without_a_clock_gives_no_time() {
    let mut records = encode(&gateway_silent(), 7);
    for (time, expected) in
        [(0, None), (0x1FFF_FFFF, None), (u32::MAX, None), (1 << 30, Some(1 << 30))]
    {
        records[0][3..7].copy_from_slice(&u32::to_le_bytes(time));
        assert_eq!(decode(&records)[0].time, expected);
    }
}

#[test]
fn a_tag_is_the_same_on_both_sides_and_differs_between_boots() {
    assert_eq!(boot_tag(&Secret::new("abc")), 0xBA78);
    assert_ne!(boot_tag(&Secret::new("abc")), boot_tag(&Secret::new("abd")));
}
