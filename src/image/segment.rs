//! The host's initrd segment: an uncompressed `newc` cpio archive that the boot loader hands to the
//! kernel behind the base initramfs (`Documentation/driver-api/early-userspace/buffer-format.rst`).
//! Reading one is the agent's (`agent::segment`).

/// One file of the archive. Its directory is part of the base initramfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFile<'a> {
    /// Path without a leading slash.
    pub path: &'a str,
    /// Content.
    pub content: &'a [u8],
}

/// The name that ends every archive.
const TRAILER: &str = "TRAILER!!!";
/// A regular file that root alone reads: the segment holds secrets.
const MODE: u32 = 0o100_600;

/// The archive, its length a multiple of 4, and where each file's content stands in it.
///
/// Dates are 0 and numbers count up, so the same files give the same bytes.
#[must_use]
pub fn render(files: &[SegmentFile<'_>]) -> (Vec<u8>, Vec<std::ops::Range<usize>>) {
    let mut archive = Vec::with_capacity(
        files.iter().map(|file| 128 + file.path.len() + file.content.len()).sum::<usize>() + 128,
    );
    let mut places = Vec::with_capacity(files.len());
    for (inode, file) in (1u32..).zip(files) {
        places.push(entry(&mut archive, inode, MODE, file.path, file.content));
    }
    entry(&mut archive, 0, 0, TRAILER, &[]);
    (archive, places)
}

/// Appends an entry and says where its content stands.
fn entry(
    archive: &mut Vec<u8>,
    inode: u32,
    mode: u32,
    path: &str,
    content: &[u8],
) -> std::ops::Range<usize> {
    archive.extend_from_slice(b"070701");
    let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let name_size = u32::try_from(path.len() + 1).unwrap_or(u32::MAX);
    // ino, mode, uid, gid, nlink, mtime, filesize, dev ×2, rdev ×2, namesize, check
    for field in [inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0] {
        archive.extend_from_slice(&hex(field));
    }
    archive.extend_from_slice(path.as_bytes());
    archive.push(0);
    pad(archive);
    let start = archive.len();
    archive.extend_from_slice(content);
    let end = archive.len();
    pad(archive);
    start..end
}

/// Eight hex digits. Cheaper than `format!`, and a host's overlay has ten times as many of them as
/// of anything else.
fn hex(value: u32) -> [u8; 8] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut digits = [0; 8];
    for (place, digit) in digits.iter_mut().rev().enumerate() {
        *digit = DIGITS[(value >> (4 * place)) as usize & 0xF];
    }
    digits
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_contents_stand_where_the_kernel_looks() {
        let files = [
            SegmentFile { path: "leaseless/boot.json", content: b"{}" },
            SegmentFile { path: "leaseless/odd", content: b"12345" },
        ];
        let (archive, places) = render(&files);
        assert_eq!(archive.len() % 4, 0);
        assert_eq!(&archive[..6], b"070701");
        assert_eq!(&archive[14..22], b"00008180", "mode 0100600");
        assert_eq!(&archive[54..62], b"00000002", "size");
        assert_eq!(&archive[94..102], b"00000014", "name with its NUL");
        for (file, place) in files.iter().zip(places) {
            assert_eq!(place.start % 4, 0);
            assert_eq!(&archive[place], file.content);
        }
        assert!(archive.windows(11).any(|name| name == b"TRAILER!!!\0"));
    }
}
