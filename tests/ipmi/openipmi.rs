//! OpenIPMI's `ipmi_sim`, a BMC that nobody here wrote: on the network, and for a machine in QEMU
//! as the BMC behind its KCS interface.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use leaseless::bmc::ipmi::{Ipmi, IpmiError, Login, Patience};
use leaseless::types::Secret;
use tempfile::TempDir;

/// Short, for loopback; long enough for a busy machine.
pub const PATIENCE: Patience =
    Patience { retransmit: Duration::from_millis(40), request: Duration::from_secs(5) };

pub fn admin() -> Login {
    Login::new("admin", Secret::new("secret"))
}

/// Where a program is, or a loud note that the tests with it did not run.
fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        eprintln!("NOT TESTED: no {name} on PATH (Debian: openipmi, ipmitool)");
    }
    found
}

/// What ipmitool prints, as `admin` over lanplus with this cipher suite. Without one it would ask
/// for the BMC's list first, and wait long for what the simulator does not have.
pub fn ipmitool(port: u16, suite: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program("ipmitool")?)
        .args(["-I", "lanplus", "-H", "127.0.0.1", "-p", &port.to_string(), "-C", suite])
        .args(["-U", "admin", "-E"])
        .env("IPMI_PASSWORD", "secret")
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{complained}");
    Some(said + &complained)
}

/// The host under the simulated BMC: it keeps what it was told in files beside itself.
const CHASSIS: &str = r#"#!/bin/sh
cd "$(dirname "$0")" && shift || exit 1
case "$1 $2" in
"get power") echo "power:$(cat power)" ;;
"get boot") echo "boot:$(cat boot)" ;;
"set power") echo "$3" > power; echo "power $3" >> done ;;
"set boot") echo "$3" > boot; echo "boot $3" >> done ;;
"set shutdown") echo 0 > power; echo shutdown >> done ;;
esac
"#;

const EMULATION: &str = "mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
sel_enable 0x20 1000 0x0a
mc_enable 0x20
";

pub struct Simulator {
    process: Child,
    /// UDP, of IPMI over LAN.
    pub port: u16,
    /// TCP, for QEMU's `ipmi-bmc-extern`.
    pub serial_port: u16,
    folder: TempDir,
}

impl Simulator {
    /// `None` where there is no `ipmi_sim`. A port that somebody took between our look and the
    /// simulator's start costs another try.
    pub async fn start() -> Option<Self> {
        let program = program("ipmi_sim")?;
        for _ in 0..5 {
            let simulator = Self::spawn(&program);
            match simulator.connect(admin()).await {
                Ok(_) => return Some(simulator),
                Err(error) => eprintln!("ipmi_sim on port {}: {error}", simulator.port),
            }
        }
        panic!("ipmi_sim does not start");
    }

    fn spawn(program: &Path) -> Self {
        let folder = TempDir::new().unwrap();
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let serial_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let place = folder.path().display();
        write("power", "0\n");
        write("boot", "default\n");
        write("chassis", CHASSIS);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path().join("chassis"), executable).unwrap();
        write("sim.emu", EMULATION);
        let levels = ["callback", "user", "operator", "admin"];
        let auths: String = levels
            .iter()
            .map(|level| format!("allowed_auths_{level} none md5 straight\n"))
            .collect();
        let lan = format!(
            "name \"sim\"\nset_working_mc 0x20\nstartlan 1\naddr 127.0.0.1 {port}\n\
             priv_limit admin\n{auths}guid a123456789abcdefa123456789abcdef\nendlan\n\
             serial 15 127.0.0.1 {serial_port} codec VM\n\
             chassis_control \"{place}/chassis 0x20\"\n\
             user 2 true \"admin\" \"secret\" admin 10 none md5 straight\n\
             user 3 true \"oper\" \"secret\" operator 10 none md5 straight\n"
        );
        write("lan.conf", &lan);
        fs::create_dir(folder.path().join("state")).unwrap();
        let path = |name: &str| folder.path().join(name);
        let process = Command::new(program)
            .args(["-n", "-c"])
            .arg(path("lan.conf"))
            .arg("-f")
            .arg(path("sim.emu"))
            .arg("-s")
            .arg(path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(path("complaints")).unwrap())
            .spawn()
            .unwrap();
        Self { process, port, serial_port, folder }
    }

    /// Waits for a simulator that has not bound its port yet.
    pub async fn connect(&self, login: Login) -> Result<Ipmi, IpmiError> {
        let deadline = tokio::time::Instant::now() + PATIENCE.request;
        loop {
            match Ipmi::connect_with("127.0.0.1", self.port, login.clone(), PATIENCE).await {
                Err(IpmiError::Closed(_)) if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(PATIENCE.retransmit).await;
                }
                other => return other,
            }
        }
    }

    /// What the host was told to do.
    pub fn done(&self) -> String {
        fs::read_to_string(self.folder.path().join("done")).unwrap_or_default()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
