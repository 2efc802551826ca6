//! What Ironic, cloud-init and glean do with a document as it is written: where they refuse it,
//! fail on it, or lose something of it.
//!
//! An error here means that the consumer, or one of its backends, does not configure what the
//! document says; a warning, that something small is lost. The rules were found by running
//! Ironic 39.0's schema, cloud-init 22.4.2 and glean 1.25.1, and `tests/netdata_consumers.rs`
//! holds them against these again.

mod cloud_init;
mod document;
mod glean;
mod ironic;

use super::parse::tree;
use super::problem::{Problem, Problems};
use document::Document;

/// A consumer of network data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Ironic's API: `network_data` of a node is held against a JSON schema.
    Ironic,
    /// cloud-init in the instance or ramdisk.
    CloudInit,
    /// glean in the ramdisk.
    Glean,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ironic, Self::CloudInit, Self::Glean];

    /// As on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ironic => "ironic",
            Self::CloudInit => "cloud-init",
            Self::Glean => "glean",
        }
    }
}

/// What a consumer makes of a document, beyond what [`parse`](super::parse) says of it. Empty
/// for a text that is no document at all.
#[must_use]
pub fn check_for(text: &str, target: Target) -> Vec<Problem> {
    let mut problems = Problems::default();
    if let Some(tree) = tree(text)
        && let Some(document) = Document::new(&tree)
    {
        match target {
            Target::Ironic => ironic::check(&document, &mut problems),
            Target::CloudInit => cloud_init::check(&document, &mut problems),
            Target::Glean => glean::check(&document, &mut problems),
        }
    }
    problems.into_vec()
}
