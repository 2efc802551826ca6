//! From a powered-off server to its HardwareDetails: serve the boot ISO, insert it, boot from it
//! once, power on, wait for the report, and put everything back.
//!
//! Not here: what the BMC is (ports of `bmc`), what is printed (`cli::inspect`).

mod addresses;
mod error;
mod observe;
mod serve;
#[cfg(test)]
mod sim;
mod undo;
mod watch;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bmc::{BootControl, BootDevice, EventLog, MediaSlot, Power, PowerControl, VirtualMedia};
use crate::types::reason::sel::Known;
use crate::types::report::{Instruction, Report};

pub use addresses::{NoSourceAddress, source_address};
pub use error::{InspectError, Silence};
pub use serve::ServeError;

use super::agent_api::AgentEvent;
use observe::{Observation, Observer};
use serve::Served;
use undo::{Before, Changed, End};
use watch::{Reasons, Verdict};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Folder of the base image.
    pub image: PathBuf,
    /// The host's network data as OpenStack's consumers all read it.
    pub network_data: serde_json::Value,
    /// Addresses that the host will have, to find the way back to this machine.
    pub host_addresses: Vec<IpAddr>,
    /// The BMC's address, likewise.
    pub bmc_address: IpAddr,
    /// Where the ISO is served. Port 0: any free one.
    pub iso_listen: SocketAddr,
    /// Where agents are listened to. Port 0: any free one.
    pub agent_listen: SocketAddr,
    /// Address of this machine as the BMC sees it, where routes don't tell.
    pub iso_address: Option<IpAddr>,
    /// Addresses of this machine as the host sees it, where routes don't tell.
    pub controller_addresses: Vec<IpAddr>,
    /// Kernel arguments beside the image's own.
    pub kernel_args: String,
    /// Whether networks may use DHCP.
    pub allow_dhcp: bool,
    /// Longest time from power-on to the report.
    pub timeout: Duration,
    /// Whether the host stays on afterwards.
    pub leave_on: bool,
}

/// The steps, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the BMC's state.
    ReadBmc,
    /// Making the host's ISO and listening.
    Serve,
    /// Inserting the ISO.
    InsertMedia,
    /// Setting the one-time boot.
    SetBoot,
    /// Switching power on.
    PowerOn,
    /// Waiting for the host.
    AwaitReport,
    /// Putting everything back.
    PutBack,
}

/// What a watcher is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A step began.
    Began(Stage),
    /// A detail of the step, for one line.
    Note(String),
    /// Bytes of the ISO that were asked for so far, and its size.
    IsoRead {
        /// Distinct bytes.
        read: u64,
        /// All bytes.
        size: u64,
    },
    /// The host said why it can't report.
    Reason(Known),
    /// Something is not as it should be, and the run goes on.
    Warning(String),
}

/// How a run ended.
pub struct Finished {
    /// The report, or why there is none.
    pub result: Result<Report, InspectError>,
    /// What could not be put back, one sentence each.
    pub left_undone: Vec<String>,
}

/// Receives updates as they happen.
pub type Tell<'a> = &'a (dyn Fn(Update) + Sync);

/// Runs one inspection. `interrupt` ends it early; what was changed is put back in any case.
pub async fn inspect<B, L, E>(
    bmc: &B,
    log: Option<&L>,
    wanted: &Wanted,
    tell: Tell<'_>,
    interrupt: &CancellationToken,
) -> Finished
where
    B: PowerControl<Error = E> + BootControl<Error = E> + VirtualMedia<Error = E>,
    L: EventLog,
    E: crate::bmc::Classified,
{
    let mut changed = Changed::default();
    let prepared = async {
        tell(Update::Began(Stage::ReadBmc));
        let slots = read_bmc(bmc).await?;
        tell(Update::Began(Stage::Serve));
        let served = serve::serve(wanted).await?;
        tell(Update::Note(served.describe()));
        Ok((slots, served))
    };
    let (slots, mut served) = match or_interrupted(prepared, interrupt).await {
        Ok(prepared) => prepared,
        Err(error) => return Finished { result: Err(error), left_undone: Vec::new() },
    };
    let attempt = async {
        let mut observer = Observer::before_power_on(bmc, log, served.boot_tag).await;
        start(bmc, &served, slots, &mut changed, tell).await?;
        observer.powered_on();
        tell(Update::Began(Stage::AwaitReport));
        await_report(observer, &mut served, wanted.timeout, tell).await
    };
    let result = or_interrupted(attempt, interrupt).await;
    tell(Update::Began(Stage::PutBack));
    let end = match &result {
        Ok(_) if wanted.leave_on => End::LeaveOn,
        Ok(_) => {
            served.enrolled.instruct(Instruction::PowerOff);
            End::AgentPowersOff
        }
        Err(_) => End::Cut,
    };
    let left_undone = undo::put_back(bmc, changed, end).await;
    Finished { result, left_undone }
}

