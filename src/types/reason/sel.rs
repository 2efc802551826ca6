//! Numbered reasons in a BMC's System Event Log: the agent writes them, the management side finds
//! them again among whatever else the log holds. Pure bytes; who carries them is not here.
//!
//! A reason is one head, record type 0xC1 (OEM, timestamped by the BMC), then its arguments in
//! parts, record type 0xE1 (OEM, no timestamp); IPMI 2.0 §32, tables 32-2 and 32-3:
//!
//! ```text
//! head  00 00 C1 tt tt tt tt 4C 4C 00  NN TT TT PP SS SS     PP: parts that belong to it
//! part  00 00 E1 4C 4C NN TT TT IP SS  dd dd dd dd dd dd     I: its index, P: how many there are
//! ```
//!
//! - `4C 4C` is "LL" in ASCII and `NN` the reason's number in BCD: a person who reads the record
//!   in a web interface, or with `ipmitool sel elist` (`004c4c | 04…`), reads LL-04.
//! - `TT TT` is the [`boot_tag`] of the boot that wrote it.
//! - `SS SS` is a CRC-16 over tag, number and padded arguments, in parts its low byte: it tells
//!   two reasons of one boot apart and catches a mixture of both.
//!
//! `4C 4C 00` stands where an enterprise number belongs, but it is a marker: no number was ever
//! assigned to this project, so a record counts only if the rest of it fits too.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest, Sha256};

use super::{Failure, arguments, title};
use crate::types::Secret;

#[cfg(test)]
mod tests;

/// OEM record with a timestamp of the BMC.
const HEAD_TYPE: u8 = 0xC1;
/// OEM record without a timestamp.
const PART_TYPE: u8 = 0xE1;
const MARK: [u8; 2] = *b"LL";
/// Argument bytes in one part.
const CHUNK: usize = 6;
/// Parts that a head can announce: their count travels in four bits.
const PARTS_MAX: usize = 15;
/// Timestamps up to this one count from the BMC's start, not from 1970 (IPMI 2.0 §37).
const TIME_SINCE_START: u32 = 0x2000_0000;

/// Names one boot: the first two bytes of the SHA-256 of its token, which both sides know and
/// which the tag does not give away.
#[must_use]
pub fn boot_tag(token: &Secret) -> u16 {
    let digest = Sha256::digest(token.expose().as_bytes());
    u16::from_be_bytes([digest[0], digest[1]])
}

/// The records to hand to Add SEL Entry, in this order. At most 16; the list of MACs in
/// [`Failure::MacNotFound`] is cut after eight, which [`decode`] says.
#[must_use]
pub fn encode(failure: &Failure, tag: u16) -> Vec<[u8; 16]> {
    let number = bcd(failure.code());
    let mut arguments = arguments::to_bytes(failure);
    arguments.resize(arguments.len().next_multiple_of(CHUNK), 0);
    let check = crc16(tag, number, &arguments);
    let [tag_high, tag_low] = tag.to_be_bytes();
    let [check_high, check_low] = check.to_be_bytes();
    let chunks = arguments.chunks_exact(CHUNK);
    let count = u8::try_from(chunks.len()).expect("arguments of a reason fit 15 parts");

    let mut head = [0; 16];
    head[2] = HEAD_TYPE;
    head[7..9].copy_from_slice(&MARK);
    head[10..].copy_from_slice(&[number, tag_high, tag_low, count, check_high, check_low]);
    let parts = chunks.zip(0u8..).map(|(chunk, index)| {
        let mut part = [0; 16];
        part[2] = PART_TYPE;
        part[3..5].copy_from_slice(&MARK);
        part[5..10].copy_from_slice(&[number, tag_high, tag_low, index << 4 | count, check_low]);
        part[10..].copy_from_slice(chunk);
        part
    });
    std::iter::once(head).chain(parts).collect()
}

/// One reason found in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The boot that wrote it; see [`boot_tag`].
    pub tag: u16,
    /// What could be read.
    pub reason: Known,
    /// When the BMC logged it, seconds since 1970 by the BMC's clock; `None` where it had no
    /// clock or the head is lost.
    pub time: Option<u32>,
}

