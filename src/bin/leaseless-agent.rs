//! The node side: see `leaseless-agent --help`. As PID 1 of the boot image it is init.

use std::process::ExitCode;

use leaseless::agent::{cli, init};

fn main() -> ExitCode {
    if init::is_init() {
        init::main();
    }
    cli::main()
}
