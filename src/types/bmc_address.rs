use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::nearest::nearest;

mod error;
#[cfg(test)]
mod tests;

pub use error::BmcAddressError;

/// Where a BMC is and how to talk to it, in every form that Metal3's `spec.bmc.address` takes
/// (`pkg/hardwareutils/bmc/access.go`): `redfish-virtualmedia+https://192.0.2.5/redfish/v1/Systems/1`,
/// `ipmi://192.0.2.5:6230`, `192.0.2.5`.
///
/// User names, passwords, queries and fragments in it are dropped, as Metal3 does; only
/// `privilegelevel` of an IPMI address is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BmcAddress {
    /// What the scheme asks for.
    pub driver: BmcDriver,
    /// Host name or address, without brackets.
    pub host: BmcHost,
    /// Port, where one was written.
    pub port: Option<u16>,
}

/// The protocol of an address, with what belongs to that protocol alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BmcDriver {
    /// Redfish over HTTP.
    Redfish {
        /// Scheme as written before any `+`.
        flavour: RedfishFlavour,
        /// Whether to speak HTTPS (the default) or plain HTTP.
        tls: bool,
        /// Path of the system, as written; `None` means the only one.
        system: Option<String>,
    },
    /// IPMI over LAN.
    Ipmi {
        /// Privilege level to log in with.
        privilege: Privilege,
    },
    /// IPMI of a virtual machine (virtualbmc): as IPMI, and the boot MAC must be known.
    Libvirt {
        /// Privilege level to log in with.
        privilege: Privilege,
    },
}

/// Redfish schemes. Only what they say about booting differs; the vendor is seen on the BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedfishFlavour {
    /// `redfish`: network boot.
    Redfish,
    /// `ilo5-redfish`: the same.
    Ilo5,
    /// `idrac-redfish`: the same.
    Idrac,
    /// `redfish-virtualmedia`.
    VirtualMedia,
    /// `ilo5-virtualmedia`: the same.
    Ilo5VirtualMedia,
    /// `idrac-virtualmedia`: the same.
    IdracVirtualMedia,
    /// `redfish-uefihttp`: the firmware fetches the ISO.
    UefiHttp,
}

/// Level at which an IPMI session acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Privilege {
    /// `USER`: reads.
    User,
    /// `OPERATOR`: reads, and controls power and the boot device.
    Operator,
    /// `ADMINISTRATOR`, the default: everything.
    #[default]
    Administrator,
}

/// Host part of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BmcHost {
    /// An IP literal.
    Ip(IpAddr),
    /// A DNS name.
    Name(String),
}

impl RedfishFlavour {
    const ALL: [Self; 7] = [
        Self::Redfish,
        Self::Ilo5,
        Self::Idrac,
        Self::VirtualMedia,
        Self::Ilo5VirtualMedia,
        Self::IdracVirtualMedia,
        Self::UefiHttp,
    ];

    /// The scheme, without `+http` or `+https`.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Redfish => "redfish",
            Self::Ilo5 => "ilo5-redfish",
            Self::Idrac => "idrac-redfish",
            Self::VirtualMedia => "redfish-virtualmedia",
            Self::Ilo5VirtualMedia => "ilo5-virtualmedia",
            Self::IdracVirtualMedia => "idrac-virtualmedia",
            Self::UefiHttp => "redfish-uefihttp",
        }
    }

    /// Whether Metal3 boots such a host from an ISO, with no provisioning network.
    #[must_use]
    pub const fn boots_iso(self) -> bool {
        match self {
            Self::Redfish | Self::Ilo5 | Self::Idrac => false,
            Self::VirtualMedia
            | Self::Ilo5VirtualMedia
            | Self::IdracVirtualMedia
            | Self::UefiHttp => true,
        }
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Privilege {
    const fn name(self) -> &'static str {
        match self {
            Self::User => "USER",
            Self::Operator => "OPERATOR",
            Self::Administrator => "ADMINISTRATOR",
        }
    }
}

/// Port of IPMI over LAN where none is written (IPMI 2.0 §13.1.2).
const IPMI_PORT: u16 = 623;

impl BmcAddress {
    /// The same BMC over IPMI, at the default port.
    #[must_use]
    pub fn over_ipmi(&self) -> Self {
        let driver = BmcDriver::Ipmi { privilege: Privilege::default() };
        Self { driver, host: self.host.clone(), port: None }
    }

    /// The UDP port of an IPMI address, 623 unless written; `None` for Redfish.
    #[must_use]
    pub fn ipmi_port(&self) -> Option<u16> {
        match self.driver {
            BmcDriver::Redfish { .. } => None,
            BmcDriver::Ipmi { .. } | BmcDriver::Libvirt { .. } => {
                Some(self.port.unwrap_or(IPMI_PORT))
            }
        }
    }

