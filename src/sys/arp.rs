//! IPv4 address conflict detection and announcement (RFC 5227), quickened: the kernel does none.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::packet::PacketSocket;
use crate::types::Mac;

const ETHERTYPE_ARP: u16 = 0x0806;
const REQUEST: u16 = 1;
/// RFC 5227 has 3 probes 1 to 2 s apart and 2 s more of silence; a boot can't wait 7 s.
const PROBES: u32 = 3;
const PROBE_INTERVAL: Duration = Duration::from_millis(300);

/// Looks for another machine with `address` on the device; answers its MAC. `own` are MACs of this
/// host. Takes 0.9 s when nobody answers.
///
/// # Errors
/// When no packet socket can be had or the device is down.
pub async fn probe(
    index: u32,
    mac: Mac,
    own: &[Mac],
    address: Ipv4Addr,
) -> io::Result<Option<Mac>> {
    let socket = PacketSocket::open(index, ETHERTYPE_ARP)?;
    // The sender's address is empty, so that no cache learns ours before it is.
    let question = render(mac, Ipv4Addr::UNSPECIFIED, address);
    for _ in 0..PROBES {
        socket.broadcast(&question).await?;
        let deadline = Instant::now() + PROBE_INTERVAL;
        let mut buffer = [0; 64];
        while let Ok(received) = timeout_at(deadline, socket.receive(&mut buffer)).await {
            let claimant = claimant(&buffer[..received?], address);
            if let Some(other) = claimant.filter(|other| !own.contains(other) && *other != mac) {
                return Ok(Some(other));
            }
        }
    }
    Ok(None)
}

/// Tells the link that `address` is ours (RFC 5227 §2.3).
///
/// # Errors
/// When no packet socket can be had or the device is down.
pub async fn announce(index: u32, mac: Mac, address: Ipv4Addr) -> io::Result<()> {
    let socket = PacketSocket::open(index, ETHERTYPE_ARP)?;
    socket.broadcast(&render(mac, address, address)).await
}

/// An ARP request for IPv4 over Ethernet (RFC 826).
fn render(mac: Mac, sender: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4];
    packet.extend(REQUEST.to_be_bytes());
    packet.extend(mac.octets());
    packet.extend(sender.octets());
    packet.extend([0; 6]);
    packet.extend(target.octets());
    packet
}

/// Who lays claim to `address` in an ARP packet: it has the address, or probes for it as we do
/// (RFC 5227 §2.1.1).
fn claimant(packet: &[u8], address: Ipv4Addr) -> Option<Mac> {
    let body = packet.strip_prefix(&[0, 1, 8, 0, 6, 4])?.get(..22)?;
    let (operation, body) = body.split_at(2);
    let mac = Mac::from_slice(&body[..6])?;
    let (sender, target) = (&body[6..10], &body[16..20]);
    let has_it = sender == address.octets();
    let probes = operation == REQUEST.to_be_bytes()
        && sender == Ipv4Addr::UNSPECIFIED.octets()
        && target == address.octets();
    (has_it || probes).then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: Mac = Mac::new([2, 0, 0, 0, 0, 9]);

    #[test]
    fn whoever_has_or_probes_for_the_address_lays_claim_to_it() {
        let address = Ipv4Addr::new(192, 0, 2, 10);
        let elsewhere = Ipv4Addr::new(192, 0, 2, 11);
        let empty = Ipv4Addr::UNSPECIFIED;
        assert_eq!(claimant(&render(OTHER, address, elsewhere), address), Some(OTHER));
        assert_eq!(claimant(&render(OTHER, empty, address), address), Some(OTHER));
        assert_eq!(claimant(&render(OTHER, empty, elsewhere), address), None);
        assert_eq!(claimant(&render(OTHER, elsewhere, address), address), None);
    }

    #[test]
    fn what_is_no_arp_of_ipv4_over_ethernet_is_passed_over() {
        let address = Ipv4Addr::new(192, 0, 2, 10);
        let packet = render(OTHER, address, address);
        assert_eq!(claimant(&packet[..27], address), None);
        assert_eq!(claimant(&[], address), None);
        let mut infiniband = packet;
        infiniband[1] = 32;
        assert_eq!(claimant(&infiniband, address), None);
    }
}
