use super::*;
use crate::netdata::Severity;

fn paths(parsed: &Parsed, severity: Severity) -> Vec<&str> {
    let of = parsed.problems.iter().filter(|problem| problem.severity == severity);
    of.map(|problem| problem.path.as_str()).collect()
}

const NIC: &str = r#"{"id": "eth0", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}"#;

fn with_network(network: &str) -> Parsed {
    parse(&format!(r#"{{"links": [{NIC}], "networks": [{network}]}}"#))
}

#[test]
fn a_missing_prefix_is_never_guessed() {
    let parsed =
        with_network(r#"{"id": "a", "type": "ipv4", "link": "eth0", "ip_address": "192.0.2.10"}"#);
    assert_eq!(paths(&parsed, Severity::Error), ["networks[0].netmask"]);
    assert_eq!(parsed.data, None);
}

#[test]
fn a_dangling_reference_names_the_link() {
    let parsed = with_network(r#"{"id": "a", "type": "ipv4_dhcp", "link": "eth9"}"#);
    assert_eq!(paths(&parsed, Severity::Error), ["networks[0].link"]);
    assert_eq!(parsed.problems[0].value.as_deref(), Some("eth9"));
    assert_eq!(parsed.problems[0].fix, "did you mean eth0?");
}
