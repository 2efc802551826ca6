//! `leaseless-agent run`: the way of one boot, from a configuration to a report, again and again
//! until it worked, then whatever the controller says.
//!
//! Parts that fail do not stop the others: what can be reported is, with the rest as its problems.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::announce::Announcer;
use super::clock;
use super::coldplug::Coldplug;
use super::config::{self, ConfigError, Configuration, Patience};
use super::controller_client::ControllerClient;
use super::inventory::hardware_details::hardware_details;
use super::inventory::{self, lldp_listener::LldpListener};
use super::kernel_line::KernelLine;
use super::network::{self, Options, Outcome};
use super::telemetry::chain;
use crate::netdata::{self, model::NetworkData};
use crate::sys::console::Consoles;
use crate::sys::sysfs::Root;
use crate::sys::{machine, mount};
use crate::types::boot::SENTINEL_PATH;
use crate::types::hardware::HardwareDetails;
use crate::types::reason::Failure;
use crate::types::report::{Instruction, Report};

/// Root of the ramdisk.
const ROOT: &str = "/";
/// A driver with many disks behind it takes its time; the network need not wait for that one.
const DRIVERS: Duration = Duration::from_secs(20);
/// Disks and USB devices come for a while after their drivers.
const QUIET: Duration = Duration::from_secs(1);
const SETTLED: Duration = Duration::from_secs(120);
/// Kernel interfaces answer at once, unless a driver hangs.
const INVENTORY: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const FASTEST_POLL: Duration = Duration::from_secs(1);
/// Calls to a controller that was reached before, until the network is looked at again.
const TRIES: u32 = 6;

