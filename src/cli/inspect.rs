//! `leaseless inspect`: one server, from off to its HardwareDetails.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::CliError;
use super::bmc_args::BmcArgs;
use super::progress::Progress;
use crate::bmc::any::AnyBmc;
use crate::bmc::{Class, Classified, EventLog};
use crate::controller::inspect::{Finished, Wanted, inspect};
use crate::netdata::model::{Addressing, NetworkData};
use crate::types::hardware::HardwareDetails;
use crate::types::{BmcAddress, BmcHost};

/// Boot a powered-off server into the agent and print its HardwareDetails
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    bmc: BmcArgs,

    /// The host's network data: OpenStack JSON or YAML, or a Secret that holds it
    #[arg(long, value_name = "FILE")]
    network_data: PathBuf,

    /// Format of the report on stdout
    #[arg(long, value_enum, default_value_t = Output::Yaml)]
    output: Output,

    /// Longest time from power-on to the report, such as 90s, 20m or 1h
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    timeout: Duration,

    /// Leave the host on, with the agent running
    #[arg(long)]
    leave_on: bool,

    /// Read the event log there instead, such as ipmi://192.0.2.5 (same user and password)
    #[arg(long, value_name = "URL")]
    bmc_log: Option<BmcAddress>,

    /// Folder of the boot image [default: $LEASELESS_IMAGE, ./build/image, /var/lib/leaseless/image]
    #[arg(long, value_name = "DIR")]
    image: Option<PathBuf>,

    /// Serve the boot ISO at this address and port, port 0 being any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = anywhere())]
    iso_listen: SocketAddr,

    /// Listen for the agent at this address and port, port 0 being any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = anywhere())]
    agent_listen: SocketAddr,

    /// Address of this machine as the BMC sees it [default: by the route to the BMC]
    #[arg(long, value_name = "ADDRESS")]
    iso_address: Option<IpAddr>,

    /// Addresses of this machine as the host sees it [default: by the routes to the host]
    #[arg(long, value_name = "ADDRESS")]
    controller_address: Vec<IpAddr>,

    /// More arguments for the host's kernel, such as console=ttyS1,115200n8
    #[arg(long, value_name = "ARGS", default_value = "")]
    kernel_args: String,

    /// Let networks that ask for DHCP use it
    #[arg(long)]
    allow_dhcp: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Output {
    Yaml,
    Json,
}

/// Any address, IPv6 and IPv4, any port.
const fn anywhere() -> SocketAddr {
    SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0)
}

/// Runs the command.
///
/// # Errors
/// Usage where the input is wrong, failed where the inspection is.
pub fn run(args: &InspectArgs) -> Result<(), CliError> {
    let data = super::netdata::load(&args.network_data)?;
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime failed")?;
    let report = runtime.block_on(inspect_host(args, &data))?;
    print(&report, args.output).context("writing the report failed")?;
    Ok(())
}

async fn inspect_host(args: &InspectArgs, data: &NetworkData) -> Result<HardwareDetails, CliError> {
    let wanted = wanted(args, data).await?;
    let bmc = args.bmc.connect().await?;
    let log = event_log(args, &bmc).await?;
    let interrupt = CancellationToken::new();
    let signals = tokio::spawn(cancel_on_signal(interrupt.clone()));
    let progress = Progress::on_stderr();
    let tell = |update| progress.update(update);
    let run = inspect(&bmc, log.of(&bmc), &wanted, &tell, &interrupt);
    let finished = with_ticks(run, &progress).await;
    progress.finish();
    signals.abort();
    for session in log.opened().into_iter().chain([bmc]) {
        if let Err(error) = session.close().await {
            tracing::debug!(%error, "ending a session with the BMC failed");
        }
    }
    conclude(finished)
}

/// Where the host's reasons can be read.
enum Log {
    /// In the BMC's own log, by the same protocol.
    Same,
    /// By another address or protocol.
    Other(AnyBmc),
    /// Nowhere but on the host's console.
    Nowhere,
}

impl Log {
    const fn of<'a>(&'a self, bmc: &'a AnyBmc) -> Option<&'a AnyBmc> {
        match self {
            Self::Same => Some(bmc),
            Self::Other(other) => Some(other),
            Self::Nowhere => None,
        }
    }

    fn opened(self) -> Option<AnyBmc> {
        match self {
            Self::Other(other) => Some(other),
            Self::Same | Self::Nowhere => None,
        }
    }
}

