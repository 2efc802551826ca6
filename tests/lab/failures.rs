//! Servers that can't report, each with the sentence that its BMC's event log and its console
//! hold. `inspect` gives up at once where no retry helps, and after a while elsewhere: there the
//! sentence is waited for, and then Ctrl-C, except once.

use std::process::{Child, Stdio};

use super::network_data::{nic, one_nic};
use super::rack::{Rack, rack};
use super::run::Run;

const GOOD: &str = "type: ipv4, ip_address: 172.31.0.10/24, gateway: 172.31.0.1";
/// The agent is told to call there, and nobody listens.
const NOBODY: [&str; 4] =
    ["--agent-listen", "127.0.0.1:8443", "--controller-address", "172.31.0.1"];

/// The server says `sentence` out of band and on its console.
fn says(rack: &Rack, network: &str, arguments: &[&str], sentence: &str) {
    let mut run = Run::start(rack, network, arguments);
    let told = run.says("the host says: ");
    assert_eq!(told, sentence, "{}", rack.console());
    run.interrupt();
    assert_eq!(run.ends().code, Some(1));
    let line = format!("leaseless: {sentence}");
    assert!(rack.console().contains(&line), "{}", rack.console());
}

/// The same, and the run ends by itself with it first.
fn ends_with(rack: &Rack, network: &str, arguments: &[&str], sentence: &str) {
    let outcome = Run::start(rack, network, arguments).ends();
    assert_eq!((outcome.code, outcome.report.as_str()), (Some(1), ""), "{outcome:#?}");
    let said = format!("the host did not report: {sentence}");
    assert!(outcome.told.contains(&said), "{outcome:#?}\n{}", rack.console());
    let line = format!("leaseless: {sentence}");
    assert!(rack.console().contains(&line), "{}", rack.console());
}

#[test]
fn no_carrier() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&["link=down"]);
    says(&rack, &one_nic(GOOD), &[], "LL-01 no carrier on 52:54:00:31:00:01");
}

#[test]
fn no_such_mac() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&["nics=2"]);
    let sentence = "LL-02 no NIC has MAC 52:54:00:31:00:77: there are 52:54:00:31:00:01, \
                    52:54:00:31:00:02";
    says(&rack, &nic("52:54:00:31:00:77", GOOD), &[], sentence);
}

#[test]
fn an_address_in_use() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&[]);
    rack.ask("neighbour", &["172.31.0.10"]);
    let sentence = "LL-03 address 172.31.0.10 is in use by 52:54:00:31:00:99";
    says(&rack, &one_nic(GOOD), &[], sentence);
}

#[test]
fn a_silent_gateway() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&[]);
    // The controller is behind that gateway, as in most racks.
    let network = one_nic("type: ipv4, ip_address: 172.31.0.10/24, gateway: 172.31.0.254");
    let elsewhere = ["--controller-address", "172.31.42.1"];
    ends_with(&rack, &network, &elsewhere, "LL-04 gateway 172.31.0.254 is silent");
}

#[test]
fn a_controller_that_refuses() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&[]);
    let sentence = "LL-05 controller 172.31.0.1 port 8443 refused the connection";
    says(&rack, &one_nic(GOOD), &NOBODY, sentence);
}

#[test]
fn somebody_else_at_the_controllers_port() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&[]);
    let _impostor = Impostor::start(&rack);
    let sentence = "LL-06 certificate of controller 172.31.0.1 port 8443 does not verify";
    ends_with(&rack, &one_nic(GOOD), &NOBODY, sentence);
}

/// A TLS server with another certificate.
struct Impostor(Child);

impl Impostor {
    fn start(rack: &Rack) -> Self {
        let (key, certificate) = (rack.lab.join("bmc.key"), rack.lab.join("bmc.pem"));
        let mut command = rack.command("openssl");
        command.args(["s_server", "-www", "-quiet", "-accept", "172.31.0.1:8443", "-key"]);
        command.arg(key).arg("-cert").arg(certificate);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_clock_ten_years_ahead() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&["clock=315360000"]);
    let mut run = Run::start(&rack, &one_nic(GOOD), &[]);
    let told = run.says("the host says: ");
    assert!(told.starts_with("LL-07 clock of the host is wrong: "), "{told}");
    let outcome = run.ends();
    assert_eq!((outcome.code, outcome.report.as_str()), (Some(1), ""), "{outcome:#?}");
    assert!(rack.console().contains(&format!("leaseless: {told}")), "{}", rack.console());
}

#[test]
fn a_clock_ten_years_behind_is_told_beside_the_report() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&["clock=-315360000"]);
    let outcome = Run::start(&rack, &one_nic(GOOD), &[]).ends();
    assert_eq!(outcome.hardware().nics[0].ip, "172.31.0.10");
    assert!(outcome.told.contains("LL-07 clock of the host is wrong: "), "{outcome:#?}");
}