    /// `https://host[:port]` of a Redfish address, brackets where IPv6 needs them; `None` for IPMI.
    #[must_use]
    pub fn redfish_base(&self) -> Option<String> {
        let BmcDriver::Redfish { tls, .. } = self.driver else { return None };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{}://{}{port}", if tls { "https" } else { "http" }, self.host))
    }
}

impl FromStr for BmcAddress {
    type Err = BmcAddressError;

    fn from_str(text: &str) -> Result<Self, BmcAddressError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BmcAddressError::Empty);
        }
        let (scheme, rest) = split_scheme(text);
        let Some(scheme) = scheme else { return parse_bare(rest) };
        let kind = Kind::parse(&scheme, rest)?;
        let (authority, path, query) = split_rest(rest);
        let (host, port) = parse_authority(authority, &scheme)?;
        let driver = match kind {
            Kind::Redfish { flavour, tls } => {
                BmcDriver::Redfish { flavour, tls, system: system_path(path) }
            }
            Kind::Ipmi => BmcDriver::Ipmi { privilege: privilege(query)? },
            Kind::Libvirt => BmcDriver::Libvirt { privilege: privilege(query)? },
        };
        Ok(Self { driver, host, port })
    }
}

enum Kind {
    Redfish { flavour: RedfishFlavour, tls: bool },
    Ipmi,
    Libvirt,
}

impl Kind {
    fn parse(scheme: &str, rest: &str) -> Result<Self, BmcAddressError> {
        match scheme {
            "ipmi" => return Ok(Self::Ipmi),
            "libvirt" => return Ok(Self::Libvirt),
            _ => {}
        }
        let (name, tls) = match scheme.split_once('+') {
            Some((name, "https")) => (name, true),
            Some((name, "http")) => (name, false),
            Some((_, _)) => return Err(unknown(scheme, rest)),
            None => (scheme, true),
        };
        if let Some(flavour) = RedfishFlavour::ALL.into_iter().find(|f| f.scheme() == name) {
            return Ok(Self::Redfish { flavour, tls });
        }
        match name {
            "irmc" | "ibmc" => Err(retired(scheme, "redfish-virtualmedia")),
            "ilo4" | "ilo5" | "ilo4-virtualmedia" => Err(retired(scheme, "ilo5-virtualmedia")),
            _ => Err(unknown(scheme, rest)),
        }
    }
}

fn retired(scheme: &str, instead: &'static str) -> BmcAddressError {
    BmcAddressError::Retired { scheme: scheme.to_owned(), instead }
}

fn unknown(scheme: &str, rest: &str) -> BmcAddressError {
    let known = RedfishFlavour::ALL.into_iter().flat_map(|flavour| {
        let name = flavour.scheme();
        [name.to_owned(), format!("{name}+https"), format!("{name}+http")]
    });
    let known: Vec<String> = known.chain(["ipmi".to_owned(), "libvirt".to_owned()]).collect();
    let nearest = match scheme {
        // Pasted from a browser.
        "https" | "http" => Some(format!("redfish-virtualmedia+{scheme}")),
        _ => nearest(scheme, known.iter().map(String::as_str)).map(str::to_owned),
    };
    BmcAddressError::UnknownScheme {
        scheme: scheme.to_owned(),
        address: format!("{scheme}://{}", without_user(rest)),
        nearest,
    }
}

/// The scheme in lower case, and what follows `:` or `://`. `host:623` has none: what follows the
/// colon is a port.
fn split_scheme(text: &str) -> (Option<String>, &str) {
    let Some((scheme, rest)) = text.split_once(':') else { return (None, text) };
    let shaped = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_port = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    // `ipmi:` and digits alone can't be told from a host called ipmi; the port wins.
    if !shaped || is_port {
        return (None, text);
    }
    (Some(scheme.to_ascii_lowercase()), rest.strip_prefix("//").unwrap_or(rest))
}

/// No scheme at all: IPMI.
fn parse_bare(text: &str) -> Result<BmcAddress, BmcAddressError> {
    if text.starts_with('[') && text.ends_with(']') {
        return Err(BmcAddressError::BadIpv6 {
            host: text.to_owned(),
            fix: format!("write ipmi://{text}"),
        });
    }
    let (authority, _, query) = split_rest(text.trim_start_matches('/'));
    let (host, port) = parse_authority(authority, "ipmi")?;
    Ok(BmcAddress { driver: BmcDriver::Ipmi { privilege: privilege(query)? }, host, port })
}

