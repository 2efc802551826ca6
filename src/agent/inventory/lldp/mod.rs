//! Reads LLDP frames (IEEE 802.1AB-2016) with the TLVs of IEEE 802.1, IEEE 802.3 and LLDP-MED
//! (ANSI/TIA-1057). Pure. A TLV that is broken inside is listed and costs nothing but itself.

mod id;
mod organization;

use std::net::IpAddr;

pub use id::{ChassisId, PortId};
pub use organization::{Aggregation, MacPhy, Med, NetworkPolicy, Power};

use crate::types::{Mac, VlanId};

/// EtherType of LLDP.
pub const ETHERTYPE: u16 = 0x88cc;
/// EtherType of a VLAN tag, which some switches put before it.
const ETHERTYPE_VLAN: u16 = 0x8100;
/// TLVs that are kept of one frame; an Ethernet frame has room for 750 empty ones.
const TLVS_MAX: usize = 1024;

/// One TLV as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tlv {
    /// Type, 0 to 127.
    pub kind: u8,
    /// Value; for type 127 it begins with OUI and subtype.
    pub value: Vec<u8>,
}

/// A VLAN that the neighbour named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedVlan {
    /// Its id.
    pub id: VlanId,
    /// Its name; may be empty.
    pub name: String,
}

/// System Capabilities: bit masks (802.1AB table 8-4), bit 2 a bridge, bit 4 a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// What it can be.
    pub supported: u16,
    /// What it is.
    pub enabled: u16,
}

/// What one frame says of the neighbour that sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Sender's MAC.
    pub source: Mac,
    /// Chassis ID.
    pub chassis: ChassisId,
    /// Port ID.
    pub port: PortId,
    /// Seconds for which this holds; 0 takes back what was said before.
    pub ttl: u16,
    /// Port Description.
    pub port_description: Option<String>,
    /// System Name.
    pub system_name: Option<String>,
    /// System Description.
    pub system_description: Option<String>,
    /// System Capabilities.
    pub capabilities: Option<Capabilities>,
    /// Management Addresses that are IP.
    pub management: Vec<IpAddr>,
    /// Port VLAN ID: the untagged VLAN (802.1).
    pub port_vlan: Option<VlanId>,
    /// VLAN Names (802.1).
    pub vlans: Vec<NamedVlan>,
    /// Port and Protocol VLAN IDs (802.1).
    pub protocol_vlans: Vec<VlanId>,
    /// Link Aggregation (802.3, later 802.1).
    pub aggregation: Option<Aggregation>,
    /// MAC/PHY configuration (802.3).
    pub mac_phy: Option<MacPhy>,
    /// Power via MDI (802.3).
    pub power: Option<Power>,
    /// Maximum Frame Size (802.3).
    pub max_frame_size: Option<u16>,
    /// LLDP-MED.
    pub med: Med,
    /// Everything as it came, without End Of LLDPDU.
    pub tlvs: Vec<Tlv>,
    /// What could not be read, in words.
    pub malformed: Vec<String>,
}

/// Bytes that are no LLDP frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Too short for an Ethernet header, or another EtherType.
    #[error("no LLDP frame")]
    NotLldp,
    /// 802.1AB §9.2.7.7.1: such a frame is to be dropped.
    #[error("LLDP frame without a readable {0} where it must be")]
    Mandatory(&'static str),
}

impl Neighbour {
    /// Reads an Ethernet frame, header included.
    ///
    /// # Errors
    /// Another protocol, or no chassis id, port id and time to live, in this order, at the start.
    pub fn parse(frame: &[u8]) -> Result<Self, FrameError> {
        let (source, pdu) = ethernet(frame).ok_or(FrameError::NotLldp)?;
        Self::parse_pdu(source, pdu)
    }

