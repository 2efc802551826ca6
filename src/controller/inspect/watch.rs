//! What the wait for a report makes of what it sees. Pure: time is an argument.

use std::time::Duration;

use crate::types::reason::Failure;
use crate::types::reason::sel::Known;

/// How long a host that said why it can't report may still recover.
pub(super) const RECOVERY: Duration = Duration::from_secs(45);

/// The reasons that a host gave so far.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    seen: Vec<Known>,
    since: Option<Duration>,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Go on waiting.
    Wait,
    /// The host will not recover by itself, or had its time.
    GiveUp,
}

impl Reasons {
    /// Takes in what a log holds `at` this time since power-on, and answers with what is new.
    pub(super) fn learn(&mut self, found: Vec<Known>, at: Duration) -> Vec<Known> {
        let mut new: Vec<Known> = Vec::new();
        for reason in found {
            if !self.seen.contains(&reason) && !new.contains(&reason) {
                new.push(reason);
            }
        }
        if !new.is_empty() {
            self.since = Some(at);
            self.seen.extend(new.iter().cloned());
        }
        new
    }

    /// The host showed life: earlier reasons are history, though still worth telling.
    pub(super) fn recovered(&mut self) {
        self.since = None;
    }

    /// Whether waiting still makes sense `at` this time since power-on.
    pub(super) fn verdict(&self, at: Duration) -> Verdict {
        let hopeless = self.seen.iter().any(|reason| !may_recover(reason));
        let late = self.since.is_some_and(|since| at.saturating_sub(since) >= RECOVERY);
        if self.since.is_some() && (hopeless || late) { Verdict::GiveUp } else { Verdict::Wait }
    }

    /// All reasons, in the order they came.
    pub(super) fn into_seen(self) -> Vec<Known> {
        self.seen
    }
}

/// Whether the agent's own retries could cure this without anybody's help.
fn may_recover(reason: &Known) -> bool {
    let (Known::Whole(failure) | Known::Cut(failure, _)) = reason else { return true };
    match failure {
        Failure::NoCarrier { .. }
        | Failure::MacNotFound { .. }
        | Failure::AddressInUse { .. }
        | Failure::GatewaySilent { .. }
        | Failure::ControllerUnreachable { .. }
        | Failure::LacpSilent { .. }
        | Failure::NoAddress { .. }
        | Failure::KernelRefused { .. } => true,
        Failure::TlsFailed { .. }
        | Failure::ClockWrong { .. }
        | Failure::ImageTruncated { .. }
        | Failure::NoConfiguration
        | Failure::NetworkDataInvalid
        | Failure::DhcpRefused
        | Failure::ControllerRefused { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: Known = Known::Whole(Failure::GatewaySilent {
        gateway: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
    });

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_reason_is_new_once() {
        let mut reasons = Reasons::default();
        assert_eq!(reasons.learn(vec![SILENT, SILENT], at(1)), [SILENT]);
        assert_eq!(reasons.learn(vec![SILENT], at(2)), []);
        assert_eq!(reasons.into_seen(), [SILENT]);
    }

    #[test]
    fn a_host_gets_time_to_recover_counted_from_its_last_new_reason() {
        let mut reasons = Reasons::default();
        reasons.learn(vec![SILENT], at(10));
        assert_eq!(reasons.verdict(at(10) + RECOVERY - at(1)), Verdict::Wait);
        assert_eq!(reasons.verdict(at(10) + RECOVERY), Verdict::GiveUp);
        reasons.recovered();
        assert_eq!(reasons.verdict(at(999)), Verdict::Wait);
    }

    #[test]
    fn what_no_retry_can_cure_ends_the_wait_at_once() {
        let mut reasons = Reasons::default();
        reasons.learn(vec![Known::Whole(Failure::DhcpRefused)], at(10));
        assert_eq!(reasons.verdict(at(10)), Verdict::GiveUp);
    }

    #[test]
    fn silence_is_no_verdict() {
        assert_eq!(Reasons::default().verdict(at(10_000)), Verdict::Wait);
    }
}
