//! Organizationally specific TLVs: IEEE 802.1 (802.1Q annex D), IEEE 802.3 (802.3 clause 79) and
//! LLDP-MED (TIA-1057 §10).

use super::{NamedVlan, Neighbour, text};
use crate::types::VlanId;

/// Link Aggregation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregation {
    /// Whether the port can be aggregated.
    pub capable: bool,
    /// Whether it is.
    pub enabled: bool,
    /// Interface number of the aggregate.
    pub port: u32,
}

/// MAC/PHY Configuration/Status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacPhy {
    /// Bit 0: autonegotiation supported; bit 1: enabled.
    pub autonegotiation: u8,
    /// `ifMauAutoNegCapAdvertisedBits` (RFC 4836).
    pub advertised: u16,
    /// `dot3MauType` (RFC 4836).
    pub mau_type: u16,
}

/// Power via MDI. What 802.3at and 802.3bt added stands in fields that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Power {
    /// Bit 0: the neighbour is a power source; bits 1 and 2: supported, enabled.
    pub support: u8,
    /// Pairs in use: 1 signal, 2 spare.
    pub pairs: u8,
    /// Power class, 1 to 5 for classes 0 to 4.
    pub class: u8,
    /// Requested by the powered device, in tenths of a watt (802.3at).
    pub requested: Option<u16>,
    /// Allocated by the source, in tenths of a watt (802.3at).
    pub allocated: Option<u16>,
}

/// LLDP-MED.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Med {
    /// Capabilities and device type.
    pub capabilities: Option<(u16, u8)>,
    /// Network Policies.
    pub policies: Vec<NetworkPolicy>,
    /// Location: data format (1 coordinates, 2 civic, 3 ELIN) and data as they came.
    pub locations: Vec<(u8, Vec<u8>)>,
    /// Extended Power: type, source and priority, and tenths of a watt.
    pub power: Option<(u8, u16)>,
    /// Hardware revision.
    pub hardware: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Software revision.
    pub software: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Manufacturer.
    pub manufacturer: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Asset id.
    pub asset: Option<String>,
}

/// LLDP-MED Network Policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// 1 voice, 2 voice signalling, …
    pub application: u8,
    /// VLAN; `None` for untagged, priority tagged or unknown.
    pub vlan: Option<VlanId>,
    /// 802.1p priority.
    pub priority: u8,
    /// DSCP.
    pub dscp: u8,
}

const IEEE_8021: [u8; 3] = [0x00, 0x80, 0xc2];
const IEEE_8023: [u8; 3] = [0x00, 0x12, 0x0f];
const TIA: [u8; 3] = [0x00, 0x12, 0xbb];

/// `None` when it can't be read.
pub(super) fn take(neighbour: &mut Neighbour, value: &[u8]) -> Option<()> {
    let (oui, rest) = value.split_first_chunk::<3>()?;
    let (subtype, data) = rest.split_first()?;
    match *oui {
        IEEE_8021 => ieee_8021(neighbour, *subtype, data),
        IEEE_8023 => ieee_8023(neighbour, *subtype, data),
        TIA => med(&mut neighbour.med, *subtype, data),
        _ => Some(()),
    }
}

fn ieee_8021(neighbour: &mut Neighbour, subtype: u8, data: &[u8]) -> Option<()> {
    match subtype {
        // 0 says that the port has no untagged VLAN.
        1 => neighbour.port_vlan = VlanId::try_from(word(data, 0)?).ok(),
        2 => neighbour.protocol_vlans.extend(VlanId::try_from(word(data, 1)?)),
        3 => {
            let id = VlanId::try_from(word(data, 0)?).ok()?;
            // A name that is cut off is still the VLAN's.
            let length = data.get(2).copied().map_or(0, usize::from);
            let rest = data.get(3..).unwrap_or_default();
            let name = text(rest.get(..length).unwrap_or(rest)).unwrap_or_default();
            neighbour.vlans.push(NamedVlan { id, name });
        }
        7 => neighbour.aggregation = Some(aggregation(data)?),
        _ => {}
    }
    Some(())
}

fn ieee_8023(neighbour: &mut Neighbour, subtype: u8, data: &[u8]) -> Option<()> {
    match subtype {
        1 => {
            neighbour.mac_phy = Some(MacPhy {
                autonegotiation: *data.first()?,
                advertised: word(data, 1)?,
                mau_type: word(data, 3)?,
            });
        }
        2 => {
            let [support, pairs, class, ..] = *data else { return None };
            let (requested, allocated) = (word(data, 4), word(data, 6));
            neighbour.power = Some(Power { support, pairs, class, requested, allocated });
        }
        3 => neighbour.aggregation = Some(aggregation(data)?),
        4 => neighbour.max_frame_size = Some(word(data, 0)?),
        _ => {}
    }
    Some(())
}

fn med(med: &mut Med, subtype: u8, data: &[u8]) -> Option<()> {
    match subtype {
        1 => med.capabilities = Some((word(data, 0)?, *data.get(2)?)),
        2 => med.policies.push(policy(data)?),
        3 => {
            let (format, location) = data.split_first()?;
            if !is_location(*format, location) {
                return None;
            }
            med.locations.push((*format, location.to_owned()));
        }
        4 => med.power = Some((*data.first()?, word(data, 1)?)),
        5 => med.hardware = text(data),
        6 => med.firmware = text(data),
        7 => med.software = text(data),
        8 => med.serial = text(data),
        9 => med.manufacturer = text(data),
        10 => med.model = text(data),
        11 => med.asset = text(data),
        _ => {}
    }
    Some(())
}

fn policy(data: &[u8]) -> Option<NetworkPolicy> {
    let [application, rest @ ..] = *data.first_chunk::<4>()?;
    // 1 bit unknown, 1 bit tagged, 1 bit reserved, 12 bits VLAN, 3 bits priority, 6 bits DSCP.
    let bits = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]);
    Some(NetworkPolicy {
        application,
        vlan: VlanId::try_from((bits >> 9 & 0xFFF) as u16).ok(),
        priority: (bits >> 6 & 7) as u8,
        dscp: (bits & 0x3F) as u8,
    })
}

/// Coordinates have 16 bytes. A civic address gives its length, at least a country code, then
/// elements of type, length and text; what follows its length is padding. An ELIN is 10 to 25
/// digits.
fn is_location(format: u8, data: &[u8]) -> bool {
    match format {
        1 => data.len() == 16,
        2 => civic_elements(data).is_some(),
        3 => (10..=25).contains(&data.len()),
        _ => true,
    }
}

fn civic_elements(data: &[u8]) -> Option<()> {
    let (length, rest) = data.split_first()?;
    let body = rest.get(..usize::from(*length))?;
    let mut elements = body.get(3..)?;
    while let [_kind, length, after @ ..] = elements {
        elements = after.get(usize::from(*length)..)?;
    }
    Some(())
}

fn aggregation(data: &[u8]) -> Option<Aggregation> {
    let (status, port) = data.split_first()?;
    Some(Aggregation {
        capable: status & 1 == 1,
        enabled: status & 2 == 2,
        port: u32::from_be_bytes(*port.first_chunk()?),
    })
}

fn word(data: &[u8], offset: usize) -> Option<u16> {
    data.get(offset..)?.first_chunk().copied().map(u16::from_be_bytes)
}
