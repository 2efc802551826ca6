//! DHCP by way of `mozim`, the client of nmstate: a lease, once. Renewing is asking again, which
//! servers answer with the same address as long as they know the client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use mozim::{
    DhcpV4Client, DhcpV4Config, DhcpV4Lease, DhcpV4State, DhcpV6Client, DhcpV6Config, DhcpV6Lease,
    DhcpV6Mode, DhcpV6State,
};

use crate::netdata::model::Dns;
use crate::netplan::Lease;
use crate::types::{IfName, Mac};

/// The device that a lease is for.
#[derive(Debug, Clone)]
pub struct Client {
    /// Kernel name.
    pub name: IfName,
    /// Kernel index.
    pub index: u32,
    /// Its MAC: what servers know it by.
    pub mac: Mac,
}

/// A lease, and when to ask again.
#[derive(Debug, Clone)]
pub struct Granted {
    /// The lease.
    pub lease: Lease,
    /// T1 of RFC 2131 and RFC 8415.
    pub renew_after: Duration,
    /// When the address is no longer ours.
    pub ends_after: Duration,
}

/// Asks for an IPv4 lease (RFC 2131); `None` when no server gives one within `wait`.
pub async fn lease4(client: &Client, wait: Duration) -> Option<Granted> {
    let mut config = DhcpV4Config::new(client.name.as_str());
    config.set_iface_index(client.index);
    config.set_iface_mac_raw(&client.mac.octets()).ok()?;
    config.use_mac_as_client_id();
    let ask = async {
        let mut client = DhcpV4Client::init(config, None).await.ok()?;
        loop {
            if let DhcpV4State::Done(lease) = client.run().await.ok()? {
                return Some(from_v4(&lease));
            }
        }
    };
    tokio::time::timeout(wait, ask).await.ok().flatten()
}

/// Asks for an IPv6 address (RFC 8415, IA_NA); `None` when no server gives one within `wait`.
pub async fn lease6(client: &Client, link_local: Ipv6Addr, wait: Duration) -> Option<Granted> {
    let mut config = DhcpV6Config::new(client.name.as_str(), DhcpV6Mode::NonTemporaryAddresses);
    config.set_iface_index(client.index);
    config.set_link_local_ip(link_local);
    config.set_duid_by_iface_mac(&client.mac.octets());
    let ask = async {
        let mut client = DhcpV6Client::init(config, None).await.ok()?;
        loop {
            if let DhcpV6State::Done(lease) = client.run().await.ok()? {
                return Some(from_v6(&lease));
            }
        }
    };
    tokio::time::timeout(wait, ask).await.ok().flatten()
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

fn from_v4(lease: &DhcpV4Lease) -> Granted {
    let address = Ipv4Net::new(lease.yiaddr, lease.prefix_length()).map(IpNet::V4).ok();
    let default = IpNet::V4(Ipv4Net::default());
    // Classless routes replace the router option (RFC 3442).
    let routes = match &lease.classless_routes {
        Some(routes) => routes
            .iter()
            .filter_map(|route| {
                let net = Ipv4Net::new(route.destination, route.prefix_length).ok()?;
                Some((IpNet::V4(net), gateway(route.router)))
            })
            .collect(),
        None => lease
            .gateways
            .iter()
            .flatten()
            .take(1)
            .map(|router| (default, gateway(*router)))
            .collect(),
    };
    let servers = lease.dns_srvs.iter().flatten().copied().map(IpAddr::V4).collect();
    let search = lease
        .domain_search
        .clone()
        .unwrap_or_else(|| lease.domain_name.clone().into_iter().collect());
    Granted {
        lease: Lease { address, routes, dns: Dns { servers, search } },
        renew_after: seconds(lease.t1_sec),
        ends_after: seconds(lease.lease_time_sec),
    }
}

/// Router 0.0.0.0 is on-link (RFC 3442).
fn gateway(router: Ipv4Addr) -> Option<IpAddr> {
    (!router.is_unspecified()).then_some(IpAddr::V4(router))
}

/// The subnet and the default route come by router advertisement.
fn from_v6(lease: &DhcpV6Lease) -> Granted {
    let servers = lease.dns_srvs.iter().copied().map(IpAddr::V6).collect();
    Granted {
        lease: Lease {
            address: Some(IpNet::V6(Ipv6Net::from(lease.address))),
            routes: Vec::new(),
            dns: Dns { servers, search: lease.domain_list.clone() },
        },
        renew_after: seconds(lease.t1_sec),
        ends_after: seconds(lease.valid_time_sec),
    }
}
