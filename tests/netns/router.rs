//! A router of a few lines in the world: advertises one prefix, once in 200 ms (RFC 4861 §4.2).

use std::net::{Ipv6Addr, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn6, sendto, setsockopt,
    socket, sockopt,
};

use crate::wire::Wires;

pub(crate) struct Router {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Router {
    /// Advertises `2001:db8:5::/64` on every wire of the world.
    pub(crate) fn start(wires: &Wires) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let world = wires.world.clone();
        let thread = std::thread::spawn(move || {
            crate::wire::enter(&world);
            let raw = socket(
                AddressFamily::Inet6,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::IcmpV6,
            )
            .unwrap();
            // Hosts drop advertisements that crossed a router (RFC 4861 §6.1.2).
            setsockopt(&raw, sockopt::Ipv6MulticastHops, &255).unwrap();
            let index = nix::net::if_::if_nametoindex("eth0").unwrap();
            let everybody: Ipv6Addr = "ff02::1".parse().unwrap();
            let to = SockaddrIn6::from(SocketAddrV6::new(everybody, 0, 0, index));
            while !stopped.load(Ordering::Relaxed) {
                // Until duplicate detection is through there is no source address.
                sendto(raw.as_raw_fd(), &advertisement(), &to, MsgFlags::empty()).ok();
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

/// Router lifetime 1800 s; prefix on-link and autonomous, valid 3600 s, preferred 1800 s.
fn advertisement() -> Vec<u8> {
    let mut packet = vec![134, 0, 0, 0, 64, 0];
    packet.extend(1800_u16.to_be_bytes());
    packet.extend([0; 8]);
    packet.extend([3, 4, 64, 0xc0]);
    packet.extend(3600_u32.to_be_bytes());
    packet.extend(1800_u32.to_be_bytes());
    packet.extend([0; 4]);
    let prefix: Ipv6Addr = "2001:db8:5::".parse().unwrap();
    packet.extend(prefix.octets());
    packet
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