/// Authority, path with its leading slash, query.
fn split_rest(rest: &str) -> (&str, &str, &str) {
    let rest = rest.split('#').next().unwrap_or_default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let slash = rest.find('/').unwrap_or(rest.len());
    (&rest[..slash], &rest[slash..], query)
}

fn without_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn parse_authority(
    authority: &str,
    scheme: &str,
) -> Result<(BmcHost, Option<u16>), BmcAddressError> {
    let authority = without_user(authority);
    let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
        let (host, port) = inner.split_once(']').ok_or_else(|| BmcAddressError::BadIpv6 {
            host: authority.to_owned(),
            fix: "the closing bracket is missing".to_owned(),
        })?;
        (BmcHost::Ip(IpAddr::V6(parse_ipv6(host)?)), port)
    } else {
        if authority.matches(':').count() > 1 {
            return Err(BmcAddressError::BadIpv6 {
                host: authority.to_owned(),
                fix: format!("write {scheme}://[{authority}]"),
            });
        }
        let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
        if host.is_empty() {
            return Err(BmcAddressError::NoHost { scheme: scheme.to_owned() });
        }
        (parse_host(host)?, port)
    };
    Ok((host, parse_port(port)?))
}

fn parse_ipv6(host: &str) -> Result<Ipv6Addr, BmcAddressError> {
    host.parse().map_err(|_| {
        let fix = if host.contains('%') {
            "zone ids are not accepted, use a routable address"
        } else {
            "write eight groups of up to four hex digits, or :: for the zeros"
        };
        BmcAddressError::BadIpv6 { host: host.to_owned(), fix: fix.to_owned() }
    })
}

fn parse_host(host: &str) -> Result<BmcHost, BmcAddressError> {
    if let Ok(address) = host.parse() {
        return Ok(BmcHost::Ip(address));
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    // Four numbers are an address with a mistake in it, never a name.
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    if name.split('.').all(is_label) && !name.split('.').all(is_number) {
        Ok(BmcHost::Name(name.to_ascii_lowercase()))
    } else {
        Err(BmcAddressError::BadHost { host: host.to_owned() })
    }
}

/// Empty, or a colon and a port.
fn parse_port(text: &str) -> Result<Option<u16>, BmcAddressError> {
    let Some(port) = text.strip_prefix(':') else {
        return if text.is_empty() {
            Ok(None)
        } else {
            Err(BmcAddressError::BadPort { port: text.to_owned() })
        };
    };
    if port.is_empty() {
        return Ok(None);
    }
    match port.parse() {
        Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(Some(number))
        }
        Ok(_) | Err(_) => Err(BmcAddressError::BadPort { port: port.to_owned() }),
    }
}

/// The system's path as written; nothing or the service root mean "the only system".
fn system_path(path: &str) -> Option<String> {
    match path.trim_matches('/') {
        "" | "redfish/v1" => None,
        _ => Some(path.to_owned()),
    }
}

fn privilege(query: &str) -> Result<Privilege, BmcAddressError> {
    let level = query.split('&').find_map(|pair| pair.strip_prefix("privilegelevel="));
    let Some(level) = level else { return Ok(Privilege::default()) };
    [Privilege::User, Privilege::Operator, Privilege::Administrator]
        .into_iter()
        .find(|privilege| privilege.name().eq_ignore_ascii_case(level))
        .ok_or_else(|| BmcAddressError::BadPrivilege { level: level.to_owned() })
}

impl fmt::Display for BmcHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Ip(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for BmcAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.driver {
            BmcDriver::Redfish { flavour, tls: true, .. } => f.write_str(flavour.scheme())?,
            BmcDriver::Redfish { flavour, tls: false, .. } => {
                write!(f, "{}+http", flavour.scheme())?;
            }
            BmcDriver::Ipmi { .. } => f.write_str("ipmi")?,
            BmcDriver::Libvirt { .. } => f.write_str("libvirt")?,
        }
        write!(f, "://{}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        match &self.driver {
            BmcDriver::Redfish { system, .. } => f.write_str(system.as_deref().unwrap_or_default()),
            BmcDriver::Ipmi { privilege: Privilege::Administrator }
            | BmcDriver::Libvirt { privilege: Privilege::Administrator } => Ok(()),
            BmcDriver::Ipmi { privilege } | BmcDriver::Libvirt { privilege } => {
                write!(f, "?privilegelevel={}", privilege.name())
            }
        }
    }
}

impl TryFrom<String> for BmcAddress {
    type Error = BmcAddressError;

    fn try_from(text: String) -> Result<Self, BmcAddressError> {
        text.parse()
    }
}

impl From<BmcAddress> for String {
    fn from(address: BmcAddress) -> Self {
        address.to_string()
    }
}
