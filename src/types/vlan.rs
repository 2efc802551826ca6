use std::fmt;

use serde::{Deserialize, Serialize};

/// An IEEE 802.1Q VLAN id, 1 to 4094. 0 is the priority tag and 4095 is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct VlanId(u16);

/// A number outside 1 to 4094.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a VLAN id: use 1 to 4094")]
pub struct VlanIdError(pub u16);

impl VlanId {
    /// The id as it stands in the tag.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for VlanId {
    type Error = VlanIdError;

    fn try_from(id: u16) -> Result<Self, VlanIdError> {
        if (1..=4094).contains(&id) { Ok(Self(id)) } else { Err(VlanIdError(id)) }
    }
}

impl From<VlanId> for u16 {
    fn from(id: VlanId) -> Self {
        id.0
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_range_are_in_and_their_neighbours_out() {
        let ok = |id: u16| VlanId::try_from(id).is_ok();
        assert_eq!([0, 1, 4094, 4095, u16::MAX].map(ok), [false, true, true, false, false]);
    }
}
