//! Addresses with prefixes, in every spelling that producers use: `x/len`, a dotted mask, a bare
//! length as number or text, an IPv6 mask. A prefix is never guessed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::netdata::problem::{Problems, Reported};

use super::node::Node;
use super::object::{Field, Object, whole};

/// IP version of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    /// The version of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    fn mask_example(self) -> &'static str {
        match self {
            Self::V4 => "255.255.255.0 or 24",
            Self::V6 => "ffff:ffff:ffff:ffff:: or 64",
        }
    }
}

/// The address in `address_key`, with the prefix that stands on it or in `netmask`; host bits are
/// kept. `None` where the address is unset. Family: that of the network where it is given.
pub(crate) fn address_with_prefix(
    object: &Object<'_>,
    address_key: &str,
    family: Option<Family>,
    problems: &mut Problems,
) -> Field<IpNet> {
    let Some(text) = object.text(address_key, problems)? else { return Ok(None) };
    let (bare, length) = match text.split_once('/') {
        Some((bare, length)) => (bare, Some(length)),
        None => (text.as_str(), None),
    };
    let path = object.at(address_key);
    let address = address(bare, &path, family, problems)?;
    let family = Family::of(address);
    let own = match length.map(|length| (length, mask_of_text(length, family))) {
        None => None,
        Some((_, Some(prefix))) => Some(prefix),
        Some((length, None)) => {
            let message = format!("/{length} is no {} prefix", family.name());
            let fix = format!("write /0 to /{}", family.bits());
            return Err(problems.error(path, Some(text.clone()), message, fix));
        }
    };
    let mask = mask(object, family, problems)?;
    let prefix = match (own, mask) {
        (Some(own), Some(mask)) if own != mask => {
            let message = format!("a mask of /{mask}, and {address_key} says /{own}");
            let value = object.get("netmask").and_then(Node::quoted);
            return Err(problems.error(
                object.at("netmask"),
                value,
                message,
                "keep one of them, or make them agree",
            ));
        }
        (Some(prefix), _) | (None, Some(prefix)) => prefix,
        (None, None) => {
            let value = object.raw("netmask").and_then(Node::quoted);
            let message = format!("missing, and {address_key} {text} has no prefix");
            let fix = format!("write a netmask such as {}", family.mask_example());
            return Err(problems.error(object.at("netmask"), value, message, fix));
        }
    };
    Ok(Some(join(address, prefix)))
}

/// Reads an address and holds it against the family that its place demands.
pub(crate) fn address(
    text: &str,
    path: &str,
    family: Option<Family>,
    problems: &mut Problems,
) -> Result<IpAddr, Reported> {
    let Ok(address) = text.trim().parse::<IpAddr>() else {
        let fix = match family {
            Some(Family::V4) => "write an IPv4 address such as 192.0.2.10",
            Some(Family::V6) => "write an IPv6 address such as 2001:db8::10",
            None => "write an address such as 192.0.2.10 or 2001:db8::10",
        };
        return Err(problems.error(path, Some(text.to_owned()), "not an IP address", fix));
    };
    if let Some(wanted) = family.filter(|family| *family != Family::of(address)) {
        let message = format!(
            "an {} address where an {} one belongs",
            Family::of(address).name(),
            wanted.name()
        );
        let fix = format!("write an {} address", wanted.name());
        return Err(problems.error(path, Some(text.to_owned()), message, fix));
    }
    if let IpAddr::V6(v6) = address
        && let Some(v4) = v6.to_ipv4_mapped()
    {
        let message = "an IPv4-mapped address is on no network";
        return Err(problems.error(path, Some(text.to_owned()), message, format!("write {v4}")));
    }
    Ok(address)
}

/// The `netmask` of an object as a prefix length.
fn mask(object: &Object<'_>, family: Family, problems: &mut Problems) -> Field<u8> {
    let Some(node) = object.get("netmask") else { return Ok(None) };
    let prefix = match node {
        Node::Text(text) => mask_of_text(text, family),
        Node::Integer(_) | Node::Float(_) => whole(node)
            .and_then(|length| u8::try_from(length).ok())
            .filter(|length| *length <= family.bits()),
        Node::Null | Node::Bool(_) | Node::List(_) | Node::Map(_) => None,
    };
    prefix.map(Some).ok_or_else(|| {
        let message = format!("not an {} mask", family.name());
        let fix = format!("write {}", family.mask_example());
        problems.error(object.at("netmask"), node.quoted(), message, fix)
    })
}

/// `24`, `/24`, `255.255.255.0` or `ffff:ffff::` as a prefix length.
fn mask_of_text(text: &str, family: Family) -> Option<u8> {
    let text = text.trim();
    let digits = text.strip_prefix('/').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse().ok().filter(|length| *length <= family.bits());
    }
    match family {
        Family::V4 => ipnet::ipv4_mask_to_prefix(text.parse().ok()?).ok(),
        Family::V6 => ipnet::ipv6_mask_to_prefix(text.parse().ok()?).ok(),
    }
}

/// An address with its prefix, host bits kept. The prefix fits the family: it was read for it.
fn join(address: IpAddr, prefix: u8) -> IpNet {
    match address {
        IpAddr::V4(v4) => Ipv4Net::new(v4, prefix).map(IpNet::V4),
        IpAddr::V6(v6) => Ipv6Net::new(v6, prefix).map(IpNet::V6),
    }
    .expect("the prefix was held against the family's width")
}

/// Why a host can't own an address, where it can't.
pub(crate) fn unusable_as_own(net: IpNet) -> Option<&'static str> {
    match net {
        IpNet::V4(net) => unusable_v4(net.addr()).or_else(|| {
            let has_ends = net.prefix_len() <= 30;
            if net.prefix_len() == 0 {
                Some("prefix /0 makes the whole Internet the local network")
            } else if has_ends && net.addr() == net.network() {
                Some("the network's own address")
            } else if has_ends && net.addr() == net.broadcast() {
                Some("the broadcast address of its network")
            } else {
                None
            }
        }),
        IpNet::V6(net) => unusable_v6(net.addr()).or_else(|| {
            (net.prefix_len() == 0)
                .then_some("prefix /0 makes the whole Internet the local network")
        }),
    }
}

/// Why no host can have an address, wherever it is used.
pub(crate) fn unusable(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => unusable_v4(v4),
        IpAddr::V6(v6) => unusable_v6(v6),
    }
}

fn unusable_v4(address: Ipv4Addr) -> Option<&'static str> {
    if address.octets()[0] == 0 {
        Some("an unspecified address")
    } else if address.is_loopback() {
        Some("a loopback address")
    } else if address.is_multicast() {
        Some("a multicast address")
    } else if address.is_broadcast() {
        Some("the broadcast address")
    } else if address.octets()[0] >= 240 {
        Some("a reserved address (240.0.0.0/4)")
    } else {
        None
    }
}

fn unusable_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address.is_unspecified() {
        Some("the unspecified address")
    } else if address.is_loopback() {
        Some("the loopback address")
    } else if address.is_multicast() {
        Some("a multicast address")
    } else {
        None
    }
}
