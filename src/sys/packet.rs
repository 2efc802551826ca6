//! Frames of one EtherType on one device (`packet(7)`, `SOCK_DGRAM`: the kernel writes the
//! Ethernet header).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::libc;
use tokio::io::unix::AsyncFd;

use crate::types::Mac;

/// A socket for one EtherType on one device.
#[derive(Debug)]
pub struct PacketSocket {
    fd: AsyncFd<OwnedFd>,
    index: i32,
    ethertype: u16,
}

impl PacketSocket {
    /// Opens a socket; needs `CAP_NET_RAW` and a tokio runtime.
    ///
    /// # Errors
    /// The kernel's: `EPERM` without the capability, `ENODEV` without the device.
    pub fn open(index: u32, ethertype: u16) -> io::Result<Self> {
        let index = i32::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?;
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointer is passed. Protocol 0 receives nothing until bound.
        let raw = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `raw` is an open descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let address = link_address(index, ethertype, None);
        let length = address_length();
        // SAFETY: `address` is a `sockaddr_ll` of `length` bytes.
        let bound = unsafe { libc::bind(raw, (&raw const address).cast(), length) };
        if bound < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is owned by the `AsyncFd`, and stays the same while it lives.
        let fd = unsafe { AsyncFd::register(fd)? };
        Ok(Self { fd, index, ethertype })
    }

    /// Sends one payload to everybody on the link.
    ///
    /// # Errors
    /// The kernel's: `ENETDOWN` while the device is down.
    pub async fn broadcast(&self, payload: &[u8]) -> io::Result<()> {
        let address = link_address(self.index, self.ethertype, Some(Mac::new([0xff; 6])));
        loop {
            let mut ready = self.fd.writable().await?;
            let sent = ready.try_io(|fd| {
                // SAFETY: both pointers are valid for the lengths beside them.
                let sent = unsafe {
                    libc::sendto(
                        fd.as_raw_fd(),
                        payload.as_ptr().cast(),
                        payload.len(),
                        0,
                        (&raw const address).cast(),
                        address_length(),
                    )
                };
                if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
            });
            if let Ok(done) = sent {
                return done;
            }
        }
    }

    /// Receives frames to this group, too (`PACKET_MR_MULTICAST`), for as long as the socket lives.
    ///
    /// # Errors
    /// The kernel's: `ENODEV` when the device is gone.
    pub fn join(&self, group: Mac) -> io::Result<()> {
        let mut address = [0; 8];
        address[..6].copy_from_slice(&group.octets());
        let request = libc::packet_mreq {
            mr_ifindex: self.index,
            mr_type: libc::PACKET_MR_MULTICAST as u16,
            mr_alen: 6,
            mr_address: address,
        };
        // SAFETY: `request` is a `packet_mreq` of the length given.
        let joined = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                (&raw const request).cast(),
                size_of::<libc::packet_mreq>() as libc::socklen_t,
            )
        };
        if joined < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Receives one payload that somebody else sent; our own frames are skipped.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive_from(buffer).await.map(|(length, _)| length)
    }

    /// As [`PacketSocket::receive`], with the sender's MAC.
    ///
    /// # Errors
    /// The kernel's: `ENETDOWN` once each time the device goes down; it works on when that is up.
    pub async fn receive_from(&self, buffer: &mut [u8]) -> io::Result<(usize, Mac)> {
        loop {
            let mut ready = self.fd.readable().await?;
            let mut from = link_address(0, 0, None);
            let received = ready.try_io(|fd| {
                let mut length = address_length();
                // SAFETY: buffer and address are valid for the lengths beside them.
                let received = unsafe {
                    libc::recvfrom(
                        fd.as_raw_fd(),
                        buffer.as_mut_ptr().cast(),
                        buffer.len(),
                        0,
                        (&raw mut from).cast(),
                        &raw mut length,
                    )
                };
                usize::try_from(received).map_err(|_| io::Error::last_os_error())
            });
            let [a, b, c, d, e, f, ..] = from.sll_addr;
            match received {
                Ok(Ok(_)) if from.sll_pkttype == libc::PACKET_OUTGOING => {}
                Ok(done) => return Ok((done?, Mac::new([a, b, c, d, e, f]))),
                Err(_not_yet) => {}
            }
        }
    }
}

const fn address_length() -> libc::socklen_t {
    size_of::<libc::sockaddr_ll>() as libc::socklen_t
}

fn link_address(index: i32, ethertype: u16, mac: Option<Mac>) -> libc::sockaddr_ll {
    let mut hardware = [0; 8];
    if let Some(mac) = mac {
        hardware[..6].copy_from_slice(&mac.octets());
    }
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ethertype.to_be(),
        sll_ifindex: index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: if mac.is_some() { 6 } else { 0 },
        sll_addr: hardware,
    }
}
