//! One UDP socket to one BMC: datagrams out until the answer is in, or until time is up.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use super::error::IpmiError;
use super::login::Patience;
use super::packet::{DATAGRAM_MAX, Packet};

/// A read time-out of zero would mean none.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// A socket that hears its BMC alone.
pub(super) struct Wire {
    socket: UdpSocket,
    pub(super) peer: SocketAddr,
    patience: Patience,
    /// Datagrams sent beyond the first of each exchange, since the wire was made.
    pub(super) resent: u32,
}

impl Wire {
    pub(super) fn new(peer: SocketAddr, patience: Patience) -> Result<Self, IpmiError> {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let connected = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect(peer)?;
            Ok(socket)
        });
        let socket = connected.map_err(|source| IpmiError::Socket { address: peer, source })?;
        Ok(Self { socket, peer, patience, resent: 0 })
    }

    /// Sends what `packet` makes, again and again with growing pauses, until `accept` takes an
    /// answer. A repetition is a new packet: inside a session it has a new sequence number.
    pub(super) fn exchange<T>(
        &mut self,
        mut packet: impl FnMut() -> Result<Vec<u8>, IpmiError>,
        mut accept: impl FnMut(Packet<'_>) -> Option<T>,
    ) -> Result<T, IpmiError> {
        let start = Instant::now();
        let deadline = start + self.patience.request;
        let (mut resend, mut pause) = (start, self.patience.retransmit);
        let mut buffer = [0; DATAGRAM_MAX];
        loop {
            let now = Instant::now();
            if now >= deadline {
                return Err(IpmiError::NoAnswer(self.peer));
            }
            if now >= resend {
                self.send(&packet()?)?;
                self.resent += u32::from(resend != start);
                resend = now + pause;
                pause *= 2;
            }
            if let Some(length) = self.receive(&mut buffer, resend.min(deadline) - now)?
                && let Some(answer) = Packet::parse(&buffer[..length]).and_then(&mut accept)
            {
                return Ok(answer);
            }
        }
    }

    pub(super) fn send(&self, datagram: &[u8]) -> Result<(), IpmiError> {
        self.socket.send(datagram).map(drop).map_err(|error| self.error(error))
    }

    fn receive(&self, buffer: &mut [u8], wait: Duration) -> Result<Option<usize>, IpmiError> {
        let received = self
            .socket
            .set_read_timeout(Some(wait.max(SHORTEST_WAIT)))
            .and_then(|()| self.socket.recv(buffer));
        match received {
            Ok(length) => Ok(Some(length)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
                _ => Err(self.error(error)),
            },
        }
    }

    /// An ICMP "port unreachable" shows up as a refused connection.
    fn error(&self, source: io::Error) -> IpmiError {
        match source.kind() {
            ErrorKind::ConnectionRefused => IpmiError::Closed(self.peer),
            _ => IpmiError::Socket { address: self.peer, source },
        }
    }
}
