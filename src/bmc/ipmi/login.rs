//! Who logs in to a BMC, and how patiently.

use std::time::Duration;

use super::error::IpmiError;
use super::rakp::{NAME_MAX, PASSWORD_MAX};
use crate::types::{Privilege, Secret};

/// A level's number in IPMI (§22.18).
pub(super) const fn level(privilege: Privilege) -> u8 {
    match privilege {
        Privilege::User => 2,
        Privilege::Operator => 3,
        Privilege::Administrator => 4,
    }
}

/// A user of a BMC.
#[derive(Debug, Clone)]
pub struct Login {
    /// Name, at most 16 bytes.
    pub user: String,
    /// Password, at most 20 bytes.
    pub password: Secret,
    /// Level to act at.
    pub privilege: Privilege,
    /// The BMC's key Kg, for the few that have one set.
    pub kg: Option<Secret>,
}

impl Login {
    /// A user acting as administrator on a BMC without Kg.
    #[must_use]
    pub fn new(user: impl Into<String>, password: Secret) -> Self {
        Self { user: user.into(), password, privilege: Privilege::default(), kg: None }
    }

    /// The same user at another level.
    #[must_use]
    pub fn with_privilege(self, privilege: Privilege) -> Self {
        Self { privilege, ..self }
    }

    /// # Errors
    /// What the protocol can't carry.
    pub(super) fn check(&self) -> Result<(), IpmiError> {
        let (name, password) = (self.user.len(), self.password.expose().len());
        if name > NAME_MAX {
            Err(IpmiError::NameTooLong(name))
        } else if password > PASSWORD_MAX {
            Err(IpmiError::PasswordTooLong(password))
        } else {
            Ok(())
        }
    }
}

/// How long to wait for a BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// First pause before a datagram is sent again; doubled each time.
    pub retransmit: Duration,
    /// One request with all its repetitions.
    pub request: Duration,
}

impl Default for Patience {
    /// Sends at 0, 1, 3 and 7 s and gives up at 10 s.
    fn default() -> Self {
        Self { retransmit: Duration::from_secs(1), request: Duration::from_secs(10) }
    }
}
