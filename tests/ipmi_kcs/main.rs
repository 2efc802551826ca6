//! What the agent tells the machine's own BMC is read from outside: the agent as init of a real
//! kernel in QEMU, KCS to OpenIPMI's `ipmi_sim`, and from there over LAN.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

#[expect(dead_code, reason = "other tests use the rest of it")]
#[path = "../agent_boot/initramfs.rs"]
mod initramfs;
#[path = "../agent_boot/machine.rs"]
#[expect(dead_code, reason = "these machines never power off by themselves")]
mod machine;
#[path = "../ipmi/openipmi.rs"]
#[expect(dead_code, reason = "no ipmitool here, and no look at the chassis")]
mod openipmi;

use std::net::{IpAddr, Ipv4Addr, TcpListener};

use initramfs::Segment;
use leaseless::bmc::{EventLog, reasons};
use leaseless::controller::authority::Authority;
use leaseless::types::Secret;
use leaseless::types::boot::BootConfig;
use leaseless::types::reason::{Failure, sel};
use machine::{MAC, Machine};
use openipmi::{Simulator, admin};
use time::OffsetDateTime;

/// The host's loopback, as a machine in QEMU's user network sees it.
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2));

/// A boot whose controller is not there.
fn segment(token: &Secret, port: u16) -> Vec<u8> {
    let now = OffsetDateTime::now_utc();
    let boot = BootConfig {
        version: 1,
        host_id: "host-1".into(),
        controller_urls: vec![format!("https://{HOST}:{port}")],
        ca_pem: Authority::generate(&[HOST], now).unwrap().ca_pem().into(),
        token: token.clone(),
        issued_at: now.unix_timestamp(),
        allow_dhcp: false,
    };
    let network_data = format!(
        r#"{{"links": [{{"id": "nic", "type": "phy", "ethernet_mac_address": "{MAC}"}}],
             "networks": [{{"id": "net", "link": "nic", "type": "ipv4", "ip_address": "10.0.2.15/24",
                            "gateway": "10.0.2.2"}}]}}"#
    );
    Segment::with_agent()
        .file("boot.json", &serde_json::to_vec(&boot).unwrap())
        .file("network_data.json", network_data.as_bytes())
        .finish()
}

#[tokio::test]
async fn a_reason_goes_through_kcs_and_is_read_over_lan() {
    let Some(image) = machine::image() else { return };
    let Some(bmc) = Simulator::start().await else { return };
    let token = Secret::new("t0ken");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let chardev = format!("socket,id=ipmi0,host=127.0.0.1,port={},reconnect=1", bmc.serial_port);
    let arguments = ["-chardev", &chardev, "-device", "ipmi-bmc-extern,chardev=ipmi0,id=bmc0"];
    let arguments = [arguments.as_slice(), &["-device", "isa-ipmi-kcs,bmc=bmc0"]].concat();
    let mut machine = Machine::start(&image, &segment(&token, closed), "", &arguments);
    machine.says("the BMC's event log has LL-05").await;

    let ipmi = bmc.connect(admin()).await.unwrap();
    let found = reasons(&ipmi.entries().await.unwrap());
    let refused = Failure::ControllerUnreachable { address: HOST, port: closed, refused: true };
    let [found] = found.as_slice() else { panic!("one reason, not {found:?}") };
    assert_eq!(found.tag, sel::boot_tag(&token), "it is of this boot");
    assert_eq!(found.reason, sel::Known::Whole(refused));
}
