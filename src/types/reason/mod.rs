//! Why a host never called home: numbered, so that a code of a few bytes in a BMC's event log
//! becomes the same sentence everywhere.
//!
//! The numbers are a contract with people and with older media: never reuse one.

mod arguments;
pub mod sel;

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::Mac;

/// One cause, with what a person needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Failure {
    /// No link signal on a NIC that the network data needs.
    NoCarrier {
        /// Permanent MAC of the NIC.
        mac: Mac,
    },
    /// No NIC has the MAC that the network data names.
    MacNotFound {
        /// The MAC asked for.
        mac: Mac,
        /// MACs of the NICs that are there.
        present: Vec<Mac>,
    },
    /// Another machine answers for an address of ours.
    AddressInUse {
        /// The address.
        address: IpAddr,
        /// Who answered, where it could be seen (IPv6 duplicate detection does not show it).
        by: Option<Mac>,
    },
    /// The gateway answers neither ARP nor neighbour discovery.
    GatewaySilent {
        /// The gateway.
        gateway: IpAddr,
    },
    /// The controller could not be connected to.
    ControllerUnreachable {
        /// Its address.
        address: IpAddr,
        /// Its TCP port.
        port: u16,
        /// Whether it answered with a reset (true) or not at all (false).
        refused: bool,
    },
    /// The controller's certificate does not verify against the medium's CA.
    TlsFailed {
        /// The controller's address.
        address: IpAddr,
        /// Its TCP port.
        port: u16,
    },
    /// The host's clock is so far off that no certificate can verify.
    ClockWrong {
        /// The host's clock, seconds since the Unix epoch.
        host: i64,
        /// The controller's clock when the medium was made.
        issued: i64,
    },
    /// The last file of the image is missing: too little memory, or a broken medium.
    ImageTruncated {
        /// Memory that the kernel sees, MiB.
        memory_mib: u32,
    },
    /// No boot configuration was found, neither in the initrd nor on a medium.
    NoConfiguration,
    /// The network data on the medium does not parse or can't be applied.
    NetworkDataInvalid,
    /// A network asks for DHCP and it was not allowed.
    DhcpRefused,
    /// The LACP partner of a bond never answered.
    LacpSilent {
        /// MAC of the bond.
        mac: Mac,
    },
    /// The controller answered, and refused this boot (token unknown or spent).
    ControllerRefused {
        /// HTTP status.
        status: u16,
    },
    /// The kernel refused a network operation.
    KernelRefused {
        /// `errno(3)` number.
        errno: u16,
    },
    /// No router or DHCP server gave the address that a network waits for.
    NoAddress {
        /// MAC of the link.
        mac: Mac,
    },
}

impl Failure {
    /// The number of this reason, as printed and as logged: LL-01 and so on.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::NoCarrier { .. } => 1,
            Self::MacNotFound { .. } => 2,
            Self::AddressInUse { .. } => 3,
            Self::GatewaySilent { .. } => 4,
            Self::ControllerUnreachable { .. } => 5,
            Self::TlsFailed { .. } => 6,
            Self::ClockWrong { .. } => 7,
            Self::ImageTruncated { .. } => 8,
            Self::NoConfiguration => 9,
            Self::NetworkDataInvalid => 10,
            Self::DhcpRefused => 11,
            Self::LacpSilent { .. } => 12,
            Self::ControllerRefused { .. } => 13,
            Self::KernelRefused { .. } => 14,
            Self::NoAddress { .. } => 15,
        }
    }
}

/// What reason number `code` is about, in a few words without its arguments; `None` for a number
/// that this version does not know.
#[must_use]
pub const fn title(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "no carrier",
        2 => "no NIC has a MAC that the network data names",
        3 => "an address is in use",
        4 => "the gateway is silent",
        5 => "the controller can't be reached",
        6 => "the controller's certificate does not verify",
        7 => "clock of the host is wrong",
        8 => "boot image is truncated",
        9 => "no boot configuration on any medium",
        10 => "network data can't be used",
        11 => "network data asks for DHCP, which is not allowed",
        12 => "no LACP partner",
        13 => "the controller refused this boot",
        14 => "kernel refused a network operation",
        15 => "no router and no DHCP server gave an address",
        _ => return None,
    })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LL-{:02} ", self.code())?;
        match self {
            Self::NoCarrier { mac } => write!(f, "no carrier on {mac}"),
            Self::MacNotFound { mac, present } if present.is_empty() => {
                write!(f, "no NIC has MAC {mac}: this host shows no NIC at all")
            }
            Self::MacNotFound { mac, present } => {
                let list: Vec<String> = present.iter().map(Mac::to_string).collect();
                write!(f, "no NIC has MAC {mac}: there are {}", list.join(", "))
            }
            Self::AddressInUse { address, by: Some(by) } => {
                write!(f, "address {address} is in use by {by}")
            }
            Self::AddressInUse { address, by: None } => write!(f, "address {address} is in use"),
            Self::GatewaySilent { gateway } => write!(f, "gateway {gateway} is silent"),
            Self::ControllerUnreachable { address, port, refused: true } => {
                write!(f, "controller {address} port {port} refused the connection")
            }
            Self::ControllerUnreachable { address, port, refused: false } => {
                write!(f, "controller {address} port {port} does not answer")
            }
            Self::TlsFailed { address, port } => {
                write!(f, "certificate of controller {address} port {port} does not verify")
            }
            Self::ClockWrong { host, issued } => write!(
                f,
                "clock of the host is wrong: it says {host}, the medium was made at {issued} \
                 (seconds since 1970)"
            ),
            Self::ImageTruncated { memory_mib } => write!(
                f,
                "boot image is truncated: too little memory ({memory_mib} MiB) or a broken medium"
            ),
            Self::NoConfiguration => f.write_str("no boot configuration on any medium"),
            Self::NetworkDataInvalid => f.write_str("network data can't be used"),
            Self::DhcpRefused => f.write_str("network data asks for DHCP, which is not allowed"),
            Self::LacpSilent { mac } => write!(f, "no LACP partner on bond {mac}"),
            Self::ControllerRefused { status } => {
                write!(f, "controller refused this boot with HTTP status {status}")
            }
            Self::KernelRefused { errno } => {
                write!(f, "kernel refused a network operation with errno {errno}")
            }
            Self::NoAddress { mac } => {
                write!(f, "no router and no DHCP server gave {mac} an address")
            }
        }
    }
}
