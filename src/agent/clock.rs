//! What time it is, for TLS, on a host whose clock nobody set.
//!
//! # Decision
//! A machine that nobody can walk to must call home with a dead clock battery. A clock that stands
//! *before* the medium was made is certainly wrong, so the time at which the medium was made
//! stands in for it: the CA is the medium's own and the token good for one boot, so nothing is
//! accepted that would not have been accepted on that day. It is reported as LL-07 beside the
//! hardware, because it will bite whatever is installed next. A clock *after* that time may be
//! right, so expiry counts: a certificate that expired by such a clock is refused, and where the
//! clock is more than a day ahead the reason is LL-07 too, with both times.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

use crate::sys::machine;
use crate::types::reason::Failure;

/// Time zones and drift stay below this.
const TOLERANCE: i64 = 24 * 60 * 60;
/// A medium is made for one boot: nobody keeps one for a year.
const LONGEST_LIFE: i64 = 366 * TOLERANCE;

/// A clock that never stands before the medium was made.
#[derive(Debug)]
pub(crate) struct NotBefore {
    issued_at: i64,
}

impl NotBefore {
    pub(crate) fn new(issued_at: i64) -> Arc<Self> {
        Arc::new(Self { issued_at })
    }
}

impl TimeProvider for NotBefore {
    fn current_time(&self) -> Option<UnixTime> {
        let now = machine::clock().max(self.issued_at);
        u64::try_from(now).ok().map(|s| UnixTime::since_unix_epoch(Duration::from_secs(s)))
    }
}

/// LL-07 for a clock that can't be right: more than a day before the medium was made, or more than
/// a year after.
#[must_use]
pub fn check(host: i64, issued: i64) -> Option<Failure> {
    let ahead = host.saturating_sub(issued);
    (!(-TOLERANCE..=LONGEST_LIFE).contains(&ahead)).then_some(Failure::ClockWrong { host, issued })
}

/// Whether a certificate that is out of its time may be the clock's fault.
#[must_use]
pub(crate) const fn may_explain(host: i64, issued: i64) -> bool {
    host.saturating_sub(issued).saturating_abs() > TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUED: i64 = 1_790_000_000;

    #[test]
    fn only_a_clock_that_cannot_be_right_is_wrong() {
        let wrong = |host| check(host, ISSUED).is_some();
        assert!(!wrong(ISSUED - TOLERANCE) && wrong(ISSUED - TOLERANCE - 1));
        assert!(!wrong(ISSUED + LONGEST_LIFE) && wrong(ISSUED + LONGEST_LIFE + 1));
        assert_eq!(check(0, ISSUED), Some(Failure::ClockWrong { host: 0, issued: ISSUED }));
        assert!(wrong(i64::MIN) && wrong(i64::MAX));
    }

    #[test]
    fn a_clock_before_the_medium_is_lifted_to_it_and_a_later_one_is_kept() {
        let seconds = |issued_at| NotBefore { issued_at }.current_time().unwrap().as_secs();
        let future = 32_503_680_000;
        assert_eq!(seconds(future), 32_503_680_000);
        assert!(seconds(0).abs_diff(u64::try_from(machine::clock()).unwrap()) < 60);
    }
}
