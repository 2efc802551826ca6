//! What a host costs: composing its overlay, its memory, the first range of an ISO that nobody read
//! before, and a whole read beside nginx serving the same bytes. Goals are printed beside what was
//! measured; a goal that is missed fails the run.
//!
//! `cargo bench --bench image`; `LEASELESS_IMAGE` names a built image, else a synthetic one of the
//! same size stands in.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use leaseless::image::base::{Base, IMAGE_VARIABLE};
use leaseless::image::composite::Composite;
use leaseless::image::manifest::Manifest;
use leaseless::image::overlay::{HostMedia, Overlay, PublisherId};
use leaseless::image::serve::{IsoServer, Published};
use leaseless::types::Secret;
use leaseless::types::boot::BootConfig;
use serde_json::{Value, json};

const HOSTS: usize = 10_000;
const UNSEEN: usize = 2_000;
const ROUNDS: usize = 15;
const SYNTHETIC: u64 = 30 << 20;

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut goals = Goals::default();
    let base = match std::env::var_os(IMAGE_VARIABLE) {
        Some(image) => {
            let base = Base::open(Path::new(&image)).expect("LEASELESS_IMAGE is a built image");
            goals.at_most("ISO with firmware", base.bytes().len() as f64 / 1e6, 30.0, "MB");
            base
        }
        None => {
            eprintln!("LEASELESS_IMAGE IS NOT SET: measuring a synthetic image");
            synthetic(directory.path())
        }
    };
    let composed = compose_time(base.manifest()).as_secs_f64() * 1e6;
    goals.at_most("composing an overlay, median", composed, 20.0, "µs");
    let memory = overlay(base.manifest(), 0).memory() as f64 / 1024.0;
    goals.at_most("memory of an overlay", memory, 2.0, "KiB");

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime
        .block_on(IsoServer::bind(SocketAddr::from(([127, 0, 0, 1], 0))))
        .expect("a free port");
    let before = resident();
    let publish = |host| {
        let iso = Composite::new(&base, overlay(base.manifest(), host));
        server.publish(iso).expect("random bytes")
    };
    let hosts: Vec<Published> = (0..HOSTS).map(publish).collect();
    let each = resident().saturating_sub(before) as f64 / HOSTS as f64 / 1024.0;
    goals.note("resident memory of a published host", each, "KiB");
    measure_first_ranges(&mut goals, server.local_addr(), &hosts[..UNSEEN]);

    let iso = Composite::new(&base, overlay(base.manifest(), 0));
    let copied = copy_time(&iso, &directory.path().join("whole.iso"));
    goals.note("for comparison: copying and patching a file", copied.as_secs_f64() * 1e3, "ms");
    match Nginx::start(directory.path()) {
        Some(nginx) => {
            let size = base.bytes().len();
            let ratio = beside_nginx(&nginx, server.local_addr(), hosts[0].path(), size);
            goals.at_least("whole read, our rate over nginx's", ratio, 0.9, "");
        }
        None => println!("NOT COMPARED WITH NGINX: it is not installed (package nginx-light)"),
    }
    if goals.missed > 0 {
        eprintln!("{} goals missed", goals.missed);
        std::process::exit(1);
    }
}

#[derive(Default)]
struct Goals {
    missed: u32,
}

impl Goals {
    fn at_most(&mut self, what: &str, measured: f64, limit: f64, unit: &str) {
        self.judge(what, measured, &format!("at most {limit} {unit}"), unit, measured <= limit);
    }

    fn at_least(&mut self, what: &str, measured: f64, limit: f64, unit: &str) {
        self.judge(what, measured, &format!("at least {limit} {unit}"), unit, measured >= limit);
    }

    fn judge(&mut self, what: &str, measured: f64, goal: &str, unit: &str, met: bool) {
        self.missed += u32::from(!met);
        let verdict = if met { "met" } else { "MISSED" };
        println!("{what:<44} {measured:>9.2} {unit:<4} goal {goal}: {verdict}");
    }

    fn note(&self, what: &str, measured: f64, unit: &str) {
        println!("{what:<44} {measured:>9.2} {unit}");
    }
}

fn measure_first_ranges(goals: &mut Goals, server: SocketAddr, hosts: &[Published]) {
    let mut times: Vec<Duration> =
        hosts.iter().map(|host| first_range(server, host.path())).collect();
    times.sort_unstable();
    let milliseconds = |at: usize| times[at].as_secs_f64() * 1e3;
    goals.at_most(
        "first range of an unseen host, median",
        milliseconds(times.len() / 2),
        1.0,
        "ms",
    );
    goals.note(
        "first range of an unseen host, 99 of 100",
        milliseconds(times.len() * 99 / 100),
        "ms",
    );
}

fn overlay(manifest: &Manifest, host: usize) -> Overlay {
    let boot = BootConfig {
        version: 1,
        host_id: format!("5d5ad6f0-3f6d-4b7c-a3a2-{host:012}"),
        controller_urls: vec!["https://192.0.2.1:8443".into(), "https://[2001:db8::1]:8443".into()],
        // As long as an ECDSA P-256 certificate.
        ca_pem: "A".repeat(600),
        token: Secret::new("0123456789012345678901234567890123456789012"),
        issued_at: 1_700_000_000,
        allow_dhcp: false,
    };
    let publisher = PublisherId::from_random([0x5A; 16]);
    let host = HostMedia {
        boot: &boot,
        network_data: &network_data(),
        meta_data: &HostMedia::meta_data(&publisher),
        publisher: &publisher,
        kernel_args: "",
    };
    Overlay::compose(manifest, &host).expect("it fits")
}