    /// Reads what is behind the Ethernet header.
    ///
    /// # Errors
    /// No chassis id, port id and time to live, in this order, at the start.
    pub fn parse_pdu(source: Mac, pdu: &[u8]) -> Result<Self, FrameError> {
        let mut malformed = Vec::new();
        let tlvs = split(pdu, &mut malformed);
        let value = |place: usize, name: &'static str| {
            let kind = u8::try_from(place + 1).unwrap_or(0);
            let tlv = tlvs.get(place).filter(|tlv| tlv.kind == kind);
            tlv.map(|tlv| tlv.value.as_slice()).ok_or(FrameError::Mandatory(name))
        };
        let chassis = value(0, CHASSIS)?;
        let port = value(1, PORT)?;
        let ttl = value(2, TTL)?.first_chunk().ok_or(FrameError::Mandatory(TTL))?;
        let mut neighbour = Self {
            source,
            chassis: ChassisId::parse(chassis).ok_or(FrameError::Mandatory(CHASSIS))?,
            port: PortId::parse(port).ok_or(FrameError::Mandatory(PORT))?,
            ttl: u16::from_be_bytes(*ttl),
            port_description: None,
            system_name: None,
            system_description: None,
            capabilities: None,
            management: Vec::new(),
            port_vlan: None,
            vlans: Vec::new(),
            protocol_vlans: Vec::new(),
            aggregation: None,
            mac_phy: None,
            power: None,
            max_frame_size: None,
            med: Med::default(),
            tlvs: Vec::new(),
            malformed,
        };
        for tlv in tlvs.iter().skip(3) {
            if neighbour.take(tlv).is_none() {
                let what = format!("TLV of type {}, {} bytes", tlv.kind, tlv.value.len());
                neighbour.malformed.push(what);
            }
        }
        neighbour.tlvs = tlvs;
        Ok(neighbour)
    }

    /// Whether it says that it is a bridge or a router now: a switch, rather than a phone or host.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        const BRIDGE_OR_ROUTER: u16 = 1 << 2 | 1 << 4;
        self.capabilities.is_some_and(|now| now.enabled & BRIDGE_OR_ROUTER != 0)
    }

    /// `None` when it can't be read. What is not known is no error.
    fn take(&mut self, tlv: &Tlv) -> Option<()> {
        let value = tlv.value.as_slice();
        match tlv.kind {
            4 => self.port_description = text(value),
            5 => self.system_name = text(value),
            6 => self.system_description = text(value),
            7 => {
                let bytes: &[u8; 4] = value.first_chunk()?;
                self.capabilities = Some(Capabilities {
                    supported: u16::from_be_bytes([bytes[0], bytes[1]]),
                    enabled: u16::from_be_bytes([bytes[2], bytes[3]]),
                });
            }
            8 => {
                let (length, rest) = value.split_first()?;
                let address = rest.get(..usize::from(*length))?;
                self.management.extend(id::network_address(address));
            }
            127 => return organization::take(self, value),
            _ => {}
        }
        Some(())
    }
}

const CHASSIS: &str = "chassis id";
const PORT: &str = "port id";
const TTL: &str = "time to live";

/// Sender and payload of an LLDP frame.
fn ethernet(frame: &[u8]) -> Option<(Mac, &[u8])> {
    let source = Mac::from_slice(frame.get(6..12)?)?;
    let (kind, payload) = ethertype(frame.get(12..)?)?;
    let (kind, payload) =
        if kind == ETHERTYPE_VLAN { ethertype(payload.get(2..)?)? } else { (kind, payload) };
    (kind == ETHERTYPE).then_some((source, payload))
}

fn ethertype(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (kind, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*kind), rest))
}

/// The TLVs up to End Of LLDPDU or the end of the frame.
fn split(mut pdu: &[u8], malformed: &mut Vec<String>) -> Vec<Tlv> {
    let mut tlvs = Vec::new();
    while let Some((header, rest)) = pdu.split_first_chunk() {
        let header = u16::from_be_bytes(*header);
        let (kind, length) = ((header >> 9) as u8, usize::from(header & 0x1FF));
        if kind == 0 || tlvs.len() == TLVS_MAX {
            break;
        }
        let Some((value, after)) = rest.split_at_checked(length) else {
            let left = rest.len();
            malformed
                .push(format!("TLV of type {kind}, {length} bytes: the frame has {left} left"));
            break;
        };
        tlvs.push(Tlv { kind, value: value.to_owned() });
        pdu = after;
    }
    tlvs
}

/// Text without NULs and blanks at its ends; control characters, which would reach terminals,
/// become blanks, except line ends. Empty is `None`.
fn text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let clean = text.replace(|c: char| c.is_control() && c != '\n', " ");
    let trimmed = clean.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}
