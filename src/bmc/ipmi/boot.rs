//! System boot options: the boot device of the next boot (IPMI 2.0 §28.12 to §28.14).

use ipmi_rs::app::GetDeviceId;
use ipmi_rs::connection::{IpmiCommand, Message, NetFn, NotEnoughData};

use super::bmc::Bmc;
use super::error::IpmiError;
use crate::bmc::{BootDevice, BootOverride};

const VALID: u8 = 0x80;
const PERSISTENT: u8 = 0x40;
const EFI: u8 = 0x20;
/// Bits 5 to 2 of data 2 name the device.
const DEVICE_MASK: u8 = 0x3C;

/// Supermicro (enterprise number 10876): an EFI boot from disk is 0x24 there (Ironic's ipmitool
/// driver has the same exception).
const SUPERMICRO: u32 = 10_876;
const SUPERMICRO_EFI_DISK: u8 = 0x24;

/// Keep the boot flags although no Chassis Control follows within 60 s: hosts take longer to get
/// to their boot device than that.
#[derive(Clone, Copy)]
struct KeepFlags;

impl From<KeepFlags> for Message {
    fn from(KeepFlags: KeepFlags) -> Self {
        Self::new_request(NetFn::Chassis, 0x08, vec![0x03, 0x08])
    }
}

impl IpmiCommand for KeepFlags {
    type Output = ();
    type Error = NotEnoughData;

    fn parse_success_response(_: &[u8]) -> Result<(), NotEnoughData> {
        Ok(())
    }
}

/// Boot flags, data 1 and 2 of parameter 5; the others stay zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flags {
    data1: u8,
    data2: u8,
}

impl From<Flags> for Message {
    fn from(Flags { data1, data2 }: Flags) -> Self {
        Self::new_request(NetFn::Chassis, 0x08, vec![0x05, data1, data2, 0, 0, 0])
    }
}

impl IpmiCommand for Flags {
    type Output = ();
    type Error = NotEnoughData;

    fn parse_success_response(_: &[u8]) -> Result<(), NotEnoughData> {
        Ok(())
    }
}

struct GetFlags;

impl From<GetFlags> for Message {
    fn from(GetFlags: GetFlags) -> Self {
        Self::new_request(NetFn::Chassis, 0x09, vec![0x05, 0, 0])
    }
}

impl IpmiCommand for GetFlags {
    type Output = Flags;
    type Error = NotEnoughData;

    fn parse_success_response(data: &[u8]) -> Result<Flags, NotEnoughData> {
        match *data {
            [_, _, data1, data2, ..] => Ok(Flags { data1, data2 }),
            _ => Err(NotEnoughData),
        }
    }
}

impl Flags {
    fn new(wanted: BootOverride, is_supermicro: bool) -> Self {
        let data2 = match wanted.device {
            BootDevice::None => return Self { data1: 0, data2: 0 },
            BootDevice::Pxe => 0x04,
            BootDevice::Disk if is_supermicro => SUPERMICRO_EFI_DISK,
            BootDevice::Disk => 0x08,
            BootDevice::Cd => 0x14,
            BootDevice::Setup => 0x18,
        };
        let persistent = if wanted.persistent { PERSISTENT } else { 0 };
        Self { data1: VALID | EFI | persistent, data2 }
    }

    /// Flags that are not valid name a device all the same on some BMCs; it will not be used.
    fn standing(self) -> BootOverride {
        let device = match self.data2 & DEVICE_MASK {
            _ if self.data1 & VALID == 0 => BootDevice::None,
            0x04 => BootDevice::Pxe,
            0x08 | 0x0C | SUPERMICRO_EFI_DISK => BootDevice::Disk,
            0x14 | 0x20 => BootDevice::Cd,
            0x18 => BootDevice::Setup,
            _ => BootDevice::None,
        };
        let persistent = device != BootDevice::None && self.data1 & PERSISTENT != 0;
        BootOverride { device, persistent }
    }
}

pub(super) fn standing(bmc: &mut Bmc) -> Result<BootOverride, IpmiError> {
    bmc.call("Get System Boot Options", GetFlags).map(Flags::standing)
}

pub(super) fn set(bmc: &mut Bmc, wanted: BootOverride) -> Result<(), IpmiError> {
    const NAME: &str = "Set System Boot Options";
    let is_supermicro = wanted.device == BootDevice::Disk
        && bmc.call("Get Device ID", GetDeviceId)?.manufacturer_id == SUPERMICRO;
    match bmc.call(NAME, KeepFlags) {
        // OpenBMC and others have no such option; the flags themselves still count.
        Ok(()) | Err(IpmiError::Refused { .. } | IpmiError::Unsupported { .. }) => {}
        Err(error) => return Err(error),
    }
    bmc.call(NAME, Flags::new(wanted, is_supermicro))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_that_firmware_expects() {
        let bytes = |device, persistent, is_supermicro| {
            let flags = Flags::new(BootOverride { device, persistent }, is_supermicro);
            (flags.data1, flags.data2)
        };
        assert_eq!(bytes(BootDevice::Cd, false, false), (0xA0, 0x14));
        assert_eq!(bytes(BootDevice::Pxe, false, false), (0xA0, 0x04));
        assert_eq!(bytes(BootDevice::Disk, true, false), (0xE0, 0x08));
        assert_eq!(bytes(BootDevice::Disk, true, true), (0xE0, 0x24));
        assert_eq!(bytes(BootDevice::Setup, false, false), (0xA0, 0x18));
        assert_eq!(bytes(BootDevice::None, false, false), (0, 0));
    }

    #[test]
    fn what_was_set_stands() {
        for device in [BootDevice::Disk, BootDevice::Cd, BootDevice::Pxe, BootDevice::Setup] {
            for persistent in [false, true] {
                let wanted = BootOverride { device, persistent };
                assert_eq!(Flags::new(wanted, false).standing(), wanted);
                assert_eq!(Flags::new(wanted, true).standing(), wanted);
            }
        }
    }

    #[test]
    fn flags_that_are_not_valid_are_no_override() {
        let none = BootOverride { device: BootDevice::None, persistent: false };
        assert_eq!(Flags { data1: PERSISTENT, data2: 0x14 }.standing(), none);
        assert_eq!(Flags { data1: 0xFF, data2: 0x3C }.standing(), none);
    }

    #[test]
    fn a_short_answer_is_an_error() {
        assert_eq!(GetFlags::parse_success_response(&[1, 5, 0x80]), Err(NotEnoughData));
    }
}
