//! Debian's kernel from its package, and an initramfs with this test binary as init.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cpio::Archive;

/// In loading order: each after what it needs.
pub(crate) const MODULES: [&str; 8] = [
    "kernel/net/tls/tls.ko",
    "kernel/drivers/net/bonding/bonding.ko",
    "kernel/net/llc/llc.ko",
    "kernel/net/802/stp.ko",
    "kernel/net/802/garp.ko",
    "kernel/net/802/mrp.ko",
    "kernel/net/8021q/8021q.ko",
    "kernel/drivers/net/veth.ko",
];

/// An unpacked `linux-image` package.
pub(crate) struct Kernel {
    root: PathBuf,
    version: String,
}

impl Kernel {
    /// From the cache (`LEASELESS_GUEST_CACHE`, else below `target/`), else from Debian. `None`,
    /// said loudly, where it can't be had.
    pub(crate) fn fetch() -> Option<Self> {
        let cache = std::env::var_os("LEASELESS_GUEST_CACHE")
            .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest"), PathBuf::from);
        let root = cache.join("root");
        if !root.join("boot").is_dir() {
            fs::create_dir_all(&cache).unwrap();
            if let Err(why) = download(&cache, &root) {
                eprintln!("NOT TESTED: bonds and VLANs need Debian's kernel: {why}");
                return None;
            }
        }
        let modules = fs::read_dir(root.join("lib/modules")).unwrap().next().unwrap().unwrap();
        let version = modules.file_name().into_string().unwrap();
        Some(Self { root, version })
    }

    pub(crate) fn image(&self) -> PathBuf {
        self.root.join(format!("boot/vmlinuz-{}", self.version))
    }

    /// This test binary, what it links to, and the modules.
    pub(crate) fn initramfs(&self) -> Vec<u8> {
        let mut archive = Archive::default();
        for directory in
            ["proc", "sys", "dev", "tmp", "lib", "lib64", "lib/x86_64-linux-gnu", "modules"]
        {
            archive.directory(directory);
        }
        let init = std::env::current_exe().unwrap();
        archive.file("init", &stripped(&init));
        for library in libraries(&init) {
            archive.file(&library, &fs::read(&library).unwrap());
        }
        for module in MODULES {
            let path = self.root.join("lib/modules").join(&self.version).join(module);
            let name = path.file_name().unwrap().to_str().unwrap();
            archive.file(&format!("modules/{name}"), &fs::read(&path).unwrap());
        }
        archive.finish()
    }
}

fn download(cache: &Path, root: &Path) -> Result<(), String> {
    let depends = run(Command::new("apt-cache").args(["depends", "linux-image-amd64"]))?;
    let package = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .ok_or("linux-image-amd64 is not in the package lists")?;
    run(Command::new("apt-get").args(["download", package]).current_dir(cache))?;
    let mut files = fs::read_dir(cache).map_err(|error| error.to_string())?.flatten();
    let deb = files
        .find(|file| file.path().extension().is_some_and(|extension| extension == "deb"))
        .ok_or("apt-get left no package")?;
    let unpacking = root.with_extension("part");
    run(Command::new("dpkg").arg("-x").arg(deb.path()).arg(&unpacking))?;
    fs::rename(unpacking, root).map_err(|error| error.to_string())
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Without debug information, where binutils are there to take it away: the guest unpacks faster.
fn stripped(binary: &Path) -> Vec<u8> {
    let copy = tempfile::NamedTempFile::new().unwrap();
    let strip = Command::new("strip").arg("-o").arg(copy.path()).arg(binary).status();
    let smaller = strip.is_ok_and(|status| status.success());
    fs::read(if smaller { copy.path() } else { binary }).unwrap()
}

/// Paths in the output of `ldd`: `libc.so.6 => /lib/… (0x…)` and `/lib64/ld-… (0x…)`.
fn libraries(binary: &Path) -> Vec<String> {
    let listed = run(Command::new("ldd").arg(binary)).unwrap();
    listed
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
        .map(str::to_owned)
        .collect()
}
