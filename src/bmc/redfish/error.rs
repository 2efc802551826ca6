//! What can go wrong with a BMC, in the words a person needs: which step, which request, what the
//! BMC answered, what to look at. No password ever gets here.

use std::fmt;
use std::time::Duration;

use super::answer::Answer;
use crate::bmc::{Class, Classified};

/// A failed operation: its step, the request if there was one, and the cause as `source`.
#[derive(Debug, thiserror::Error)]
#[error("{step}{}", .request.as_ref().map(|r| format!(", {r}")).unwrap_or_default())]
pub struct RedfishError {
    /// What was being done.
    pub step: Step,
    /// The request that failed.
    pub request: Option<RequestLine>,
    /// Why.
    #[source]
    pub cause: Box<Cause>,
}

/// Method and path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// HTTP method.
    pub method: reqwest::Method,
    /// Path on the BMC.
    pub path: String,
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// What was being done when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Reading the certificates that the BMC's is checked against.
    PreparingTls,
    /// First contact.
    ReadingRoot,
    /// Session or Basic.
    LoggingIn,
    /// Which of the BMC's systems is meant.
    FindingSystem,
    /// Power, read.
    ReadingPower,
    /// Power, changed.
    SettingPower,
    /// Boot override, read.
    ReadingBoot,
    /// Boot override, changed.
    SettingBoot,
    /// Virtual media, read.
    ReadingMedia,
    /// Virtual media, inserted.
    InsertingMedia,
    /// Virtual media, ejected.
    EjectingMedia,
    /// Event log.
    ReadingLog,
    /// System information.
    ReadingInfo,
    /// Session deleted.
    LoggingOut,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PreparingTls => "preparing TLS",
            Self::ReadingRoot => "reading the Redfish service root",
            Self::LoggingIn => "logging in to the BMC",
            Self::FindingSystem => "finding the system on the BMC",
            Self::ReadingPower => "reading the power state",
            Self::SettingPower => "changing the power state",
            Self::ReadingBoot => "reading the boot override",
            Self::SettingBoot => "setting the boot override",
            Self::ReadingMedia => "reading the virtual media",
            Self::InsertingMedia => "inserting virtual media",
            Self::EjectingMedia => "ejecting virtual media",
            Self::ReadingLog => "reading the event log",
            Self::ReadingInfo => "reading system information",
            Self::LoggingOut => "logging out of the BMC",
        })
    }
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// No connection at all.
    #[error("{base} can't be reached: check the address, the port and the route to it")]
    Unreachable {
        /// Scheme, host and port.
        base: String,
        /// What the system said.
        #[source]
        source: reqwest::Error,
    },
    /// A connection that ended in the middle of an answer.
    #[error("the connection broke before the answer was complete")]
    Broken(#[source] reqwest::Error),
    /// No answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The BMC's certificate does not verify.
    #[error(
        "the certificate of {host}{} does not verify: give the CA that signed it, or the BMC's \
         own certificate, with --ca FILE, or trust any with --insecure",
        .issuer.as_ref().map(|issuer| format!(" (issued by {issuer})")).unwrap_or_default()
    )]
    Certificate {
        /// Host of the address.
        host: String,
        /// Who signed it, as it says itself.
        issuer: Option<String>,
        /// What rustls found.
        #[source]
        source: rustls::Error,
    },
    /// TLS failed for another reason than the certificate.
    #[error("TLS with {host} failed: if it speaks plain HTTP write +http:// in the address")]
    Tls {
        /// Host of the address.
        host: String,
        /// What rustls found.
        #[source]
        source: rustls::Error,
    },
    /// A CA file without certificates, or a system without any.
    #[error("{0}")]
    Roots(String),
    /// 401 after everything was tried.
    #[error("the BMC refuses user {user:?} with this password (HTTP {status})")]
    LoginRefused {
        /// The user name.
        user: String,
        /// HTTP status.
        status: u16,
    },
    /// HTML where JSON belongs.
    #[error(
        "answered HTML, not Redfish (HTTP {status}): is this really a BMC's address, and is \
         Redfish switched on there?"
    )]
    Html {
        /// HTTP status.
        status: u16,
    },
    /// Neither JSON nor HTML.
    #[error("answered something that is no JSON (HTTP {status}): {start:?}")]
    NotJson {
        /// HTTP status.
        status: u16,
        /// How it starts.
        start: String,
    },
    /// An answer over the bound.
    #[error("answered more than {bound} bytes")]
    TooLarge {
        /// The bound.
        bound: usize,
    },
    /// A redirect that is not followed.
    #[error("redirects to {to}, which is not followed: {why}")]
    Redirect {
        /// `Location`.
        to: String,
        /// Why not.
        why: &'static str,
    },
    /// The service root is not there.
    #[error("{base} has no Redfish service (HTTP {status}): is this really a BMC's address?")]
    NoService {
        /// Scheme, host and port.
        base: String,
        /// HTTP status.
        status: u16,
    },
    /// A status that is no success.
    #[error("the BMC answered {answer}")]
    Refused {
        /// What it said.
        answer: Answer,
    },
    /// The address's path is something else than a system.
    #[error("{path} is {what}, not a system; {}", offered(.systems))]
    NotASystem {
        /// The path.
        path: String,
        /// What is there.
        what: String,
        /// Paths of the systems that are there.
        systems: Vec<String>,
    },
    /// No path was given, and there is not exactly one system.
    #[error("the address must name one system; {}", offered(.systems))]
    WhichSystem {
        /// Paths of the systems that are there.
        systems: Vec<String>,
    },
    /// A value that means nothing here.
    #[error("{property} is {value:?}, which says nothing")]
    Unreadable {
        /// Property.
        property: &'static str,
        /// Its value.
        value: String,
    },
    /// This BMC can't do it.
    #[error("{0}")]
    Unsupported(String),
    /// Every slot refused.
    #[error("no virtual media slot took the image; {}", .tried.join("; "))]
    NoSlot {
        /// Slot and what it said.
        tried: Vec<String>,
        /// Whether one of them may take it later.
        transient: bool,
    },
    /// A task that ended badly.
    #[error("the BMC's task ended as {state}: {message}")]
    TaskFailed {
        /// `TaskState` or `TaskStatus`.
        state: String,
        /// Its messages.
        message: String,
    },
    /// Something that was accepted and did not happen.
    #[error("the BMC accepted the request, but {what} after {} s", .after.as_secs())]
    NotReached {
        /// What still holds.
        what: String,
        /// How long was waited.
        after: Duration,
    },
}

