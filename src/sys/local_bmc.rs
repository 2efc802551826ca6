//! The machine's own BMC, through the kernel's IPMI device (`ipmi_si` for KCS and its kin, with
//! `ipmi_devintf`): one event log entry in, LAN addresses out.
//!
//! Blocking, with every wait bounded. Not here: loading those modules, or IPMI over the network.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use ipmi_rs::app::{ChannelInfo, ChannelMediumType, GetChannelInfo};
use ipmi_rs::connection::{
    Channel, CompletionErrorCode, IpmiCommand, IpmiConnection, Message, NetFn, NotEnoughData,
    Request, Response,
};
use ipmi_rs::transport::{
    GetLanConfigParameters, Ipv6Ipv4Enables, LanConfigParameter, LanConfigParameterData,
};
use ipmi_rs::{Ipmi, IpmiError};

use crate::types::Mac;

#[cfg(test)]
mod tests;

/// Where Linux distributions put the device, in the order in which ipmitool looks.
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];
/// The kernel repeats a request by itself and gives up on a dead interface after about this long.
const ANSWER_DEADLINE: Duration = Duration::from_secs(5);
/// A scan of the channels stops asking then.
const SCAN_DEADLINE: Duration = Duration::from_secs(20);
/// Channels that can be a LAN (IPMI 2.0 table 6-1).
const CHANNELS: std::ops::RangeInclusive<u8> = 1..=0x0B;
/// A BMC that says "node busy" is asked this often.
const BUSY_TRIES: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// Addresses of one kind that are looked at on one channel.
const IPV6_SLOTS: u8 = 16;

/// Why the local BMC did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LocalBmcError {
    /// The device is there and can't be opened.
    #[error("cannot open {path}")]
    Open {
        /// The device.
        path: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The kernel's driver failed, or the BMC did not answer it in time.
    #[error("the local BMC does not answer")]
    Device(#[source] io::Error),
    /// No room for an entry. Clearing a log is for people to decide.
    #[error("the BMC's event log is full: save and clear it")]
    LogFull,
    /// The BMC answered with a completion code.
    #[error("the local BMC refused {command}: completion code {code}")]
    Refused {
        /// IPMI's name of the command.
        command: &'static str,
        /// The code's name.
        code: String,
    },
    /// The answer is not what the specification says.
    #[error("the local BMC gave a malformed answer to {command}")]
    Malformed {
        /// IPMI's name of the command.
        command: &'static str,
    },
}

/// Where the BMC is on the network, by its own word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BmcLan {
    /// Of the first LAN channel that has one.
    pub ipv4: Option<Ipv4Addr>,
    /// Of the first LAN channel that has one: static before dynamic, global before link-local.
    pub ipv6: Option<Ipv6Addr>,
    /// Of the channel that gave `ipv4`, else of the first LAN channel.
    pub mac: Option<Mac>,
}

/// An open local BMC.
pub struct LocalBmc {
    ipmi: Ipmi<Device>,
}

impl LocalBmc {
    /// Opens the BMC's device; `None` where there is none.
    ///
    /// # Errors
    /// A device that is there and can't be opened.
    pub fn open() -> Result<Option<Self>, LocalBmcError> {
        for path in DEVICES {
            match ipmi_rs::File::new(path, ANSWER_DEADLINE) {
                Ok(file) => return Ok(Some(Self { ipmi: Ipmi::new(Device(file)) })),
                Err(error) if is_absence(&error) => {}
                Err(source) => return Err(LocalBmcError::Open { path, source }),
            }
        }
        Ok(None)
    }

    /// Adds a System Event Log record (Add SEL Entry, IPMI 2.0 §31.6) and returns its id. The BMC
    /// sets the record's id and, in timestamped types, its time.
    ///
    /// # Errors
    /// As [`LocalBmcError`] says.
    pub fn add_sel_entry(&mut self, record: &[u8; 16]) -> Result<u16, LocalBmcError> {
        add_sel_entry(&mut self.ipmi, record, BUSY_PAUSE)
    }

