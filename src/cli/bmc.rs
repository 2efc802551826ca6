//! `leaseless bmc`: one BMC by hand.

mod print;

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::CliError;
use super::bmc_args::BmcArgs;
use crate::bmc::any::{AnyBmc, AnyBmcError};
use crate::bmc::{BootControl, BootDevice, EventLog, Power, PowerControl, PowerOff, VirtualMedia};

/// Longest that a host may take to do what its BMC accepted.
const SWITCHING: Duration = Duration::from_secs(180);
/// An operating system that shuts down in order takes longer.
const SHUTTING_DOWN: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_secs(2);

/// Power, boot device, virtual media, log and description of one server, through its BMC
#[derive(Debug, Args)]
pub struct BmcCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Describe the system and its BMC (Redfish)
    Info(Common),
    /// Show or change the power state
    Power {
        /// What to do
        #[arg(default_value = "status")]
        action: PowerAction,
        /// With off: ask the operating system instead of cutting the power
        #[arg(long)]
        soft: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Show the boot override, or boot once from a device
    Boot {
        /// What to boot from next
        #[arg(default_value = "show")]
        action: BootAction,
        #[command(flatten)]
        common: Common,
    },
    /// Show, insert or eject virtual CDs (Redfish)
    Media {
        #[command(subcommand)]
        action: MediaAction,
    },
    /// Print the event log, with leaseless' own reasons in words
    Log(Common),
}

#[derive(Debug, Clone, Args)]
struct Common {
    #[command(flatten)]
    bmc: BmcArgs,
    /// How to print the result on stdout
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PowerAction {
    /// Print on or off
    Status,
    /// Switch on
    On,
    /// Switch off
    Off,
    /// Off, then on
    Cycle,
    /// Press the reset button
    Reset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BootAction {
    /// Print the override that stands
    Show,
    /// Boot once from CD, virtual ones included
    Cd,
    /// Boot once from the first disk
    Disk,
    /// Boot once from the network
    Pxe,
    /// Enter the firmware's setup once
    Setup,
    /// Take the override away
    None,
}

#[derive(Debug, Subcommand)]
enum MediaAction {
    /// List CD and DVD slots
    List(Common),
    /// Eject what is there, then insert an image
    Insert {
        /// Where the BMC finds the image: http:// or https://, best ending in .iso
        url: url::Url,
        #[command(flatten)]
        common: Common,
    },
    /// Eject every CD and DVD slot
    Eject(Common),
}

/// Runs the command.
///
/// # Errors
/// `Usage` for input that can't be used, `Failed` for what the BMC says.
pub fn run(command: BmcCommand) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the async runtime")?;
    runtime.block_on(dispatch(command.verb))
}

async fn dispatch(verb: Verb) -> Result<(), CliError> {
    let common = match &verb {
        Verb::Info(common)
        | Verb::Log(common)
        | Verb::Power { common, .. }
        | Verb::Boot { common, .. }
        | Verb::Media {
            action:
                MediaAction::List(common)
                | MediaAction::Insert { common, .. }
                | MediaAction::Eject(common),
        } => common.clone(),
    };
    // Said before a login that would not help.
    if let (Some(what), None) = (redfish_alone(&verb), common.bmc.bmc.redfish_base()) {
        return Err(failed(AnyBmcError::IpmiLacks { what }));
    }
    let bmc = common.bmc.connect().await?;
    let done = perform(&bmc, verb, common.output).await;
    if let Err(error) = bmc.close().await {
        tracing::info!(%error, "the session stays until the BMC drops it");
    }
    done
}

/// What IPMI lacks for this.
const fn redfish_alone(verb: &Verb) -> Option<&'static str> {
    match verb {
        Verb::Media { .. } => Some("virtual media"),
        Verb::Info(_) => Some("system information"),
        Verb::Power { .. } | Verb::Boot { .. } | Verb::Log(_) => None,
    }
}

async fn perform(bmc: &AnyBmc, verb: Verb, output: Output) -> Result<(), CliError> {
    match verb {
        Verb::Info(_) => info(bmc, output).await,
        Verb::Power { action, soft, .. } => power(bmc, action, soft, output).await,
        Verb::Boot { action, .. } => boot(bmc, action, output).await,
        Verb::Media { action } => media(bmc, action, output).await,
        Verb::Log(_) => {
            let entries = bmc.entries().await.map_err(failed)?;
            let reasons = print::reasons(&entries);
            let log = print::Log { entries, reasons };
            show(output, &log, print::log)
        }
    }
}

