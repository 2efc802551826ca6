//! The agent API, version 1: HTTPS with JSON bodies, served by the controller, called by the agent.
//! Nothing ever connects in to the node.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /v1/session` | [`SessionRequest`] | 200 [`Session`]; 401 token unknown; 409 token spent by another boot |
//! | `POST /v1/progress` | [`Progress`] | 204 |
//! | `POST /v1/report` | [`Report`] | 200 [`Instruction`] |
//! | `GET /v1/next` | | 200 [`Instruction`], after at most 25 s |
//!
//! All but the first carry `Authorization: Bearer <session>`. Errors are [`ApiError`]. A request
//! may be repeated: the same boot trading the same token again gets its session again, and the
//! same report is stored once.

use serde::{Deserialize, Serialize};

use super::Secret;
use super::hardware::HardwareDetails;
use super::reason::Failure;

/// Trades the one-time token for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// `host_id` of the boot configuration.
    pub host_id: String,
    /// One-time token of the boot configuration.
    pub token: Secret,
    /// The kernel's `/proc/sys/kernel/random/boot_id`: a token belongs to the first boot that
    /// trades it.
    pub boot_id: String,
    /// Version of the agent.
    pub agent_version: String,
}

/// A session, good for this boot alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Bearer token.
    pub session: Secret,
}

/// What the agent is doing, for whoever watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// One line, such as `network is up: eno1 192.0.2.10/24`.
    pub message: String,
}

/// The agent's findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The hardware, with the addresses that are configured now.
    pub hardware: HardwareDetails,
    /// Parts of the network data that did not work although the controller could be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Failure>,
}

/// What the agent does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "action")]
pub enum Instruction {
    /// Ask again.
    Wait,
    /// Power the host off.
    PowerOff,
    /// Restart the host.
    Reboot,
}

/// Body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// One sentence.
    pub error: String,
}
