//! Kernel modules of the running kernel: where they are, and loading one (`finit_module(2)`).
//!
//! Not here: which ones (`agent::modules`).

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};

/// `/lib/modules/<release of the running kernel>`.
///
/// # Errors
/// When `/proc` can't be read.
pub fn module_directory() -> io::Result<PathBuf> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(Path::new("/lib/modules").join(release.trim()))
}

/// Whether the kernel has this module, loaded or built in with parameters.
#[must_use]
pub fn is_present(name: &str) -> bool {
    Path::new("/sys/module").join(name).is_dir()
}

/// Loads the module in `file`; one that is loaded already is a success.
///
/// # Errors
/// When the file can't be read or the kernel refuses it.
pub fn load(file: &Path, parameters: &str) -> io::Result<()> {
    let parameters = CString::new(parameters).map_err(io::Error::other)?;
    let module = File::open(file)?;
    match finit_module(&module, &parameters, ModuleInitFlags::empty()) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The `modalias` of every device that is there now.
#[must_use]
pub fn modaliases() -> Vec<String> {
    let mut found = Vec::new();
    walk(Path::new("/sys/devices"), 24, &mut found);
    found.sort();
    found.dedup();
    found
}

/// Links are left alone: they lead in circles, and each device has one real directory.
fn walk(directory: &Path, depth: u8, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            walk(&entry.path(), depth - 1, found);
        } else if kind.is_file()
            && entry.file_name() == "modalias"
            && let Ok(alias) = fs::read_to_string(entry.path())
            && !alias.trim().is_empty()
        {
            found.push(alias.trim().to_owned());
        }
    }
}
