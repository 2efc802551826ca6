//! What runs inside the guest. Each test has a network namespace of its own, with veth wires whose
//! far ends, `w0` and on, play the switch. Outside the guest these tests do nothing: they are run
//! by the one in `main.rs`.

mod bonds;
mod vlans;

use std::ffi::CString;
use std::fs::File;
use std::sync::Once;
use std::time::Duration;

use leaseless::agent::network::{Options, Outcome, bring_up};
use leaseless::netdata::model::{
    Addressing, Bond, BondMode, BondOptions, Dns, Link, LinkKind, LinkRef, Network, NetworkData,
};
use leaseless::netplan::{Host, Op};
use leaseless::sys::netlink::Netlink;
use leaseless::types::{IfName, Mac};
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rtnetlink::{LinkUnspec, LinkVeth};

use crate::kernel::MODULES;

/// The kernel hands this word of its command line to init as a variable.
pub(crate) const MARK: &str = "LEASELESS_GUEST";

pub(crate) fn is_here() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs a test in a fresh namespace of the guest; outside the guest, not at all.
fn in_guest(test: impl AsyncFnOnce() + Send + 'static) {
    static PREPARE: Once = Once::new();
    if !is_here() {
        return;
    }
    PREPARE.call_once(prepare);
    let thread = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let deadline = Duration::from_secs(120);
        runtime.block_on(async { tokio::time::timeout(deadline, test()).await.unwrap() });
    });
    thread.join().unwrap();
}

fn prepare() {
    let none: Option<&str> = None;
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys")] {
        mount(Some(kind), target, Some(kind), MsFlags::empty(), none).unwrap();
    }
    for module in MODULES {
        let name = module.rsplit('/').next().unwrap();
        let file = File::open(format!("/modules/{name}")).unwrap();
        let parameters = CString::default();
        finit_module(&file, &parameters, ModuleInitFlags::empty())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn name(text: &str) -> IfName {
    text.parse().unwrap()
}

/// MAC of the host's end of wire `number`.
fn nic_mac(number: u8) -> Mac {
    Mac::new([2, 0, 0, 0, 0, number])
}

/// Wires `p0`-`w0`, `p1`-`w1` and on; the far ends are up.
async fn wires(count: u8) -> Netlink {
    let (connection, handle, _) = rtnetlink::new_connection().unwrap();
    tokio::spawn(connection);
    let netlink = Netlink::open().unwrap();
    for number in 0..count {
        let (near, far) = (format!("p{number}"), format!("w{number}"));
        let veth = LinkVeth::new(&near, &far).address(nic_mac(number).octets().to_vec()).build();
        handle.link().add(veth).execute().await.unwrap();
        handle.link().set(LinkUnspec::new_with_name(&far).up().build()).execute().await.unwrap();
    }
    netlink
}

fn quick() -> Options {
    Options {
        late_nic_wait: Duration::from_millis(100),
        carrier_wait: Duration::from_secs(10),
        lacp_wait: Duration::from_secs(20),
        address_wait: Duration::from_secs(5),
        resolv_conf: None,
        ..Options::default()
    }
}

async fn up(data: &NetworkData) -> Outcome {
    bring_up(data, &quick(), &mut |step| println!("    {step}")).await
}

/// Brings up, wants no failure; brings up again, wants no change; answers the host as it is then.
async fn up_twice(netlink: &Netlink, data: &NetworkData) -> Host {
    let first = up(data).await;
    assert_eq!(first.failures, []);
    let second = up(data).await;
    assert_eq!((second.changes, second.failures), (0, Vec::new()));
    netlink.snapshot().await.unwrap()
}

fn nic(number: u8) -> Link {
    Link {
        id: format!("nic{number}"),
        name: None,
        mac: Some(nic_mac(number)),
        mtu: None,
        kind: LinkKind::Ethernet { hint: "phy" },
    }
}

/// A bond of the first two links of the data.
fn bond(mode: BondMode, options: BondOptions) -> Link {
    let members = vec![LinkRef(0), LinkRef(1)];
    Link {
        id: "bond0".to_owned(),
        name: None,
        mac: None,
        mtu: None,
        kind: LinkKind::Bond(Box::new(Bond { mode, members, options })),
    }
}

/// A network with `192.0.2.10/24`, or another last byte.
fn network(link: usize, last: u8) -> Network {
    Network {
        id: format!("network{last}"),
        network_id: format!("network{last}"),
        link: LinkRef(link),
        addressing: Addressing::Static(format!("192.0.2.{last}/24").parse().unwrap()),
        routes: Vec::new(),
        dns: Dns::default(),
    }
}

fn data(links: Vec<Link>, networks: Vec<Network>) -> NetworkData {
    NetworkData { links, networks, dns: Dns::default() }
}

/// Looks until it is so, for at most 20 s.
async fn eventually(netlink: &Netlink, what: &str, is_so: impl Fn(&Host) -> bool) -> Host {
    for _ in 0..200 {
        let host = netlink.snapshot().await.unwrap();
        if is_so(&host) {
            return host;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not within 20 s: {what}");
}

async fn perform(netlink: &Netlink, op: Op) {
    netlink.perform(&op).await.unwrap();
}
