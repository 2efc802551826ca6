//! The arguments of a reason as bytes, for logs that keep records of a fixed size.
//!
//! Not here: how the bytes are spread over records (`sel.rs`). Padding behind them is ignored.
//! Numbers are big-endian. The layouts are a contract with older media, as the numbers are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Failure;
use crate::types::Mac;

/// How many MACs of [`Failure::MacNotFound`] are kept.
pub(super) const MACS_KEPT: usize = 8;

/// Set in the family byte of an address when a MAC follows it.
const WITH_MAC: u8 = 0x10;

pub(super) fn to_bytes(failure: &Failure) -> Vec<u8> {
    match failure {
        Failure::NoCarrier { mac } | Failure::LacpSilent { mac } | Failure::NoAddress { mac } => {
            mac.octets().to_vec()
        }
        Failure::MacNotFound { mac, present } => {
            let mut bytes = mac.octets().to_vec();
            bytes.push(u8::try_from(present.len()).unwrap_or(u8::MAX));
            bytes.extend(present.iter().take(MACS_KEPT).flat_map(|mac| mac.octets()));
            bytes
        }
        Failure::AddressInUse { address, by } => {
            let mut bytes = address_bytes(*address);
            if let Some(mac) = by {
                bytes[0] |= WITH_MAC;
                bytes.extend(mac.octets());
            }
            bytes
        }
        Failure::GatewaySilent { gateway } => address_bytes(*gateway),
        Failure::ControllerUnreachable { address, port, refused } => {
            let mut bytes = address_bytes(*address);
            bytes.extend(port.to_be_bytes());
            bytes.push(u8::from(*refused));
            bytes
        }
        Failure::TlsFailed { address, port } => {
            let mut bytes = address_bytes(*address);
            bytes.extend(port.to_be_bytes());
            bytes
        }
        Failure::ClockWrong { host, issued } => [host.to_be_bytes(), issued.to_be_bytes()].concat(),
        Failure::ImageTruncated { memory_mib } => memory_mib.to_be_bytes().to_vec(),
        Failure::NoConfiguration | Failure::NetworkDataInvalid | Failure::DhcpRefused => Vec::new(),
        Failure::ControllerRefused { status } => status.to_be_bytes().to_vec(),
        Failure::KernelRefused { errno } => errno.to_be_bytes().to_vec(),
    }
}

/// The reason with this number and these arguments, and how many MACs were left off its list.
/// `None` where the number is unknown or the arguments are too short or make no sense.
pub(super) fn from_bytes(code: u8, bytes: &[u8]) -> Option<(Failure, u8)> {
    let mut input = Input(bytes);
    let failure = match code {
        1 => Failure::NoCarrier { mac: input.mac()? },
        2 => return input.mac_not_found(),
        3 => {
            let (address, with_mac) = input.address()?;
            let by = if with_mac { Some(input.mac()?) } else { None };
            Failure::AddressInUse { address, by }
        }
        4 => Failure::GatewaySilent { gateway: input.address()?.0 },
        5 => Failure::ControllerUnreachable {
            address: input.address()?.0,
            port: u16::from_be_bytes(input.take()?),
            refused: input.take::<1>()? != [0],
        },
        6 => Failure::TlsFailed {
            address: input.address()?.0,
            port: u16::from_be_bytes(input.take()?),
        },
        7 => Failure::ClockWrong {
            host: i64::from_be_bytes(input.take()?),
            issued: i64::from_be_bytes(input.take()?),
        },
        8 => Failure::ImageTruncated { memory_mib: u32::from_be_bytes(input.take()?) },
        9 => Failure::NoConfiguration,
        10 => Failure::NetworkDataInvalid,
        11 => Failure::DhcpRefused,
        12 => Failure::LacpSilent { mac: input.mac()? },
        13 => Failure::ControllerRefused { status: u16::from_be_bytes(input.take()?) },
        14 => Failure::KernelRefused { errno: u16::from_be_bytes(input.take()?) },
        15 => Failure::NoAddress { mac: input.mac()? },
        _ => return None,
    };
    Some((failure, 0))
}

fn address_bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => [&[4], v4.octets().as_slice()].concat(),
        IpAddr::V6(v6) => [&[6], v6.octets().as_slice()].concat(),
    }
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn mac(&mut self) -> Option<Mac> {
        self.take().map(Mac::new)
    }

    fn address(&mut self) -> Option<(IpAddr, bool)> {
        let [family] = self.take()?;
        let address = match family & !WITH_MAC {
            4 => Ipv4Addr::from(self.take::<4>()?).into(),
            6 => Ipv6Addr::from(self.take::<16>()?).into(),
            _ => return None,
        };
        Some((address, family & WITH_MAC != 0))
    }

    fn mac_not_found(&mut self) -> Option<(Failure, u8)> {
        let mac = self.mac()?;
        let [total] = self.take()?;
        let kept = usize::from(total).min(MACS_KEPT);
        let present = (0..kept).map(|_| self.mac()).collect::<Option<Vec<Mac>>>()?;
        let left_off = total - u8::try_from(kept).ok()?;
        Some((Failure::MacNotFound { mac, present }, left_off))
    }
}
