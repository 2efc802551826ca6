//! The management side: see `leaseless --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseless::cli::main()
}
