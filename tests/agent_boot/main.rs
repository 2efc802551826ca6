//! The agent as init of a real kernel, in QEMU: from the initrd segment or a medium to a report, or
//! to a reason on the console and in the BMC's log. Needs QEMU and a built boot image, and says
//! so where they are missing.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod initramfs;
mod machine;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use initramfs::Segment;
use leaseless::controller::agent_api::{AgentApi, AgentEvent, Enrolled};
use leaseless::controller::authority::Authority;
use leaseless::types::Secret;
use leaseless::types::boot::BootConfig;
use leaseless::types::reason::Failure;
use leaseless::types::report::{Instruction, Report};
use machine::{MAC, Machine, PATIENCE};
use time::OffsetDateTime;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The host's loopback, as a machine in QEMU's user network sees it.
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2));

struct Controller {
    _api: AgentApi,
    host: Enrolled,
    boot: BootConfig,
}

async fn controller(now: OffsetDateTime) -> Controller {
    let authority = Authority::generate(&[HOST], now).unwrap();
    let api = AgentApi::bind(SocketAddr::new(LOOPBACK, 0), authority.server()).await.unwrap();
    let token = Secret::new("t0ken");
    let host = api.enrol("host-1".into(), token.clone());
    let boot = BootConfig {
        version: 1,
        host_id: "host-1".into(),
        controller_urls: vec![format!("https://{HOST}:{}", api.local_addr().port())],
        ca_pem: authority.ca_pem().into(),
        token,
        issued_at: now.unix_timestamp(),
        allow_dhcp: false,
    };
    Controller { _api: api, host, boot }
}

impl Controller {
    async fn report(&mut self) -> Box<Report> {
        let reported = async {
            loop {
                if let AgentEvent::Reported(report) = self.host.next_event().await {
                    return report;
                }
            }
        };
        tokio::time::timeout(PATIENCE, reported).await.expect("the machine reports in time")
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.boot).unwrap()
    }
}

fn network_data(mac: &str) -> String {
    format!(
        r#"{{"links": [{{"id": "nic", "type": "phy", "ethernet_mac_address": "{mac}"}}],
             "networks": [{{"id": "net", "link": "nic", "type": "ipv4", "ip_address": "10.0.2.15/24",
                            "gateway": "10.0.2.2"}}]}}"#
    )
}

#[tokio::test]
async fn a_machine_finds_its_segment_reports_and_powers_off() {
    let Some(image) = machine::image() else { return };
    let mut controller = controller(OffsetDateTime::now_utc()).await;
    let segment = Segment::with_agent()
        .file("boot.json", &controller.json())
        .file("network_data.json", network_data(MAC).as_bytes());
    let mut machine = Machine::start(&image, &segment.finish(), "", &[]);
    machine.says("configuration is from the initrd segment").await;
    let report = controller.report().await;
    assert_eq!(report.problems, []);
    let nic = report.hardware.nics.iter().find(|nic| nic.ip == "10.0.2.15");
    assert_eq!(nic.map(|nic| nic.mac.to_string()).as_deref(), Some(MAC), "{report:#?}");
    assert_eq!(report.hardware.system_vendor.manufacturer, "QEMU");
    controller.host.instruct(Instruction::PowerOff);
    machine.says("told to stop: PowerOff").await;
    machine.powers_off().await;
}

/// The medium with this boot's publisher wins over one that only has the label.
#[tokio::test]
async fn a_machine_without_a_segment_reads_the_medium_of_this_boot() {
    let Some(image) = machine::image() else { return };
    let mut controller = controller(OffsetDateTime::now_utc()).await;
    let publisher = "5D5AD6F0-3F6D-4B7C-A3A2-7B9D3A6B6A11";
    let folder = tempfile::tempdir().unwrap();
    let [stale, ours] = ["stale.iso", "ours.iso"].map(|name| folder.path().join(name));
    iso(&stale, "config-2", "SOMEBODY-ELSE", b"{}", b"{}");
    iso(&ours, "OURS", publisher, &controller.json(), network_data(MAC).as_bytes());
    let drive = |name: &str, file: &Path| {
        format!("file={},if=none,id={name},media=cdrom,readonly=on", file.display())
    };
    let [stale, ours] = [drive("stale", &stale), drive("ours", &ours)];
    let arguments = ["-drive", &stale, "-device", "ide-cd,drive=stale,bus=ide.0"];
    let ours = ["-drive", &ours, "-device", "ide-cd,drive=ours,bus=ide.1"];
    let arguments = [arguments, ours].concat();
    let line = format!("ir_pub_id={}", publisher.to_lowercase());
    let segment = Segment::with_agent().finish();
    let mut machine = Machine::start(&image, &segment, &line, &arguments);
    machine.says("configuration is from the medium \"OURS\"").await;
    assert_eq!(controller.report().await.problems, []);
}

