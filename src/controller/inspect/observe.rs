//! Out-of-band looks at a host that has not called yet: its BMC's event log and its power.

use std::time::Duration;

use tokio::time::Instant;

use crate::bmc::{self, EventLog, Power, PowerControl};
use crate::types::reason::sel::{Decoded, Known};

const EVERY: Duration = Duration::from_secs(5);
/// BMCs cache the power state for up to half a minute.
const POWER_SETTLES: Duration = Duration::from_secs(90);
/// Looks that must agree before a host counts as off.
const OFF_LOOKS: u32 = 3;

/// The tag of an agent that could not read the medium, and so does not know its boot.
const UNTAGGED: u16 = 0;

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
    /// Untagged reasons that the log held before power-on: an earlier boot's.
    stale: Vec<Decoded>,
    began: Instant,
    next: Instant,
    off_looks: u32,
    warned: bool,
}

impl<'a, B: PowerControl, L: EventLog> Observer<'a, B, L> {
    /// Reads what the log holds already. Call it before power-on.
    pub(super) async fn before_power_on(bmc: &'a B, log: Option<&'a L>, boot_tag: u16) -> Self {
        let began = Instant::now();
        let next = began + EVERY;
        let stale = Vec::new();
        let mut observer =
            Self { bmc, log, boot_tag, stale, began, next, off_looks: 0, warned: false };
        // Where the log can't be read now, the first look says so.
        observer.stale = observer.found().await.unwrap_or_default();
        observer
    }

    /// Whether there is a log to look at.
    pub(super) const fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Counts time from now.
    pub(super) fn powered_on(&mut self) {
        self.began = Instant::now();
        self.next = self.began + EVERY;
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
        let ours = |found: &Decoded| {
            let fresh = !self.stale.contains(found);
            found.tag == self.boot_tag || (found.tag == UNTAGGED && fresh)
        };
        Ok(self.found().await?.into_iter().filter(ours).map(|found| found.reason).collect())
    }

    async fn found(&self) -> Result<Vec<Decoded>, String> {
        let Some(log) = self.log else { return Ok(Vec::new()) };
        let entries = log.entries().await.map_err(|error| {
            format!("the event log can't be read, so look at the console for LL- lines: {error}")
        })?;
        Ok(bmc::reasons(&entries))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sim::SimBmc;
    use super::*;
    use crate::types::reason::{Failure, sel};

    const TAG: u16 = 0x1234;

    fn logged(bmc: &SimBmc, failure: &Failure, tag: u16, time: u8) {
        for mut raw in sel::encode(failure, tag) {
            if raw[2] == 0xc1 {
                raw[3..7].copy_from_slice(&[time, 0, 0, 0x60]);
            }
            let entry = bmc::LogEntry {
                id: String::new(),
                time: String::new(),
                message: String::new(),
                raw: Some(raw),
            };
            bmc.with(|state| state.log.push(entry));
        }
    }

    async fn seen(observer: &mut Observer<'_, SimBmc, SimBmc>) -> Vec<u8> {
        match observer.next().await {
            Observation::Reasons(found) => found.iter().map(Known::code).collect(),
            Observation::WentOff | Observation::Warning(_) => Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reasons_of_other_boots_are_not_ours() {
        let bmc = SimBmc::off();
        logged(&bmc, &Failure::DhcpRefused, TAG + 1, 1);
        logged(&bmc, &Failure::NoConfiguration, UNTAGGED, 1);
        let mut observer = Observer::before_power_on(&bmc, Some(&bmc), TAG).await;
        observer.powered_on();
        assert_eq!(seen(&mut observer).await, Vec::<u8>::new());
        logged(&bmc, &Failure::DhcpRefused, TAG, 2);
        assert_eq!(seen(&mut observer).await, [11]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_without_configuration_is_heard_although_it_said_the_same_before() {
        let bmc = SimBmc::off();
        logged(&bmc, &Failure::ImageTruncated { memory_mib: 128 }, UNTAGGED, 1);
        let mut observer = Observer::before_power_on(&bmc, Some(&bmc), TAG).await;
        observer.powered_on();
        assert_eq!(seen(&mut observer).await, Vec::<u8>::new());
        logged(&bmc, &Failure::ImageTruncated { memory_mib: 128 }, UNTAGGED, 2);
        assert_eq!(seen(&mut observer).await, [8]);
    }
}
