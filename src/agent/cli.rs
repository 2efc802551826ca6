//! The `leaseless-agent` command. Data goes to stdout, everything else to the log. Exit codes: 0
//! done, 1 failed, 64 usage or bad input.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use super::cli_inventory::{self, InventoryArgs};
use super::cli_network::{self, ApplyArgs, PlanArgs};
use super::run::Agent;
use super::telemetry::{self, Sink};
use crate::sys::console::Consoles;
use crate::sys::machine::{self, Stop};
use crate::types::report::Instruction;

/// The node side of leaseless: sets up the network from network data, looks at the hardware,
/// reports.
#[derive(Debug, Parser)]
#[command(name = "leaseless-agent", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(RunArgs),
    Plan(PlanArgs),
    Apply(ApplyArgs),
    Inventory(InventoryArgs),
}

/// Set up the network, report to the controller, and do what it says.
#[derive(Debug, Args)]
struct RunArgs {
    /// Directory with `boot.json` and, where the network is to be set up, `network_data.json`
    #[arg(long, value_name = "DIR", required_unless_present = "own_machine")]
    config: Option<PathBuf>,
    /// The machine is ours alone, as in the boot image: load drivers, take the configuration from
    /// the initrd segment or the boot medium, speak on every console, power off when told to
    #[arg(long, conflicts_with = "config")]
    own_machine: bool,
}

/// Parses the command line, runs the command, answers with the exit code.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { 64 } else { 0 };
            // A closed pipe is the reader's choice.
            error.print().ok();
            return ExitCode::from(code);
        }
    };
    match start(cli.verb) {
        Ok(code) => code,
        Err(error) => {
            let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
            tracing::error!("{}", chain.join(": "));
            ExitCode::FAILURE
        }
    }
}

fn start(verb: Verb) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting the runtime failed")?;
    match verb {
        Verb::Run(RunArgs { config: Some(directory), .. }) => {
            telemetry::init(Sink::of_this_process());
            runtime.block_on(serve(directory))
        }
        Verb::Run(RunArgs { config: None, .. }) => own_machine(&runtime),
        Verb::Plan(args) => {
            telemetry::init(Sink::of_this_process());
            runtime.block_on(cli_network::plan(&args))
        }
        Verb::Apply(args) => {
            telemetry::init(Sink::of_this_process());
            runtime.block_on(cli_network::apply(&args))
        }
        Verb::Inventory(args) => {
            telemetry::init(Sink::of_this_process());
            runtime.block_on(cli_inventory::run(&args))
        }
    }
}

/// Runs beside a system that starts and stops us.
async fn serve(directory: PathBuf) -> anyhow::Result<ExitCode> {
    let mut stop = signal(SignalKind::terminate()).context("no SIGTERM can be received")?;
    let agent = Agent::as_service(directory)?;
    tokio::select! {
        instruction = agent.run() => tracing::info!(?instruction, "done: the power is the system's"),
        _ = stop.recv() => {}
        done = tokio::signal::ctrl_c() => done.context("no SIGINT can be received")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs on a machine of its own, until that stops.
fn own_machine(runtime: &tokio::runtime::Runtime) -> anyhow::Result<ExitCode> {
    if !machine::root_is_ramdisk() {
        // It deletes the modules that it loaded, and powers off when told to.
        eprintln!("leaseless-agent: --own-machine is for a ramdisk, and the root here is none");
        return Ok(ExitCode::from(64));
    }
    let consoles = Arc::new(Consoles::open());
    telemetry::init(Sink::Consoles(Arc::clone(&consoles)));
    let last_words = Arc::clone(&consoles);
    std::panic::set_hook(Box::new(move |panic| last_words.say(&panic.to_string())));
    tracing::info!("leaseless-agent {} starts", env!("CARGO_PKG_VERSION"));
    let agent = Agent::on_own_machine(consoles)?;
    let stop = match runtime.block_on(agent.run()) {
        Instruction::PowerOff => Stop::PowerOff,
        Instruction::Reboot | Instruction::Wait => Stop::Reboot,
    };
    tracing::info!("told to stop: {stop:?}");
    Err(machine::stop(stop)).context("the machine does not stop")
}
