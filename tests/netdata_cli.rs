//! `leaseless netdata` as a person or a script uses it.

#![cfg(feature = "management")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const RACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/netdata/rack.json");

fn leaseless(arguments: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_leaseless"))
        .arg("netdata")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read it has closed it.
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn check_exits_with_1_on_an_error_and_prints_one_item_per_file() {
    let bad = r#"{"links": [{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00"}]}"#;
    let output = leaseless(&["check", RACK, "-", "--output", "json"], bad);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json!([
        {"file": RACK, "ok": true, "problems": []},
        {"file": "-", "ok": false, "problems": [{
            "severity": "error",
            "path": "links[0].ethernet_mac_address",
            "value": "52:54:00",
            "message": "not a MAC address",
            "fix": "write six hex bytes such as 52:54:00:12:34:56"
        }]}
    ]);
    assert_eq!(found, expected);
}

#[test]
fn check_exits_with_0_on_warnings_alone() {
    let odd = "links: [{id: a, type: nic, ethernet_mac_address: '52:54:00:00:00:01'}]\n";
    let output = leaseless(&["check", "-"], odd);
    assert_eq!(output.status.code(), Some(0));
    let expected = "-: warning: links[0].type: \"nic\": not a type of link; taken as a NIC; \
                    write phy\n-: ok, 1 warning\n";
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn check_for_a_consumer_says_what_it_would_refuse() {
    let output = leaseless(&["check", RACK, "--for", "ironic"], "");
    assert_eq!(output.status.code(), Some(1));
    let found = text(&output.stdout);
    assert!(found.contains("networks[0].network_id: Ironic's schema: missing"), "{found}");
    let converted = text(&leaseless(&["convert", RACK, "--to", "openstack"], "").stdout);
    for consumer in ["ironic", "cloud-init"] {
        let output = leaseless(&["check", "-", "--for", consumer], &converted);
        assert_eq!(output.status.code(), Some(0), "{consumer}: {}", text(&output.stdout));
    }
}

#[test]
fn what_can_not_be_read_is_a_usage_error() {
    for arguments in [
        vec!["check", "/nowhere/at/all"],
        vec!["check"],
        vec!["check", RACK, "--for", "everybody"],
        vec!["convert", RACK],
        vec!["convert", RACK, "--to", "nmstate", "--out", "/nowhere"],
        vec!["show", "/nowhere/at/all"],
    ] {
        let output = leaseless(&arguments, "");
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_document_with_errors_is_neither_shown_nor_converted() {
    for arguments in [["show", "-", "--format", "svg"], ["convert", "-", "--to", "nmstate"]] {
        let output = leaseless(&arguments, "links: [{id: a, type: phy}]\n");
        assert_eq!(output.status.code(), Some(64));
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).contains("links[0].ethernet_mac_address: missing"));
    }
}

#[test]
fn convert_names_what_a_consumer_can_not_do() {
    let host = "
links: [{id: a, type: phy, ethernet_mac_address: '52:54:00:00:00:01'}]
networks: [{id: n, link: a, type: ipv4, ip_address: 192.0.2.1/32}]
";
    let output = leaseless(&["convert", "-", "--to", "openstack"], host);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(said.contains("not for ironic: error: networks[0].netmask"), "{said}");
    assert!(!said.contains("not for cloud-init"), "{said}");
}

#[test]
fn convert_writes_networkd_files_into_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("network").display().to_string();
    let output = leaseless(&["convert", RACK, "--to", "networkd", "--out", &path], "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut names: Vec<String> = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "10-bond0.netdev",
        "20-tenant.netdev",
        "30-bond0.network",
        "30-oob.network",
        "30-port0.network",
        "30-port1.network",
        "30-tenant.network",
    ];
    assert_eq!(names, expected);
}
