//! One `leaseless inspect` under way.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use leaseless::types::hardware::HardwareDetails;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::rack::{Rack, UNTOUCHED};

/// Between two lines of progress, with an emulated processor on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) struct Run<'a> {
    rack: &'a Rack,
    child: Child,
    report: JoinHandle<String>,
    lines: Receiver<String>,
    seen: Vec<String>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) report: String,
    pub(crate) told: String,
}

impl<'a> Run<'a> {
    /// Inspects the server, with these arguments beside those that it takes to reach the BMC.
    pub(crate) fn start(rack: &'a Rack, network_data: &str, arguments: &[&str]) -> Self {
        let password = rack.lab.join("password");
        Self::with(rack, &password, Some(&rack.lab.join("bmc.pem")), network_data, arguments)
    }

    /// The same with a password and a CA of one's own; `None` are those of this machine.
    pub(crate) fn with(
        rack: &'a Rack,
        password: &Path,
        ca: Option<&Path>,
        network_data: &str,
        arguments: &[&str],
    ) -> Self {
        let file = rack.file("network_data.yaml");
        fs::write(&file, network_data).unwrap();
        let mut command = rack.command(env!("CARGO_BIN_EXE_leaseless"));
        command.args(["inspect", "--output", "json", "--bmc-user", "admin", "--bmc"]);
        command.arg(rack.ask::<&str>("url", &[]).trim()).arg("--bmc-password-file").arg(password);
        command.arg("--network-data").arg(file).args(arguments);
        if let Some(ca) = ca {
            command.arg("--ca").arg(ca);
        }
        command.env("LEASELESS_IMAGE", &rack.image).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let report = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // A test that failed listens no more.
            stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        Self { rack, child, report, lines, seen: Vec::new() }
    }

    /// Waits for a line of progress with `text` and returns what follows it.
    pub(crate) fn says(&mut self, text: &str) -> String {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            let found = line.split_once(text).map(|(_, rest)| rest.to_owned());
            self.seen.push(line);
            if let Some(rest) = found {
                return rest;
            }
        }
        self.child.kill().ok();
        panic!("no {text:?} in {:#?}; the console: {}", self.seen, self.rack.console());
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    }

    /// Waits for the end, at which the server is as it was, and nobody was told the password.
    pub(crate) fn ends(mut self) -> Outcome {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        // Closed, or silent for too long.
        if self.child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(100));
            self.child.kill().ok();
        }
        let code = self.child.wait().unwrap().code();
        let outcome =
            Outcome { code, report: self.report.join().unwrap(), told: self.seen.join("\n") };
        let password = fs::read_to_string(self.rack.lab.join("password")).unwrap();
        assert!(!format!("{outcome:?}").contains(password.trim()), "the password was printed");
        assert_eq!(self.rack.status(), UNTOUCHED, "{outcome:#?}\n{}", self.rack.console());
        outcome
    }
}

impl Outcome {
    /// The report of a run that went well.
    pub(crate) fn hardware(&self) -> HardwareDetails {
        assert_eq!(self.code, Some(0), "{self:#?}");
        serde_json::from_str(&self.report).unwrap()
    }
}