    /// Where the BMC is on the network. A BMC without LAN channels gives an empty answer.
    ///
    /// # Errors
    /// A BMC that answers nothing at all.
    pub fn lan(&mut self) -> Result<BmcLan, LocalBmcError> {
        Scan { ipmi: &mut self.ipmi, deadline: Instant::now() + SCAN_DEADLINE }.lan()
    }
}

/// No such file, or a device node with nothing behind it.
fn is_absence(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let absent = [Errno::ENOENT, Errno::ENOTDIR, Errno::ENXIO, Errno::ENODEV];
    error.raw_os_error().is_some_and(|code| absent.contains(&Errno::from_raw(code)))
}

/// ipmi-rs's device, which reads one message for each request: after a request whose answer came
/// too late, every later answer would belong to the request before it. Skips such stale ones.
struct Device(ipmi_rs::File);

impl Device {
    const STALE_MAX: u32 = 8;
}

impl IpmiConnection for Device {
    type SendError = io::Error;
    type RecvError = io::Error;
    type Error = io::Error;

    fn send(&mut self, request: &mut Request) -> io::Result<()> {
        self.0.send(request)
    }

    fn recv(&mut self) -> io::Result<Response> {
        let mut last = self.0.recv();
        for _ in 0..Self::STALE_MAX {
            match &last {
                Err(error) if error.kind() == io::ErrorKind::Other => last = self.0.recv(),
                Ok(_) | Err(_) => break,
            }
        }
        last
    }

    fn send_recv(&mut self, request: &mut Request) -> io::Result<Response> {
        self.send(request)?;
        self.recv()
    }
}

/// Add SEL Entry; ipmi-rs has no such command.
#[derive(Clone, Copy)]
struct AddSelEntry([u8; 16]);

impl From<AddSelEntry> for Message {
    fn from(AddSelEntry(record): AddSelEntry) -> Self {
        Self::new_request(NetFn::Storage, 0x44, record.to_vec())
    }
}

impl IpmiCommand for AddSelEntry {
    type Output = u16;
    type Error = NotEnoughData;

    fn parse_success_response(data: &[u8]) -> Result<u16, NotEnoughData> {
        data.first_chunk().copied().map(u16::from_le_bytes).ok_or(NotEnoughData)
    }
}

fn add_sel_entry<C>(
    ipmi: &mut Ipmi<C>,
    record: &[u8; 16],
    busy_pause: Duration,
) -> Result<u16, LocalBmcError>
where
    C: IpmiConnection<Error = io::Error>,
{
    for _ in 1..BUSY_TRIES {
        match ipmi.send_recv(AddSelEntry(*record)) {
            Err(IpmiError::Failed { completion_code: CompletionErrorCode::NodeBusy, .. }) => {
                std::thread::sleep(busy_pause);
            }
            other => return other.map_err(|error| local_error("Add SEL Entry", error)),
        }
    }
    ipmi.send_recv(AddSelEntry(*record)).map_err(|error| local_error("Add SEL Entry", error))
}

fn local_error<P>(command: &'static str, error: IpmiError<io::Error, P>) -> LocalBmcError {
    match error {
        IpmiError::Connection(source) => LocalBmcError::Device(source),
        IpmiError::Failed { completion_code: CompletionErrorCode::OutOfSpace, .. } => {
            LocalBmcError::LogFull
        }
        IpmiError::Failed { completion_code, .. } => {
            LocalBmcError::Refused { command, code: format!("{completion_code:?}") }
        }
        IpmiError::Command { .. }
        | IpmiError::NetFnIsResponse(_)
        | IpmiError::UnexpectedResponse { .. } => LocalBmcError::Malformed { command },
    }
}

/// One walk over the channels, which stops asking at its deadline.
struct Scan<'a, C> {
    ipmi: &'a mut Ipmi<C>,
    deadline: Instant,
}