fn offered(systems: &[String]) -> String {
    match systems {
        [] => "the BMC shows no system that can be reset and booted".to_owned(),
        [one] => format!("use the path {one}"),
        many => format!("use one of the paths {}", many.join(", ")),
    }
}

impl Cause {
    /// Tells what was done when it happened.
    pub(super) fn at(self, step: Step) -> RedfishError {
        RedfishError { step, request: None, cause: Box::new(self) }
    }

    /// Tells which request it answered.
    pub(super) fn on(self, step: Step, method: reqwest::Method, path: &str) -> RedfishError {
        let request = Some(RequestLine { method, path: path.to_owned() });
        RedfishError { step, request, cause: Box::new(self) }
    }
}

impl RedfishError {
    /// What the BMC answered, where it refused.
    pub(super) fn answer(&self) -> Option<&Answer> {
        match &*self.cause {
            Cause::Refused { answer } => Some(answer),
            _ => None,
        }
    }

    /// HTTP status of a refusal.
    pub(super) fn status(&self) -> Option<u16> {
        match &*self.cause {
            Cause::Refused { answer } => Some(answer.status),
            Cause::Html { status } | Cause::NotJson { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The same cause, told of another step.
    pub(super) fn during(self, step: Step) -> Self {
        Self { step, ..self }
    }
}

impl Classified for RedfishError {
    fn class(&self) -> Class {
        match &*self.cause {
            Cause::Unreachable { .. }
            | Cause::Broken(_)
            | Cause::TimedOut(_)
            | Cause::Unreadable { .. }
            | Cause::TaskFailed { .. }
            | Cause::NotReached { .. } => Class::Transient,
            Cause::Html { status } | Cause::NotJson { status, .. } => by_status(*status),
            Cause::Refused { answer } => by_status(answer.status),
            Cause::NoSlot { transient: true, .. } => Class::Transient,
            Cause::NoSlot { transient: false, .. }
            | Cause::Certificate { .. }
            | Cause::Tls { .. }
            | Cause::Roots(_)
            | Cause::LoginRefused { .. }
            | Cause::TooLarge { .. }
            | Cause::Redirect { .. }
            | Cause::NoService { .. }
            | Cause::NotASystem { .. }
            | Cause::WhichSystem { .. } => Class::Permanent,
            Cause::Unsupported(_) => Class::Unsupported,
        }
    }
}

/// Busy, too many requests and every fault of the server pass; the rest does not.
const fn by_status(status: u16) -> Class {
    match status {
        408 | 409 | 429 | 500 | 502..=599 => Class::Transient,
        501 => Class::Unsupported,
        _ => Class::Permanent,
    }
}
