//! What a run changed on a BMC, and how it is put back: whatever happened, in an order that
//! harms nothing. Media goes only after power, since some BMCs corrupt a running system whose
//! disc vanishes.

use std::time::Duration;

use crate::bmc::{BootControl, BootOverride, Power, PowerControl, PowerOff, VirtualMedia};

/// Longest that an orderly power-off may take before power is cut.
const SOFT_OFF: Duration = Duration::from_secs(30);
/// Longest that a BMC may take to show that power is off.
const HARD_OFF: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_secs(2);

/// What was touched, each set before the BMC is asked: a request that failed may still have had
/// its effect.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Media was inserted; what was in the slot before, if anything.
    pub(super) media: Option<Before>,
    /// The boot override was set; what stood there before.
    pub(super) boot: Option<BootOverride>,
    /// Power was switched on.
    pub(super) power: bool,
}

/// Content of the virtual CD before the run.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) image: Option<String>,
}

/// How the host's power should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Off; the agent was told to power off by itself.
    AgentPowersOff,
    /// Off, at once.
    Cut,
    /// As it is.
    LeaveOn,
}

/// Puts everything back and answers with what could not be.
pub(super) async fn put_back<B, E>(bmc: &B, changed: Changed, end: End) -> Vec<String>
where
    B: PowerControl<Error = E> + BootControl<Error = E> + VirtualMedia<Error = E>,
    E: std::error::Error,
{
    let mut left = Vec::new();
    let mut attempt = |what: &str, result: Result<(), String>| {
        if let Err(why) = result {
            left.push(format!("{what}: {why}"));
        }
    };
    if changed.power && end != End::LeaveOn {
        attempt("the host may still be on", power_down(bmc, end).await);
    }
    if let Some(before) = changed.media {
        attempt("the boot ISO may still be inserted", eject(bmc).await);
        if let Some(image) = before.image {
            attempt(&format!("{image} was inserted before"), insert(bmc, &image).await);
        }
    }
    if let Some(before) = changed.boot {
        attempt("the boot override may still be set", restore_boot(bmc, before).await);
    }
    left
}

async fn power_down<B: PowerControl>(bmc: &B, end: End) -> Result<(), String> {
    if end == End::AgentPowersOff && is_off_within(bmc, SOFT_OFF).await.unwrap_or(false) {
        return Ok(());
    }
    bmc.power_off(PowerOff::Hard).await.map_err(|error| chain(&error))?;
    match is_off_within(bmc, HARD_OFF).await {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(format!("the BMC shows it on {} s after power was cut", HARD_OFF.as_secs()))
        }
        Err(error) => Err(chain(&error)),
    }
}

async fn is_off_within<B: PowerControl>(bmc: &B, limit: Duration) -> Result<bool, B::Error> {
    let off = async {
        loop {
            if bmc.power().await? == Power::Off {
                return Ok(true);
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(limit, off).await.unwrap_or(Ok(false))
}

async fn eject<B: VirtualMedia>(bmc: &B) -> Result<(), String> {
    bmc.eject().await.map_err(|error| chain(&error))
}

async fn insert<B: VirtualMedia>(bmc: &B, image: &str) -> Result<(), String> {
    let url = image.parse().map_err(|error: url::ParseError| chain(&error))?;
    bmc.insert(&url).await.map(drop).map_err(|error| chain(&error))
}

async fn restore_boot<B: BootControl>(bmc: &B, before: BootOverride) -> Result<(), String> {
    let now = bmc.boot_override().await.map_err(|error| chain(&error))?;
    if now == before {
        return Ok(());
    }
    bmc.restore_boot(before).await.map_err(|error| chain(&error))
}

/// An error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[cfg(test)]
mod tests {
    use super::super::sim::{DISK_FOREVER, SimBmc, Verb};
    use super::*;

    fn everything(before: Option<&str>) -> Changed {
        let image = before.map(str::to_owned);
        Changed { media: Some(Before { image }), boot: Some(DISK_FOREVER), power: true }
    }

    async fn running() -> SimBmc {
        let bmc = SimBmc::off();
        bmc.insert(&"http://192.0.2.1/x.iso".parse().unwrap()).await.unwrap();
        bmc.boot_once(crate::bmc::BootDevice::Cd).await.unwrap();
        bmc.power_on().await.unwrap();
        bmc.with(|state| state.asked.clear());
        bmc
    }

    #[tokio::test(start_paused = true)]
    async fn power_is_cut_before_the_disc_goes() {
        let bmc = running().await;
        assert!(put_back(&bmc, everything(None), End::Cut).await.is_empty());
        let asked = bmc.with(|state| state.asked.clone());
        assert_eq!(asked, ["power off Hard", "eject", "boot Disk again"]);
        assert!(bmc.with(|state| !state.on && state.image.is_none()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_powers_itself_off_in_time_is_not_cut() {
        let bmc = running().await;
        bmc.guest_powers_off_in(SOFT_OFF / 2);
        put_back(&bmc, everything(None), End::AgentPowersOff).await;
        assert_eq!(bmc.with(|state| state.asked.clone()), ["eject", "boot Disk again"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_ignores_its_instruction_is_cut() {
        let bmc = running().await;
        put_back(&bmc, everything(None), End::AgentPowersOff).await;
        let asked = bmc.with(|state| state.asked.clone());
        assert_eq!(asked, ["power off Hard", "eject", "boot Disk again"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_disc_that_was_in_before_is_inserted_again() {
        let bmc = running().await;
        put_back(&bmc, everything(Some("http://198.51.100.1/old.iso")), End::LeaveOn).await;
        let (asked, image) = bmc.with(|state| (state.asked.clone(), state.image.clone()));
        assert_eq!(asked, ["eject", "insert http://198.51.100.1", "boot Disk again"]);
        assert_eq!(image.as_deref(), Some("http://198.51.100.1/old.iso"));
    }

    #[tokio::test(start_paused = true)]
    async fn one_refusal_stops_nothing_else_and_is_told() {
        let bmc = running().await.refusing(Verb::Eject);
        let left = put_back(&bmc, everything(None), End::Cut).await;
        assert_eq!(left, ["the boot ISO may still be inserted: the BMC refused: Eject"]);
        let asked = bmc.with(|state| state.asked.clone());
        assert_eq!(asked, ["power off Hard", "eject", "boot Disk again"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_changed_is_not_touched() {
        let bmc = SimBmc::off();
        assert!(put_back(&bmc, Changed::default(), End::Cut).await.is_empty());
        assert_eq!(bmc.with(|state| state.asked.clone()), Vec::<String>::new());
    }
}
