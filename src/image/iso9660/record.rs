//! Records and fields of ISO 9660 directories, with Rock Ridge's system use entries.

use time::OffsetDateTime;

/// `SP` (SUSP §5.3): system use entries follow, without a gap.
pub(super) const SUSP_INDICATOR: &[u8] = b"SP\x07\x01\xBE\xEF\x00";
/// `ER` (SUSP §5.5): the entries are Rock Ridge's. The descriptive texts are left out: with them it
/// would not fit beside the rest.
pub(super) const ROCK_RIDGE: &[u8] = b"ER\x12\x01\x0A\x00\x00\x01RRIP_1991A";
pub(super) const DIRECTORY_MODE: u32 = 0o040_555;
/// For root alone: user data often holds secrets.
pub(super) const FILE_MODE: u32 = 0o100_400;
/// ECMA-119 §8.4.26.1: a date that is not given.
pub(super) const NO_DATE: [u8; 17] = *b"0000000000000000\0";

/// Which file a record is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// The directory itself.
    This,
    /// The directory's parent.
    Parent,
    /// Something in it.
    Name(Vec<u8>),
}

/// A directory record (ECMA-119 §9.1).
#[derive(Debug)]
pub(super) struct Record {
    pub(super) identity: Identity,
    pub(super) block: usize,
    pub(super) size: usize,
    pub(super) is_directory: bool,
    pub(super) stamp: Stamp,
}

impl Record {
    pub(super) fn render(&self, system_use: &[u8]) -> Vec<u8> {
        let identifier: &[u8] = match &self.identity {
            Identity::This => &[0],
            Identity::Parent => &[1],
            Identity::Name(name) => name,
        };
        let mut out = vec![0, 0];
        out.extend_from_slice(&both32(self.block));
        out.extend_from_slice(&both32(self.size));
        out.extend_from_slice(&self.stamp.binary());
        out.extend_from_slice(&[if self.is_directory { 2 } else { 0 }, 0, 0]);
        out.extend_from_slice(&both16(1));
        out.push(short(identifier.len()));
        out.extend_from_slice(identifier);
        out.resize(out.len().next_multiple_of(2), 0);
        out.extend_from_slice(system_use);
        out.resize(out.len().next_multiple_of(2), 0);
        out[0] = short(out.len());
        out
    }
}

/// A date and time in UTC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp(OffsetDateTime);

impl Stamp {
    /// Years that ISO 9660 can't write (before 1900, after 2155) become the Unix epoch.
    pub(super) fn new(seconds: i64) -> Self {
        let date = OffsetDateTime::from_unix_timestamp(seconds)
            .ok()
            .filter(|date| (1900..=2155).contains(&date.year()));
        Self(date.unwrap_or(OffsetDateTime::UNIX_EPOCH))
    }

    /// ECMA-119 §9.1.5.
    fn binary(self) -> [u8; 7] {
        let year = u8::try_from(self.0.year() - 1900).unwrap_or(70);
        let month = u8::from(self.0.month());
        [year, month, self.0.day(), self.0.hour(), self.0.minute(), self.0.second(), 0]
    }

    /// ECMA-119 §8.4.26.1.
    pub(super) fn digits(self) -> Vec<u8> {
        let Self(date) = self;
        let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
        let (hour, minute, second) = (date.hour(), date.minute(), date.second());
        format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}00\0").into_bytes()
    }

    /// `PX` (RRIP §4.1.1) and `TF` (§4.1.6: modified, accessed, changed).
    pub(super) fn posix(self, mode: u32, links: usize) -> Vec<u8> {
        let mut out = b"PX\x24\x01".to_vec();
        for field in [mode as usize, links, 0, 0] {
            out.extend_from_slice(&both32(field));
        }
        out.extend_from_slice(b"TF\x1A\x01\x0E");
        for _ in 0..3 {
            out.extend_from_slice(&self.binary());
        }
        out
    }
}

/// `NM` (RRIP §4.1.4).
pub(super) fn name(name: &str) -> Vec<u8> {
    let mut out = vec![b'N', b'M', short(5 + name.len()), 1, 0];
    out.extend_from_slice(name.as_bytes());
    out
}

/// A length that fits a byte: names are bounded (`Directory`).
pub(super) fn short(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

/// ECMA-119 §7.3.3: both byte orders.
pub(super) fn both32(value: usize) -> [u8; 8] {
    let value = u32::try_from(value).unwrap_or(u32::MAX);
    let mut out = [0; 8];
    out[..4].copy_from_slice(&value.to_le_bytes());
    out[4..].copy_from_slice(&value.to_be_bytes());
    out
}

/// ECMA-119 §7.2.3: both byte orders.
pub(super) fn both16(value: usize) -> [u8; 4] {
    let value = u16::try_from(value).unwrap_or(u16::MAX);
    let mut out = [0; 4];
    out[..2].copy_from_slice(&value.to_le_bytes());
    out[2..].copy_from_slice(&value.to_be_bytes());
    out
}
