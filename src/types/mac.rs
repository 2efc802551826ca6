use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An Ethernet (EUI-48) address, 6 bytes. Reads either case and the separators `:`, `-`, `.` or
/// none; prints lower case with colons, as Linux does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac([u8; 6]);

/// Text that is no EUI-48 address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a MAC address: write six hex bytes such as 52:54:00:12:34:56")]
pub struct MacError(String);

impl Mac {
    /// From the bytes as they are on the wire.
    #[must_use]
    pub const fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// From a slice of exactly 6 bytes; `None` for any other length.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes as they are on the wire.
    #[must_use]
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// All six bytes zero: drivers say this when they have no address.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self.0, [0, 0, 0, 0, 0, 0])
    }

    /// The group bit (IEEE 802): never the address of one NIC.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        parse(text.trim()).ok_or_else(|| MacError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Mac> {
    let digits: Vec<u8> = match text.len() {
        12 => text.bytes().collect(),
        14 => split(text, '.', 4)?,
        17 if text.contains('-') => split(text, '-', 2)?,
        17 => split(text, ':', 2)?,
        _ => return None,
    };
    let mut bytes = [0; 6];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(Mac(bytes))
}

/// The 12 digits of groups of `width` digits with exactly `separator` between them.
fn split(text: &str, separator: char, width: usize) -> Option<Vec<u8>> {
    let groups: Vec<&str> = text.split(separator).collect();
    let shaped = groups.len() * width == 12 && groups.iter().all(|group| group.len() == width);
    shaped.then(|| groups.concat().into_bytes())
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

impl TryFrom<String> for Mac {
    type Error = MacError;

    fn try_from(text: String) -> Result<Self, MacError> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_spelling_reads_as_the_same_address() {
        for text in [
            "52:54:00:aB:0c:01",
            "52-54-00-AB-0C-01",
            "5254.00ab.0c01",
            "525400ab0c01",
            " 52:54:00:ab:0c:01\n",
        ] {
            assert_eq!(text.parse::<Mac>().unwrap().to_string(), "52:54:00:ab:0c:01", "{text}");
        }
    }

    #[test]
    fn what_is_not_six_bytes_is_refused() {
        for text in [
            "",
            "52:54:00:ab:0c",
            "52:54:00:ab:0c:0g",
            "52:54:00:ab:0c-01",
            "5254:00ab:0c01",
            "52:54:00:ab:0c:01:02",
            "é2:54:00:ab:0c:01",
            "+2:54:00:ab:0c:01",
        ] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
    }
}