async fn info(bmc: &AnyBmc, output: Output) -> Result<(), CliError> {
    match bmc {
        AnyBmc::Redfish(redfish) => {
            let info = redfish.info().await.map_err(|error| failed(error.into()))?;
            show(output, &info, print::info)
        }
        AnyBmc::Ipmi(_) => Err(failed(AnyBmcError::IpmiLacks { what: "system information" })),
    }
}

#[derive(Serialize)]
struct PowerShown {
    power: Power,
}

async fn power(
    bmc: &AnyBmc,
    action: PowerAction,
    soft: bool,
    output: Output,
) -> Result<(), CliError> {
    if soft && action != PowerAction::Off {
        return Err(CliError::Usage(anyhow!("--soft goes with off alone")));
    }
    let (want, within) = match action {
        PowerAction::Status => (None, SWITCHING),
        PowerAction::On => {
            bmc.power_on().await.map_err(failed)?;
            (Some(Power::On), SWITCHING)
        }
        PowerAction::Off => {
            let how = if soft { PowerOff::Soft } else { PowerOff::Hard };
            bmc.power_off(how).await.map_err(failed)?;
            (Some(Power::Off), if soft { SHUTTING_DOWN } else { SWITCHING })
        }
        PowerAction::Cycle => {
            bmc.power_cycle().await.map_err(failed)?;
            (Some(Power::On), SWITCHING)
        }
        PowerAction::Reset => {
            bmc.power_reset().await.map_err(failed)?;
            (Some(Power::On), SWITCHING)
        }
    };
    if let Some(want) = want {
        wait_for(bmc, want, within).await?;
    }
    let power = bmc.power().await.map_err(failed)?;
    show(output, &PowerShown { power }, |shown| print::power(shown.power).to_owned() + "\n")
}

async fn wait_for(bmc: &AnyBmc, want: Power, within: Duration) -> Result<(), CliError> {
    let reached = async {
        while bmc.power().await.map_err(failed)? != want {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    };
    tokio::time::timeout(within, reached).await.unwrap_or_else(|_| {
        let (want, within) = (print::power(want), within.as_secs());
        Err(CliError::Failed(anyhow!(
            "the BMC accepted the request, but after {within} s the host is still not {want}"
        )))
    })
}

async fn boot(bmc: &AnyBmc, action: BootAction, output: Output) -> Result<(), CliError> {
    let device = match action {
        BootAction::Show => None,
        BootAction::Cd => Some(BootDevice::Cd),
        BootAction::Disk => Some(BootDevice::Disk),
        BootAction::Pxe => Some(BootDevice::Pxe),
        BootAction::Setup => Some(BootDevice::Setup),
        BootAction::None => Some(BootDevice::None),
    };
    if let Some(device) = device {
        bmc.boot_once(device).await.map_err(failed)?;
    }
    let standing = bmc.boot_override().await.map_err(failed)?;
    show(output, &standing, |standing| print::boot(*standing) + "\n")
}

async fn media(bmc: &AnyBmc, action: MediaAction, output: Output) -> Result<(), CliError> {
    match action {
        MediaAction::List(_) => {}
        MediaAction::Insert { url, .. } => {
            if !matches!(url.scheme(), "http" | "https") {
                let text = "is no http:// or https:// URL, which is what BMCs fetch";
                return Err(CliError::Usage(anyhow!("{url} {text}")));
            }
            let slot = bmc.insert(&url).await.map_err(failed)?;
            return show(output, &[slot], |slots| print::media(slots));
        }
        MediaAction::Eject(_) => bmc.eject().await.map_err(failed)?,
    }
    let slots = bmc.media().await.map_err(failed)?;
    show(output, &slots, |slots| print::media(slots))
}

fn failed(error: AnyBmcError) -> CliError {
    CliError::Failed(error.into())
}

/// Prints a result on stdout.
fn show<T: Serialize>(
    output: Output,
    value: &T,
    in_words: impl FnOnce(&T) -> String,
) -> Result<(), CliError> {
    let text = match output {
        Output::Text => in_words(value),
        Output::Json => serde_json::to_string_pretty(value).context("writing JSON")? + "\n",
    };
    std::io::stdout().write_all(text.as_bytes()).context("writing to stdout")?;
    Ok(())
}
