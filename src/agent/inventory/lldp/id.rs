//! Chassis and port ids, and addresses with their family.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text;
use crate::types::Mac;

/// Chassis ID (802.1AB §8.5.2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChassisId {
    /// 4 MAC, 5 network address; 1 component, 2 interface alias, 3 port component, 6 interface
    /// name, 7 local.
    pub subtype: u8,
    /// As it came.
    pub bytes: Vec<u8>,
}

/// Port ID (802.1AB §8.5.3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId {
    /// 3 MAC, 4 network address; 1 interface alias, 2 port component, 5 interface name, 6 agent
    /// circuit id, 7 local.
    pub subtype: u8,
    /// As it came.
    pub bytes: Vec<u8>,
}

impl ChassisId {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let (subtype, bytes) = split(value)?;
        Some(Self { subtype, bytes })
    }
}

impl PortId {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let (subtype, bytes) = split(value)?;
        Some(Self { subtype, bytes })
    }
}

/// 1 to 255 bytes behind the subtype.
fn split(value: &[u8]) -> Option<(u8, Vec<u8>)> {
    let (subtype, bytes) = value.split_first()?;
    (1..=255).contains(&bytes.len()).then(|| (*subtype, bytes.to_owned()))
}

impl fmt::Display for ChassisId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, &self.bytes, self.subtype == 4, self.subtype == 5)
    }
}

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, &self.bytes, self.subtype == 3, self.subtype == 4)
    }
}

/// An address where it says so and is one; else text; else hex with colons.
fn show(f: &mut fmt::Formatter<'_>, bytes: &[u8], mac: bool, network: bool) -> fmt::Result {
    if let Some(mac) = Mac::from_slice(bytes).filter(|_| mac) {
        return write!(f, "{mac}");
    }
    if let Some(address) = network_address(bytes).filter(|_| network) {
        return write!(f, "{address}");
    }
    let is_text = std::str::from_utf8(bytes)
        .is_ok_and(|text| !text.trim_end_matches('\0').contains(char::is_control));
    match text(bytes).filter(|_| is_text && !mac && !network) {
        Some(text) => f.write_str(&text),
        None => hex(f, bytes),
    }
}

fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for (place, byte) in bytes.iter().enumerate() {
        if place > 0 {
            f.write_str(":")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

/// An address behind its IANA address family number: 1 is IPv4, 2 IPv6. `None` for other families.
pub(super) fn network_address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes {
        [1, rest @ ..] => <[u8; 4]>::try_from(rest).ok().map(|b| Ipv4Addr::from(b).into()),
        [2, rest @ ..] => <[u8; 16]>::try_from(rest).ok().map(|b| Ipv6Addr::from(b).into()),
        _ => None,
    }
}
