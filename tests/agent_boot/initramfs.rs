//! An initrd segment with the agent under test as init: `newc` cpio, unpacked over the image's own
//! initramfs by the kernel.

use std::path::Path;
use std::process::Command;

/// A growing archive.
#[derive(Default)]
pub(crate) struct Segment {
    bytes: Vec<u8>,
    inode: u32,
}

impl Segment {
    /// A segment whose `/init` is the agent that this test was built with, its libraries beside it.
    pub(crate) fn with_agent() -> Self {
        let agent = env!("CARGO_BIN_EXE_leaseless-agent");
        let mut segment = Self::default();
        segment.executable("init", Path::new(agent));
        let libraries = Command::new("ldd").arg(agent).output().unwrap().stdout;
        for word in String::from_utf8(libraries).unwrap().split_ascii_whitespace() {
            if let Some(path) = word.strip_prefix('/') {
                segment.directories_above(path);
                segment.executable(path, Path::new(word));
            }
        }
        segment
    }

    /// Adds a file below `leaseless/`.
    pub(crate) fn file(mut self, name: &str, content: &[u8]) -> Self {
        self.directory("leaseless");
        self.entry(&format!("leaseless/{name}"), 0o100_644, content);
        self
    }

    /// Makes a file of the image look as if it had never been unpacked: a link to nowhere.
    pub(crate) fn without(mut self, path: &str) -> Self {
        self.entry(path, 0o120_777, b"nowhere");
        self
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, b"");
        self.bytes
    }

    fn executable(&mut self, name: &str, source: &Path) {
        self.entry(name, 0o100_755, &std::fs::read(source).unwrap());
    }

    fn directories_above(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            self.directory(&path[..at]);
        }
    }

    fn directory(&mut self, name: &str) {
        self.entry(name, 0o040_755, b"");
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.inode += 1;
        let (size, name_size) = (content.len(), name.len() + 1);
        let header = format!(
            "070701{:08X}{mode:08X}{:08X}{:08X}{:08X}{:08X}{size:08X}{:08X}{:08X}{:08X}{:08X}\
             {name_size:08X}{:08X}{name}\0",
            self.inode, 0, 0, 1, 0, 0, 0, 0, 0, 0
        );
        self.append(header.as_bytes());
        self.append(content);
    }

    fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