/// The log that was named; else the BMC's own; else IPMI at the same address.
async fn event_log(args: &InspectArgs, bmc: &AnyBmc) -> Result<Log, CliError> {
    if let Some(address) = &args.bmc_log {
        let opened = BmcArgs { bmc: address.clone(), ..args.bmc.clone() }.connect().await?;
        opened.entries().await.map_err(|error| CliError::Failed(error.into()))?;
        return Ok(Log::Other(opened));
    }
    let error = match bmc.entries().await {
        Ok(_) => return Ok(Log::Same),
        Err(error) => error,
    };
    if error.class() != Class::Unsupported {
        return Err(CliError::Failed(error.into()));
    }
    let ipmi = BmcArgs { bmc: args.bmc.bmc.over_ipmi(), ..args.bmc.clone() };
    match ipmi.connect().await {
        Ok(opened) if opened.entries().await.is_ok() => Ok(Log::Other(opened)),
        Ok(_) | Err(_) => {
            eprintln!(
                "leaseless: the BMC offers no event log, neither by Redfish nor by IPMI at its \
                 address: if the host can't call, its console alone says why"
            );
            Ok(Log::Nowhere)
        }
    }
}

async fn wanted(args: &InspectArgs, data: &NetworkData) -> Result<Wanted, CliError> {
    let image = crate::image::base::find(args.image.as_deref());
    Ok(Wanted {
        image: image.map_err(|error| CliError::Usage(error.into()))?,
        network_data: crate::netdata::render::openstack(data),
        host_addresses: host_addresses(data),
        bmc_address: address_of(&args.bmc.bmc).await?,
        iso_listen: args.iso_listen,
        agent_listen: args.agent_listen,
        iso_address: args.iso_address,
        controller_addresses: args.controller_address.clone(),
        kernel_args: args.kernel_args.clone(),
        allow_dhcp: args.allow_dhcp,
        timeout: args.timeout,
        leave_on: args.leave_on,
    })
}

/// The BMC's address; a name is looked up.
async fn address_of(bmc: &BmcAddress) -> Result<IpAddr, CliError> {
    let name = match &bmc.host {
        BmcHost::Ip(address) => return Ok(*address),
        BmcHost::Name(name) => name,
    };
    let mut found = tokio::net::lookup_host((name.as_str(), 0))
        .await
        .with_context(|| format!("looking up the BMC's name {name} failed"))?;
    let first = found.next().with_context(|| format!("the BMC's name {name} has no address"))?;
    Ok(first.ip())
}

fn host_addresses(data: &NetworkData) -> Vec<IpAddr> {
    let address = |addressing| match addressing {
        Addressing::Static(net) => Some(net.addr()),
        Addressing::Dhcp4
        | Addressing::Dhcp6
        | Addressing::Dhcp6Stateless
        | Addressing::Dhcp6Stateful
        | Addressing::Slaac => None,
    };
    data.networks.iter().filter_map(|network| address(network.addressing)).collect()
}

/// Drives `run` while the time on the live line goes by.
async fn with_ticks<T>(run: impl Future<Output = T>, progress: &Progress<std::io::Stderr>) -> T {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    tokio::pin!(run);
    loop {
        tokio::select! {
            finished = &mut run => return finished,
            _ = second.tick() => progress.tick(),
        }
    }
}

/// The first SIGINT or SIGTERM ends the run in order; a second one ends the process.
async fn cancel_on_signal(interrupt: CancellationToken) {
    let (Ok(mut int), Ok(mut term)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    let mut first = true;
    loop {
        tokio::select! {
            _ = int.recv() => {}
            _ = term.recv() => {}
        }
        if !first {
            eprintln!("\nleaseless: stopped before everything was put back");
            std::process::exit(1);
        }
        first = false;
        interrupt.cancel();
    }
}

fn conclude(finished: Finished) -> Result<HardwareDetails, CliError> {
    for left in &finished.left_undone {
        eprintln!("leaseless: not put back: {left}");
    }
    match finished.result {
        Ok(report) => {
            for problem in &report.problems {
                eprintln!("leaseless: the host reported, with a problem: {problem}");
            }
            Ok(report.hardware)
        }
        Err(error) => {
            let look_at = error.look_at();
            let error = anyhow::Error::new(error);
            Err(CliError::Failed(match look_at {
                Some(hint) => anyhow!("{error:#}\n  look at: {hint}"),
                None => error,
            }))
        }
    }
}

fn print(hardware: &HardwareDetails, output: Output) -> anyhow::Result<()> {
    let text = match output {
        Output::Yaml => crate::types::yaml::render(hardware)?,
        Output::Json => serde_json::to_string_pretty(hardware)? + "\n",
    };
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}

/// A time span: a number and `s`, `m` or `h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time span: write it as 90s, 20m or 1h");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(wrong()),
    };
    let number: u32 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    if number == 0 {
        return Err(wrong());
    }
    Ok(Duration::from_secs(u64::from(number) * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_carry_their_unit() {
        for (text, seconds) in [("90s", 90), ("20m", 1200), ("1h", 3600)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for bad in ["", "20", "m", "-1s", "1.5h", "0s", "5 m", "9é"] {
            assert!(duration(bad).unwrap_err().contains("90s"), "{bad}");
        }
    }
}