impl<C: IpmiConnection<Error = io::Error>> Scan<'_, C> {
    fn lan(&mut self) -> Result<BmcLan, LocalBmcError> {
        let mut found = BmcLan::default();
        for channel in CHANNELS.filter_map(Channel::new) {
            if Instant::now() > self.deadline || (found.ipv4.is_some() && found.ipv6.is_some()) {
                break;
            }
            match self.ipmi.send_recv(GetChannelInfo::new(channel)) {
                Ok(info) if is_lan(&info) => {}
                Err(IpmiError::Connection(source)) => return Err(LocalBmcError::Device(source)),
                Ok(_) | Err(_) => continue,
            }
            let (ipv4, mac) = (self.ipv4(channel), self.mac(channel));
            match (found.ipv4, ipv4) {
                (None, Some(_)) => (found.ipv4, found.mac) = (ipv4, mac.or(found.mac)),
                (None, None) => found.mac = found.mac.or(mac),
                (Some(_), _) => {}
            }
            found.ipv6 = found.ipv6.or_else(|| self.ipv6(channel));
        }
        Ok(found)
    }

    /// One LAN parameter (IPMI 2.0 table 23-4); `None` where the BMC lacks it, answers nonsense,
    /// or the time is up.
    fn parameter(
        &mut self,
        channel: Channel,
        parameter: LanConfigParameter,
        set: u8,
    ) -> Option<LanConfigParameterData> {
        if Instant::now() > self.deadline {
            return None;
        }
        let request = GetLanConfigParameters::new(channel, parameter).with_set_selector(set);
        self.ipmi.send_recv(request).ok()?.parse(parameter).ok()
    }

    fn ipv4(&mut self, channel: Channel) -> Option<Ipv4Addr> {
        match self.parameter(channel, LanConfigParameter::IpAddress, 0)? {
            LanConfigParameterData::IpAddress(address) => {
                Some(Ipv4Addr::from(address.0)).filter(|address| !address.is_unspecified())
            }
            _ => None,
        }
    }

    fn mac(&mut self, channel: Channel) -> Option<Mac> {
        match self.parameter(channel, LanConfigParameter::MacAddress, 0)? {
            LanConfigParameterData::MacAddress(mac) => {
                Some(Mac::new(mac.0)).filter(|mac| !mac.is_zero())
            }
            _ => None,
        }
    }

    fn ipv6(&mut self, channel: Channel) -> Option<Ipv6Addr> {
        let enables = LanConfigParameter::Ipv6Ipv4AddressingEnables;
        match self.parameter(channel, enables, 0)? {
            LanConfigParameterData::Ipv6Ipv4AddressingEnables(
                Ipv6Ipv4Enables::Ipv6Only | Ipv6Ipv4Enables::Ipv6Ipv4Simultaneous,
            ) => {}
            _ => return None,
        }
        let LanConfigParameterData::Ipv6Status(slots) =
            self.parameter(channel, LanConfigParameter::Ipv6Status, 0)?
        else {
            return None;
        };
        let fixed = (0..slots.static_address_max.min(IPV6_SLOTS))
            .map(|set| (LanConfigParameter::Ipv6StaticAddresses, set));
        let dynamic = (0..slots.dynamic_address_max.min(IPV6_SLOTS))
            .map(|set| (LanConfigParameter::Ipv6DynamicAddress, set));
        let mut link_local = None;
        for (kind, set) in fixed.chain(dynamic) {
            match self.parameter(channel, kind, set).and_then(active_ipv6) {
                Some(address) if address.is_unicast_link_local() => {
                    link_local = link_local.or(Some(address));
                }
                Some(address) => return Some(address),
                None => {}
            }
        }
        link_local
    }
}

/// The address of a slot that is in use: its status byte is 0 for active (tables 23-4, 56 and 59).
fn active_ipv6(slot: LanConfigParameterData) -> Option<Ipv6Addr> {
    let address = match slot {
        LanConfigParameterData::Ipv6StaticAddresses(slot) if slot.enabled && slot.status == 0 => {
            slot.address
        }
        LanConfigParameterData::Ipv6DynamicAddress(slot) if slot.status == 0 => slot.address,
        _ => return None,
    };
    Some(Ipv6Addr::from(address.0)).filter(|address| !address.is_unspecified())
}

fn is_lan(info: &ChannelInfo) -> bool {
    matches!(info.medium_type, ChannelMediumType::Lan802_3 | ChannelMediumType::OtherLan)
}
