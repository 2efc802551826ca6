//! The listener on a wire between two network namespaces. Needs root.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use leaseless::agent::inventory::lldp::Neighbour;
use leaseless::agent::inventory::lldp_listener::LldpListener;
use leaseless::sys::packet::PacketSocket;
use leaseless::types::IfName;
use nix::sched::{CloneFlags, setns};

use crate::lldp::frame;

/// A namespace with both ends of a wire in it: `near` is listened on, `far` is the switch.
struct Wire(String);

impl Wire {
    fn new(name: &str) -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("NOT TESTED: network namespaces need root");
            return None;
        }
        let wire = Self(format!("ll-lldp-{}-{name}", std::process::id()));
        ip(&format!("netns add {}", wire.0));
        wire.ip("link add near type veth peer name far");
        wire.ip("link set far up");
        Some(wire)
    }

    fn ip(&self, arguments: &str) {
        ip(&format!("-n {} {arguments}", self.0));
    }

    /// Runs a future on a thread inside.
    fn inside(&self, work: impl AsyncFnOnce() + Send) {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let file = File::open(format!("/run/netns/{}", self.0)).unwrap();
                setns(file, CloneFlags::CLONE_NEWNET).unwrap();
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let bounded = async { tokio::time::timeout(Duration::from_secs(20), work()).await };
                runtime.block_on(bounded).expect("in time");
            });
            thread.join().unwrap();
        });
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        Command::new("ip").args(["netns", "del", &self.0]).status().ok();
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {complaint}");
}

fn index(name: &str) -> u32 {
    nix::net::if_::if_nametoindex(name).unwrap()
}

/// Says it again until `heard` is true, as switches do: a frame sent to a device that is not yet
/// up is lost.
async fn say(listener: &LldpListener, said: &[u8], heard: impl Fn(&[Neighbour]) -> bool) {
    let socket = PacketSocket::open(index("far"), 0x88cc).unwrap();
    let near: IfName = "near".parse().unwrap();
    loop {
        socket.broadcast(&said[14..]).await.ok();
        tokio::time::sleep(Duration::from_millis(20)).await;
        if heard(&listener.heard()[&near]) {
            return;
        }
    }
}

#[test]
fn a_switch_on_the_wire_is_heard_on_a_port_that_came_up_after_listening_began() {
    let Some(wire) = Wire::new("up") else { return };
    wire.inside(async || {
        let near: IfName = "near".parse().unwrap();
        let mut listener = LldpListener::default();
        listener.listen(&near, index("near")).unwrap();
        listener.listen(&near, index("near")).unwrap();
        assert!(listener.heard()[&near].is_empty());
        wire.ip("link set near up");
        let said = frame(&[(5, b"leaf-1"), (127, b"\x00\x80\xc2\x01\x00\x64")]);
        say(&listener, &said, |heard| !heard.is_empty()).await;
        let heard = listener.heard();
        let neighbour = &heard[&near][0];
        assert_eq!(neighbour.system_name.as_deref(), Some("leaf-1"));
        assert_eq!(neighbour.port.to_string(), "Ethernet1/7");
        assert_eq!(neighbour.port_vlan.map(u16::from), Some(100));

        // Down and up again; the switch has another name now.
        wire.ip("link set near down");
        wire.ip("link set near up");
        let said = frame(&[(5, b"leaf-2")]);
        let renamed = |heard: &[Neighbour]| heard[0].system_name.as_deref() == Some("leaf-2");
        say(&listener, &said, renamed).await;
    });
}

#[test]
fn frames_to_the_bridge_group_are_received_on_a_port_that_is_not_promiscuous() {
    let Some(wire) = Wire::new("group") else { return };
    wire.ip("link set near up");
    wire.inside(async || {
        let mut listener = LldpListener::default();
        listener.listen(&"near".parse().unwrap(), index("near")).unwrap();
        let groups = Command::new("ip").args(["maddress", "show", "dev", "near"]).output().unwrap();
        let groups = String::from_utf8(groups.stdout).unwrap();
        for group in ["01:80:c2:00:00:0e", "01:80:c2:00:00:03", "01:80:c2:00:00:00"] {
            assert!(groups.contains(group), "{groups}");
        }
    });
}

#[test]
fn a_device_that_is_not_there_is_refused() {
    let Some(wire) = Wire::new("gone") else { return };
    wire.inside(async || {
        let mut listener = LldpListener::default();
        let error = listener.listen(&"gone".parse().unwrap(), 4242).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(nix::errno::Errno::ENODEV as i32));
        assert!(listener.heard().is_empty());
    });
}
