//! File systems of a machine that we started ourselves: what PID 1 mounts, and a medium for as
//! long as it is read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

/// The file systems of an init: type, target, flags, options.
const BASE: [(&str, &str, MsFlags, Option<&str>); 5] = [
    ("proc", "/proc", SAFE, None),
    ("sysfs", "/sys", SAFE, None),
    ("devtmpfs", "/dev", MsFlags::MS_NOSUID.union(MsFlags::MS_NOEXEC), Some("mode=0755")),
    ("tmpfs", "/run", MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV), Some("mode=0755")),
    ("tmpfs", "/tmp", MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV), Some("mode=1777")),
];
const SAFE: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);

/// A mount that failed.
#[derive(Debug, thiserror::Error)]
#[error("mounting {kind} on {} failed", target.display())]
pub struct MountError {
    kind: &'static str,
    target: PathBuf,
    #[source]
    source: io::Error,
}

/// Mounts `/proc`, `/sys`, `/dev`, `/run` and `/tmp`; those that are mounted already stay. Tries
/// all of them and answers with what failed.
#[must_use]
pub fn mount_base() -> Vec<MountError> {
    // Where resolv.conf goes. An image that has none needs no more of it.
    fs::create_dir_all("/etc").ok();
    BASE.iter().filter_map(|&(kind, at, flags, data)| attach(kind, at, flags, data).err()).collect()
}

/// Mounts `efivarfs` where the firmware is EFI. Its module must be loaded.
///
/// # Errors
/// When the kernel refuses.
pub fn mount_efivarfs() -> Result<(), MountError> {
    let target = "/sys/firmware/efi/efivars";
    if Path::new(target).is_dir() {
        attach("efivarfs", target, SAFE.union(MsFlags::MS_RDONLY), None)?;
    }
    Ok(())
}

fn attach(
    kind: &'static str,
    target: &str,
    flags: MsFlags,
    data: Option<&str>,
) -> Result<(), MountError> {
    let failed = |source| MountError { kind, target: target.into(), source };
    fs::create_dir_all(target).map_err(failed)?;
    match mount(Some(kind), target, Some(kind), flags, data) {
        Ok(()) | Err(Errno::EBUSY) => Ok(()),
        Err(errno) => Err(failed(errno.into())),
    }
}

/// An ISO 9660 medium, mounted read-only. Dropping it unmounts: a mounted medium can't be ejected.
#[derive(Debug)]
pub struct MountedIso(PathBuf);

impl MountedIso {
    /// Mounts `device` on `target`, which is made where missing.
    ///
    /// # Errors
    /// When the kernel refuses: no such file system on it, or no `isofs`.
    pub fn mount(device: &Path, target: &Path) -> Result<Self, MountError> {
        let failed = |source| MountError { kind: "iso9660", target: target.into(), source };
        fs::create_dir_all(target).map_err(failed)?;
        let flags = SAFE.union(MsFlags::MS_RDONLY);
        mount(Some(device), target, Some("iso9660"), flags, None::<&str>)
            .map_err(|errno| failed(errno.into()))?;
        Ok(Self(target.to_owned()))
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for MountedIso {
    fn drop(&mut self) {
        if let Err(errno) = umount2(&self.0, MntFlags::MNT_DETACH) {
            tracing::warn!(target = %self.0.display(), %errno, "unmounting the medium failed");
        }
    }
}
