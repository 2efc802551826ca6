//! What `leaseless bmc` prints for people.

use std::fmt::Write;

use serde::Serialize;

use crate::bmc::redfish::{ProcessorInfo, SystemInfo};
use crate::bmc::{self, BootDevice, BootOverride, LogEntry, MediaSlot, Power};

/// An event log, and what leaseless itself wrote into it.
#[derive(Debug, Serialize)]
pub(super) struct Log {
    pub(super) entries: Vec<LogEntry>,
    pub(super) reasons: Vec<String>,
}

/// The reasons in a log, in words.
pub(super) fn reasons(entries: &[LogEntry]) -> Vec<String> {
    bmc::reasons(entries).iter().map(|found| found.reason.to_string()).collect()
}

pub(super) fn power(power: Power) -> &'static str {
    match power {
        Power::On => "on",
        Power::Off => "off",
    }
}

pub(super) fn boot(standing: BootOverride) -> String {
    let device = match standing.device {
        BootDevice::None => return "no override".to_owned(),
        BootDevice::Disk => "disk",
        BootDevice::Cd => "cd",
        BootDevice::Pxe => "pxe",
        BootDevice::Setup => "setup",
    };
    format!("{device}, {}", if standing.persistent { "at every boot" } else { "once" })
}

pub(super) fn media(slots: &[MediaSlot]) -> String {
    if slots.is_empty() {
        return "no virtual CD or DVD\n".to_owned();
    }
    let line =
        |slot: &MediaSlot| format!("{}  {}\n", slot.id, slot.image.as_deref().unwrap_or("empty"));
    slots.iter().map(line).collect()
}

pub(super) fn log(log: &Log) -> String {
    let mut text = String::new();
    for entry in &log.entries {
        let time = if entry.time.is_empty() { "-" } else { &entry.time };
        writeln!(text, "{}  {time}  {}", entry.id, entry.message).ok();
    }
    if log.entries.is_empty() {
        text.push_str("the log is empty\n");
    }
    for reason in &log.reasons {
        writeln!(text, "leaseless: {reason}").ok();
    }
    text
}

pub(super) fn info(info: &SystemInfo) -> String {
    let mut rows: Vec<(&str, Option<String>)> = vec![
        ("system", Some(info.path.clone())),
        ("manufacturer", info.manufacturer.clone()),
        ("model", info.model.clone()),
        ("serial", info.serial.clone()),
        ("sku", info.sku.clone()),
        ("uuid", info.uuid.clone()),
        ("host name", info.hostname.clone()),
        ("power", info.power.clone()),
        ("health", info.health.clone()),
        ("bios", info.bios.clone()),
        ("bmc", info.bmc.model.clone()),
        ("bmc firmware", info.bmc.firmware.clone()),
        ("redfish", info.bmc.redfish.clone()),
        ("memory", info.memory_gib.map(|gib| format!("{gib} GiB"))),
        ("processors", processors(&info.processors)),
        ("secure boot", info.secure_boot.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("boot override", info.boot.map(boot)),
    ];
    for nic in &info.nics {
        let mac = nic.mac.map_or_else(|| "no MAC".to_owned(), |mac| mac.to_string());
        let link = nic.link.as_deref().map(|link| format!(", {link}")).unwrap_or_default();
        let speed = nic.speed_mbps.map(|speed| format!(", {speed} Mbit/s")).unwrap_or_default();
        rows.push(("nic", Some(format!("{} {mac}{link}{speed}", nic.id))));
    }
    for slot in &info.media {
        let image = slot.image.as_deref().unwrap_or("empty");
        rows.push(("media", Some(format!("{} {image}", slot.id))));
    }
    rows.into_iter().filter_map(|(name, value)| Some(format!("{name:<14} {}\n", value?))).collect()
}

fn processors(processors: &ProcessorInfo) -> Option<String> {
    let count = processors.count.map(|count| format!("{count} x"));
    let cores = processors.cores.map(|cores| format!("{cores} cores"));
    let threads = processors.threads.map(|threads| format!("{threads} threads"));
    let parts: Vec<String> =
        [count, processors.model.clone(), cores, threads].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}
