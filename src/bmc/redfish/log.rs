//! The event log: LogServices of the system and of its managers.

use super::Redfish;
use super::error::{Cause, RedfishError, Step};
use super::resource::{Resource, text};
use crate::bmc::{EventLog, LogEntry};

const STEP: Step = Step::ReadingLog;
/// Pages of one log, and entries in all: an SEL holds some thousands.
const PAGES_BOUND: usize = 200;
const ENTRIES_BOUND: usize = 20_000;
/// Logs of one BMC.
const SERVICES_BOUND: usize = 32;

impl EventLog for Redfish {
    type Error = RedfishError;

    async fn entries(&self) -> Result<Vec<LogEntry>, RedfishError> {
        let services = self.log_services().await?;
        let is_sel = |service: &&Resource| is_sel(service);
        // One that is an SEL, else all: names say little.
        let mut chosen: Vec<&Resource> = services.iter().filter(is_sel).collect();
        if chosen.is_empty() {
            chosen = services.iter().collect();
        }
        if chosen.is_empty() {
            let text = "this BMC offers no event log over Redfish: ask it over IPMI";
            return Err(Cause::Unsupported(text.to_owned()).at(STEP));
        }
        let mut entries = Vec::new();
        for service in chosen {
            if let Some(path) = service.link("/Entries") {
                self.read_entries(&path, &mut entries).await?;
            }
        }
        entries.sort_by(|a, b| a.time.cmp(&b.time));
        Ok(entries)
    }
}

fn is_sel(service: &Resource) -> bool {
    let says = |pointer| service.text(pointer).unwrap_or_default().to_uppercase();
    says("/LogEntryType") == "SEL" || says("/Id").contains("SEL") || says("/Id") == "IEL"
}

impl Redfish {
    async fn log_services(&self) -> Result<Vec<Resource>, RedfishError> {
        let mut services = Vec::new();
        for owner in std::iter::once(&self.system).chain(&self.managers) {
            let Some(owner) = self.client.get_optional(STEP, owner).await? else { continue };
            let Some(path) = owner.link("/LogServices") else { continue };
            let Some(all) = self.client.get_optional(STEP, &path).await? else { continue };
            for member in all.members().iter().take(SERVICES_BOUND) {
                services.extend(self.client.get_optional(STEP, member).await?);
            }
        }
        Ok(services)
    }

    async fn read_entries(
        &self,
        path: &str,
        entries: &mut Vec<LogEntry>,
    ) -> Result<(), RedfishError> {
        let mut next = Some(path.to_owned());
        for _ in 0..PAGES_BOUND {
            let Some(path) = next else { break };
            let page = self.client.get(STEP, &path).await?;
            next = page.link("/Members@odata.nextLink");
            let members = page.value.get("Members").and_then(serde_json::Value::as_array);
            for member in members.into_iter().flatten() {
                if entries.len() >= ENTRIES_BOUND {
                    return Ok(());
                }
                if member.get("Id").is_some() || member.get("Message").is_some() {
                    entries.push(entry(member));
                } else if let Some(path) = text(member, "/@odata.id")
                    && let Some(single) = self.client.get_optional(STEP, &path).await?
                {
                    entries.push(entry(&single.value));
                }
            }
        }
        Ok(())
    }
}

fn entry(value: &serde_json::Value) -> LogEntry {
    let raw = raw_record(value);
    LogEntry {
        id: text(value, "/Id").unwrap_or_default(),
        time: text(value, "/Created").unwrap_or_default(),
        message: text(value, "/Message").or_else(|| raw.map(in_hex)).unwrap_or_default(),
        raw,
    }
}

fn in_hex(record: [u8; 16]) -> String {
    record.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The 16 bytes of an SEL record, where some text of the entry is nothing but them.
fn raw_record(entry: &serde_json::Value) -> Option<[u8; 16]> {
    match entry {
        serde_json::Value::String(text) => parse_record(text),
        serde_json::Value::Array(list) => list.iter().find_map(raw_record),
        serde_json::Value::Object(map) => map.values().find_map(raw_record),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => None,
    }
}

fn parse_record(text: &str) -> Option<[u8; 16]> {
    let text = text.trim().replace("0x", "");
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | ':' | '-' | ',')).collect();
    // A UUID has 32 digits too; its groups tell it apart.
    let is_uuid = text.len() == 36 && text.matches('-').count() == 4;
    if digits.len() != 32 || is_uuid || !digits.is_ascii() {
        return None;
    }
    let mut record = [0; 16];
    for (byte, pair) in record.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(record)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_raw_record_is_found_wherever_it_is_and_nothing_else_is_taken_for_one() {
        let record = "01 00 c1 11 22 33 44 4c 4c 00 04 aa bb 01 12 34";
        let found = entry(&json!({"Id": "7", "Oem": {"X": {"RawData": record}}}));
        assert_eq!(found.raw.unwrap()[2], 0xC1);
        assert_eq!(found.message, "0100c1112233444c4c0004aabb011234");
        for other in ["27946b59-9e44-4fa7-8e91-f3527a1ef094", "Fan 1 failed", "0x01", ""] {
            assert_eq!(entry(&json!({"Message": other})).raw, None, "{other}");
        }
    }
}