/// A VLAN on one NIC, one address, a default route, one resolver.
fn network_data() -> Value {
    json!({
        "links": [
            {"id": "eno1", "type": "phy", "ethernet_mac_address": "52:54:00:12:34:56", "mtu": 1500},
            {"id": "vlan10", "type": "vlan", "vlan_id": 10, "vlan_link": "eno1", "mtu": 1500}
        ],
        "networks": [{
            "id": "n0", "network_id": "n0", "type": "ipv4", "link": "vlan10", "ip_address": "192.0.2.10",
            "netmask": "255.255.255.0",
            "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}]
        }],
        "services": [{"type": "dns", "address": "192.0.2.53"}]
    })
}

fn compose_time(manifest: &Manifest) -> Duration {
    let mut times: Vec<Duration> = (0..HOSTS)
        .map(|host| {
            let start = Instant::now();
            std::hint::black_box(overlay(manifest, host));
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[HOSTS / 2]
}

/// What a server without overlays would do for each host.
fn copy_time(iso: &Composite, path: &Path) -> Duration {
    let start = Instant::now();
    let mut file = fs::File::create(path).expect("a temporary file");
    iso.write_to(&mut file).expect("room for an ISO");
    start.elapsed()
}

/// Connecting, asking and reading 2 KiB of an ISO for the first time.
fn first_range(server: SocketAddr, path: &str) -> Duration {
    let start = Instant::now();
    let mut stream = TcpStream::connect(server).expect("the server listens");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nRange: bytes=32768-34815\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = Vec::with_capacity(4096);
    stream.read_to_end(&mut answer).expect("the server answers");
    assert!(answer.starts_with(b"HTTP/1.1 206 ") && answer.len() > 2048);
    start.elapsed()
}

fn whole_read(server: SocketAddr, path: &str, size: usize, buffer: &mut [u8]) -> Duration {
    let start = Instant::now();
    let mut stream = TcpStream::connect(server).expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut total = 0;
    loop {
        match stream.read(buffer).expect("the server answers") {
            0 => break,
            read => total += read,
        }
    }
    assert!(total > size, "{total} of {size} bytes");
    start.elapsed()
}

/// Whole reads in turns, so that a busy machine is as busy for both; the medians' ratio.
fn beside_nginx(nginx: &Nginx, ours: SocketAddr, path: &str, size: usize) -> f64 {
    let mut buffer = vec![0; 1 << 20];
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        other.push(whole_read(nginx.address, "/whole.iso", size, &mut buffer));
        own.push(whole_read(ours, path, size, &mut buffer));
    }
    own.sort_unstable();
    other.sort_unstable();
    let (own, other) = (own[ROUNDS / 2], other[ROUNDS / 2]);
    let rate = |time: Duration| size as f64 / time.as_secs_f64() / 1e6;
    println!(
        "whole read: ours {:.0} MB/s, nginx {:.0} MB/s (medians of {ROUNDS})",
        rate(own),
        rate(other)
    );
    other.as_secs_f64() / own.as_secs_f64()
}

struct Nginx {
    address: SocketAddr,
    process: Child,
}

impl Nginx {
    /// Serves `directory` as Debian's package is set up: sendfile, one worker.
    fn start(directory: &Path) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").ok()?;
        let address = free.local_addr().ok()?;
        drop(free);
        let at = directory.display();
        let configuration = format!(
            "daemon off; worker_processes 1; pid {at}/nginx.pid; error_log {at}/error.log;
             events {{}}
             http {{ sendfile on; tcp_nopush on; access_log off; client_body_temp_path {at}/body;
               proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi;
               scgi_temp_path {at}/scgi;
               server {{ listen {address}; root {at}; }} }}"
        );
        let path = directory.join("nginx.conf");
        fs::write(&path, configuration).ok()?;
        // Workers of a root-owned nginx are somebody else, who must get in.
        let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(directory, open).ok()?;
        let process = ["nginx", "/usr/sbin/nginx"].iter().find_map(|program| {
            Command::new(program).arg("-c").arg(&path).stderr(Stdio::inherit()).spawn().ok()
        })?;
        let started = Self { address, process };
        for _ in 0..100 {
            if TcpStream::connect(address).is_ok() {
                return Some(started);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM, so that the master takes its worker with it.
        Command::new("kill").arg(self.process.id().to_string()).status().ok();
        self.process.wait().ok();
    }
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    let kilobytes: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("kB");
    kilobytes * 1024
}

/// An image of the usual size and layout that does not boot.
fn synthetic(directory: &Path) -> Base {
    let bytes: Vec<u8> =
        (0..SYNTHETIC).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let sha256: String = <sha2::Sha256 as sha2::Digest>::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let file =
        |name: &str, size: u64, sha256: &str| json!({"file": name, "size": size, "sha256": sha256});
    let extent = |offset: u64, length: u64| json!({"offset": offset, "length": length});
    let manifest = json!({
        "format": 1, "kernel_release": "synthetic", "agent_sha256": "", "packages": {},
        "memory_floor_mib": {"bios": 0, "uefi": 0},
        "iso": file("leaseless.iso", SYNTHETIC, &sha256),
        "kernel": file("vmlinuz", 0, ""), "initramfs": file("initramfs.gz", 0, ""),
        "reserved": {
            "publisher": extent(33_086, 128), "segment": extent(6_402_048, 65_536),
            "network_data": extent(20_985_856, 32_768), "meta_data": extent(20_977_664, 8_192),
            "kernel_args": [extent(20_854_951, 1024), extent(6_400_162, 1024)]
        }
    });
    fs::write(directory.join("leaseless.iso"), bytes).expect("a temporary file");
    fs::write(directory.join("manifest.json"), manifest.to_string()).expect("a temporary file");
    Base::open(directory).expect("it was just written")
}
