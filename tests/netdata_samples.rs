//! Network data of real producers gives the outcome that is written down in
//! `netdata_samples.expected`: accepted, with its normal form, or refused, with the fields named.
//!
//! `LEASELESS_SAMPLES=DIR` tells where the samples are (`DIR/network-data/*.json`). `UPDATE=1`
//! writes the file anew, for a person to review.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use leaseless::netdata::{Severity, parse, render, show};

const EXPECTED: &str = include_str!("netdata_samples.expected");

#[test]
fn every_sample_gives_the_outcome_that_is_right() {
    let Some(folder) = std::env::var_os("LEASELESS_SAMPLES") else {
        eprintln!("LEASELESS_SAMPLES is not set: NOT tested against the samples of real producers");
        return;
    };
    let folder = PathBuf::from(folder).join("network-data");
    let found: BTreeMap<String, String> = std::fs::read_dir(&folder)
        .expect("the folder of samples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (name(&path), outcome(&path)))
        .collect();
    if std::env::var_os("UPDATE").is_some() {
        let text: String = found.values().cloned().collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/netdata_samples.expected");
        std::fs::write(path, text).expect("write the expectations");
        return;
    }
    let expected: BTreeMap<String, String> = sections(EXPECTED);
    let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(&found),
        names(&expected),
        "samples and expectations are about the same files"
    );
    for (name, outcome) in &found {
        assert_eq!(outcome, &expected[name], "{name}");
    }
}

fn name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

/// `== file`, the verdict, where problems are, and the tree of what was accepted.
fn outcome(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a readable sample");
    let parsed = parse(&text);
    let mut outcome = format!("== {}\n", name(path));
    outcome.push_str(if parsed.data.is_some() { "accepted\n" } else { "refused\n" });
    for problem in &parsed.problems {
        outcome.push_str(&format!("{} at {}\n", problem.severity, problem.path));
    }
    assert_eq!(
        parsed.data.is_none(),
        parsed.problems.iter().any(|problem| problem.severity == Severity::Error)
    );
    if let Some(data) = parsed.data {
        outcome.push_str(&show::text(&data));
        let again = parse(&render::openstack(&data).to_string());
        assert_eq!(again.data.as_ref(), Some(&data), "{}: not a normal form", path.display());
    }
    outcome
}

fn sections(text: &str) -> BTreeMap<String, String> {
    let mut sections = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            current = name.to_owned();
        }
        let section: &mut String = sections.entry(current.clone()).or_default();
        section.push_str(line);
        section.push('\n');
    }
    sections
}