/// How much of a reason the log still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// All of it.
    Whole(Failure),
    /// All but this many MACs at the end of a list.
    Cut(Failure, u8),
    /// Its number, as in [`Failure::code`]; arguments are missing or do not fit.
    Number(u8),
}

impl Known {
    /// The reason's number.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Whole(failure) | Self::Cut(failure, _) => failure.code(),
            Self::Number(code) => *code,
        }
    }
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(failure) => write!(f, "{failure}"),
            Self::Cut(failure, left_off) => write!(f, "{failure} and at least {left_off} more"),
            Self::Number(code) => match title(*code) {
                Some(title) => write!(f, "LL-{code:02} {title} (the log lost the details)"),
                None => write!(f, "LL-{code:02} (a reason that this version does not know)"),
            },
        }
    }
}

/// Every reason in SEL records, in the order in which they first appear. Records may be missing,
/// doubled, out of order or of other vendors; a reason logged twice by one boot is given once,
/// with its last time.
#[must_use]
pub fn decode(records: &[[u8; 16]]) -> Vec<Decoded> {
    assemble(records.iter().filter_map(Piece::from_record))
}

/// Best effort for logs that print an OEM record's bytes as hex somewhere in a text, such as a
/// Redfish log entry's `Message`: with or without separators, `0x`, the record's header, or the
/// marker's bytes in reverse as ipmitool prints them. The entries' own times are not read.
#[must_use]
pub fn decode_text<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Decoded> {
    assemble(texts.into_iter().flat_map(Piece::from_text))
}

/// Every reason in log entries, each with its record where the log gives one, and its text.
#[must_use]
pub fn decode_entries<'a>(
    entries: impl IntoIterator<Item = (Option<[u8; 16]>, &'a str)>,
) -> Vec<Decoded> {
    assemble(entries.into_iter().flat_map(|(record, text)| {
        match record.and_then(|record| Piece::from_record(&record)) {
            Some(piece) => vec![piece],
            None => Piece::from_text(text),
        }
    }))
}

/// What one record says.
struct Piece {
    key: Key,
    body: Body,
}

/// Number, tag, low byte of the check.
type Key = (u8, u16, u8);

enum Body {
    Head { parts: u8, check: u16, time: Option<u32> },
    Part { index: u8, parts: u8, data: [u8; CHUNK] },
}

impl Piece {
    fn from_record(record: &[u8; 16]) -> Option<Self> {
        match record[2] {
            HEAD_TYPE if record[7..10] == *b"LL\0" => {
                let [a, b, c, d] = [record[3], record[4], record[5], record[6]];
                let time = u32::from_le_bytes([a, b, c, d]);
                let time = (TIME_SINCE_START < time && time < u32::MAX).then_some(time);
                Self::head(record[10..].first_chunk()?, time)
            }
            PART_TYPE if record[3..5] == MARK => Self::part(record[5..].first_chunk()?),
            _ => None,
        }
    }

    fn from_text(text: &str) -> Vec<Self> {
        hex_runs(text).iter().filter_map(|run| Self::from_run(run)).collect()
    }

    /// The first record in a run of bytes that may begin with more of its header.
    fn from_run(run: &[u8]) -> Option<Self> {
        (0..run.len()).find_map(|start| {
            let rest = &run[start..];
            if let Some(data) = rest.strip_prefix(b"LL\0").or(rest.strip_prefix(b"\0LL")) {
                Self::head(data.first_chunk()?, None)
            } else {
                Self::part(rest.strip_prefix(&MARK)?.first_chunk()?)
            }
        })
    }

    fn head(data: &[u8; 6], time: Option<u32>) -> Option<Self> {
        let [number, tag_high, tag_low, parts, check_high, check_low] = *data;
        let tag = u16::from_be_bytes([tag_high, tag_low]);
        let check = u16::from_be_bytes([check_high, check_low]);
        let key = (from_bcd(number)?, tag, check_low);
        let fits = usize::from(parts) <= PARTS_MAX;
        fits.then_some(Self { key, body: Body::Head { parts, check, time } })
    }

