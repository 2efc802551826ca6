//! Devices as they appear: the kernel's uevent broadcast (`lib/kobject_uevent.c`, netlink family
//! `NETLINK_KOBJECT_UEVENT`, group 1).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// The kernel's own messages; group 2 is udev's.
const KERNEL_GROUP: u32 = 1;
/// `UEVENT_BUFFER_SIZE` is 2048; the header before it is a path.
const LARGEST_MESSAGE: usize = 8192;

/// A socket that hears every uevent from its opening on.
#[derive(Debug)]
pub struct Uevents(OwnedFd);

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A device that has a `modalias` appeared.
    Device(String),
    /// Something else happened.
    Other,
    /// Messages were lost: look at everything again.
    Lost,
    /// Nothing came in time.
    Silence,
}

impl Uevents {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the kernel gives no such socket.
    pub fn listen() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkKObjectUEvent,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, KERNEL_GROUP))?;
        Ok(Self(socket))
    }

    /// Waits for one message, at most `patience`.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn next(&self, patience: Duration) -> io::Result<Heard> {
        let mut ready = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        match poll(&mut ready, timeout) {
            Ok(0) | Err(Errno::EINTR) => return Ok(Heard::Silence),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut buffer = [0; LARGEST_MESSAGE];
        match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => Ok(parse(&buffer[..length])),
            Err(Errno::ENOBUFS) => Ok(Heard::Lost),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(Heard::Silence),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// `add@/devices/…`, then `KEY=value`, each ended by a zero byte.
fn parse(message: &[u8]) -> Heard {
    let mut fields = message.split(|byte| *byte == 0);
    if !fields.next().is_some_and(|header| header.starts_with(b"add@")) {
        return Heard::Other;
    }
    fields
        .find_map(|field| std::str::from_utf8(field.strip_prefix(b"MODALIAS=")?).ok())
        .map_or(Heard::Other, |alias| Heard::Device(alias.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_device_tells_its_modalias() {
        let message = b"add@/devices/pci0000:00/0000:00:03.0\0ACTION=add\0SUBSYSTEM=pci\0\
                        MODALIAS=pci:v00001AF4d00001000\0SEQNUM=1\0";
        assert_eq!(parse(message), Heard::Device("pci:v00001AF4d00001000".into()));
    }

    #[test]
    fn everything_else_is_other() {
        assert_eq!(parse(b"remove@/devices/x\0MODALIAS=usb:v1\0"), Heard::Other);
        assert_eq!(parse(b"add@/devices/x\0ACTION=add\0"), Heard::Other);
        assert_eq!(parse(b"libudev\0\xfe\xed\xca\xfe"), Heard::Other);
        assert_eq!(parse(b""), Heard::Other);
    }
}
