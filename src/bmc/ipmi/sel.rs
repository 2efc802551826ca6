//! Reading the System Event Log (IPMI 2.0 §31, §32). What its records mean to us is decided by
//! [`crate::types::reason::sel`].

use std::fmt;
use std::time::{Duration, Instant};

use ipmi_rs::connection::{CompletionErrorCode, IpmiCommand, Message, NetFn, NotEnoughData};
use ipmi_rs::storage::Timestamp;
use ipmi_rs::storage::sdr::SensorType;
use ipmi_rs::storage::sel::{Entry, EventDirection, GetSelInfo, ReserveSel};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::bmc::{Answer, Bmc, refusal};
use super::error::IpmiError;
use crate::bmc::LogEntry;

const RECORD: usize = 16;
/// Record ids that stand for the first record and for "no more".
const FIRST: u16 = 0x0000;
const END: u16 = 0xFFFF;
/// A log of a few thousand records over a slow BMC takes about this long.
const READ_DEADLINE: Duration = Duration::from_secs(180);
/// Records that may be added while the log is read.
const GROWTH: usize = 64;
/// Where records come in pieces, the reservation may be lost this often for one record.
const RESERVATION_TRIES: u32 = 4;
/// Bytes that a BMC gives at once if it can't give whole records.
const PIECE: u8 = 8;
/// Timestamps up to this one count from the BMC's start (§37).
const TIME_SINCE_START: u32 = 0x2000_0000;

/// Get SEL Entry (§31.5), its bytes as they are: ipmi-rs's own drops records of types that it
/// does not know.
#[derive(Clone, Copy)]
struct GetEntry {
    reservation: u16,
    record: u16,
    offset: u8,
    /// 0xFF reads to the end.
    length: u8,
}

impl From<GetEntry> for Message {
    fn from(GetEntry { reservation, record, offset, length }: GetEntry) -> Self {
        let ([a, b], [c, d]) = (reservation.to_le_bytes(), record.to_le_bytes());
        Self::new_request(NetFn::Storage, 0x43, vec![a, b, c, d, offset, length])
    }
}

impl IpmiCommand for GetEntry {
    /// Id of the next record, and the bytes.
    type Output = (u16, Vec<u8>);
    type Error = NotEnoughData;

    fn parse_success_response(data: &[u8]) -> Result<Self::Output, NotEnoughData> {
        let (next, bytes) = data.split_first_chunk().ok_or(NotEnoughData)?;
        Ok((u16::from_le_bytes(*next), bytes.to_vec()))
    }
}

/// What was read before, so that whoever watches a log does not read all of it each time.
#[derive(Default)]
pub(super) struct Seen {
    stamp: Option<Stamp>,
    records: Vec<[u8; RECORD]>,
}

/// Changes whenever the log does: how many records, last addition, last erasure.
#[derive(Clone, Copy, PartialEq)]
struct Stamp(u16, Timestamp, Timestamp);

/// All entries, oldest first.
pub(super) fn entries(bmc: &mut Bmc, seen: &mut Seen) -> Result<Vec<LogEntry>, IpmiError> {
    let info = bmc.call("Get SEL Info", GetSelInfo)?;
    let stamp = Stamp(info.entries, info.last_add_time, info.last_del_time);
    if seen.stamp != Some(stamp) {
        let before = std::mem::take(seen);
        let records = match grown(bmc, &before, stamp)? {
            Some(records) => records,
            None => read_from(bmc, FIRST, info.entries)?,
        };
        *seen = Seen { stamp: Some(stamp), records };
    }
    Ok(seen.records.iter().map(entry).collect())
}

/// What was read before and what came after it; `None` where the log is not a longer form of
/// what it was.
fn grown(bmc: &mut Bmc, before: &Seen, now: Stamp) -> Result<Option<Vec<[u8; RECORD]>>, IpmiError> {
    let (Some(then), Some(last)) = (before.stamp, before.records.last()) else {
        return Ok(None);
    };
    if now.2 != then.2 || usize::from(now.0) <= before.records.len() {
        return Ok(None);
    }
    let id = u16::from_le_bytes([last[0], last[1]]);
    let tail = read_from(bmc, id, now.0)?;
    let joins = tail.first() == Some(last);
    Ok(joins.then(|| [&before.records, &tail[1..]].concat()))
}

/// Records from this id on, of a log that has `entries` in all.
fn read_from(bmc: &mut Bmc, id: u16, entries: u16) -> Result<Vec<[u8; RECORD]>, IpmiError> {
    let most = usize::from(entries) + GROWTH;
    let deadline = Instant::now() + READ_DEADLINE;
    let (mut records, mut id, mut reader) = (Vec::new(), id, Reader { in_pieces: false });
    if entries == 0 {
        return Ok(records);
    }
    while id != END {
        if records.len() >= most || Instant::now() > deadline {
            return Err(IpmiError::LogUnending { read: records.len() });
        }
        let Some((next, record)) = reader.read(bmc, id)? else {
            break;
        };
        records.push(record);
        // A next record that is this one again would go on forever.
        if next == id || next == FIRST {
            break;
        }
        id = next;
    }
    Ok(records)
}

struct Reader {
    in_pieces: bool,
}