/// The agent could not even start.
#[derive(Debug, thiserror::Error)]
#[error("the kernel's boot id can't be read")]
pub struct StartError(#[source] std::io::Error);

/// Whose machine this is.
#[derive(Debug)]
enum Place {
    /// Ours alone: the ramdisk.
    Ramdisk { line: KernelLine, coldplug: Option<Coldplug> },
    /// An installed system, with its configuration in a directory.
    Service(PathBuf),
}

/// The agent of one boot.
#[derive(Debug)]
pub struct Agent {
    place: Place,
    announcer: Announcer,
    boot_id: String,
    /// The last configuration that was found: a medium may be ejected once it was read.
    found: Option<Configuration>,
    /// Hears switches from the first link-up on.
    lldp: LldpListener,
    /// Whether this boot called home: from then on, nothing keeps anybody waiting.
    reported: bool,
}

impl Agent {
    /// For a machine that is ours alone: drivers begin to load at once.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn on_own_machine(consoles: Arc<Consoles>) -> Result<Self, StartError> {
        let line = std::fs::read_to_string("/proc/cmdline").map_err(StartError)?;
        let line = KernelLine::parse(&line);
        let coldplug = Coldplug::start(line.clone())
            .inspect_err(|error| tracing::error!(%error, "no driver will be loaded"))
            .ok();
        Ok(Self {
            place: Place::Ramdisk { line, coldplug },
            announcer: Announcer::on(consoles),
            boot_id: machine::boot_id().map_err(StartError)?,
            found: None,
            lldp: LldpListener::default(),
            reported: false,
        })
    }

    /// For a service with its configuration in `directory`.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn as_service(directory: PathBuf) -> Result<Self, StartError> {
        Ok(Self {
            place: Place::Service(directory),
            announcer: Announcer::in_log(),
            boot_id: machine::boot_id().map_err(StartError)?,
            found: None,
            lldp: LldpListener::default(),
            reported: false,
        })
    }

    /// Calls home until the controller gives an instruction other than to wait. Never gives up:
    /// each attempt reads the medium and plans the network anew, with growing pauses between.
    pub async fn run(mut self) -> Instruction {
        self.wait_for_drivers().await;
        for attempt in 1u32.. {
            let failures = match self.call_home().await {
                Ok(instruction) => return instruction,
                Err(failures) => failures,
            };
            if self.reported {
                for failure in failures {
                    tracing::info!("reported before, and now: {failure}");
                }
            } else {
                self.announcer.announce(&failures).await;
            }
            let pause = pause_after(attempt);
            tracing::info!("attempt {attempt} failed: trying again in {} s", pause.as_secs());
            tokio::time::sleep(pause).await;
        }
        Instruction::Wait
    }

    async fn wait_for_drivers(&self) {
        let Place::Ramdisk { coldplug, .. } = &self.place else { return };
        if let Some(coldplug) = coldplug {
            coldplug.first_pass(DRIVERS).await;
        }
        if let Err(error) = mount::mount_efivarfs() {
            tracing::warn!("{}", chain(&error));
        }
    }

    /// One attempt, whole.
    async fn call_home(&mut self) -> Result<Instruction, Vec<Failure>> {
        let mut problems: Vec<Failure> = self.truncation().into_iter().collect();
        if self.found.is_none() && !problems.is_empty() {
            // What follows may wait long for a medium.
            self.announcer.announce(&problems).await;
        }
        let found = match self.configuration().await {
            Ok(found) => found,
            Err(error) => {
                tracing::error!("{}", chain(&error));
                problems.push(Failure::NoConfiguration);
                return Err(problems);
            }
        };
        self.announcer.belong_to(&found.boot.token);
        problems.extend(clock::check(machine::clock(), found.boot.issued_at));
        self.listen();
        let network = match self.network(&found) {
            Ok(network) => network,
            Err(failure) => {
                problems.push(failure);
                return Err(problems);
            }
        };
        let Some((data, options)) = network else {
            return self.speak(&found, "the network stays as it was", problems).await;
        };
        let outcome = network::bring_up(&data, &options, &mut step).await;
        let news = addresses(&outcome);
        problems.extend(outcome.failures);
        tokio::select! {
            said = self.speak(&found, &news, problems) => said,
            never = keep(&data, &options) => match never {},
        }
    }

    /// The half of an attempt that needs the network: session, inventory, report, instruction.
    async fn speak(
        &mut self,
        found: &Configuration,
        news: &str,
        mut problems: Vec<Failure>,
    ) -> Result<Instruction, Vec<Failure>> {
        if found.boot.controller_urls.is_empty() {
            self.announcer.announce(&problems).await;
            tracing::info!("{news}; the medium names no controller, so the host stays up");
            return std::future::pending().await;
        }
        let mut client = match ControllerClient::new(&found.boot, self.boot_id.clone()) {
            Ok(client) => client,
            Err(error) => {
                tracing::error!("{}", chain(&error));
                problems.push(Failure::NoConfiguration);
                return Err(problems);
            }
        };
        let controller = match client.open_session().await {
            Ok(controller) => controller,
            Err(failures) => {
                problems.extend(failures);
                return Err(problems);
            }
        };
        tracing::info!("controller {controller} is reached");
        if !self.reported {
            self.announcer.announce(&problems).await;
        }
        tell(&client, news).await;
        let Some(hardware) = self.hardware().await else {
            tell(&client, "the inventory does not come to an end: trying again").await;
            return Err(problems);
        };
        let report = Report { hardware, problems };
        self.report(&mut client, &report).await.map_err(|failure| vec![failure])
    }

    /// Listens for switches on the ports that are there by now. Never waited for: switches speak
    /// when a link comes up, and every 30 s.
    fn listen(&mut self) {
        for problem in self.lldp.listen_on_all(&Root::live()) {
            tracing::warn!("{problem}");
        }
    }

    /// What the medium says now, else what it said before.
    async fn configuration(&mut self) -> Result<Configuration, ConfigError> {
        let patience = if self.found.is_some() { Patience::Look } else { Patience::Wait };
        let found = match &self.place {
            Place::Ramdisk { line, .. } => config::find(Path::new(ROOT), line, patience).await,
            Place::Service(directory) => config::from_directory(directory),
        };
        match (found, &self.found) {
            (Ok(found), _) => {
                tracing::info!("configuration is from the {}", found.source);
                self.found = Some(found.clone());
                Ok(found)
            }
            (Err(error), Some(before)) => {
                tracing::info!("{}: going on with that of the {}", chain(&error), before.source);
                Ok(before.clone())
            }
            (Err(error), None) => Err(error),
        }
    }

    /// LL-08, where the archive broke off before its last file.
    fn truncation(&self) -> Option<Failure> {
        match self.place {
            Place::Ramdisk { .. } if !Path::new(ROOT).join(SENTINEL_PATH).exists() => {
                Some(Failure::ImageTruncated { memory_mib: machine::memory_mib() })
            }
            Place::Ramdisk { .. } | Place::Service(_) => None,
        }
    }

    /// What the network should be; `None` leaves it alone.
    fn network(&self, found: &Configuration) -> Result<Option<(NetworkData, Options)>, Failure> {
        let Some(text) = &found.network_data else {
            tracing::warn!("no network data in the {}: the network stays as it is", found.source);
            return Ok(None);
        };
        let parsed = netdata::parse(text);
        for problem in &parsed.problems {
            tracing::warn!("network data: {problem}");
        }
        let data = parsed.data.ok_or(Failure::NetworkDataInvalid)?;
        let options = Options {
            allow_dhcp: found.boot.allow_dhcp,
            own_machine: matches!(self.place, Place::Ramdisk { .. }),
            ..Options::default()
        };
        Ok(Some((data, options)))
    }

    /// The hardware, once the buses are quiet; `None` where a driver holds up the look at it.
    async fn hardware(&mut self) -> Option<HardwareDetails> {
        if let Place::Ramdisk { coldplug: Some(coldplug), .. } = &self.place {
            coldplug.settled(QUIET, SETTLED).await;
        }
        let root = Root::live();
        // NICs that came late are listened on from here.
        self.listen();
        let mut observed = timeout(INVENTORY, inventory::observe(&root)).await.ok()?;
        observed.heard = self.lldp.heard();
        // Disks answer when they like.
        let collected = tokio::task::spawn_blocking(move || inventory::collect(&root, &observed));
        let (inventory, problems) = timeout(INVENTORY, collected).await.ok()?.ok()?;
        for problem in problems {
            tracing::warn!("{problem}");
        }
        Some(hardware_details(&inventory))
    }

    /// Reports, and waits for an instruction.
    async fn report(
        &mut self,
        client: &mut ControllerClient,
        report: &Report,
    ) -> Result<Instruction, Failure> {
        let mut instruction = deliver(client, report).await?;
        self.reported = true;
        tracing::info!("reported: waiting for instructions");
        let mut failed = 0;
        while instruction == Instruction::Wait {
            // The controller holds the answer back; one that does not is not to be flooded.
            let earliest = tokio::time::Instant::now() + FASTEST_POLL;
            let next = client.next().await;
            tokio::time::sleep_until(earliest).await;
            match next {
                Ok(next) => (instruction, failed) = (next, 0),
                Err(failure) if failed == TRIES => return Err(failure),
                Err(_) => {
                    failed += 1;
                    tokio::time::sleep(pause_after(failed)).await;
                    reopen(client).await;
                }
            }
        }
        Ok(instruction)
    }
}

