//! Layer 5: the `leaseless` command, one file per noun. Data goes to stdout, everything else to
//! stderr.

mod bmc;
pub mod bmc_args;
mod completions;
mod image;
mod inspect;
mod ipam;
mod man;
mod netdata;
mod progress;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

/// Bare metal provisioned without DHCP, TFTP or PXE.
#[derive(Debug, Parser)]
#[command(name = "leaseless", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to log on stderr: error, warn, info, debug, trace, or a filter such as leaseless::bmc=debug
    #[arg(
        long,
        global = true,
        env = "LEASELESS_LOG",
        value_name = "FILTER",
        default_value = "warn"
    )]
    log: String,

    #[command(subcommand)]
    noun: Noun,
}

#[derive(Debug, Subcommand)]
enum Noun {
    Bmc(bmc::BmcCommand),
    Completions(completions::CompletionsArgs),
    Image(image::ImageArgs),
    Inspect(inspect::InspectArgs),
    Ipam(ipam::IpamArgs),
    Man(man::ManArgs),
    Netdata(netdata::NetdataArgs),
}

/// How a command ended, beside success.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line or an input file is wrong: exit 64 (`EX_USAGE`).
    #[error(transparent)]
    Usage(anyhow::Error),
    /// The work failed: exit 1.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
    /// The work failed and everything was said already: exit 1.
    #[error("failed")]
    Reported,
}

/// Parses the command line, runs the command, answers with the exit code: 0 done, 1 failed, 64
/// usage or bad input.
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
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CliError::Usage(error)) => say(&error, 64),
        Err(CliError::Failed(error)) => say(&error, 1),
        Err(CliError::Reported) => ExitCode::from(1),
    }
}

fn run(cli: Cli) -> Result<(), CliError> {
    log_to_stderr(&cli.log)?;
    match cli.noun {
        Noun::Bmc(command) => bmc::run(command),
        Noun::Image(args) => image::run(&args),
        Noun::Inspect(args) => inspect::run(&args),
        Noun::Ipam(args) => ipam::run(&args),
        Noun::Completions(args) => completions::run(&args),
        Noun::Man(args) => man::run(&args),
        Noun::Netdata(args) => netdata::run(&args),
    }
}

fn log_to_stderr(filter: &str) -> Result<(), CliError> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .context("--log is no filter: write a level such as info, or module=level")
        .map_err(CliError::Usage)?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    Ok(())
}

/// Prints an error with its causes, each once, one line.
fn say(error: &anyhow::Error, code: u8) -> ExitCode {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    eprintln!("leaseless: {}", chain.join(": "));
    ExitCode::from(code)
}
