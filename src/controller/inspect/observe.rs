//! Out-of-band looks at a host that has not called yet: its BMC's event log and its power.

use std::time::Duration;

use tokio::time::Instant;

use crate::bmc::{self, EventLog, Power, PowerControl};
use crate::types::reason::sel::Known;

const EVERY: Duration = Duration::from_secs(5);
/// BMCs cache the power state for up to half a minute.
const POWER_SETTLES: Duration = Duration::from_secs(90);
/// Looks that must agree before a host counts as off.
const OFF_LOOKS: u32 = 3;

/// What a look found.
pub(super) enum Observation {
    /// Every reason that the log holds for this boot, those of earlier looks included; maybe none.
    Reasons(Vec<Known>),
    /// The host is off although nobody switched it off.
    WentOff,
    /// Looking failed; said once.
    Warning(String),
}

/// Looks every few seconds.
pub(super) struct Observer<'a, B, L> {
    bmc: &'a B,
    log: Option<&'a L>,
    boot_tag: u16,
    began: Instant,
    next: Instant,
    off_looks: u32,
    warned: bool,
}

impl<'a, B: PowerControl, L: EventLog> Observer<'a, B, L> {
    /// Starts now, at power-on.
    pub(super) fn new(bmc: &'a B, log: Option<&'a L>, boot_tag: u16) -> Self {
        let began = Instant::now();
        Self { bmc, log, boot_tag, began, next: began + EVERY, off_looks: 0, warned: false }
    }

    /// The next thing worth knowing. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Observation {
        loop {
            tokio::time::sleep_until(self.next).await;
            self.next = Instant::now() + EVERY;
            if self.went_off().await {
                return Observation::WentOff;
            }
            match self.reasons().await {
                Ok(failures) => return Observation::Reasons(failures),
                Err(_) if self.warned => {}
                Err(why) => {
                    self.warned = true;
                    return Observation::Warning(why);
                }
            }
        }
    }

    async fn went_off(&mut self) -> bool {
        if self.began.elapsed() < POWER_SETTLES {
            return false;
        }
        match self.bmc.power().await {
            Ok(Power::Off) => self.off_looks += 1,
            // A BMC that doesn't answer says nothing about the host.
            Ok(Power::On) | Err(_) => self.off_looks = 0,
        }
        self.off_looks >= OFF_LOOKS
    }

    async fn reasons(&self) -> Result<Vec<Known>, String> {
        let Some(log) = self.log else { return Ok(Vec::new()) };
        let entries = log.entries().await.map_err(|error| {
            format!("the event log can't be read, so look at the console for LL- lines: {error}")
        })?;
        let ours = bmc::reasons(&entries).into_iter().filter(|found| found.tag == self.boot_tag);
        Ok(ours.map(|found| found.reason).collect())
    }
}
