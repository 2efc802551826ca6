//! Why an inspection ended without a report, and what a person looks at next.

use std::fmt;
use std::time::Duration;

use super::{ServeError, Stage};
use crate::bmc::Classified;
use crate::types::reason::sel::Known;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// Somebody may be using the host.
    #[error("the host is on, and inspecting it would cut its power")]
    HostIsOn,
    /// The ISO or the agent API can't be served.
    #[error("preparing the boot ISO failed")]
    Serve(#[from] ServeError),
    /// The BMC refused a step or failed at it.
    #[error("{} failed", stage.doing())]
    Bmc {
        /// The step.
        stage: Stage,
        /// What the BMC answered.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The host said nothing, or why it can't.
    #[error("the host did not report: {0}")]
    Silent(Silence),
    /// The host went off by itself.
    #[error("the host went off before it reported: {0}")]
    WentOff(Silence),
    /// Ctrl-C or a signal.
    #[error("interrupted")]
    Interrupted,
}

/// What is known of a host that never reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Time since power-on.
    pub waited: Duration,
    /// Bytes of the ISO that were read, and its size.
    pub iso: (u64, u64),
    /// What the host said out of band, oldest first.
    pub reasons: Vec<Known>,
    /// Whether there was a log that it could have said it in.
    pub log_readable: bool,
}

impl InspectError {
    pub(super) fn bmc<E: Classified>(stage: Stage, source: E) -> Self {
        Self::Bmc { stage, source: Box::new(source) }
    }

    /// One sentence on what to look at, where the error itself does not say it.
    #[must_use]
    pub fn look_at(&self) -> Option<String> {
        match self {
            Self::HostIsOn => Some("power it off first: leaseless bmc power off".to_owned()),
            Self::Silent(silence) | Self::WentOff(silence) => Some(silence.look_at().to_owned()),
            Self::Serve(ServeError::Base(_)) => {
                Some("build it with: leaseless image build --out DIR".to_owned())
            }
            Self::Serve(_) | Self::Bmc { .. } | Self::Interrupted => None,
        }
    }
}

impl Silence {
    fn look_at(&self) -> &'static str {
        if !self.reasons.is_empty() {
            return "docs/reasons.md explains each number";
        }
        match self.iso {
            (0, _) => {
                "nobody read the ISO: can the BMC reach the address and port that it is served \
                 at, and does the host boot from its virtual CD?"
            }
            (read, size) if read < size / 2 => {
                "the ISO was read in part only: look at the host's console, it may hang in its \
                 firmware or boot loader"
            }
            _ if self.log_readable => {
                "the ISO was read and the event log holds no reason: look at the host's console"
            }
            _ => {
                "the BMC offers no event log to read a reason from: look at the host's console \
                 for lines that begin with LL-, or name the log with --bmc-log ipmi://…"
            }
        }
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (read, size) = self.iso;
        if self.reasons.is_empty() {
            let (read, size) = (megabytes(read), megabytes(size));
            let waited = self.waited.as_secs();
            return write!(f, "waited {waited} s, {read} of {size} MB of the ISO were read");
        }
        let reasons: Vec<String> = self.reasons.iter().map(Known::to_string).collect();
        f.write_str(&reasons.join("; "))
    }
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

impl Stage {
    /// What is being done, for `… failed` and for progress lines.
    #[must_use]
    pub const fn doing(self) -> &'static str {
        match self {
            Self::ReadBmc => "reading the BMC's state",
            Self::Serve => "preparing the boot ISO",
            Self::InsertMedia => "inserting the boot ISO",
            Self::SetBoot => "setting the one-time boot from CD",
            Self::PowerOn => "switching the host on",
            Self::AwaitReport => "waiting for the host to report",
            Self::PutBack => "putting everything back",
        }
    }
}
