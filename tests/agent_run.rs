//! `leaseless-agent run` as a service: the real program against the controller's own server.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use leaseless::controller::agent_api::{AgentApi, AgentEvent};
use leaseless::controller::authority::Authority;
use leaseless::types::Secret;
use leaseless::types::boot::BootConfig;
use leaseless::types::report::Instruction;
use time::OffsetDateTime;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: &str = "5ecre7-t0ken";
const PATIENCE: Duration = Duration::from_secs(60);

fn agent() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaseless-agent"));
    command.kill_on_drop(true).stdin(Stdio::null());
    command
}

fn authority() -> Authority {
    Authority::generate(&[LOOPBACK], OffsetDateTime::now_utc()).unwrap()
}

/// A directory as `--config` takes it, for a controller at `address`.
fn config(authority: &Authority, address: SocketAddr) -> tempfile::TempDir {
    let boot = BootConfig {
        version: 1,
        host_id: "host-1".into(),
        controller_urls: vec![format!("https://{address}")],
        ca_pem: authority.ca_pem().into(),
        token: Secret::new(TOKEN),
        issued_at: OffsetDateTime::now_utc().unix_timestamp(),
        allow_dhcp: false,
    };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("boot.json"), serde_json::to_vec(&boot).unwrap()).unwrap();
    directory
}

#[tokio::test]
async fn a_service_reports_obeys_and_keeps_its_secrets() {
    let authority = authority();
    let api = AgentApi::bind(SocketAddr::new(LOOPBACK, 0), authority.server()).await.unwrap();
    let mut host = api.enrol("host-1".into(), Secret::new(TOKEN));
    let directory = config(&authority, api.local_addr());
    let service = agent()
        .args(["run", "--config"])
        .arg(directory.path())
        .env("RUST_LOG", "trace")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its log is read all along: a full pipe would stop it.
    let ended = tokio::time::timeout(PATIENCE, service.wait_with_output());
    let told = async {
        let report = loop {
            if let AgentEvent::Reported(report) = host.next_event().await {
                break report;
            }
        };
        host.instruct(Instruction::PowerOff);
        report
    };
    let (ended, report) = tokio::join!(ended, tokio::time::timeout(PATIENCE, told));
    let report = report.expect("it reports in time");
    assert_eq!(report.hardware.cpu.arch, std::env::consts::ARCH);
    assert_eq!(report.problems, []);
    let output = ended.expect("it ends in time").unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    assert!(log.contains("reported: waiting for instructions"), "{log}");
    assert!(!log.contains(TOKEN), "{log}");
    assert!(!log.contains("Bearer "), "{log}");
}

#[tokio::test]
async fn a_service_that_cannot_call_home_says_why_and_tries_again() {
    let closed = {
        let listener = std::net::TcpListener::bind((LOOPBACK, 0)).unwrap();
        listener.local_addr().unwrap()
    };
    let directory = config(&authority(), closed);
    let mut service = agent()
        .args(["run", "--config"])
        .arg(directory.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(service.stderr.take().unwrap()).lines();
    let reason = format!(
        "leaseless-agent: error: LL-05 controller 127.0.0.1 port {} refused the connection",
        closed.port()
    );
    let said = async {
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let last = line.contains("trying again in 5 s");
            seen.push(line);
            if last {
                break;
            }
        }
        seen
    };
    let seen = tokio::time::timeout(PATIENCE, said).await.expect("it says so in time");
    assert!(seen.contains(&reason), "{seen:#?}");
}

#[tokio::test]
async fn a_missing_configuration_is_a_reason_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut service = agent()
        .args(["run", "--config"])
        .arg(directory.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(service.stderr.take().unwrap()).lines();
    let said = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("LL-09") {
                return line;
            }
        }
        String::new()
    };
    let line = tokio::time::timeout(PATIENCE, said).await.expect("it says so in time");
    assert_eq!(line, "leaseless-agent: error: LL-09 no boot configuration on any medium");
}

#[tokio::test]
async fn a_command_line_that_is_wrong_exits_with_64() {
    for arguments in [&["run"][..], &["walk"], &["run", "--config", "/", "--own-machine"]] {
        let output = agent().args(arguments).output().await.unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
    }
}
