use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// A password, token or key. It has no `Display`, its `Debug` shows nothing of it, and its memory
/// is zeroed on drop. Serialising it is for the one document that carries it: the boot
/// configuration, or the request that trades it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the text as it is, white space included.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text, for the one place that hands it on.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on where the texts differ.
    #[must_use]
    pub fn matches(&self, other: &str) -> bool {
        let (a, b) = (self.0.as_bytes(), other.as_bytes());
        a.len() == b.len()
            && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
    }

    /// No text at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "[REDACTED]");
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2"))), "Some([REDACTED])");
    }

    #[test]
    fn matches_only_the_same_text() {
        let secret = Secret::new("abc");
        assert!(secret.matches("abc"));
        assert!(!secret.matches("abd") && !secret.matches("ab") && !secret.matches("abcd"));
    }
}
