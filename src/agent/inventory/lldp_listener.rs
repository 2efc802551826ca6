//! Listens for LLDP on ports while everything else goes on. Receives only; never waits for anyone,
//! and nobody has to wait for it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::lldp::{ChassisId, ETHERTYPE, Neighbour, PortId};
use super::model::Problem;
use super::nics;
use crate::sys::packet::PacketSocket;
use crate::sys::sysfs::Root;
use crate::types::{IfName, Mac};

/// Nearest bridge, nearest non-TPMR bridge, nearest customer bridge (802.1AB table 7-1).
const GROUPS: [Mac; 3] = [
    Mac::new([0x01, 0x80, 0xc2, 0, 0, 0x0e]),
    Mac::new([0x01, 0x80, 0xc2, 0, 0, 0x03]),
    Mac::new([0x01, 0x80, 0xc2, 0, 0, 0x00]),
];
/// The largest frame without jumbo frames, and then some.
const FRAME_MAX: usize = 2048;
/// Neighbours remembered per port: a shared segment has several, an attacker any number.
const NEIGHBOURS_MAX: usize = 16;

/// One listener for all ports; it stops when dropped.
#[derive(Debug, Default)]
pub struct LldpListener {
    tasks: JoinSet<()>,
    ports: BTreeMap<IfName, (u32, Arc<Mutex<Port>>)>,
}

/// What one port heard: the newest frame of each neighbour, and until when it holds.
#[derive(Debug, Default)]
struct Port {
    neighbours: BTreeMap<(ChassisId, PortId), (Neighbour, Instant)>,
}

impl LldpListener {
    /// Listens on every physical port that is there, up or not; call it again when more have come.
    /// Needs a tokio runtime and `CAP_NET_RAW`.
    pub fn listen_on_all(&mut self, root: &Root) -> Vec<Problem> {
        let mut problems = Vec::new();
        for name in nics::physical(root) {
            let index = root.number(format!("sys/class/net/{name}/ifindex"));
            let listening = match index {
                Some(index) => self.listen(&name, index),
                // Gone since its name was read.
                None => Ok(()),
            };
            if let Err(error) = listening {
                problems.push(Problem::Lldp(format!("not listening on {name}: {error}")));
            }
        }
        problems
    }

    /// Listens on one device, which may be down. Does nothing when it is listened on already.
    ///
    /// # Errors
    /// The kernel's: `EPERM` without `CAP_NET_RAW`, `ENODEV` without the device.
    pub fn listen(&mut self, name: &IfName, index: u32) -> io::Result<()> {
        if self.ports.get(name).is_some_and(|(known, _)| *known == index) {
            return Ok(());
        }
        let socket = PacketSocket::open(index, ETHERTYPE)?;
        for group in GROUPS {
            socket.join(group)?;
        }
        let port = Arc::new(Mutex::new(Port::default()));
        self.ports.insert(name.clone(), (index, Arc::clone(&port)));
        self.tasks.spawn(receive(socket, port));
        Ok(())
    }

    /// What was heard so far and still holds, by port, switches first. A port that is listened on
    /// and heard nothing is there, empty.
    #[must_use]
    pub fn heard(&self) -> BTreeMap<IfName, Vec<Neighbour>> {
        let now = Instant::now();
        let ports = self.ports.iter();
        ports.map(|(name, (_, port))| (name.clone(), lock(port).current(now))).collect()
    }
}

impl Port {
    fn take(&mut self, neighbour: Neighbour, now: Instant) {
        self.neighbours.retain(|_, (_, until)| *until > now);
        let key = (neighbour.chassis.clone(), neighbour.port.clone());
        let is_new = !self.neighbours.contains_key(&key);
        if neighbour.ttl == 0 {
            self.neighbours.remove(&key);
        } else if !is_new || self.neighbours.len() < NEIGHBOURS_MAX {
            let until = now + Duration::from_secs(u64::from(neighbour.ttl));
            self.neighbours.insert(key, (neighbour, until));
        }
    }

    fn current(&self, now: Instant) -> Vec<Neighbour> {
        let known = self.neighbours.values();
        let mut current: Vec<Neighbour> =
            known.filter(|(_, until)| *until > now).map(|(known, _)| known.clone()).collect();
        current.sort_by_key(|neighbour| !neighbour.is_switch());
        current
    }
}

/// Until the device is gone or the task is aborted.
async fn receive(socket: PacketSocket, port: Arc<Mutex<Port>>) {
    let mut buffer = vec![0; FRAME_MAX];
    loop {
        let (length, source) = match socket.receive_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) if error.raw_os_error() == Some(Errno::ENETDOWN as i32) => continue,
            Err(_gone) => return,
        };
        let pdu = buffer.get(..length).unwrap_or_default();
        if let Ok(neighbour) = Neighbour::parse_pdu(source, pdu) {
            lock(&port).take(neighbour, Instant::now());
        }
    }
}

/// Nothing panics while it holds the lock, and half of an insertion can't be seen.
fn lock(port: &Mutex<Port>) -> std::sync::MutexGuard<'_, Port> {
    port.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbour(port: u8, ttl: u16, name: &str, bridge: bool) -> Neighbour {
        let mut pdu = vec![2, 2, 7, b'c', 4, 2, 7, port, 6, 2];
        pdu.extend(ttl.to_be_bytes());
        pdu.extend([10, u8::try_from(name.len()).unwrap()]);
        pdu.extend(name.bytes());
        pdu.extend([14, 4, 0, 4, 0, if bridge { 4 } else { 0 }]);
        Neighbour::parse_pdu(Mac::new([2, 0, 0, 0, 0, 1]), &pdu).unwrap()
    }

    fn names(port: &Port, now: Instant) -> Vec<String> {
        port.current(now).into_iter().filter_map(|known| known.system_name).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_frame_of_each_neighbour_counts_until_its_time_is_over() {
        let (start, mut port) = (Instant::now(), Port::default());
        port.take(neighbour(1, 100, "old", true), start);
        port.take(neighbour(2, 20, "short", true), start);
        port.take(neighbour(1, 100, "new", true), start + Duration::from_secs(10));
        assert_eq!(names(&port, start + Duration::from_secs(15)), ["new", "short"]);
        assert_eq!(names(&port, start + Duration::from_secs(21)), ["new"]);
        assert!(names(&port, start + Duration::from_secs(111)).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_neighbour_that_takes_its_word_back_is_forgotten_and_switches_come_first() {
        let (now, mut port) = (Instant::now(), Port::default());
        port.take(neighbour(1, 100, "phone", false), now);
        port.take(neighbour(2, 100, "switch", true), now);
        assert_eq!(names(&port, now), ["switch", "phone"]);
        port.take(neighbour(2, 0, "", true), now);
        assert_eq!(names(&port, now), ["phone"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_neighbours_fills_no_memory() {
        let (now, mut port) = (Instant::now(), Port::default());
        for number in 0..=255 {
            port.take(neighbour(number, 100, "x", false), now);
        }
        assert_eq!(port.current(now).len(), NEIGHBOURS_MAX);
    }
}
