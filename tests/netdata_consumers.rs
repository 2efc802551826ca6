//! The real consumers of network data: Ironic's schema, cloud-init and glean take what we render,
//! and do with it, and with documents as people write them, what `check_for` says they do.
//!
//! `tests/consumers/setup.sh DIR` brings them; `LEASELESS_CONSUMERS=DIR` tells where they are.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod netdata_generator;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use leaseless::netdata::model::NetworkData;
use leaseless::netdata::{Severity, Target, check_for, parse, render};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

const GENERATED: usize = 300;
/// Of the generated documents, at least so many must meet no limit of any consumer.
const WITHOUT_LIMITS: usize = 60;

/// Everything that a consumer can't do whatever we write, as `docs/network-data.md` lists it:
/// where the error stands, and a part of its message.
const LIMITS: [(Target, &str, &str); 9] = [
    (Target::Ironic, "netmask", "not in the form"),
    (Target::Ironic, "type", "not a type that it knows"),
    (Target::CloudInit, "network", "second default route"),
    (Target::Glean, "type", "needs IPv4 before IPv6"),
    (Target::Glean, "type", "release 10 of the RHEL family, or takes"),
    (Target::Glean, "type", "knows ipv4, ipv4_dhcp"),
    (Target::Glean, "netmask", "one or three digits"),
    (Target::Glean, "id", "Linux refuses"),
    (Target::Glean, "vlan_link", "bond of one member"),
];

struct Case {
    name: String,
    text: String,
    /// Whether it is our own rendering.
    rendered: bool,
}

#[test]
fn real_consumers_do_what_is_said_of_them() {
    let Some(consumers) = std::env::var_os("LEASELESS_CONSUMERS") else {
        eprintln!(
            "LEASELESS_CONSUMERS is not set: NOT tested against Ironic's schema, cloud-init and \
             glean (tests/consumers/setup.sh DIRECTORY brings them)"
        );
        return;
    };
    let mut cases = written_cases();
    let normal: Vec<(String, NetworkData)> = cases
        .iter()
        .filter_map(|case| Some((case.name.clone(), parse(&case.text).data?)))
        .chain(generated())
        .collect();
    cases.extend(normal.iter().map(|(name, data)| Case {
        name: format!("{name} rendered"),
        text: render::openstack(data).to_string(),
        rendered: true,
    }));
    let results = consume(&consumers, &cases);
    assert_eq!(results.len(), cases.len());
    let mut unlimited = 0;
    let mut taken = [0; 3];
    for (case, result) in cases.iter().zip(&results) {
        assert_eq!(result["name"], case.name);
        let failures = Target::ALL.map(|target| hold(case, result, target));
        if case.rendered {
            unlimited += usize::from(!failures.contains(&true));
            for (count, failed) in taken.iter_mut().zip(failures) {
                *count += usize::from(!failed);
            }
        }
    }
    let [ironic, cloud_init, glean] = taken;
    eprintln!(
        "of {} renderings Ironic's schema took {ironic}, cloud-init {cloud_init}, glean {glean}, \
         all three {unlimited}; each of the others meets a documented limit",
        normal.len()
    );
    assert!(unlimited >= WITHOUT_LIMITS, "only {unlimited} met no limit");
}

/// Holds a consumer's outcome against what was predicted; answers whether an error was.
fn hold(case: &Case, result: &Value, target: Target) -> bool {
    let failed: BTreeMap<&String, &Value> = result[target.name()]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, outcome)| !outcome.is_null())
        .collect();
    let predicted: Vec<String> = check_for(&case.text, target)
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .inspect(|problem| {
            if case.rendered {
                let field = problem.path.rsplit('.').next().unwrap_or_default();
                assert!(
                    LIMITS.iter().any(|(limited, key, message)| {
                        *limited == target && *key == field && problem.message.contains(message)
                    }),
                    "{}: not a documented limit: {problem}",
                    case.name
                );
            }
        })
        .map(ToString::to_string)
        .collect();
    let context = || {
        format!("{} for {}: {failed:#?} {predicted:#?}\n{}", case.name, target.name(), case.text)
    };
    if !failed.is_empty() {
        assert!(!predicted.is_empty(), "failed unforeseen: {}", context());
    }
    // glean skips in silence much of what it can't do, and cloud-init guesses a missing mask.
    let exact = match target {
        Target::Ironic => true,
        Target::CloudInit => case.rendered,
        Target::Glean => false,
    };
    if exact && failed.is_empty() {
        assert!(predicted.is_empty(), "foreseen to fail: {}", context());
    }
    !predicted.is_empty()
}

fn generated() -> Vec<(String, NetworkData)> {
    let strategy = netdata_generator::network_data();
    let mut runner = TestRunner::deterministic();
    (0..GENERATED)
        .map(|index| {
            let data = strategy.new_tree(&mut runner).unwrap().current();
            (format!("generated {index}"), data)
        })
        .collect()
}

/// Fixtures and samples, as they are.
fn written_cases() -> Vec<Case> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/netdata")];
    match std::env::var_os("LEASELESS_SAMPLES") {
        Some(samples) => folders.push(PathBuf::from(samples).join("network-data")),
        None => eprintln!("LEASELESS_SAMPLES is not set: fixtures alone are fed"),
    }
    let files: BTreeSet<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files
        .iter()
        .map(|path| Case {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            text: std::fs::read_to_string(path).unwrap(),
            rendered: false,
        })
        .collect()
}

/// Runs every case through the consumers, in one process of their interpreter.
fn consume(consumers: &OsString, cases: &[Case]) -> Vec<Value> {
    let documents: Vec<Value> = cases
        .iter()
        .map(|case| {
            let document: Value = serde_json::from_str(&case.text).unwrap();
            json!({ "name": case.name, "document": document })
        })
        .collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumers/consume.py");
    let mut child = Command::new(Path::new(consumers).join("venv/bin/python"))
        .arg(script)
        .arg(consumers)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = serde_json::to_vec(&documents).unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "consume.py: {}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}
