//! The rack, started once and shared by all cases; one at a time has it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use nix::fcntl::{Flock, FlockArg};

/// What the BMC shows of a server that nobody has touched, or that was put back.
pub(crate) const UNTOUCHED: &str = "[\"Off\",\"Hdd\",\"Continuous\"]\n[false,\"\"]\n";

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/rack");

pub(crate) struct Rack {
    pub(crate) lab: PathBuf,
    pub(crate) image: PathBuf,
    state: PathBuf,
    /// Ends the rack when this process ends, however it does: its standard input closes then.
    _hold: Child,
}

/// The rack, for as long as the guards live; `None`, and said so, where it can't be had.
pub(crate) fn rack() -> Option<(MutexGuard<'static, Rack>, Flock<File>)> {
    static RACK: LazyLock<Option<Mutex<Rack>>> = LazyLock::new(|| Rack::start().map(Mutex::new));
    let rack = RACK.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
    // Virtual machines of other tests wait, and are waited for.
    let lock = File::create(std::env::temp_dir().join("qemu.lock")).unwrap();
    Some((rack, Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, errno)| errno).unwrap()))
}

impl Rack {
    fn start() -> Option<Self> {
        let folder = |name| std::env::var_os(name).map(PathBuf::from);
        let (Some(lab), Some(image)) = (folder("LEASELESS_LAB"), folder("LEASELESS_IMAGE")) else {
            eprintln!(
                "NOT TESTED: no rack without LEASELESS_LAB, made by tests/lab/setup.sh, and \
                 LEASELESS_IMAGE, made by images/build.sh"
            );
            return None;
        };
        let state = tempfile::tempdir().unwrap().keep();
        let mut hold = Command::new(SCRIPT)
            .arg("hold")
            .env("RACK", &state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(hold.stdout.take().unwrap()).lines().next();
        assert_eq!(
            said.map(Result::unwrap).as_deref(),
            Some("rack: up"),
            "the rack does not start"
        );
        Some(Self { lab, image, state, _hold: hold })
    }

    /// Runs a verb of the rack's script and returns what it prints.
    pub(crate) fn ask<I: AsRef<OsStr>>(&self, verb: &str, arguments: &[I]) -> String {
        let output = Command::new(SCRIPT)
            .arg(verb)
            .args(arguments)
            .env("RACK", &self.state)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "rack {verb} failed");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A new server, off; see `rack` for the settings.
    pub(crate) fn server(&self, settings: &[&str]) {
        self.ask("server", settings);
        assert_eq!(self.status(), UNTOUCHED);
    }

    /// Power, boot override and virtual CD, as the BMC tells them to somebody else.
    pub(crate) fn status(&self) -> String {
        self.ask::<&str>("status", &[])
    }

    /// Everything that the server said on its serial line.
    pub(crate) fn console(&self) -> String {
        let bytes = fs::read(self.state.join("console.log")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A command of the management side, in the rack's network.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let holder = fs::read_to_string(self.state.join("holder")).unwrap();
        let mut command = Command::new("nsenter");
        command.args(["--target", holder.trim(), "--net", "--"]).arg(program);
        command
    }

    /// Where `name` may be written.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        Path::new(&self.state).join(name)
    }
}
