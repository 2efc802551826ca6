//! The network as it should be, on this very machine: network data with every NIC found.

use std::net::IpAddr;

use ipnet::IpNet;

use super::current::{PROTOCOL_STATIC, Route};
use crate::netdata::model::{Addressing, BondMode, BondOptions, Dns};
use crate::types::{IfName, Mac, VlanId};

/// What should be. Devices that are not in here are nobody's business.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// Links, lower before upper: NICs, bonds, VLANs.
    pub links: Vec<Wanted>,
    /// Routes, in the order in which the kernel can take them.
    pub routes: Vec<WantedRoute>,
    /// DNS for all.
    pub dns: Dns,
    /// Whether the machine is ours alone: then `lo` is brought up, and devices to come are born
    /// with router advertisements off.
    pub own_machine: bool,
}

/// One link as it should be. It is always up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Kernel name: found for NICs, chosen for bonds and VLANs.
    pub name: IfName,
    /// What it is.
    pub kind: WantedKind,
    /// The bond that it belongs to.
    pub master: Option<IfName>,
    /// Bonds and VLANs: the address to set; `None` leaves it to the kernel.
    pub mac: Option<Mac>,
    /// MTU; `None` leaves it alone.
    pub mtu: Option<u32>,
    /// Static addresses, each with the position of its network in the data.
    pub addresses: Vec<(usize, IpNet)>,
    /// Networks whose address somebody else gives out.
    pub automatic: Vec<Automatic>,
    /// IPv6 settings.
    pub ipv6: Ipv6Wanted,
}

/// A network whose address comes from a router or a DHCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Automatic {
    /// Position of the network in the data.
    pub network: usize,
    /// How.
    pub addressing: Addressing,
}

impl Wanted {
    /// Whether the link still waits for a DHCP lease of the family.
    pub(super) fn expects_lease(&self, v6: bool) -> bool {
        self.automatic.iter().any(|automatic| match automatic.addressing {
            Addressing::Dhcp4 => !v6,
            Addressing::Dhcp6 | Addressing::Dhcp6Stateful => v6,
            Addressing::Dhcp6Stateless | Addressing::Slaac | Addressing::Static(_) => false,
        })
    }
}

/// Kinds of wanted link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedKind {
    /// A NIC that was found.
    Nic,
    /// A bond. Its members carry its name in [`Wanted::master`].
    Bond(Box<WantedBond>),
    /// A VLAN.
    Vlan {
        /// The link below.
        parent: IfName,
        /// The tag.
        id: VlanId,
    },
}

/// A bond as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedBond {
    /// Mode.
    pub mode: BondMode,
    /// Options; `primary` in them is unused.
    pub options: BondOptions,
    /// Primary member.
    pub primary: Option<IfName>,
}

/// IPv6 settings of a link that is no member of a bond.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ipv6Wanted {
    /// Whether the link has an IPv6 network.
    pub used: bool,
    /// Heed router advertisements.
    pub accept_ra: bool,
    /// Make addresses from advertised prefixes.
    pub autoconf: bool,
}

/// One route as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedRoute {
    /// Position of its network in the data.
    pub network: usize,
    /// The route.
    pub route: Route,
}

/// The metric of a route with rank 0; ranks count up from it. Below what kernels give router
/// advertisements (1024), so that what the data says wins.
const METRIC_OF_RANK_0: u32 = 100;

impl WantedRoute {
    pub(super) fn new(
        network: usize,
        route: &crate::netdata::model::Route,
        device: &IfName,
    ) -> Self {
        let route = Route {
            destination: route.destination,
            gateway: route.gateway,
            device: device.clone(),
            metric: METRIC_OF_RANK_0.saturating_add(route.rank),
            onlink: route.onlink && route.gateway.is_some(),
            protocol: PROTOCOL_STATIC,
        };
        Self { network, route }
    }
}

/// What a DHCP server gave out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lease {
    /// The address; its prefix is 128 bits where routers announce the subnet.
    pub address: Option<IpNet>,
    /// Destinations and their gateways.
    pub routes: Vec<(IpNet, Option<IpAddr>)>,
    /// DNS.
    pub dns: Dns,
}

/// The metric of routes from a lease: behind all that the data itself says.
const METRIC_OF_LEASES: u32 = 600;

impl Desired {
    /// Puts a lease in the place of the network that waits for it.
    pub fn grant(&mut self, network: usize, lease: &Lease) {
        let waits = |automatic: &Automatic| automatic.network == network;
        let Some(link) = self.links.iter_mut().find(|link| link.automatic.iter().any(waits)) else {
            return;
        };
        link.automatic.retain(|automatic| !waits(automatic));
        link.addresses.extend(lease.address.map(|address| (network, address)));
        let position = u32::try_from(network).unwrap_or(u32::MAX);
        for (destination, gateway) in &lease.routes {
            let route = Route {
                destination: destination.trunc(),
                gateway: *gateway,
                device: link.name.clone(),
                metric: METRIC_OF_LEASES.saturating_add(position),
                // Servers hand out gateways off the subnet, as clouds do with /32 leases.
                onlink: gateway.is_some_and(|gateway| {
                    lease.address.is_some_and(|address| !address.contains(&gateway))
                }),
                protocol: PROTOCOL_STATIC,
            };
            self.routes.push(WantedRoute { network, route });
        }
        self.sort_routes();
        for server in &lease.dns.servers {
            if !self.dns.servers.contains(server) {
                self.dns.servers.push(*server);
            }
        }
        for domain in &lease.dns.search {
            if !self.dns.search.contains(domain) {
                self.dns.search.push(domain.clone());
            }
        }
    }

    /// The link of that name.
    #[must_use]
    pub fn link(&self, name: &IfName) -> Option<&Wanted> {
        self.links.iter().find(|link| link.name == *name)
    }

    /// Puts routes into the order in which the kernel can take them: on-link ones, then those with
    /// a gateway, then defaults.
    pub fn sort_routes(&mut self) {
        self.routes.sort_by_key(|wanted| {
            let route = &wanted.route;
            (route.gateway.is_some(), route.destination.prefix_len() == 0, route.metric)
        });
    }

    /// Gives up an address that somebody else uses, with the routes of its network.
    pub fn withdraw(&mut self, address: IpAddr) {
        for link in &mut self.links {
            let Some(&(network, _)) = link.addresses.iter().find(|(_, net)| net.addr() == address)
            else {
                continue;
            };
            link.addresses.retain(|(_, net)| net.addr() != address);
            self.routes.retain(|wanted| wanted.network != network);
        }
    }
}
