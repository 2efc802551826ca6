//! A tree of files as sysfs and procfs have them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use leaseless::sys::sysfs::Root;

/// The tree; it goes with the value.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Files of one directory.
    pub(crate) fn files(&self, directory: &str, files: &[(&str, &str)]) -> &Self {
        for (name, content) in files {
            self.file(&format!("{directory}/{name}"), format!("{content}\n"));
        }
        self
    }

    pub(crate) fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.0.path().join(path)).unwrap();
        self
    }

    /// A relative symbolic link from one path of the tree to another.
    pub(crate) fn link(&self, from: &str, to: &str) -> &Self {
        let link = self.0.path().join(from);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let depth = Path::new(from).components().count() - 1;
        let up: PathBuf = std::iter::repeat_n(Component::ParentDir, depth).collect();
        symlink(up.join(to), link).unwrap();
        self
    }

    /// A device below `sys/devices`, of a bus or class; those above it must be made before.
    pub(crate) fn device(&self, path: &str, subsystem: &str, devtype: &str) -> &Self {
        let path = format!("sys/devices/{path}");
        self.directory(&format!("sys/bus/{subsystem}"));
        self.link(&format!("{path}/subsystem"), &format!("sys/bus/{subsystem}"));
        let uevent =
            if devtype.is_empty() { String::new() } else { format!("DEVTYPE={devtype}\n") };
        self.file(&format!("{path}/uevent"), uevent)
    }

    /// PCI functions one below the other: `pci0000:00/0000:00:01.0/0000:3b:00.0`.
    pub(crate) fn pci(&self, path: &str) -> &Self {
        let mut at = String::new();
        for part in path.split('/') {
            at = if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
            let known = self.0.path().join(format!("sys/devices/{at}/uevent")).exists();
            if !part.starts_with("pci") && !known {
                self.device(&at, "pci", "");
            }
        }
        self
    }

    /// A disk of 512 byte sectors: its device, its block directory, its entry in `sys/block`.
    pub(crate) fn disk(&self, device: &str, name: &str, sectors: u64) -> &Self {
        let block = if name.starts_with("nvme") {
            format!("sys/devices/{device}/{name}")
        } else {
            format!("sys/devices/{device}/block/{name}")
        };
        self.files(
            &block,
            &[
                ("size", &sectors.to_string()),
                ("queue/rotational", "0"),
                ("queue/logical_block_size", "512"),
                ("queue/physical_block_size", "4096"),
            ],
        );
        self.directory("sys/class/block").link(&format!("{block}/subsystem"), "sys/class/block");
        self.link(&format!("{block}/device"), &format!("sys/devices/{device}"));
        self.link(&format!("sys/block/{name}"), &block)
    }

    /// A SCSI disk: host, target and device below `adapter`, then the disk.
    pub(crate) fn scsi_disk(&self, adapter: &str, hctl: &str, name: &str) -> &Self {
        let mut numbers = hctl.split(':');
        let mut next = || numbers.next().unwrap();
        let (host, channel, target) = (next(), next(), next());
        let host_path = format!("{adapter}/host{host}");
        let target_path = format!("{host_path}/target{host}:{channel}:{target}");
        let device = format!("{target_path}/{hctl}");
        self.device(&host_path, "scsi", "scsi_host");
        self.device(&target_path, "scsi", "scsi_target");
        self.device(&device, "scsi", "scsi_device");
        self.file(&format!("sys/devices/{device}/type"), "0\n");
        self.disk(&device, name, 20_000_000)
    }

    /// A NIC on a PCI function.
    pub(crate) fn nic(&self, pci: &str, name: &str, mac: &str) -> &Self {
        self.pci(pci);
        self.files(
            &format!("sys/devices/{pci}"),
            &[("vendor", "0x8086"), ("device", "0x1521"), ("numa_node", "0")],
        );
        let driver = "sys/bus/pci/drivers/igb";
        self.directory(driver).link(&format!("sys/devices/{pci}/driver"), driver);
        let path = format!("sys/devices/{pci}/net/{name}");
        self.files(&path, &[("address", mac), ("type", "1"), ("carrier", "1"), ("ifindex", "2")]);
        self.link(&format!("{path}/device"), &format!("sys/devices/{pci}"));
        self.link(&format!("sys/class/net/{name}"), &path)
    }

    /// A bond, VLAN or bridge on other devices.
    pub(crate) fn upper(&self, name: &str, mac: &str, lower: &[&str]) -> &Self {
        let path = format!("sys/devices/virtual/net/{name}");
        self.files(&path, &[("address", mac), ("type", "1")]);
        for below in lower {
            let target = format!("sys/class/net/{below}");
            self.link(&format!("{path}/lower_{below}"), &target);
        }
        self.link(&format!("sys/class/net/{name}"), &path)
    }
}