    fn part(data: &[u8; 11]) -> Option<Self> {
        let [number, tag_high, tag_low, place, check_low, data @ ..] = *data;
        let (index, parts) = (place >> 4, place & 0xF);
        let key = (from_bcd(number)?, u16::from_be_bytes([tag_high, tag_low]), check_low);
        (index < parts).then_some(Self { key, body: Body::Part { index, parts, data } })
    }
}

/// The pieces that share a key.
struct Group {
    key: Key,
    parts: u8,
    check: Option<u16>,
    time: Option<u32>,
    chunks: [Option<[u8; CHUNK]>; PARTS_MAX],
}

fn assemble(pieces: impl Iterator<Item = Piece>) -> Vec<Decoded> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<Key, usize> = BTreeMap::new();
    for Piece { key, body } in pieces {
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group {
                key,
                parts: 0,
                check: None,
                time: None,
                chunks: [None; PARTS_MAX],
            });
        }
        let group = &mut groups[place];
        match body {
            Body::Head { parts, check, time } => {
                (group.parts, group.check) = (parts, Some(check));
                group.time = time.or(group.time);
            }
            Body::Part { index, parts, data } => {
                if group.check.is_none() {
                    group.parts = parts;
                }
                group.chunks[usize::from(index)] = Some(data);
            }
        }
    }
    groups.iter().map(Group::decoded).collect()
}

impl Group {
    fn decoded(&self) -> Decoded {
        let (code, tag, _) = self.key;
        let reason = match self.failure() {
            Some((failure, 0)) => Known::Whole(failure),
            Some((failure, left_off)) => Known::Cut(failure, left_off),
            None => Known::Number(code),
        };
        Decoded { tag, reason, time: self.time }
    }

    fn failure(&self) -> Option<(Failure, u8)> {
        let (code, tag, check_low) = self.key;
        let chunks = self.chunks[..usize::from(self.parts)].iter();
        let bytes = chunks.copied().collect::<Option<Vec<_>>>()?.concat();
        let check = crc16(tag, bcd(code), &bytes);
        let fits = match self.check {
            Some(expected) => check == expected,
            None => check.to_be_bytes()[1] == check_low,
        };
        if fits { arguments::from_bytes(code, &bytes) } else { None }
    }
}

/// Runs of bytes that a text prints in hex; any word that is not hex ends a run.
fn hex_runs(text: &str) -> Vec<Vec<u8>> {
    let mut runs = vec![Vec::new()];
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        match hex_bytes(word) {
            Some(bytes) => runs.last_mut().expect("never empty").extend(bytes),
            None => runs.push(Vec::new()),
        }
    }
    runs
}

fn hex_bytes(word: &str) -> Option<Vec<u8>> {
    let digits = word.strip_prefix("0x").or(word.strip_prefix("0X")).unwrap_or(word);
    let digits = digits.strip_suffix(['h', 'H']).unwrap_or(digits);
    let values: Vec<u8> = digits
        .chars()
        .map(|c| c.to_digit(16).and_then(|value| u8::try_from(value).ok()))
        .collect::<Option<_>>()?;
    match values.as_slice() {
        [single] => Some(vec![*single]),
        values if values.len() % 2 == 0 => {
            Some(values.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
        }
        _ => None,
    }
}

const fn bcd(code: u8) -> u8 {
    ((code / 10) << 4) | (code % 10)
}

fn from_bcd(number: u8) -> Option<u8> {
    let (tens, ones) = (number >> 4, number & 0xF);
    (tens < 10 && ones < 10 && number != 0).then_some(tens * 10 + ones)
}

/// CRC-16/CCITT-FALSE.
fn crc16(tag: u16, number: u8, arguments: &[u8]) -> u16 {
    let [tag_high, tag_low] = tag.to_be_bytes();
    [tag_high, tag_low, number].iter().chain(arguments).fold(0xFFFF, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc: u16, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    })
}