/// A medium as Ironic's look, with a boot configuration.
fn iso(out: &Path, label: &str, publisher: &str, boot: &[u8], network_data: &[u8]) {
    let tree = tempfile::tempdir().unwrap();
    for (path, content) in
        [("leaseless/boot.json", boot), ("openstack/latest/network_data.json", network_data)]
    {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let made = Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-R", "-V", label, "-publisher", publisher, "-o"])
        .args([out, tree.path()])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test]
async fn a_reason_is_on_the_console_and_in_the_log_of_the_bmc() {
    let Some(image) = machine::image() else { return };
    let mut controller = controller(OffsetDateTime::now_utc()).await;
    let closed = std::net::TcpListener::bind((LOOPBACK, 0)).unwrap().local_addr().unwrap().port();
    controller.boot.controller_urls = vec![format!("https://{HOST}:{closed}")];
    let segment = Segment::with_agent()
        .file("boot.json", &controller.json())
        .file("network_data.json", network_data(MAC).as_bytes());
    let bmc = ["-device", "ipmi-bmc-sim,id=bmc0", "-device", "isa-ipmi-kcs,bmc=bmc0"];
    let mut machine = Machine::start(&image, &segment.finish(), "", &bmc);
    let reason =
        format!("leaseless: LL-05 controller 10.0.2.2 port {closed} refused the connection");
    assert_eq!(machine.says("LL-05").await, reason);
    machine.says("the BMC's event log has LL-05").await;
    machine.says("trying again in 5 s").await;
    assert_eq!(machine.says("LL-05").await, reason, "and again at the next attempt");
}

#[tokio::test]
async fn a_machine_whose_clock_is_years_behind_reports_all_the_same() {
    let Some(image) = machine::image() else { return };
    let mut controller = controller(OffsetDateTime::now_utc()).await;
    let segment = Segment::with_agent()
        .file("boot.json", &controller.json())
        .file("network_data.json", network_data(MAC).as_bytes());
    let clock = ["-rtc", "base=2001-01-01T00:00:00"];
    let mut machine = Machine::start(&image, &segment.finish(), "", &clock);
    machine.says("leaseless: LL-07 clock of the host is wrong").await;
    let report = controller.report().await;
    assert_eq!(report.problems.iter().map(Failure::code).collect::<Vec<_>>(), [7]);
}

#[tokio::test]
async fn a_machine_whose_clock_is_decades_ahead_says_why_it_trusts_nobody() {
    let Some(image) = machine::image() else { return };
    let controller = controller(OffsetDateTime::now_utc()).await;
    let segment = Segment::with_agent()
        .file("boot.json", &controller.json())
        .file("network_data.json", network_data(MAC).as_bytes());
    let clock = ["-rtc", "base=2090-01-01T00:00:00"];
    let mut machine = Machine::start(&image, &segment.finish(), "", &clock);
    machine.says("leaseless: LL-07 clock of the host is wrong").await;
    machine.says("trying again in 5 s").await;
}

#[tokio::test]
async fn an_image_whose_last_file_is_missing_is_a_reason_and_a_problem_of_the_report() {
    let Some(image) = machine::image() else { return };
    let mut controller = controller(OffsetDateTime::now_utc()).await;
    let segment = Segment::with_agent()
        .file("boot.json", &controller.json())
        .file("network_data.json", network_data(MAC).as_bytes())
        .without("leaseless/complete");
    let mut machine = Machine::start(&image, &segment.finish(), "", &[]);
    machine.says("leaseless: LL-08 boot image is truncated").await;
    let report = controller.report().await;
    assert_eq!(report.problems.iter().map(Failure::code).collect::<Vec<_>>(), [8]);
}

#[tokio::test]
async fn an_agent_that_is_killed_starts_again_and_reports() {
    let Some(image) = machine::image() else { return };
    let mut controller = controller(OffsetDateTime::now_utc()).await;
    let segment = Segment::with_agent()
        .file("boot.json", &controller.json())
        .file("network_data.json", network_data(MAC).as_bytes());
    let line = "sysrq_always_enabled=1";
    let mut machine = Machine::start(&image, &segment.finish(), line, &[]);
    let first = controller.report().await;
    machine.says("reported: waiting for instructions").await;
    machine.kill_largest_process().await;
    machine.says("leaseless: the agent ended (SIGKILL)").await;
    let second = controller.report().await;
    assert_eq!((first.problems, second.problems), (vec![], vec![]));
}
