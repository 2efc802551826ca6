//! The form that all SMBIOS structures share (DSP0134 §6.1): a header, a formatted area, strings.

/// Why reading a table stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A structure shorter than its own header, such as length 0.
    #[error("SMBIOS table is broken at byte {offset}: a structure has length {length}, at least 4")]
    Length {
        /// Where.
        offset: usize,
        /// The length it gives.
        length: u8,
    },
    /// The table ends inside a structure.
    #[error("SMBIOS table is cut off inside the structure at byte {offset}")]
    Truncated {
        /// Where the structure begins.
        offset: usize,
    },
}

/// One structure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Structure<'table> {
    pub(super) kind: u8,
    pub(super) handle: u16,
    formatted: &'table [u8],
    strings: &'table [u8],
}

/// End-of-table.
const END: u8 = 127;
const HEADER: usize = 4;

/// The structures in order; an error is the last item.
pub(super) fn walk(table: &[u8]) -> impl Iterator<Item = Result<Structure<'_>, TableError>> {
    let mut offset = 0;
    let mut done = false;
    std::iter::from_fn(move || {
        if done || offset >= table.len() {
            return None;
        }
        match structure_at(table, offset) {
            Ok((structure, _)) if structure.kind == END => None,
            Ok((structure, next)) => {
                offset = next;
                Some(Ok(structure))
            }
            Err(error) => {
                done = true;
                Some(Err(error))
            }
        }
    })
}

/// The structure at `offset`, and where the next one begins.
fn structure_at(table: &[u8], offset: usize) -> Result<(Structure<'_>, usize), TableError> {
    let rest = table.get(offset..).unwrap_or_default();
    let truncated = TableError::Truncated { offset };
    let [kind, length, low, high, ..] = *rest else { return Err(truncated) };
    let size = usize::from(length);
    if size < HEADER {
        return Err(TableError::Length { offset, length });
    }
    let (formatted, after) = rest.split_at_checked(size).ok_or(truncated)?;
    let handle = u16::from_le_bytes([low, high]);
    // The end-of-table structure may lack its strings.
    let end = after.windows(2).position(|pair| pair == [0, 0]);
    let Some(end) = end.or((kind == END).then_some(0)) else { return Err(truncated) };
    let strings = after.get(..end).unwrap_or_default();
    Ok((Structure { kind, handle, formatted, strings }, offset + size + end + 2))
}

impl Structure<'_> {
    /// Tables of older versions are shorter: a field past the end is `None`.
    pub(super) fn array<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.formatted.get(offset..)?.first_chunk().copied()
    }

    pub(super) fn byte(&self, offset: usize) -> Option<u8> {
        self.array(offset).map(u8::from_le_bytes)
    }

    pub(super) fn word(&self, offset: usize) -> Option<u16> {
        self.array(offset).map(u16::from_le_bytes)
    }

    pub(super) fn dword(&self, offset: usize) -> Option<u32> {
        self.array(offset).map(u32::from_le_bytes)
    }

    pub(super) fn quad(&self, offset: usize) -> Option<u64> {
        self.array(offset).map(u64::from_le_bytes)
    }

    /// The string whose number stands at `offset`, unless it says nothing.
    pub(super) fn text(&self, offset: usize) -> Option<String> {
        let number = usize::from(self.byte(offset)?).checked_sub(1)?;
        let bytes = self.strings.split(|byte| *byte == 0).nth(number)?;
        meaningful(&String::from_utf8_lossy(bytes))
    }
}

/// Texts that vendors leave in, lower case, blanks within folded to one.
const PLACEHOLDERS: [&str; 31] = [
    "to be filled by o.e.m.",
    "to be filled by o.e.m",
    "to be filled by oem",
    "filled by oem",
    "default string",
    "default",
    "defaultstring",
    "not specified",
    "not available",
    "not applicable",
    "not provided",
    "not present",
    "no asset tag",
    "none",
    "null",
    "n/a",
    "na",
    "oem",
    "o.e.m.",
    "empty",
    "unknown",
    "undefined",
    "invalid",
    "<bad index>",
    "system manufacturer",
    "system product name",
    "system version",
    "system serial number",
    "chassis serial number",
    "board serial number",
    "serial number",
];

/// The text without blanks around it, or `None` for one that names nothing: empty, a placeholder,
/// the digits counted up, or a single character repeated.
fn meaningful(text: &str) -> Option<String> {
    let printable = text.replace(char::is_control, " ");
    let trimmed = printable.trim();
    let folded = trimmed.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    let first = folded.chars().next()?;
    let is_filler = matches!(first, '0' | '.' | '-' | '_' | '*' | 'x' | 'f' | ' ')
        && folded.len() > 1
        && folded.chars().all(|c| c == first);
    let is_count = folded.len() >= 8
        && ["01234567890123456789ab", "1234567890"].iter().any(|count| count.starts_with(&folded));
    let says_nothing = is_filler
        || is_count
        || folded.chars().all(|c| !c.is_alphanumeric())
        || PLACEHOLDERS.contains(&folded.as_str());
    (!says_nothing).then(|| trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vendors_leave_in_is_no_text() {
        for text in [
            "",
            "   ",
            "To Be Filled By O.E.M.",
            "To be filled by O.E.M.  ",
            "To Be  Filled By O.E.M.",
            "Default string",
            "Not Specified",
            "0123456789",
            "123456789",
            "01234567890123456789AB",
            "00000000",
            "..............",
            "N/A",
            "System Serial Number",
            "XXXXXXXX",
            "\u{1}\u{2}",
        ] {
            assert_eq!(meaningful(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_names_something_stays_without_blanks_around_it() {
        for (text, kept) in [
            ("090008 ", "090008"),
            ("Micron                        ", "Micron"),
            ("0", "0"),
            ("7.0", "7.0"),
            ("1234567", "1234567"),
            ("1234567891", "1234567891"),
            ("PowerEdge R630", "PowerEdge R630"),
            ("X", "X"),
        ] {
            assert_eq!(meaningful(text).as_deref(), Some(kept), "{text:?}");
        }
    }
}
