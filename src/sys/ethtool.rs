//! What a network driver says through the ethtool ioctls (`linux/ethtool.h`): the permanent
//! address, and the fastest speed the port supports, be the link up or not.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::types::{IfName, Mac};

const ETHTOOL_GPERMADDR: u32 = 0x20;
const ETHTOOL_GLINKSETTINGS: u32 = 0x4c;
/// `MAX_ADDR_LEN`: InfiniBand has 20 bytes.
const ADDRESS_MAX: usize = 32;
/// `SCHAR_MAX`: the kernel's own bound of `link_mode_masks_nwords`.
const WORDS_MAX: usize = 127;

/// Asks the drivers of this network namespace.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

impl Ethtool {
    /// Any socket will do.
    ///
    /// # Errors
    /// When no socket can be had.
    pub fn open() -> io::Result<Self> {
        let kind = (AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC);
        Ok(Self { socket: socket(kind.0, kind.1, kind.2, None)? })
    }

    /// The address burnt into the NIC, as many bytes as the kind of link has (6, or 20 for
    /// InfiniBand); `None` where the driver knows none.
    #[must_use]
    pub fn permanent_address(&self, name: &IfName) -> Option<Vec<u8>> {
        let mut request = PermanentAddress {
            command: ETHTOOL_GPERMADDR,
            size: ADDRESS_MAX as u32,
            data: [0; ADDRESS_MAX],
        };
        self.ask(name, (&raw mut request).cast()).ok()?;
        let bytes = request.data.get(..request.size as usize)?;
        bytes.iter().any(|byte| *byte != 0).then(|| bytes.to_vec())
    }

    /// The permanent address of an Ethernet NIC.
    #[must_use]
    pub fn permanent_mac(&self, name: &IfName) -> Option<Mac> {
        Mac::from_slice(&self.permanent_address(name)?)
    }

    /// The fastest supported link mode, in Mbit/s; `None` for drivers without link modes, such as
    /// virtio's.
    #[must_use]
    pub fn max_speed_mbps(&self, name: &IfName) -> Option<u32> {
        let mut request = LinkSettings::default();
        self.ask(name, (&raw mut request).cast()).ok()?;
        // The first answer is the number of words, negated; the second has the words.
        let words = usize::try_from(-i32::from(request.words)).ok().filter(|n| *n <= WORDS_MAX)?;
        let mut request =
            LinkSettings { words: i8::try_from(words).ok()?, ..LinkSettings::default() };
        self.ask(name, (&raw mut request).cast()).ok()?;
        super::link_mode::fastest(request.masks.get(..words)?)
    }

    fn ask(&self, name: &IfName, data: *mut libc::c_char) -> io::Result<()> {
        let mut ifr_name = [0; libc::IFNAMSIZ];
        for (to, from) in ifr_name.iter_mut().zip(name.as_str().bytes()) {
            *to = from as libc::c_char;
        }
        let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_data: data };
        let mut request = libc::ifreq { ifr_name, ifr_ifru };
        let fd = self.socket.as_raw_fd();
        // SAFETY: `request` names a device with a NUL at the end (an `IfName` has at most 15
        // bytes), and `data` points to the structure of its command, large enough for the answer.
        let answer = unsafe { libc::ioctl(fd, libc::SIOCETHTOOL as _, &raw mut request) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// `struct ethtool_perm_addr`.
#[repr(C)]
struct PermanentAddress {
    command: u32,
    size: u32,
    data: [u8; ADDRESS_MAX],
}

/// `struct ethtool_link_settings` with room for the three masks behind it.
#[repr(C)]
struct LinkSettings {
    command: u32,
    speed: u32,
    /// duplex, port, `phy_address`, autoneg, `mdio_support`, `eth_tp_mdix`, `eth_tp_mdix_ctrl`.
    skipped: [u8; 7],
    words: i8,
    reserved: [u32; 8],
    /// Supported, advertised and the partner's, `words` words each.
    masks: [u32; 3 * WORDS_MAX],
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self {
            command: ETHTOOL_GLINKSETTINGS,
            speed: 0,
            skipped: [0; 7],
            words: 0,
            reserved: [0; 8],
            masks: [0; 3 * WORDS_MAX],
        }
    }
}

const _: () = assert!(size_of::<LinkSettings>() == 48 + 4 * 3 * WORDS_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_neither_address_nor_link_modes() {
        let ethtool = Ethtool::open().unwrap();
        let lo: IfName = "lo".parse().unwrap();
        assert_eq!(ethtool.permanent_mac(&lo), None);
        assert_eq!(ethtool.max_speed_mbps(&lo), None);
    }
}
