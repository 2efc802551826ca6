//! `leaseless man`: manual pages, one for each command.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};

use super::{Cli, CliError};

/// Write the manual pages
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder to write them to, made if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// When the folder or a page can't be written.
pub fn run(args: &ManArgs) -> Result<(), CliError> {
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("making {} failed", args.out.display()))?;
    clap_mangen::generate_to(Cli::command(), &args.out)
        .with_context(|| format!("writing pages to {} failed", args.out.display()))?;
    Ok(())
}
