//! Files out of an uncompressed `newc` cpio archive (`Documentation/driver-api/early-userspace/
//! buffer-format.rst`): the host's initrd segment, read off the medium where the boot loader did
//! not hand it to the kernel. Pure.

/// Length of a `newc` header.
const HEADER: usize = 110;

/// The content of `path` in `archive`; `None` where it is not there or the archive breaks off
/// before it. Zeros between entries are padding. The last entry of a name wins, as in the kernel.
#[must_use]
pub fn find<'a>(archive: &'a [u8], path: &str) -> Option<&'a [u8]> {
    let mut found = None;
    let mut at = 0;
    while let Some(offset) = archive.get(at..)?.iter().position(|byte| *byte != 0) {
        at = (at + offset).next_multiple_of(4).min(archive.len());
        let Some(entry) = Entry::read(archive, at) else { break };
        let name = entry.name.strip_prefix("./").unwrap_or(entry.name);
        if name.trim_start_matches('/') == path {
            found = Some(entry.content);
        }
        at = entry.end;
    }
    found
}

struct Entry<'a> {
    name: &'a str,
    content: &'a [u8],
    end: usize,
}

impl<'a> Entry<'a> {
    fn read(archive: &'a [u8], at: usize) -> Option<Self> {
        let header = archive.get(at..at.checked_add(HEADER)?)?;
        matches!(&header[..6], b"070701" | b"070702").then_some(())?;
        let size = field(header, 54)?;
        let name_size = field(header, 94)?;
        let name_end = (at + HEADER).checked_add(name_size)?;
        let name = archive.get(at + HEADER..name_end)?.strip_suffix(b"\0")?;
        let start = name_end.checked_next_multiple_of(4)?;
        let content = archive.get(start..start.checked_add(size)?)?;
        let end = start.checked_add(size)?.checked_next_multiple_of(4)?.min(archive.len());
        Some(Self { name: std::str::from_utf8(name).ok()?, content, end })
    }
}

/// One field: eight hex digits.
fn field(header: &[u8], at: usize) -> Option<usize> {
    let digits = std::str::from_utf8(&header[at..at + 8]).ok()?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
    usize::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, content: &[u8]) -> Vec<u8> {
        let mut fields = [0; 13];
        fields[6] = content.len();
        fields[11] = name.len() + 1;
        let digits: String = fields.iter().map(|value| format!("{value:08X}")).collect();
        let mut bytes = format!("070701{digits}{name}\0").into_bytes();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn archive() -> Vec<u8> {
        let mut bytes = [
            entry("leaseless", b""),
            entry("leaseless/boot.json", b"{}"),
            entry("./leaseless/network_data.json", b"{\"links\": []}"),
            entry("TRAILER!!!", b""),
        ]
        .concat();
        bytes.resize(4096, 0);
        bytes
    }

    #[test]
    fn files_are_found_by_path() {
        let archive = archive();
        assert_eq!(find(&archive, "leaseless/boot.json"), Some(&b"{}"[..]));
        assert_eq!(find(&archive, "leaseless/network_data.json"), Some(&b"{\"links\": []}"[..]));
        assert_eq!(find(&archive, "boot.json"), None);
    }

    #[test]
    fn a_broken_archive_gives_what_stands_before_the_break() {
        let archive = archive();
        for cut in 0..archive.len() {
            let _ = find(&archive[..cut], "leaseless/network_data.json");
        }
        assert_eq!(find(&archive[..400], "leaseless/boot.json"), Some(&b"{}"[..]));
        assert_eq!(find(&[0; 64], "leaseless/boot.json"), None);
        assert_eq!(find(b"", "x"), None);
    }

    #[test]
    fn a_size_beyond_the_archive_is_refused() {
        let mut archive = entry("a", b"content");
        archive[54..62].copy_from_slice(b"FFFFFFFF");
        assert_eq!(find(&archive, "a"), None);
    }
}