async fn or_interrupted<T>(
    work: impl Future<Output = Result<T, InspectError>>,
    interrupt: &CancellationToken,
) -> Result<T, InspectError> {
    interrupt.run_until_cancelled(work).await.unwrap_or(Err(InspectError::Interrupted))
}

/// Reads what will have to be put back, and makes sure that nobody is using the host.
async fn read_bmc<B, E>(bmc: &B) -> Result<Vec<MediaSlot>, InspectError>
where
    B: PowerControl<Error = E> + VirtualMedia<Error = E>,
    E: crate::bmc::Classified,
{
    let failed = |error: E| InspectError::bmc(Stage::ReadBmc, error);
    if bmc.power().await.map_err(failed)? == Power::On {
        return Err(InspectError::HostIsOn);
    }
    bmc.media().await.map_err(failed)
}

async fn start<B, E>(
    bmc: &B,
    served: &Served,
    slots: Vec<MediaSlot>,
    changed: &mut Changed,
    tell: Tell<'_>,
) -> Result<(), InspectError>
where
    B: PowerControl<Error = E> + BootControl<Error = E> + VirtualMedia<Error = E>,
    E: crate::bmc::Classified,
{
    tell(Update::Began(Stage::InsertMedia));
    let image = slots.into_iter().find_map(|slot| slot.image);
    changed.media = Some(Before { image });
    let failed = |error: E| InspectError::bmc(Stage::InsertMedia, error);
    let slot = bmc.insert(&served.iso_url).await.map_err(failed)?;
    tell(Update::Note(format!("slot {}", slot.id)));

    tell(Update::Began(Stage::SetBoot));
    let failed = |error: E| InspectError::bmc(Stage::SetBoot, error);
    changed.boot = Some(bmc.boot_override().await.map_err(failed)?);
    bmc.boot_once(BootDevice::Cd)
        .await
        .map_err(|error| InspectError::bmc(Stage::SetBoot, error))?;

    tell(Update::Began(Stage::PowerOn));
    changed.power = true;
    bmc.power_on().await.map_err(|error| InspectError::bmc(Stage::PowerOn, error))
}

async fn await_report<B, L>(
    mut observer: Observer<'_, B, L>,
    served: &mut Served,
    timeout: Duration,
    tell: Tell<'_>,
) -> Result<Report, InspectError>
where
    B: PowerControl,
    L: EventLog,
{
    let began = Instant::now();
    let mut reasons = Reasons::default();
    let mut iso_tick = tokio::time::interval(Duration::from_secs(1));
    let deadline = tokio::time::sleep_until(began + timeout);
    tokio::pin!(deadline);
    let ended: fn(Silence) -> InspectError = loop {
        tokio::select! {
            event = served.enrolled.next_event() => match event {
                AgentEvent::CalledIn { agent_version } => {
                    reasons.recovered();
                    tell(Update::Note(format!("the agent called in, version {agent_version}")));
                }
                AgentEvent::Progressed(message) => tell(Update::Note(message)),
                AgentEvent::Reported(report) => return Ok(*report),
                AgentEvent::Replayed => tell(Update::Warning(
                    "a second boot tried to use this boot's token and was refused".to_owned(),
                )),
            },
            observation = observer.next() => match observation {
                Observation::Reasons(found) => {
                    for reason in reasons.learn(found, began.elapsed()) {
                        tell(Update::Reason(reason));
                    }
                    if reasons.verdict(began.elapsed()) == Verdict::GiveUp {
                        break InspectError::Silent;
                    }
                }
                Observation::WentOff => break InspectError::WentOff,
                Observation::Warning(text) => tell(Update::Warning(text)),
            },
            _ = iso_tick.tick() => {
                let (read, size) = served.iso_read();
                tell(Update::IsoRead { read, size });
            }
            () = &mut deadline => break InspectError::Silent,
        }
    };
    Err(ended(Silence {
        waited: began.elapsed(),
        iso: served.iso_read(),
        reasons: reasons.into_seen(),
        log_readable: observer.has_log(),
    }))
}
