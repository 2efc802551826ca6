//! Boots composed ISOs in QEMU, straight from the ISO server: through isolinux, and through shim
//! and GRUB under Secure Boot. Nothing of a host is written to disk.
//!
//! Needs a built image in `LEASELESS_IMAGE` with the agent as its init. Emulated (TCG), so that it
//! runs on any machine; a boot takes 10 to 60 s.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use leaseless::image::base::{Base, IMAGE_VARIABLE};
use leaseless::image::composite::Composite;
use leaseless::image::overlay::{HostMedia, Overlay, PublisherId};
use leaseless::image::serve::{IsoServer, Published};
use leaseless::types::Secret;
use leaseless::types::boot::BootConfig;
use serde_json::json;

/// Longer than any boot that was seen, on a machine that does much else.
const DEADLINE: Duration = Duration::from_secs(300);
const FIRMWARE: &str = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd";
const VARIABLES: &str = "/usr/share/OVMF/OVMF_VARS_4M.ms.fd";

/// The image to boot; `None`, said loudly, where there is none.
fn image() -> Option<PathBuf> {
    let named = std::env::var_os(IMAGE_VARIABLE).map(PathBuf::from);
    if named.is_none() {
        eprintln!("NOT BOOTED: {IMAGE_VARIABLE} names no built image");
    }
    named
}

fn composed(base: &Base) -> Composite {
    let boot = BootConfig {
        version: 1,
        host_id: "booted-from-http".to_owned(),
        controller_urls: vec!["https://192.0.2.1:8443".to_owned()],
        ca_pem: String::new(),
        token: Secret::new("0123456789abcdef"),
        issued_at: 1_700_000_000,
        allow_dhcp: false,
    };
    // A NIC that is not there: the agent names it, which proves whose network data it read.
    let network_data = json!({
        "links": [{"id": "l", "type": "phy", "ethernet_mac_address": "02:00:5e:10:20:30", "mtu": 1500}],
        "networks": [{"id": "n", "network_id": "n", "link": "l", "type": "ipv4", "ip_address": "192.0.2.9",
                      "netmask": "255.255.255.0", "routes": []}],
        "services": []
    });
    let publisher = PublisherId::from_random([7; 16]);
    let host = HostMedia {
        boot: &boot,
        network_data: &network_data,
        meta_data: &HostMedia::meta_data(&publisher),
        publisher: &publisher,
        kernel_args: "loglevel=7",
    };
    Composite::new(base, Overlay::compose(base.manifest(), &host).unwrap())
}

/// A virtual machine; it ends with the test. One at a time: emulation takes every core.
struct Machine {
    qemu: Child,
    _lock: File,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.qemu.kill().ok();
        self.qemu.wait().ok();
    }
}

fn machine(iso: &str, memory_mib: u32, firmware: &[String]) -> Machine {
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-machine", "q35,smm=on", "-accel", "tcg,thread=multi", "-cpu", "Nehalem"]);
    qemu.args(["-smp", "2", "-m", &memory_mib.to_string(), "-nodefaults", "-display", "none"]);
    qemu.args(["-no-reboot", "-serial", "stdio"]).args(firmware);
    // A USB CD-ROM, as BMCs show one.
    qemu.args(["-drive", &format!("if=none,id=cd,media=cdrom,readonly=on,file={iso}")]);
    qemu.args(["-device", "qemu-xhci", "-device", "usb-bot,id=bot"]);
    qemu.args(["-device", "scsi-cd,bus=bot.0,drive=cd,bootindex=0"]);
    qemu.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let lock = File::create(std::env::temp_dir().join("qemu.lock")).unwrap();
    lock.lock().unwrap();
    Machine { qemu: qemu.spawn().expect("qemu-system-x86_64 is installed"), _lock: lock }
}

/// Reads the console until each text was seen; panics with the console at the deadline.
fn expect_on_console(machine: &mut Machine, texts: &[&str]) {
    let console = BufReader::new(machine.qemu.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in console.split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    let start = Instant::now();
    let (mut seen, mut missing) = (String::new(), texts.to_vec());
    while !missing.is_empty() {
        match lines.recv_timeout(DEADLINE.saturating_sub(start.elapsed())) {
            Ok(line) => {
                missing.retain(|text| !line.contains(text));
                seen.push_str(&line);
                seen.push('\n');
            }
            Err(_) => panic!("{missing:?} did not appear on the console:\n{seen}"),
        }
    }
    eprintln!("all of it was seen after {:.1} s", start.elapsed().as_secs_f32());
}

fn boots(memory_mib: impl Fn(&Base) -> u32, firmware: &[String], also: &[&str]) {
    let Some(directory) = image() else { return };
    let base = Base::open(&directory).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, published): (IsoServer, Published) = runtime.block_on(async {
        let server = IsoServer::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let published = server.publish(composed(&base)).unwrap();
        (server, published)
    });
    let url = format!("http://{}{}", server.local_addr(), published.path());
    let mut machine = machine(&url, memory_mib(&base), firmware);
    let mut texts = vec![
        // Both loaders' kernel lines, and the segment behind both.
        "ir_pub_id=07070707-0707-4707-8707-070707070707 loglevel=7",
        "configuration is from the initrd segment",
        "02:00:5e:10:20:30",
    ];
    texts.extend_from_slice(also);
    expect_on_console(&mut machine, &texts);
    let progress = published.progress();
    eprintln!("{progress:?}");
    assert!(progress.requests > 10 && progress.covered < progress.length, "read in ranges");
}

#[test]
fn a_composed_iso_boots_through_bios_from_http() {
    // At the floor that the manifest promises.
    boots(|base| base.manifest().memory_floor_mib.bios, &[], &[]);
}

#[test]
fn a_composed_iso_boots_under_secure_boot_from_http() {
    if !Path::new(FIRMWARE).is_file() {
        eprintln!("NOT BOOTED: {FIRMWARE} is not installed (package ovmf)");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let variables = directory.path().join("vars.fd");
    fs::copy(VARIABLES, &variables).unwrap();
    let firmware = [
        "-global".to_owned(),
        "driver=cfi.pflash01,property=secure,value=on".to_owned(),
        "-drive".to_owned(),
        format!("if=pflash,format=raw,unit=0,readonly=on,file={FIRMWARE}"),
        "-drive".to_owned(),
        format!("if=pflash,format=raw,unit=1,file={}", variables.display()),
    ];
    boots(|base| base.manifest().memory_floor_mib.uefi, &firmware, &["Secure boot enabled"]);
}

#[test]
fn a_build_of_the_same_packages_has_the_same_bytes() {
    let Some(directory) = image() else { return };
    let Some(packages) = std::env::var_os("LEASELESS_IMAGE_PACKAGES") else {
        eprintln!("NOT BUILT AGAIN: LEASELESS_IMAGE_PACKAGES names no directory of packages");
        return;
    };
    let agent =
        std::env::var_os("LEASELESS_IMAGE_AGENT").expect("LEASELESS_IMAGE_AGENT is set beside");
    let again = tempfile::tempdir().unwrap();
    let built = Command::new(env!("CARGO_BIN_EXE_leaseless"))
        .args(["image", "build", "--out"])
        .arg(again.path())
        .arg("--agent")
        .arg(agent)
        .arg("--packages")
        .arg(packages)
        .status()
        .unwrap();
    assert!(built.success());
    for file in ["leaseless.iso", "vmlinuz", "initramfs.gz", "manifest.json"] {
        let read = |at: &Path| fs::read(at.join(file)).unwrap();
        assert!(read(&directory) == read(again.path()), "{file} differs");
    }
}
