//! Reads sysfs, procfs and devtmpfs below a directory, `/` on a live system. Every answer is
//! bounded; what is not there or can't be read is `None`: sysfs attributes come and go with
//! drivers, and many answer with an error until a link is up.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// sysfs attributes are one page at most.
const ATTRIBUTE_MAX: u64 = 4096;
/// SMBIOS tables, VPD pages and `/proc/cpuinfo` of a machine with thousands of threads.
const FILE_MAX: u64 = 32 << 20;
/// Entries of one directory.
const ENTRIES_MAX: usize = 16_384;

/// A directory that holds `sys`, `proc` and `dev`.
#[derive(Debug, Clone)]
pub struct Root {
    top: PathBuf,
}

impl Root {
    /// The running system.
    #[must_use]
    pub fn live() -> Self {
        Self::at(Path::new("/"))
    }

    /// Another tree of the same form. Symbolic links inside it must be relative, as in sysfs.
    #[must_use]
    pub fn at(top: &Path) -> Self {
        Self { top: fs::canonicalize(top).unwrap_or_else(|_| top.to_owned()) }
    }

    /// Where `path` (such as `sys/block`) really is.
    #[must_use]
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.top.join(path)
    }

    /// Whether there is something at `path`.
    #[must_use]
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// An attribute's text without surrounding blanks, NULs and line ends; empty is `None`.
    #[must_use]
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = read(&self.path(path), ATTRIBUTE_MAX).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// An attribute's decimal number.
    #[must_use]
    pub fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// An attribute that is `0` or `1`.
    #[must_use]
    pub fn flag(&self, path: impl AsRef<Path>) -> Option<bool> {
        self.number::<u64>(path).map(|number| number != 0)
    }

    /// A whole file, at most 32 MiB of it.
    ///
    /// # Errors
    /// The file system's.
    pub fn bytes(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        read(&self.path(path), FILE_MAX)
    }

    /// A whole text file; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// The file system's.
    pub fn lines(&self, path: impl AsRef<Path>) -> io::Result<String> {
        self.bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Names in a directory, sorted so that `sda10` follows `sda9`; empty where there is none.
    #[must_use]
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .take(ENTRIES_MAX)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_by_cached_key(|name| natural_key(name));
        names
    }

    /// Last part of a symbolic link's target: `virtio_net` of `device/driver`.
    #[must_use]
    pub fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        target.file_name()?.to_str().map(ToOwned::to_owned)
    }

    /// The directory of a device in `sys/devices`, relative to the root, with every symbolic link
    /// resolved; `None` when it is not there or lies outside the root.
    #[must_use]
    pub fn device(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = fs::canonicalize(self.path(path)).ok()?;
        real.strip_prefix(&self.top).ok().map(Path::to_owned)
    }
}

/// The subsystem that a device directory belongs to, such as `pci`.
#[must_use]
pub fn subsystem(root: &Root, device: &Path) -> Option<String> {
    root.link_name(device.join("subsystem"))
}

/// The nearest device, from `device` itself upwards, that belongs to `wanted`.
#[must_use]
pub fn ancestor(root: &Root, device: &Path, wanted: &str) -> Option<PathBuf> {
    device
        .ancestors()
        .take_while(|path| path.as_os_str().as_bytes().starts_with(b"sys/devices/"))
        .find(|path| subsystem(root, path).as_deref() == Some(wanted))
        .map(Path::to_owned)
}

/// Last part of a path, as text.
#[must_use]
pub fn base_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Text and numbers in turn; a number compares by its length, then its digits.
fn natural_key(name: &str) -> Vec<(String, usize, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits);
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        key.push((text.to_owned(), number.len(), number.to_owned()));
        rest = after;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_in_which_people_count() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["eth10", "eth2", "eth", "eno1", "eth2.5"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let names = Root::at(directory.path()).names("");
        assert_eq!(names, ["eno1", "eth", "eth2", "eth2.5", "eth10"]);
    }

    #[test]
    fn an_attribute_loses_blanks_and_an_empty_or_missing_one_is_none() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("model"), "Disk X   \0\n").unwrap();
        fs::write(directory.path().join("serial"), "   \n").unwrap();
        let root = Root::at(directory.path());
        assert_eq!(root.text("model").as_deref(), Some("Disk X"));
        assert_eq!(root.text("serial"), None);
        assert_eq!(root.text("absent"), None);
        assert_eq!(root.number::<u32>("model"), None);
    }
}
