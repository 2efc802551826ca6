//! Network data of the rack's server.

/// MAC of its first NIC.
pub(crate) const MAC: &str = "52:54:00:31:00:01";

/// One NIC, one address, as `"type: ipv4, ip_address: …"`.
pub(crate) fn one_nic(network: &str) -> String {
    nic(MAC, network)
}

/// The same with another MAC.
pub(crate) fn nic(mac: &str, network: &str) -> String {
    format!(
        r#"links:
  - {{id: nic0, type: phy, ethernet_mac_address: "{mac}"}}
networks:
  - {{id: lan, link: nic0, {network}}}
"#
    )
}

/// A bond of both NICs, and the address in VLAN 42 on it.
pub(crate) const BOND_WITH_VLAN: &str = r#"links:
  - {id: nic0, type: phy, ethernet_mac_address: "52:54:00:31:00:01"}
  - {id: nic1, type: phy, ethernet_mac_address: "52:54:00:31:00:02"}
  - {id: bond0, type: bond, bond_links: [nic0, nic1], bond_mode: active-backup, bond_miimon: 100,
     ethernet_mac_address: "52:54:00:31:00:01"}
  - {id: vlan42, type: vlan, vlan_link: bond0, vlan_id: 42,
     vlan_mac_address: "52:54:00:31:00:01"}
networks:
  - {id: lan, link: vlan42, type: ipv4, ip_address: 172.31.42.10/24, gateway: 172.31.42.1}
"#;
