//! Layer 5: the `leaseless` command, one file per noun. Data goes to stdout, everything else to
//! stderr.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Bare metal provisioned without DHCP, TFTP or PXE.
#[derive(Debug, Parser)]
#[command(name = "leaseless", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    noun: Noun,
}

#[derive(Debug, Subcommand)]
enum Noun {}

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
    match cli.noun {}
}

/// Prints an error with its causes, each once, one line.
fn say(error: &anyhow::Error, code: u8) -> ExitCode {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    eprintln!("leaseless: {}", chain.join(": "));
    ExitCode::from(code)
}
