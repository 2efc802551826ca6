//! The real systemd-networkd reads what `render::networkd` writes without a complaint, and finds
//! every bond and VLAN in it.
//!
//! `tests/consumers/setup.sh DIR` brings it; `LEASELESS_CONSUMERS=DIR` tells where it is. Needs
//! root, for namespaces.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod netdata_generator;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use leaseless::netdata::model::NetworkData;
use leaseless::netdata::{parse, render};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

const GENERATED: usize = 40;
/// Every option of every kind of bond, and every kind of address and route.
const FIXTURES: [&str; 2] =
    [include_str!("fixtures/netdata/rack.json"), include_str!("fixtures/netdata/options.json")];

#[test]
fn networkd_takes_its_files_without_a_complaint() {
    let Some(consumers) = std::env::var_os("LEASELESS_CONSUMERS") else {
        eprintln!("LEASELESS_CONSUMERS is not set: NOT tested against systemd-networkd");
        return;
    };
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not root: NOT tested against systemd-networkd");
        return;
    }
    let strategy = netdata_generator::network_data();
    let mut runner = TestRunner::deterministic();
    let generated = (0..GENERATED).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    let written = FIXTURES.map(|text| parse(text).data.unwrap());
    for data in written.into_iter().chain(generated) {
        hold(&consumers, &data);
    }
}

fn hold(consumers: &OsStr, data: &NetworkData) {
    let folder = tempfile::tempdir().unwrap();
    let files = render::networkd(data);
    for (name, text) in &files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumers/networkd.sh");
    let output = Command::new(script).arg(consumers).arg(folder.path()).output().unwrap();
    let log = String::from_utf8_lossy(&output.stdout);
    let all = || format!("{log}\n{}\n{files:#?}", String::from_utf8_lossy(&output.stderr));
    assert!(log.contains("Enumeration completed"), "{}", all());
    let complaint = log.lines().find(|line| line.starts_with("/run/systemd/network/"));
    assert_eq!(complaint, None, "{}", all());
    let devices = files.iter().filter(|(name, _)| name.ends_with(".netdev")).count();
    let loaded = log.lines().filter(|line| line.contains(": loaded \"")).count();
    assert_eq!(loaded, devices, "{}", all());
}
