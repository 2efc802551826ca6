//! Two network namespaces with veth wires between them: the host under test, and the world. Made
//! with iproute2, gone with the value.

use std::fs::File;
use std::future::Future;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use leaseless::types::Mac;
use nix::sched::{CloneFlags, setns};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The pair of namespaces.
pub(crate) struct Wires {
    pub(crate) host: String,
    pub(crate) world: String,
}

impl Wires {
    /// `None`, said loudly, where namespaces can't be made.
    pub(crate) fn new() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("NOT TESTED: network namespaces need root");
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("ll-{}-{number}-{end}", std::process::id());
        let wires = Self { host: name("host"), world: name("world") };
        for namespace in [&wires.host, &wires.world] {
            run(&format!("ip netns add {namespace}"));
            run(&format!("ip -n {namespace} link set lo up"));
        }
        Some(wires)
    }

    /// A wire: `nic` with that MAC in the host, `nic` in the world, where it is up and nothing is
    /// configured on it.
    pub(crate) fn wire(&self, nic: &str, mac: &str) -> &Self {
        let (host, world) = (&self.host, &self.world);
        run(&format!(
            "ip -n {host} link add {nic} address {mac} type veth peer name {nic} netns {world}"
        ));
        self.world(&format!("link set {nic} up"))
    }

    /// `ip <arguments>` in the world.
    pub(crate) fn world(&self, arguments: &str) -> &Self {
        run(&format!("ip -n {} {arguments}", self.world));
        self
    }

    /// `ip <arguments>` in the host.
    pub(crate) fn host(&self, arguments: &str) -> &Self {
        run(&format!("ip -n {} {arguments}", self.host));
        self
    }

    /// What `ip <arguments>` says in the host.
    pub(crate) fn show(&self, arguments: &str) -> String {
        run(&format!("ip -n {} {arguments}", self.host))
    }

    /// The MAC of a device in the world.
    pub(crate) fn world_mac(&self, nic: &str) -> Mac {
        let shown = run(&format!("ip -n {} -br link show {nic}", self.world));
        shown.split_whitespace().nth(2).unwrap().parse().unwrap()
    }

    /// An IPv6 setting of a device in the host.
    pub(crate) fn sysctl(&self, setting: &str, nic: &str) -> String {
        let path = format!("/proc/sys/net/ipv6/conf/{nic}/{setting}");
        run(&format!("ip netns exec {} cat {path}", self.host)).trim().to_owned()
    }

    /// Writes an IPv6 setting of a device in the host.
    pub(crate) fn set_sysctl(&self, setting: &str, nic: &str, value: &str) {
        let key = format!("net/ipv6/conf/{nic}/{setting}={value}");
        run(&format!("ip netns exec {} sysctl -qw {key}", self.host));
    }

    /// Runs a future on a thread of the host.
    pub(crate) fn in_host<T: Send>(&self, work: impl AsyncWork<T>) -> T {
        inside(&self.host, work)
    }
}

/// Something to run on a thread of its own.
pub(crate) trait AsyncWork<T>: AsyncFnOnce() -> T + Send {}
impl<T, F: AsyncFnOnce() -> T + Send> AsyncWork<T> for F {}

/// Moves the calling thread into a namespace.
pub(crate) fn enter(namespace: &str) {
    let file = File::open(format!("/run/netns/{namespace}")).unwrap();
    setns(file, CloneFlags::CLONE_NEWNET).unwrap();
}

fn inside<T: Send>(namespace: &str, work: impl AsyncWork<T>) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            enter(namespace);
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work())
        });
        thread.join().unwrap()
    })
}

impl Drop for Wires {
    fn drop(&mut self) {
        for namespace in [&self.host, &self.world] {
            Command::new("ip").args(["netns", "del", namespace]).status().ok();
        }
    }
}

/// Runs a command, which must succeed; answers its output.
pub(crate) fn run(command: &str) -> String {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap();
    let output = Command::new(program).args(words).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// Keeps the compiler's view of futures simple: a future that a test awaits for at most 30 s.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(30), future).await.expect("in time")
}