impl Reader {
    /// A record and the next one's id; `None` where there is no such record: the log is empty,
    /// or was cleared meanwhile.
    fn read(&mut self, bmc: &mut Bmc, id: u16) -> Result<Option<(u16, [u8; RECORD])>, IpmiError> {
        const NAME: &str = "Get SEL Entry";
        if !self.in_pieces {
            let whole = GetEntry { reservation: 0, record: id, offset: 0, length: 0xFF };
            match bmc.ask(NAME, whole)? {
                Answer::Done((next, bytes)) => {
                    let record = bytes.first_chunk().copied();
                    let record = record.ok_or(IpmiError::Malformed { command: NAME })?;
                    return Ok(Some((next, record)));
                }
                Answer::Refused(CompletionErrorCode::RequestedDatapointNotPresent) => {
                    return Ok(None);
                }
                Answer::Refused(
                    CompletionErrorCode::CannotReturnNumOfRequestedBytes
                    | CompletionErrorCode::RequestDataLengthLimitExceeded,
                ) => self.in_pieces = true,
                Answer::Refused(code) => return Err(refusal(NAME, code)),
            }
        }
        for _ in 0..RESERVATION_TRIES {
            if let Some(found) = pieces(bmc, id)? {
                return Ok(Some(found));
            }
        }
        Err(IpmiError::Busy { command: NAME })
    }
}

/// A record in two pieces, under a reservation; `None` where the reservation was lost.
fn pieces(bmc: &mut Bmc, id: u16) -> Result<Option<(u16, [u8; RECORD])>, IpmiError> {
    const NAME: &str = "Get SEL Entry";
    let reservation = bmc.call("Reserve SEL", ReserveSel)?.get();
    let (mut next, mut record) = (END, Vec::with_capacity(RECORD));
    for offset in [0, PIECE] {
        let piece = GetEntry { reservation, record: id, offset, length: PIECE };
        match bmc.ask(NAME, piece)? {
            Answer::Done((following, bytes)) => {
                next = following;
                record.extend(bytes);
            }
            Answer::Refused(CompletionErrorCode::ReservationCancelledOrInvalidId) => {
                return Ok(None);
            }
            Answer::Refused(code) => return Err(refusal(NAME, code)),
        }
    }
    let record = <[u8; RECORD]>::try_from(record);
    record.map(|record| Some((next, record))).map_err(|_| IpmiError::Malformed { command: NAME })
}

fn entry(record: &[u8; RECORD]) -> LogEntry {
    LogEntry {
        id: u16::from_le_bytes([record[0], record[1]]).to_string(),
        time: time(record),
        message: Sentence(record).to_string(),
        raw: Some(*record),
    }
}

/// RFC 3339, or empty for records without a time and BMCs without a clock.
fn time(record: &[u8; RECORD]) -> String {
    let has_time = record[2] < 0xE0;
    let seconds = u32::from_le_bytes([record[3], record[4], record[5], record[6]]);
    if !has_time || seconds <= TIME_SINCE_START || seconds == u32::MAX {
        return String::new();
    }
    OffsetDateTime::from_unix_timestamp(seconds.into())
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// A record in words; what has none is given as its type and bytes.
struct Sentence<'a>(&'a [u8; RECORD]);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match Entry::parse(self.0) {
            Ok(entry @ Entry::System { .. }) => return system_event(f, &entry),
            Ok(Entry::OemTimestamped { .. }) => &self.0[7..],
            Ok(Entry::OemNotTimestamped { .. }) | Err(_) => &self.0[3..],
        };
        write!(f, "OEM record {:02x}:", self.0[2])?;
        bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
    }
}

fn system_event(f: &mut fmt::Formatter<'_>, entry: &Entry) -> fmt::Result {
    let Entry::System { sensor_type, sensor_number, event_direction, .. } = entry else {
        return Ok(());
    };
    write!(f, "{} (sensor {sensor_number:#04x}): ", SensorType::from(*sensor_type))?;
    entry.event_description(f)?;
    f.write_str(match event_direction {
        EventDirection::Assert => ", asserted",
        EventDirection::Deassert => ", deasserted",
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::reason::{Failure, sel};

    #[test]
    fn an_oem_record_is_its_bytes_and_decodes_from_them() {
        let failure = Failure::GatewaySilent { gateway: "192.0.2.1".parse().unwrap() };
        let mut records = sel::encode(&failure, 0xBEEF);
        records[0][3..7].copy_from_slice(&1_780_000_000u32.to_le_bytes());
        let entries: Vec<LogEntry> = records.iter().map(entry).collect();
        assert!(entries[0].message.starts_with("OEM record c1: 4c 4c 00 04 be ef 01 "));
        assert!(entries[1].message.starts_with("OEM record e1: 4c 4c 04 be ef 01 "));
        assert_eq!(entries[0].time, "2026-05-28T20:26:40Z");
        assert_eq!(entries[1].time, "");
        let found = sel::decode_text(entries.iter().map(|entry| entry.message.as_str()));
        assert_eq!(found[0].reason, sel::Known::Whole(failure));
    }

    #[test]
    fn a_system_event_is_put_in_words() {
        let record = [1, 0, 2, 0, 0, 0, 0x6A, 0x20, 0, 4, 0x09, 0x2A, 0x6F, 0x00, 0xFF, 0xFF];
        assert_eq!(
            entry(&record).message,
            "Power Unit (sensor 0x2a): Power Off / Power Down, asserted"
        );
    }

    #[test]
    fn a_time_since_the_bmc_started_is_no_time() {
        let mut record = [0; RECORD];
        record[2] = 0xC1;
        for seconds in [0, 3600, TIME_SINCE_START, u32::MAX] {
            record[3..7].copy_from_slice(&seconds.to_le_bytes());
            assert_eq!(entry(&record).time, "");
        }
    }

    proptest! {
        #[test]
        fn any_record_becomes_an_entry(record: [u8; RECORD]) {
            prop_assert_eq!(entry(&record).raw, Some(record));
        }
    }
}
