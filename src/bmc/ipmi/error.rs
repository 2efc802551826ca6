//! What goes wrong with a BMC over IPMI, as far as IPMI lets one know.

use std::io;
use std::net::SocketAddr;

use super::rakp::{Failed, status};
use crate::bmc::{Class, Classified};
use crate::types::Privilege;

/// Why an IPMI operation failed.
#[derive(Debug, thiserror::Error)]
pub enum IpmiError {
    /// The BMC's name has no address.
    #[error("cannot resolve the BMC's name {host}")]
    Resolve {
        /// The name.
        host: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The machine's own network failed.
    #[error("cannot reach the BMC at {address}")]
    Socket {
        /// Its address and UDP port.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Nothing listens there.
    #[error("nothing listens on UDP port {} of {}: check the port, and that IPMI over LAN is enabled", .0.port(), .0.ip())]
    Closed(SocketAddr),
    /// No answer at all, in spite of retransmission.
    #[error(
        "no answer from {0}: check the address, that IPMI over LAN is enabled on this BMC, and that a firewall passes UDP"
    )]
    NoAnswer(SocketAddr),
    /// An open session went silent: the BMC restarted, or dropped it.
    #[error("the BMC at {0} stopped answering")]
    SessionLost(SocketAddr),
    /// IPMI 1.5.
    #[error(
        "this BMC speaks IPMI 1.5 only, which protects neither password nor commands: 2.0 is needed"
    )]
    OldVersion,
    /// Neither cipher suite.
    #[error("the BMC accepts neither cipher suite 17 nor 3: enable one of them, 17 if it can")]
    SuiteUnsupported,
    /// User name longer than the protocol carries.
    #[error("user name has {0} bytes: IPMI allows 16")]
    NameTooLong(usize),
    /// Password longer than the protocol carries.
    #[error("password has {0} bytes: IPMI allows 20, many BMCs keep only 16")]
    PasswordTooLong(usize),
    /// The BMC knows no such user.
    #[error("the BMC knows no user {user:?} with IPMI over LAN access")]
    UnknownUser {
        /// The name that was given.
        user: String,
    },
    /// The password does not fit. Some BMCs give an unknown user the same answer.
    #[error("wrong password for user {user:?}, or a user whom this BMC does not let in over IPMI{}", if *.long { "; it has more than 16 bytes, and some BMCs keep only the first 16" } else { "" })]
    WrongPassword {
        /// The name that was given.
        user: String,
        /// Whether the password has more than 16 bytes.
        long: bool,
    },
    /// The session key differs although the password was right.
    #[error("the BMC uses a key of its own (Kg) that {}", if *.given { "is not the one given" } else { "was not given" })]
    WrongKg {
        /// Whether one was given.
        given: bool,
    },
    /// The user may not act at this level.
    #[error(
        "user {user:?} may not act as {privilege}: raise its limit on the BMC, or ask for less with ?privilegelevel=OPERATOR"
    )]
    PrivilegeTooLow {
        /// The name that was given.
        user: String,
        /// The level asked for.
        privilege: Privilege,
    },
    /// The level of the session is too low for a command.
    #[error("{command} needs a higher privilege than {privilege}")]
    NotPermitted {
        /// IPMI's name of the command.
        command: &'static str,
        /// The session's level.
        privilege: Privilege,
    },
    /// All sessions of the BMC are taken.
    #[error(
        "the BMC has no free session: others are logged in, or sessions left behind have yet to time out"
    )]
    NoFreeSession,
    /// The BMC ended session setup for a reason that is none of the above.
    #[error("the BMC refused to open a session with RMCP+ status {0:#04x}")]
    SessionRefused(u8),
    /// The BMC does not have the command.
    #[error("this BMC has no {command}")]
    Unsupported {
        /// IPMI's name of the command.
        command: &'static str,
    },
    /// The BMC answered a command with a completion code.
    #[error("the BMC refused {command} with completion code {code}")]
    Refused {
        /// IPMI's name of the command.
        command: &'static str,
        /// Name of the code.
        code: String,
    },
    /// The BMC keeps saying that it is busy.
    #[error("the BMC is busy and did not do {command}")]
    Busy {
        /// IPMI's name of the command.
        command: &'static str,
    },
    /// An answer that the specification does not allow.
    #[error("the BMC gave a malformed answer to {command}")]
    Malformed {
        /// IPMI's name of the message.
        command: &'static str,
    },
    /// The event log goes on for longer than any real one, or too slowly.
    #[error("the event log could not be read to its end: {read} entries came in time")]
    LogUnending {
        /// Entries that were read.
        read: usize,
    },
    /// No random numbers from the operating system.
    #[error("the operating system gives no random numbers: {0}")]
    Random(getrandom::Error),
    /// The program is shutting down.
    #[error("interrupted")]
    Interrupted,
}

impl Classified for IpmiError {
    fn class(&self) -> Class {
        match self {
            Self::Resolve { .. }
            | Self::Socket { .. }
            | Self::Closed(_)
            | Self::NoAnswer(_)
            | Self::SessionLost(_)
            | Self::NoFreeSession
            | Self::Busy { .. }
            | Self::LogUnending { .. }
            | Self::Random(_)
            | Self::Interrupted => Class::Transient,
            Self::NameTooLong(_)
            | Self::PasswordTooLong(_)
            | Self::UnknownUser { .. }
            | Self::WrongPassword { .. }
            | Self::WrongKg { .. }
            | Self::PrivilegeTooLow { .. }
            | Self::NotPermitted { .. }
            | Self::SessionRefused(_)
            | Self::Refused { .. }
            | Self::Malformed { .. } => Class::Permanent,
            Self::OldVersion | Self::SuiteUnsupported | Self::Unsupported { .. } => {
                Class::Unsupported
            }
        }
    }
}

/// Who asked, for errors of session setup.
pub(super) struct Asker<'a> {
    pub(super) user: &'a str,
    pub(super) privilege: Privilege,
    pub(super) long_password: bool,
    pub(super) has_kg: bool,
}

impl Asker<'_> {
    pub(super) fn error(&self, message: &'static str, failed: Failed) -> IpmiError {
        match failed {
            Failed::Status(code) => self.status_error(code),
            Failed::Malformed => IpmiError::Malformed { command: message },
            Failed::Algorithms => IpmiError::SuiteUnsupported,
            Failed::Password => self.wrong_password(),
            Failed::SessionKey => IpmiError::WrongKg { given: self.has_kg },
        }
    }

    fn status_error(&self, code: u8) -> IpmiError {
        match code {
            status::NO_SESSION_FREE | status::NO_SESSION_FREE_FOR_ROLE => IpmiError::NoFreeSession,
            status::BAD_AUTHENTICATION
            | status::BAD_INTEGRITY
            | status::NO_AUTHENTICATION_MATCH
            | status::NO_INTEGRITY_MATCH
            | status::BAD_ENCRYPTION
            | status::NO_SUITE_MATCH => IpmiError::SuiteUnsupported,
            status::INVALID_ROLE | status::UNAUTHORIZED_ROLE => self.privilege_too_low(),
            status::UNAUTHORIZED_NAME => IpmiError::UnknownUser { user: self.user.to_owned() },
            status::INVALID_CHECK_VALUE => self.wrong_password(),
            other => IpmiError::SessionRefused(other),
        }
    }

    pub(super) fn privilege_too_low(&self) -> IpmiError {
        IpmiError::PrivilegeTooLow { user: self.user.to_owned(), privilege: self.privilege }
    }

    fn wrong_password(&self) -> IpmiError {
        IpmiError::WrongPassword { user: self.user.to_owned(), long: self.long_password }
    }
}
