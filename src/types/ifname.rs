use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A name that Linux accepts for a network device: 1 to 15 bytes, no white space, `/` or `:`, and
/// not `.` or `..` (`dev_valid_name` in `net/core/dev.c`). Control characters are refused too:
/// they would reach consoles.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IfName(String);

/// Text that Linux would not take as a device name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network device name: use 1 to 15 letters, digits, '.', '-' or '_'")]
pub struct IfNameError(String);

impl IfName {
    /// The name as the kernel has it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IfName {
    type Err = IfNameError;

    fn from_str(text: &str) -> Result<Self, IfNameError> {
        let valid = (1..=15).contains(&text.len())
            && !matches!(text, "." | "..")
            && !text
                .contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | ':'));
        valid.then(|| Self(text.to_owned())).ok_or_else(|| IfNameError(text.to_owned()))
    }
}

impl TryFrom<String> for IfName {
    type Error = IfNameError;

    fn try_from(text: String) -> Result<Self, IfNameError> {
        text.parse()
    }
}

impl From<IfName> for String {
    fn from(name: IfName) -> Self {
        name.0
    }
}

impl fmt::Display for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_rule_holds() {
        for good in ["eth0", "a", "bond0.4094", "123456789012345", "wan-é"] {
            assert!(good.parse::<IfName>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "1234567890123456", "a b", "a/b", "a:b", "a\u{1b}b"] {
            assert!(bad.parse::<IfName>().is_err(), "{bad:?}");
        }
    }
}
