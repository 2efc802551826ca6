//! Says why the host can't call home, where somebody can see it: numbered reasons on every console,
//! each time, and in the BMC's event log, once per reason and boot. A service has its log alone.

use std::sync::Arc;

use crate::sys::console::Consoles;
use crate::sys::local_bmc::{LocalBmc, LocalBmcError};
use crate::types::Secret;
use crate::types::reason::{Failure, sel};

use super::telemetry::chain;

/// Where reasons go.
#[derive(Debug)]
pub struct Announcer {
    /// `None` in a service.
    consoles: Option<Arc<Consoles>>,
    /// Which boot a record in the BMC's log belongs to: 0 until a configuration was found.
    tag: u16,
    /// What the BMC's log has.
    logged: Vec<Failure>,
}

impl Announcer {
    /// For a machine that is ours.
    #[must_use]
    pub const fn on(consoles: Arc<Consoles>) -> Self {
        Self { consoles: Some(consoles), tag: 0, logged: Vec::new() }
    }

    /// For a service.
    #[must_use]
    pub const fn in_log() -> Self {
        Self { consoles: None, tag: 0, logged: Vec::new() }
    }

    /// Ties what is said from now on to the boot that `token` was made for.
    pub fn belong_to(&mut self, token: &Secret) {
        self.tag = sel::boot_tag(token);
    }

    /// Says each reason, and writes it to the BMC's event log where it is not there yet.
    pub async fn announce(&mut self, failures: &[Failure]) {
        let Some(consoles) = &self.consoles else {
            for failure in failures {
                tracing::error!("{failure}");
            }
            return;
        };
        let failures = distinct(failures);
        for failure in &failures {
            consoles.say(&failure.to_string());
        }
        let is_logged = |failure: &Failure| self.logged.iter().any(|logged| same(logged, failure));
        let new: Vec<Failure> =
            failures.into_iter().filter(|failure| !is_logged(failure)).collect();
        if new.is_empty() {
            return;
        }
        let tag = self.tag;
        match tokio::task::spawn_blocking(move || log(new, tag)).await {
            Ok(logged) => self.logged.extend(logged),
            Err(error) => tracing::warn!(%error, "writing to the BMC's event log failed"),
        }
    }
}

/// Each reason once, in the order in which they came.
fn distinct(failures: &[Failure]) -> Vec<Failure> {
    let mut distinct: Vec<Failure> = Vec::new();
    for failure in failures {
        if !distinct.iter().any(|seen| same(seen, failure)) {
            distinct.push(failure.clone());
        }
    }
    distinct
}

/// A clock that goes on does not make a new reason every second.
fn same(a: &Failure, b: &Failure) -> bool {
    match (a, b) {
        (Failure::ClockWrong { .. }, Failure::ClockWrong { .. }) => true,
        (a, b) => a == b,
    }
}

/// Writes reasons to the BMC's event log; answers with those that need no further try. A BMC whose
/// driver is not there yet may appear before the next one.
fn log(failures: Vec<Failure>, tag: u16) -> Vec<Failure> {
    let mut bmc = match LocalBmc::open() {
        Ok(Some(bmc)) => bmc,
        Ok(None) => {
            tracing::debug!("no local BMC: the console is all there is");
            return Vec::new();
        }
        Err(error) => {
            tracing::warn!("{}", chain(&error));
            return Vec::new();
        }
    };
    let mut done = Vec::new();
    for failure in failures {
        let records = sel::encode(&failure, tag);
        match records.iter().try_for_each(|record| bmc.add_sel_entry(record).map(drop)) {
            Ok(()) => {
                tracing::info!("the BMC's event log has LL-{:02}", failure.code());
                done.push(failure);
            }
            Err(error) => {
                tracing::warn!("writing to the BMC's event log failed: {}", chain(&error));
                // An answer that makes no sense may hide a success: again and again would fill the log.
                let is_final = matches!(
                    error,
                    LocalBmcError::LogFull
                        | LocalBmcError::Refused { .. }
                        | LocalBmcError::Malformed { .. }
                );
                if is_final {
                    done.push(failure);
                }
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_on_is_one_reason() {
        let wrong = |host| Failure::ClockWrong { host, issued: 1_790_000_000 };
        assert!(same(&wrong(5), &wrong(65)));
        assert!(!same(&wrong(5), &Failure::NoConfiguration));
        let told = [wrong(5), Failure::NoConfiguration, wrong(6)];
        assert_eq!(distinct(&told), [wrong(5), Failure::NoConfiguration]);
        let refused = |status| Failure::ControllerRefused { status };
        assert!(!same(&refused(401), &refused(409)));
    }
}
