//! One QEMU machine with a serial console. TCG: no KVM is asked for. One at a time on the host,
//! for as long as the lock is held.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Of the machine's only NIC, in QEMU's user network: the host's loopback is 10.0.2.2 there.
pub(crate) const MAC: &str = "52:54:00:12:34:56";
/// From power on to whatever is waited for, on a loaded host without KVM.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Folder with `vmlinuz` and `initramfs.gz`, as `images/build.sh` makes it; `None`, and said so,
/// where there is none.
pub(crate) fn image() -> Option<PathBuf> {
    let folder = std::env::var_os("LEASELESS_IMAGE").map_or("build/image".into(), PathBuf::from);
    let there = folder.join("vmlinuz").exists() && folder.join("initramfs.gz").exists();
    if !there {
        eprintln!(
            "NOT TESTED: no boot image in {}: set LEASELESS_IMAGE to what images/build.sh made",
            folder.display()
        );
    }
    there.then_some(folder)
}

pub(crate) struct Machine {
    qemu: Child,
    serial: Lines<BufReader<ChildStdout>>,
    seen: Vec<String>,
    _lock: Flock<File>,
    _initrd: tempfile::NamedTempFile,
}

impl Machine {
    /// Starts a machine with `segment` after the image's initramfs, kernel arguments and QEMU
    /// arguments of its own.
    pub(crate) fn start(image: &Path, segment: &[u8], line: &str, arguments: &[&str]) -> Self {
        let mut initrd = std::fs::read(image.join("initramfs.gz")).unwrap();
        initrd.resize(initrd.len().next_multiple_of(4), 0);
        initrd.extend_from_slice(segment);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), initrd).unwrap();
        let lock = File::create(std::env::temp_dir().join("qemu.lock")).unwrap();
        let lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, errno)| errno).unwrap();
        let nic = format!("virtio-net-pci,netdev=n0,mac={MAC}");
        let mut qemu = Command::new("qemu-system-x86_64")
            .args(["-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-smp", "2"])
            .args(["-m", "1024", "-display", "none", "-nodefaults", "-no-reboot"])
            .args(["-serial", "mon:stdio", "-netdev", "user,id=n0", "-device", &nic, "-kernel"])
            .arg(image.join("vmlinuz"))
            .arg("-initrd")
            .arg(file.path())
            .args(["-append", &format!("console=ttyS0 quiet {line}")])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let serial = BufReader::new(qemu.stdout.take().unwrap()).lines();
        Self { qemu, serial, seen: Vec::new(), _lock: lock, _initrd: file }
    }

    /// Waits for a line with `text` on the serial console, and returns it.
    pub(crate) async fn says(&mut self, text: &str) -> String {
        let found = tokio::time::timeout(PATIENCE, async {
            while let Ok(Some(line)) = self.serial.next_line().await {
                let line = line.trim_matches(|c: char| c.is_control()).to_owned();
                self.seen.push(line.clone());
                if line.contains(text) {
                    return Some(line);
                }
            }
            None
        })
        .await;
        match found {
            Ok(Some(line)) => line,
            Ok(None) | Err(_) => panic!("no {text:?} on the console: {:#?}", self.seen),
        }
    }

    /// Has the kernel kill the largest process (Magic SysRq `f` after a BREAK on the serial line).
    pub(crate) async fn kill_largest_process(&mut self) {
        let keyboard = self.qemu.stdin.as_mut().unwrap();
        // Ctrl-A b is QEMU's way to send a BREAK.
        keyboard.write_all(b"\x01bf").await.unwrap();
        keyboard.flush().await.unwrap();
    }

    /// Waits until it is off by itself.
    pub(crate) async fn powers_off(mut self) {
        let off = tokio::time::timeout(PATIENCE, async {
            while let Ok(Some(line)) = self.serial.next_line().await {
                self.seen.push(line);
            }
            self.qemu.wait().await
        });
        let status = off.await.map(|status| status.unwrap().success());
        assert_eq!(status, Ok(true), "{:#?}", self.seen);
    }
}
