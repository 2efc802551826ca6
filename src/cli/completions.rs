//! `leaseless completions`: what shells complete.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::{Cli, CliError};

/// Print completions for a shell
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
///
/// # Errors
/// None: writing to a closed pipe ends the process as it does for any filter.
pub fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    generate(args.shell, &mut Cli::command(), "leaseless", &mut std::io::stdout());
    Ok(())
}
