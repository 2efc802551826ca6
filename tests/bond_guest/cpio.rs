//! A cpio archive in the `newc` form that the kernel unpacks
//! (`Documentation/driver-api/early-userspace/buffer-format.rst`).

/// An archive under construction.
#[derive(Default)]
pub(crate) struct Archive(Vec<u8>);

impl Archive {
    pub(crate) fn directory(&mut self, path: &str) {
        self.entry(path, 0o040_755, &[]);
    }

    pub(crate) fn file(&mut self, path: &str, content: &[u8]) {
        self.entry(path, 0o100_755, content);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.0
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        let name = path.trim_start_matches('/');
        let size = u32::try_from(content.len()).unwrap();
        let name_size = u32::try_from(name.len() + 1).unwrap();
        let fields = [0, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.0.extend(b"070701");
        for field in fields {
            self.0.extend(format!("{field:08x}").bytes());
        }
        self.0.extend(name.bytes());
        self.0.push(0);
        self.pad();
        self.0.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}
