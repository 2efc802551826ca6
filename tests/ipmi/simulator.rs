//! OpenIPMI's `ipmi_sim`: a BMC that nobody here wrote, driven to the effects it has on its host.

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use leaseless::bmc::ipmi::{Ipmi, IpmiError, Login, Privilege};
use leaseless::bmc::{BootControl, BootDevice, EventLog, Power, PowerControl, PowerOff};
use leaseless::types::Secret;
use leaseless::types::reason::{Failure, sel};
use tempfile::TempDir;

use super::{PATIENCE, admin};

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
pub(super) fn ipmitool(port: u16, suite: &str, arguments: &[&str]) -> Option<String> {
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

struct Simulator {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl Simulator {
    /// `None` where there is no `ipmi_sim`. A port that somebody took between our look and the
    /// simulator's start costs another try.
    async fn start() -> Option<Self> {
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
        Self { process, port, folder }
    }

    /// Waits for a simulator that has not bound its port yet.
    async fn connect(&self, login: Login) -> Result<Ipmi, IpmiError> {
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
    fn done(&self) -> String {
        fs::read_to_string(self.folder.path().join("done")).unwrap_or_default()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn power_and_boot_device_reach_the_host() {
    let Some(simulator) = Simulator::start().await else { return };
    let ipmi = simulator.connect(admin()).await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::Off);
    ipmi.boot_once(BootDevice::Cd).await.unwrap();
    ipmi.power_on().await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::On);
    ipmi.power_off(PowerOff::Soft).await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::Off);
    ipmi.power_on().await.unwrap();
    ipmi.power_off(PowerOff::Hard).await.unwrap();
    ipmi.boot_once(BootDevice::None).await.unwrap();
    assert_eq!(simulator.done(), "boot cdrom\npower 1\nshutdown\npower 1\npower 0\nboot none\n");
}

#[tokio::test]
async fn a_reason_in_the_log_is_read_back() {
    let Some(simulator) = Simulator::start().await else { return };
    let ipmi = simulator.connect(admin()).await.unwrap();
    assert_eq!(ipmi.entries().await.unwrap(), []);
    let failure = Failure::AddressInUse {
        address: "192.0.2.10".parse().unwrap(),
        by: Some("52:54:00:12:34:56".parse().unwrap()),
    };
    for record in sel::encode(&failure, 0xBEEF) {
        let bytes: Vec<String> = record.iter().map(|byte| format!("{byte:#04x}")).collect();
        let mut arguments = vec!["raw", "0x0a", "0x44"];
        arguments.extend(bytes.iter().map(String::as_str));
        let Some(_) = ipmitool(simulator.port, "3", &arguments) else { return };
    }
    let entries = ipmi.entries().await.unwrap();
    let raw: Vec<[u8; 16]> = entries.iter().filter_map(|entry| entry.raw).collect();
    let found = sel::decode(&raw);
    assert_eq!((found[0].tag, &found[0].reason), (0xBEEF, &sel::Known::Whole(failure.clone())));
    let said = ipmitool(simulator.port, "3", &["sel", "list"]).unwrap();
    assert!(said.contains("004c4c | 03beef"), "a person reads LL-03: {said}");
    let found = sel::decode_text(said.lines());
    assert_eq!(found[0].reason, sel::Known::Whole(failure), "{said}");
}

#[tokio::test]
async fn an_operator_switches_power_and_a_mere_user_does_not() {
    let Some(simulator) = Simulator::start().await else { return };
    let operator = Login::new("oper", Secret::new("secret"));
    let user = simulator.connect(operator.clone().with_privilege(Privilege::User)).await.unwrap();
    assert_eq!(user.power().await.unwrap(), Power::Off);
    let error = user.power_on().await.unwrap_err();
    assert_eq!(error.to_string(), "Chassis Control needs a higher privilege than USER");
    let ipmi = simulator.connect(operator.with_privilege(Privilege::Operator)).await.unwrap();
    ipmi.power_on().await.unwrap();
    assert_eq!(simulator.done(), "power 1\n");
}

#[tokio::test]
async fn wrong_password_and_unknown_user_are_told_apart() {
    let Some(simulator) = Simulator::start().await else { return };
    let error = simulator.connect(Login::new("admin", Secret::new("wrong"))).await.unwrap_err();
    assert!(matches!(error, IpmiError::WrongPassword { .. }), "{error}");
    let error = simulator.connect(Login::new("nobody", Secret::new("secret"))).await.unwrap_err();
    assert!(matches!(error, IpmiError::UnknownUser { .. }), "{error}");
}
