//! Real network data on a host that has every NIC it names: the plan resolves, comes out as
//! wanted, and leaves nothing to do. `LEASELESS_SAMPLES` points at a collection; without it the
//! fixtures of this repository have to do.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::{Path, PathBuf};

use leaseless::netdata::model::{LinkKind, NetworkData};
use leaseless::netdata::parse;
use leaseless::netplan::current::{Device, DeviceKind, Ipv6Settings};
use leaseless::netplan::{Host, Policy, diff, resolve};

fn documents() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/netdata");
    let mut directories = vec![own];
    match std::env::var_os("LEASELESS_SAMPLES") {
        Some(samples) => directories.push(Path::new(&samples).join("network-data")),
        None => eprintln!("FEWER CASES: LEASELESS_SAMPLES is not set"),
    }
    let files = directories.iter().flat_map(|directory| std::fs::read_dir(directory).unwrap());
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

/// A host with exactly the NICs that the data names, one for each MAC.
fn host(data: &NetworkData) -> Host {
    let mut host = Host { ipv6_default: Some(Ipv6Settings::KERNEL), ..Host::default() };
    for link in &data.links {
        let LinkKind::Ethernet { .. } = link.kind else { continue };
        let number = u32::try_from(host.devices.len()).unwrap();
        let name = if link.mac.is_none() { link.id.clone() } else { format!("eth{number}") };
        if link.mac.is_some() && host.devices.iter().any(|known| known.mac == link.mac) {
            continue;
        }
        host.devices.push(Device {
            index: number + 2,
            name: name.parse().unwrap(),
            kind: DeviceKind::Nic { physical: true },
            permanent_mac: link.mac,
            mac: link.mac,
            mtu: 1500,
            up: false,
            carrier: false,
            master: None,
            addresses: Vec::new(),
            ipv6: Some(Ipv6Settings::KERNEL),
        });
    }
    host
}

#[test]
fn every_document_that_parses_has_a_plan_that_comes_out_as_wanted() {
    let mut planned = 0;
    for path in documents() {
        let Some(data) = parse(&std::fs::read_to_string(&path).unwrap()).data else { continue };
        let mut host = host(&data);
        let policy = Policy { allow_dhcp: true, own_machine: false };
        let resolved = resolve(&data, &host, &policy);
        assert_eq!(resolved.failures(), [], "{}", path.display());
        for op in diff(&host, &resolved.desired).0 {
            host.apply(&op);
        }
        let again = resolve(&data, &host, &policy);
        let left: Vec<String> =
            diff(&host, &again.desired).0.iter().map(ToString::to_string).collect();
        assert_eq!(left, [""; 0], "{}", path.display());
        planned += 1;
    }
    assert!(planned > 0, "no document parsed");
    eprintln!("{planned} documents planned");
}
