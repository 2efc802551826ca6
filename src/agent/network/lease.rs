//! Leases that are held, and the asking for those that are wanted.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use futures::future::join_all;
use ipnet::IpNet;
use tokio::time::Instant;

use super::view::View;
use crate::netdata::model::Addressing;
use crate::netplan::current::Device;
use crate::netplan::{Automatic, Desired, Wanted};
use crate::sys::dhcp::{self, Client, Granted};
use crate::types::reason::Failure;

/// Asking again is not worth it more often than this, whatever a server says.
const SOONEST_RENEWAL: Duration = Duration::from_secs(30);

/// Leases by the position of their network in the data.
#[derive(Debug, Default)]
pub(super) struct Leases(BTreeMap<usize, (Granted, Instant)>);

impl Leases {
    /// Puts every lease that has not run out where it belongs.
    pub(super) fn grant(&self, desired: &mut Desired) {
        for (network, (granted, since)) in &self.0 {
            if since.elapsed() < granted.ends_after {
                desired.grant(*network, &granted.lease);
            }
        }
    }

    /// When the first lease must be renewed.
    pub(super) fn renewal(&self) -> Option<Instant> {
        let due = |(granted, since): &(Granted, Instant)| {
            *since + granted.renew_after.max(SOONEST_RENEWAL)
        };
        self.0.values().map(due).min()
    }

    /// Asks for every lease that `view` waits for, all at once. A lease that is not renewed is
    /// held until it runs out. Answers which networks got nothing.
    pub(super) async fn ask(&mut self, view: &View, wait: Duration) -> Vec<Failure> {
        let mut wanted: Vec<(&Device, Automatic)> = Vec::new();
        for link in &view.resolved.desired.links {
            let Some(device) = view.host.device(&link.name) else { continue };
            wanted.extend(awaited(link).map(|automatic| (device, automatic)));
        }
        let answers = join_all(wanted.iter().map(|(device, automatic)| async move {
            if device.carrier { ask(device, automatic.addressing, wait).await } else { None }
        }))
        .await;
        let mut failures = Vec::new();
        for ((device, automatic), answer) in wanted.into_iter().zip(answers) {
            match answer {
                Some(granted) => {
                    self.0.insert(automatic.network, (granted, Instant::now()));
                }
                // No carrier has a reason of its own. Where routers may give the address, they
                // are asked for it.
                None if !device.carrier || automatic.addressing == Addressing::Dhcp6 => {}
                None => {
                    failures.extend(device.hardware_mac().map(|mac| Failure::NoAddress { mac }));
                }
            }
        }
        failures
    }
}

fn awaited(link: &Wanted) -> impl Iterator<Item = Automatic> {
    link.automatic.iter().copied().filter(|automatic| match automatic.addressing {
        Addressing::Dhcp4 | Addressing::Dhcp6 | Addressing::Dhcp6Stateful => true,
        // Options alone, such as DNS: those come with the router advertisement too, or not at all.
        Addressing::Dhcp6Stateless | Addressing::Slaac | Addressing::Static(_) => false,
    })
}

async fn ask(device: &Device, addressing: Addressing, wait: Duration) -> Option<Granted> {
    let client = Client { name: device.name.clone(), index: device.index, mac: device.mac? };
    match addressing {
        Addressing::Dhcp4 => dhcp::lease4(&client, wait).await,
        Addressing::Dhcp6 | Addressing::Dhcp6Stateful => {
            dhcp::lease6(&client, link_local(device)?, wait).await
        }
        Addressing::Dhcp6Stateless | Addressing::Slaac | Addressing::Static(_) => None,
    }
}

fn link_local(device: &Device) -> Option<Ipv6Addr> {
    device.addresses.iter().find_map(|address| match address.net {
        IpNet::V6(net) if net.addr().is_unicast_link_local() && !address.tentative => {
            Some(net.addr())
        }
        IpNet::V6(_) | IpNet::V4(_) => None,
    })
}