/// Hands the report in. A controller that was restarted knows neither session nor report.
async fn deliver(client: &mut ControllerClient, report: &Report) -> Result<Instruction, Failure> {
    let mut attempt = 1;
    loop {
        match client.report(report).await {
            Err(_) if attempt < TRIES => {}
            last => return last,
        }
        tokio::time::sleep(pause_after(attempt)).await;
        attempt += 1;
        reopen(client).await;
    }
}

/// Trades again; the same boot gets its session again. What failed shows in the next call.
async fn reopen(client: &mut ControllerClient) {
    if let Err(failures) = client.open_session().await {
        for failure in failures {
            tracing::warn!("{failure}");
        }
    }
}

/// Logs one step of bringing the network up.
fn step(text: &str) {
    tracing::info!("{text}");
}

/// Puts the network back whenever it drifts, for as long as this is polled.
async fn keep(data: &NetworkData, options: &Options) -> Infallible {
    if let Err(error) = network::watch(data, options, &mut step).await {
        tracing::warn!(%error, "the network is no longer watched");
    }
    std::future::pending().await
}

/// Progress is for whoever watches: nothing depends on it.
async fn tell(client: &ControllerClient, message: &str) {
    tracing::info!("{message}");
    client.progress(message).await.ok();
}

fn addresses(network: &Outcome) -> String {
    if network.addresses.is_empty() {
        return "the network has no address of its own".to_owned();
    }
    let list: Vec<String> = network
        .addresses
        .iter()
        .map(|assigned| format!("{} {}", assigned.link, assigned.address))
        .collect();
    format!("network is up: {}", list.join(", "))
}

/// 5, 10, 20, 40, 60, 60, … seconds.
fn pause_after(attempt: u32) -> Duration {
    let doubled = 1u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute_and_stay_there() {
        let pauses = [1, 2, 3, 4, 5, 6, 33, u32::MAX].map(|n| pause_after(n).as_secs());
        assert_eq!(pauses, [5, 10, 20, 40, 60, 60, 60, 60]);
    }
}
