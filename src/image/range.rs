//! Byte ranges of HTTP (RFC 9110 §14). Pure.

use std::ops::Range;

/// More ranges than this in one request are nothing that a boot needs (RFC 9110 §14.2 lets a server
/// ignore such a header).
const MOST_RANGES: usize = 16;

/// What a `Range` header asks of a representation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All of it: there is no range that has to be heeded.
    Whole,
    /// These bytes, each range within the representation and none empty, in the order asked.
    Parts(Vec<Range<u64>>),
    /// Only bytes that are not there: 416.
    Nothing,
}

impl Wanted {
    /// Reads the value of a `Range` header against a representation of `length` bytes.
    ///
    /// A unit other than `bytes`, a syntax error and a flood of ranges are ignored, as §14.2 has
    /// it, and so are ranges of which several overlap: those would send bytes twice.
    #[must_use]
    pub fn parse(header: &str, length: u64) -> Self {
        match parts(header, length) {
            None => Self::Whole,
            Some(parts) if parts.is_empty() => Self::Nothing,
            Some(parts) if overlap(&parts) => Self::Whole,
            Some(parts) => Self::Parts(parts),
        }
    }
}

/// The satisfiable ranges; `None` where the header is to be ignored.
fn parts(header: &str, length: u64) -> Option<Vec<Range<u64>>> {
    let (unit, set) = header.trim().split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut parts = Vec::new();
    let mut seen = 0;
    // §5.6.1: empty elements of a list are allowed.
    for spec in set.split(',').map(|spec| spec.trim_matches([' ', '\t'])).filter(|s| !s.is_empty())
    {
        seen += 1;
        if seen > MOST_RANGES {
            return None;
        }
        let part = part(spec, length)?;
        if !part.is_empty() {
            parts.push(part);
        }
    }
    (seen > 0).then_some(parts)
}

/// One range, empty where it is unsatisfiable; `None` for a syntax error.
fn part(spec: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = spec.split_once('-')?;
    if first.is_empty() {
        let suffix = number(last)?;
        return Some(length.saturating_sub(suffix)..length);
    }
    let first = number(first)?;
    let end = if last.is_empty() {
        length
    } else {
        let last = number(last)?;
        if last < first {
            return None;
        }
        last.saturating_add(1).min(length)
    };
    Some(first.min(end)..end)
}

/// Digits alone. One that is too large for 64 bits is behind the end of everything.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

fn overlap(parts: &[Range<u64>]) -> bool {
    let mut sorted: Vec<&Range<u64>> = parts.iter().collect();
    sorted.sort_by_key(|part| part.start);
    sorted.windows(2).any(|pair| pair[1].start < pair[0].end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(range: Range<u64>) -> Wanted {
        Wanted::Parts(vec![range])
    }

    #[test]
    fn ranges_are_read_as_rfc_9110_has_them() {
        for (header, wanted) in [
            ("bytes=0-0", one(0..1)),
            ("bytes=0-499", one(0..500)),
            ("bytes=500-", one(500..1000)),
            ("bytes=-1", one(999..1000)),
            ("bytes=-5000", one(0..1000)),
            ("bytes=999-5000", one(999..1000)),
            ("BYTES=0-1", one(0..2)),
            ("bytes=0-18446744073709551615", one(0..1000)),
            ("bytes=0-99999999999999999999999", one(0..1000)),
            ("bytes= 1-2 ,\t4-5,", Wanted::Parts(vec![1..3, 4..6])),
            ("bytes=5000-6000,1-2", one(1..3)),
            ("bytes=1000-", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=2-1", Wanted::Whole),
            ("bytes=", Wanted::Whole),
            ("bytes=,", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=0x1-2", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
            ("bytes 1-2", Wanted::Whole),
            ("", Wanted::Whole),
            ("bytes=1-5,4-9", Wanted::Whole),
        ] {
            assert_eq!(Wanted::parse(header, 1000), wanted, "{header}");
        }
    }

    #[test]
    fn a_flood_of_ranges_is_ignored() {
        let ask = |count: u64| {
            let set: Vec<String> = (0..count).map(|at| format!("{0}-{0}", at * 2)).collect();
            Wanted::parse(&format!("bytes={}", set.join(",")), 1000)
        };
        assert!(matches!(ask(16), Wanted::Parts(parts) if parts.len() == 16));
        assert_eq!(ask(17), Wanted::Whole);
    }

    proptest! {
        #[test]
        fn every_part_lies_within(header in "bytes=[0-9,-]{0,40}", length in 1u64..10_000) {
            if let Wanted::Parts(parts) = Wanted::parse(&header, length) {
                for part in parts {
                    prop_assert!(part.start < part.end && part.end <= length);
                }
            }
        }
    }
}
