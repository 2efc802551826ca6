//! dnsmasq in the world: one IPv4 and one IPv6 address to give out, and DNS to name.

use std::process::{Child, Command, Stdio};

use crate::wire::Wires;

pub(crate) struct DhcpServer {
    process: Child,
    _leases: tempfile::TempDir,
}

impl DhcpServer {
    /// `None`, said loudly, where there is no dnsmasq.
    pub(crate) fn start(wires: &Wires) -> Option<Self> {
        if Command::new("dnsmasq").arg("--version").output().is_err() {
            eprintln!("NOT TESTED: DHCP needs dnsmasq");
            return None;
        }
        let leases = tempfile::tempdir().unwrap();
        let file = leases.path().join("leases");
        let process = Command::new("ip")
            .args(["netns", "exec", &wires.world, "dnsmasq", "--keep-in-foreground"])
            .args(["--conf-file=/dev/null", "--user=root", "--port=0", "--interface=eth0"])
            .args(["--dhcp-authoritative", "--no-ping", "--pid-file="])
            .arg(format!("--dhcp-leasefile={}", file.display()))
            .arg("--dhcp-range=192.0.2.100,192.0.2.100,255.255.255.0,10m")
            .arg("--dhcp-range=2001:db8::100,2001:db8::100,64,10m")
            .args(["--dhcp-option=3,192.0.2.1", "--dhcp-option=6,192.0.2.53"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self { process, _leases: leases })
    }
}

impl Drop for DhcpServer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
