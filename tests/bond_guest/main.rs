//! Bonds and VLANs on Debian's kernel: this very test binary is the init of a QEMU guest, where
//! the tests of `guest` run. Needs qemu-system-x86_64, and apt-get and dpkg to fetch the kernel
//! once; without them it says so.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod cpio;
mod guest;
mod kernel;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kernel::Kernel;

/// Emulated processors are slow; a hung guest must end all the same.
const GUEST_DEADLINE: Duration = Duration::from_secs(400);

#[test]
fn bonds_and_vlans_come_up_on_debians_kernel() {
    if guest::is_here() {
        return;
    }
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: bonds and VLANs need qemu-system-x86_64");
        return;
    }
    let Some(kernel) = Kernel::fetch() else { return };
    let directory = tempfile::tempdir().unwrap();
    let initramfs = directory.path().join("initramfs");
    std::fs::write(&initramfs, kernel.initramfs()).unwrap();
    let console = boot(&kernel.image(), &initramfs);
    assert!(console.contains("test result: ok. "), "guest said:\n{console}");
}

/// Boots the guest and answers all that its console said.
fn boot(kernel: &Path, initramfs: &Path) -> String {
    let filter = std::env::var("LEASELESS_GUEST_TESTS").unwrap_or_else(|_| "guest::".to_owned());
    let line = format!(
        "console=ttyS0 quiet panic=-1 rdinit=/init {}=1 RUST_BACKTRACE=0 -- {filter} \
         --test-threads=1 --nocapture",
        guest::MARK
    );
    let mut qemu = Command::new("qemu-system-x86_64")
        .args(["-machine", "q35", "-accel", "tcg", "-cpu", "Nehalem", "-m", "768"])
        .args(["-display", "none", "-serial", "stdio", "-nic", "none", "-no-reboot"])
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(initramfs)
        .args(["-append", &line])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = qemu.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).map(|_| bytes)
    });
    let deadline = Instant::now() + GUEST_DEADLINE;
    while qemu.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            qemu.kill().unwrap();
            eprintln!("the guest did not end in time");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let console = String::from_utf8_lossy(&reader.join().unwrap().unwrap()).into_owned();
    eprintln!("{console}");
    console
}
