use super::*;
use crate::netdata::parse;

const RACK: &str = include_str!("../../../tests/fixtures/netdata/rack.json");

fn rack() -> NetworkData {
    parse(RACK).data.unwrap()
}

#[test]
fn the_tree_shows_what_stands_on_what() {
    let expected = "\
bond0  bond 802.3ad  52:54:00:aa:00:01  MTU 9000  miimon 100  xmit_hash_policy layer3+4  lacp_rate fast
  member port0  NIC  52:54:00:aa:00:01  MTU 9000
  member port1  NIC  52:54:00:aa:00:02  MTU 9000
  tenant  VLAN 100  MTU 1500
    192.0.2.10/24
      default via 192.0.2.1
      DNS 192.0.2.53
    2001:db8:0:100::10/64
      default via fe80::1
oob  NIC  52:54:00:aa:00:03
  198.51.100.20/24
    10.0.0.0/8 via 198.51.100.1
DNS 2001:db8::53
search lab.example.com
";
    assert_eq!(text(&rack()), expected);
}

#[test]
fn the_normal_form_joins_prefixes_and_names_links_by_id() {
    let json = normal(&rack());
    assert_eq!(json["links"][3]["parent"], "bond0");
    assert_eq!(json["links"][0]["options"]["lacp_rate"], "fast");
    assert_eq!(json["networks"][1]["address"], "2001:db8:0:100::10/64");
    assert_eq!(json["networks"][1]["routes"][0]["destination"], "::/0");
}

#[test]
fn diagrams_escape_what_a_producer_wrote() {
    let hostile = RACK.replace("\"tenant\"", "\"<&\\\"]\\u0007`\"");
    let data = parse(&hostile).data.unwrap();
    let picture = svg(&data);
    assert!(picture.contains("&lt;&amp;\"]`") && !picture.contains('\u{7}'), "{picture}");
    let chart = mermaid(&data);
    assert!(chart.contains("#60;#38;#34;]#96;") && !chart.contains('\u{7}'), "{chart}");
    assert!(!text(&data).contains('\u{7}'));
}

#[test]
fn every_link_and_network_is_in_every_picture() {
    let data = rack();
    for picture in [text(&data), mermaid(&data), svg(&data)] {
        for word in ["bond0", "port0", "port1", "VLAN 100", "oob", "192.0.2.10/24", "fe80::1"] {
            assert!(picture.contains(word), "{word} in {picture}");
        }
    }
}

#[test]
fn an_empty_document_is_still_a_picture() {
    assert!(svg(&NetworkData::default()).contains("no links"));
}
