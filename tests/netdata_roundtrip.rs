//! Rendering and parsing again loses nothing; parsing and rendering never panic, whatever comes.

mod netdata_generator;

use leaseless::netdata::{Severity, Target, check_for, parse, render, show};
use netdata_generator::{Tape, document};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};

/// A document in the spellings of people; a real one is never only in our own.
const RACK: &str = include_str!("fixtures/netdata/rack.json");

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/netdata_roundtrip.proptest-regressions",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn parsing_what_was_rendered_gives_the_same_normal_form(
        data in netdata_generator::network_data()
    ) {
        let text = render::openstack(&data).to_string();
        let parsed = parse(&text);
        let errors: Vec<String> = parsed
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .map(ToString::to_string)
            .collect();
        prop_assert!(errors.is_empty(), "{text}\n{errors:#?}");
        prop_assert_eq!(parsed.data, Some(data));
    }

    #[test]
    fn a_damaged_document_is_refused_or_means_what_its_normal_form_says(
        tape in prop::collection::vec(any::<u32>(), 0..400)
    ) {
        let mut tape = Tape::new(tape);
        let mut value: Value = match tape.flag() {
            true => serde_json::from_str(RACK).expect("a JSON fixture"),
            false => render::openstack(&document(&mut tape)),
        };
        for _ in 0..=tape.below(4) {
            damage(&mut value, &mut tape);
        }
        hold(&value.to_string())?;
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-a-z{}\\[\\]:\",0-9 &*|<\n]{0,200}") {
        hold(&text)?;
    }
}

fn hold(text: &str) -> Result<(), TestCaseError> {
    let parsed = parse(text);
    let errors = parsed.problems.iter().any(|problem| problem.severity == Severity::Error);
    prop_assert_eq!(parsed.data.is_none(), errors, "{}", text);
    for target in Target::ALL {
        let _ = check_for(text, target);
    }
    if let Some(data) = parsed.data {
        let pictures = [show::text(&data), show::mermaid(&data), show::svg(&data)];
        let clean = pictures.iter().all(|picture| !picture.contains('\u{7}'));
        prop_assert!(clean, "{}", text);
        prop_assert!(show::normal(&data).is_object());
        prop_assert!(render::networkd(&data).len() >= data.links.len());
        prop_assert!(render::nmstate(&data).starts_with("interfaces:"));
        let again = parse(&render::openstack(&data).to_string());
        prop_assert_eq!(again.data.as_ref(), Some(&data), "{}", text);
    }
    Ok(())
}

/// Replaces, removes or repeats one value somewhere.
fn damage(value: &mut Value, tape: &mut Tape) {
    let stop = tape.below(4) == 0;
    match value {
        Value::Object(fields) if !stop && !fields.is_empty() => {
            let key = fields.keys().nth(tape.below(fields.len())).cloned().unwrap_or_default();
            match tape.below(6) {
                0 => {
                    fields.remove(&key);
                }
                1 => {
                    let moved = fields.remove(&key).unwrap_or_default();
                    fields.insert(tape.of(&KEYS).to_owned(), moved);
                }
                _ => damage(&mut fields[&key], tape),
            }
        }
        Value::Array(items) if !stop && !items.is_empty() => {
            let index = tape.below(items.len());
            match tape.below(6) {
                0 => {
                    items.remove(index);
                }
                1 => items.push(items[index].clone()),
                _ => damage(&mut items[index], tape),
            }
        }
        other => *other = odd(tape),
    }
}

const KEYS: [&str; 8] =
    ["id", "name", "mtu", "gateway", "netmask", "vlan_mac_address", "bond_primary", "mtu_unset"];

/// Values that producers write in the wrong place.
fn odd(tape: &mut Tape) -> Value {
    match tape.below(16) {
        0 => Value::Null,
        1 => json!(""),
        2 => json!(true),
        3 => json!([]),
        4 => json!({}),
        5 => json!(tape.of(&[0_u64, 1, 24, 64, 1279, 4095, u64::MAX])),
        6 => json!(1500.5),
        7 => json!(-1),
        8 => json!(tape.of(&["192.0.2.10", "192.0.2.10/24", "192.0.2.1", "0.0.0.0", "::", "::0"])),
        9 => json!(tape.of(&["fe80::1", "fe80::1%eth0", "2001:db8::1/64", "::ffff:192.0.2.1"])),
        10 => json!(tape.of(&["52:54:00:aa:00:01", "5254.00aa.0001", "ff:ff:ff:ff:ff:ff"])),
        11 => json!(tape.of(&["port0", "bond0", "tenant", "oob", "nic0", "vlan0"])),
        12 => json!(tape.of(&["255.255.255.0", "ffff::", "255.0.255.0", "24", "/24", "129"])),
        13 => json!(tape.of(&["ipv4", "ipv6", "ipv4_dhcp", "ipv6_slaac", "bond", "vlan", "phy"])),
        14 => json!("\u{7}<&\"\n"),
        _ => json!("x".repeat(300)),
    }
}
