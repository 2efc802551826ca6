//! Chassis commands: power (IPMI 2.0 §28.2, §28.3). ipmi-rs has none of them.

use ipmi_rs::connection::{IpmiCommand, Message, NetFn, NotEnoughData};

use super::bmc::Bmc;
use super::error::IpmiError;
use crate::bmc::{Power, PowerOff};

struct GetChassisStatus;

impl From<GetChassisStatus> for Message {
    fn from(GetChassisStatus: GetChassisStatus) -> Self {
        Self::new_request(NetFn::Chassis, 0x01, Vec::new())
    }
}

impl IpmiCommand for GetChassisStatus {
    type Output = Power;
    type Error = NotEnoughData;

    fn parse_success_response(data: &[u8]) -> Result<Power, NotEnoughData> {
        let state = data.first().ok_or(NotEnoughData)?;
        Ok(if state & 1 == 1 { Power::On } else { Power::Off })
    }
}

/// What Chassis Control can do (table 28-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChassisControl {
    PowerDown = 0,
    PowerUp = 1,
    PowerCycle = 2,
    HardReset = 3,
    SoftShutdown = 5,
}

impl From<ChassisControl> for Message {
    fn from(action: ChassisControl) -> Self {
        Self::new_request(NetFn::Chassis, 0x02, vec![action as u8])
    }
}

impl IpmiCommand for ChassisControl {
    type Output = ();
    type Error = NotEnoughData;

    fn parse_success_response(_: &[u8]) -> Result<(), NotEnoughData> {
        Ok(())
    }
}

pub(super) fn power(bmc: &mut Bmc) -> Result<Power, IpmiError> {
    bmc.call("Get Chassis Status", GetChassisStatus)
}

pub(super) fn power_on(bmc: &mut Bmc) -> Result<(), IpmiError> {
    set_power(bmc, Power::On, ChassisControl::PowerUp)
}

pub(super) fn power_off(bmc: &mut Bmc, how: PowerOff) -> Result<(), IpmiError> {
    let action = match how {
        PowerOff::Soft => ChassisControl::SoftShutdown,
        PowerOff::Hard => ChassisControl::PowerDown,
    };
    set_power(bmc, Power::Off, action)
}

pub(super) fn power_cycle(bmc: &mut Bmc) -> Result<(), IpmiError> {
    bmc.call("Chassis Control", ChassisControl::PowerCycle)
}

pub(super) fn power_reset(bmc: &mut Bmc) -> Result<(), IpmiError> {
    bmc.call("Chassis Control", ChassisControl::HardReset)
}

/// Asks only for what does not hold yet: BMCs refuse the rest with "not in this state", and may
/// do so after a state that was cached a moment too long.
fn set_power(bmc: &mut Bmc, wanted: Power, action: ChassisControl) -> Result<(), IpmiError> {
    if power(bmc)? == wanted {
        return Ok(());
    }
    match bmc.call("Chassis Control", action) {
        Err(IpmiError::Refused { .. }) if power(bmc)? == wanted => Ok(()),
        other => other,
    }
}
