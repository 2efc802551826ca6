//! Layer 2: what is asked of a BMC, in four narrow ports. Layer 3 below it: `redfish/` and `ipmi/`.
//!
//! Not here: when to do what (the drivers decide), or how a vendor differs (`redfish/quirks.rs`).

#[cfg(feature = "management")]
pub mod any;
#[cfg(feature = "management")]
pub mod ipmi;
#[cfg(feature = "management")]
pub mod redfish;

use std::future::Future;

use crate::types::reason::sel::{self, Decoded};

/// What a retry loop or a state machine may read off an error. Message text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// May go away by itself: time-outs, busy, 5xx.
    Transient,
    /// Needs a person: wrong password, no such system, refused value.
    Permanent,
    /// This BMC can't do that at all.
    Unsupported,
}

/// Errors that know their class.
pub trait Classified: std::error::Error + Send + Sync + 'static {
    /// Its class.
    fn class(&self) -> Class;
}

/// Power of the host. PoweringOn counts as on and PoweringOff as off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    /// On.
    On,
    /// Off.
    Off,
}

/// How to power off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerOff {
    /// Ask the operating system; the caller waits and falls back.
    Soft,
    /// Cut it.
    Hard,
}

/// Devices a one-time boot override can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BootDevice {
    /// No override.
    None,
    /// First disk.
    Disk,
    /// CD, virtual ones included.
    Cd,
    /// Network.
    Pxe,
    /// Firmware setup.
    Setup,
}

/// Power. Setting a state that holds already succeeds.
pub trait PowerControl: Send + Sync {
    /// Its error.
    type Error: Classified;
    /// Power as it is now.
    fn power(&self) -> impl Future<Output = Result<Power, Self::Error>> + Send;
    /// Switches on and returns once the BMC accepted it.
    fn power_on(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// Switches off and returns once the BMC accepted it.
    fn power_off(&self, how: PowerOff) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Boot override.
pub trait BootControl: Send + Sync {
    /// Its error.
    type Error: Classified;
    /// The override that stands now.
    fn boot_override(&self) -> impl Future<Output = Result<BootOverride, Self::Error>> + Send;
    /// Boots from `device` once; `BootDevice::None` clears an override.
    fn boot_once(&self, device: BootDevice)
    -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// Puts an override back that [`Self::boot_override`] gave earlier, persistent ones included.
    fn restore_boot(
        &self,
        before: BootOverride,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// What stands in the boot override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct BootOverride {
    /// Device.
    pub device: BootDevice,
    /// Whether it outlives one boot.
    pub persistent: bool,
}

/// Virtual media.
pub trait VirtualMedia: Send + Sync {
    /// Its error.
    type Error: Classified;
    /// Every CD or DVD slot with what is in it.
    fn media(&self) -> impl Future<Output = Result<Vec<MediaSlot>, Self::Error>> + Send;
    /// Ejects what CD and DVD slots hold, then inserts `url`; answers with the slot it went into.
    fn insert(&self, url: &url::Url)
    -> impl Future<Output = Result<MediaSlot, Self::Error>> + Send;
    /// Ejects what CD and DVD slots hold.
    fn eject(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// One virtual media slot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct MediaSlot {
    /// The BMC's name of the slot.
    pub id: String,
    /// What is inserted, if anything.
    pub image: Option<String>,
}

/// The system event log.
pub trait EventLog: Send + Sync {
    /// Its error.
    type Error: Classified;
    /// All entries, oldest first.
    fn entries(&self) -> impl Future<Output = Result<Vec<LogEntry>, Self::Error>> + Send;
}

/// The numbered reasons that agents wrote into a log: from records where the BMC gives them, else
/// from what it prints of them. Those of one boot have the tag that
/// [`boot_tag`](crate::types::reason::sel::boot_tag) makes of its token.
#[must_use]
pub fn reasons(entries: &[LogEntry]) -> Vec<Decoded> {
    sel::decode_entries(entries.iter().map(|entry| (entry.raw, entry.message.as_str())))
}

/// One log entry.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LogEntry {
    /// The BMC's id of it.
    pub id: String,
    /// RFC 3339, or empty where the BMC kept none.
    pub time: String,
    /// What it says; for an OEM record its bytes in hex.
    pub message: String,
    /// The 16 bytes of an IPMI SEL record (IPMI 2.0 §32), where the BMC gives them.
    #[serde(skip)]
    pub raw: Option<[u8; 16]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::reason::Failure;

    #[test]
    fn reasons_are_found_in_records_and_in_texts() {
        let entry = |raw: Option<[u8; 16]>, message: String| LogEntry {
            id: String::new(),
            time: String::new(),
            message,
            raw,
        };
        let mut entries = vec![entry(None, "Fan 1 failed".into())];
        for record in sel::encode(&Failure::DhcpRefused, 1) {
            entries.push(entry(Some(record), "OEM record".into()));
        }
        for record in sel::encode(&Failure::KernelRefused { errno: 17 }, 2) {
            let hex: String = record.iter().map(|byte| format!("{byte:02X}")).collect();
            entries.push(entry(None, format!("Raw: {hex}")));
        }
        let found: Vec<(u16, u8)> =
            reasons(&entries).iter().map(|found| (found.tag, found.reason.code())).collect();
        assert_eq!(found, [(1, 11), (2, 14)]);
    }
}
