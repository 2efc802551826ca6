//! Rows of mistakes: what a document is made of, and how its problems are held against a row.

use leaseless::netdata::{Problem, Severity, parse};

/// Input, and the problems that it has: severity, path and a part of the message.
pub type Row = (&'static str, &'static [(Severity, &'static str, &'static str)]);

/// Two NICs, a bond over them, a VLAN on it, and a third NIC.
pub const LINKS: &str = r#"[
  {"id": "eth0", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"},
  {"id": "eth1", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:02"},
  {"id": "bond0", "type": "bond", "bond_mode": "active-backup", "bond_links": ["eth0", "eth1"]},
  {"id": "vlan7", "type": "vlan", "vlan_link": "bond0", "vlan_id": 7},
  {"id": "eth2", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:03"}
]"#;

pub fn problems(links: &str, networks: &str, services: &str) -> Vec<Problem> {
    let text = format!(r#"{{"links": {links}, "networks": {networks}, "services": {services}}}"#);
    serde_json::from_str::<serde_json::Value>(&text).expect("the row is JSON");
    parse(&text).problems
}

/// Rows of severity, path and a part of the message; the document has no other problem.
pub fn hold(found: &[Problem], expected: &[(Severity, &str, &str)], row: &str) {
    let list = || found.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(found.len(), expected.len(), "{row}: {:#?}", list());
    for (problem, (severity, path, message)) in found.iter().zip(expected) {
        assert_eq!((problem.severity, problem.path.as_str()), (*severity, *path), "{row}");
        assert!(problem.message.contains(message), "{row}: {problem}");
        assert!(!problem.fix.is_empty(), "{row}: {problem}");
    }
}
