//! Which of this machine's addresses a BMC or a host can reach: the kernel's routes know.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// This machine has no address from which `towards` could be reached.
#[derive(Debug, thiserror::Error)]
#[error("this machine has no route to {towards}")]
pub struct NoSourceAddress {
    /// The address to be reached.
    pub towards: IpAddr,
    /// What the kernel said.
    #[source]
    pub source: io::Error,
}

/// The local address that the kernel would use towards `towards`. Nothing is sent: connecting a
/// UDP socket only looks the route up.
///
/// # Errors
/// When there is no route.
pub fn source_address(towards: IpAddr) -> Result<IpAddr, NoSourceAddress> {
    let any = match towards {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let look_up = || {
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(SocketAddr::new(towards, 9))?;
        socket.local_addr()
    };
    look_up().map(|local| local.ip()).map_err(|source| NoSourceAddress { towards, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_reached_from_loopback() {
        let lo = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert_eq!(source_address(lo).unwrap(), lo);
    }
}
