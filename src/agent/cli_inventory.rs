//! `leaseless-agent inventory`: what this host is made of, on any Linux host, as JSON or YAML.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::inventory::hardware_details::hardware_details;
use super::inventory::lldp::Neighbour;
use super::inventory::lldp_listener::LldpListener;
use super::inventory::{Problem, collect, ironic, observe};
use crate::sys::sysfs::Root;
use crate::types::{IfName, yaml};

/// Look at this host's hardware and print it. What can't be read is left out and named on stderr
#[derive(Debug, Args)]
pub struct InventoryArgs {
    /// How to print
    #[arg(long, short, value_enum, default_value_t = Output::Json)]
    output: Output,
    /// Whose words to use
    #[arg(long, value_enum, default_value_t = Format::HardwareDetails)]
    format: Format,
    /// Listen this long for LLDP on ports that are up; switches speak every 30 s
    #[arg(long, value_name = "SECONDS", default_value_t = 0,
          value_parser = clap::value_parser!(u64).range(..=LLDP_MAX))]
    lldp_seconds: u64,
}

/// Twice the time to live that most switches give.
const LLDP_MAX: u64 = 240;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// HardwareDetails of Metal3
    HardwareDetails,
    /// Inventory and plugin data as Ironic's ramdisk sends them
    Ironic,
}

/// Prints the inventory of the host that this runs on.
///
/// # Errors
/// When stdout can't be written to.
pub async fn run(arguments: &InventoryArgs) -> anyhow::Result<ExitCode> {
    let root = Root::live();
    let listening = listen(&root, Duration::from_secs(arguments.lldp_seconds));
    let (mut observed, (heard, problems)) = tokio::join!(observe(&root), listening);
    observed.heard = heard;
    observed.problems.extend(problems);
    let (inventory, problems) = collect(&root, &observed);
    for problem in &problems {
        tracing::warn!("{problem}");
    }
    let text = match arguments.format {
        Format::HardwareDetails => render(&hardware_details(&inventory), arguments.output)?,
        Format::Ironic => render(&ironic::inspection_data(&inventory), arguments.output)?,
    };
    std::io::stdout().lock().write_all(text.as_bytes()).context("stdout can't be written to")?;
    Ok(ExitCode::SUCCESS)
}

/// Neighbours by port, after listening that long.
async fn listen(root: &Root, time: Duration) -> (BTreeMap<IfName, Vec<Neighbour>>, Vec<Problem>) {
    if time.is_zero() {
        return (BTreeMap::new(), Vec::new());
    }
    let mut listener = LldpListener::default();
    let problems = listener.listen_on_all(root);
    tokio::time::sleep(time).await;
    (listener.heard(), problems)
}

fn render(value: &impl serde::Serialize, output: Output) -> anyhow::Result<String> {
    Ok(match output {
        Output::Json => serde_json::to_string_pretty(value)? + "\n",
        Output::Yaml => yaml::render(value)?,
    })
}
