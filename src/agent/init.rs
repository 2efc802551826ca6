//! PID 1 of the ramdisk: mounts what a Linux system needs, starts the agent, takes in orphans, and
//! starts the agent again should it ever end. Small on purpose: if this process ends, the kernel
//! panics.
//!
//! Not here: anything that can fail for a reason of the network or the hardware (`run`).

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::Pid;

use crate::sys::console::Consoles;
use crate::sys::mount;

/// The agent's own file, whatever the ramdisk calls it.
const SELF: &str = "/proc/self/exe";
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Whether the kernel started this process as init: PID 1 under that name. PID 1 of a container
/// runs under its own.
#[must_use]
pub fn is_init() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    std::process::id() == 1 && Path::new(&name).file_name().is_some_and(|name| name == "init")
}

/// Runs as PID 1, for ever. The arguments that the kernel left for init are not ours.
pub fn main() -> ! {
    let failed = mount::mount_base();
    let consoles = Consoles::open();
    for error in &failed {
        consoles.say(&super::telemetry::chain(error));
    }
    let mut pause = FIRST_PAUSE;
    loop {
        match Command::new(SELF).args(["run", "--own-machine"]).spawn() {
            Ok(child) => consoles.say(&format!("the agent ended ({})", wait_for(child.id()))),
            Err(error) => consoles.say(&format!("the agent does not start: {error}")),
        }
        consoles.say(&format!("starting the agent again in {} s", pause.as_secs()));
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Takes in every child that ends, until the agent does. Answers with how that was.
fn wait_for(agent: u32) -> String {
    let agent = i32::try_from(agent).ok().map(Pid::from_raw);
    loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if Some(pid) == agent => {
                return format!("status {code}");
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if Some(pid) == agent => {
                return signal.to_string();
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return errno.to_string(),
        }
    }
}
