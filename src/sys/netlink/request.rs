//! Operations as netlink messages.

use std::io;
use std::net::IpAddr;

use ipnet::IpNet;
use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};
use rtnetlink::packet_route::link::{
    InfoBond, InfoData, InfoKind, InfoVlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use rtnetlink::packet_route::route::{
    RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteScope, RouteType,
};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage as Message};

use super::{Netlink, bond};
use crate::netplan::Op;
use crate::netplan::current::Route;
use crate::sys::sysctl;
use crate::types::{IfName, Mac};

/// Performs one operation; the error is the kernel's.
pub(super) async fn perform(netlink: &Netlink, op: &Op) -> io::Result<()> {
    match op {
        Op::DeleteLink { link } => {
            let message = existing(netlink, link).await?;
            netlink.change(Message::DelLink(message), 0).await
        }
        Op::CreateBond { link, mode, options, mac, mtu } => {
            let data = InfoData::Bond(bond::render(*mode, options));
            create(netlink, fresh(link, *mac, *mtu, InfoKind::Bond, data)).await
        }
        Op::CreateVlan { link, parent, id, mac, mtu } => {
            let data = InfoData::Vlan(vec![InfoVlan::Id(id.get())]);
            let mut message = fresh(link, *mac, *mtu, InfoKind::Vlan, data);
            message.attributes.push(LinkAttribute::Link(netlink.index(parent).await?));
            create(netlink, message).await
        }
        Op::SetDown { link } => set_up(netlink, link, false).await,
        Op::SetUp { link } => set_up(netlink, link, true).await,
        Op::SetMac { link, mac } => {
            set(netlink, link, LinkAttribute::Address(mac.octets().to_vec())).await
        }
        Op::SetMtu { link, mtu } => set(netlink, link, LinkAttribute::Mtu(*mtu)).await,
        Op::Enslave { link, master } => {
            let master = netlink.index(master).await?;
            set(netlink, link, LinkAttribute::Controller(master)).await
        }
        Op::Release { link } => set(netlink, link, LinkAttribute::Controller(0)).await,
        Op::SetPrimary { link, primary } => {
            let primary = InfoBond::Primary(netlink.index(primary).await?);
            let mut message = existing(netlink, link).await?;
            message.attributes.push(LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Bond),
                LinkInfo::Data(InfoData::Bond(vec![primary])),
            ]));
            netlink.change(Message::NewLink(message), 0).await
        }
        Op::SetIpv6 { link, setting, value } => {
            sysctl::write_ipv6(link.as_ref(), setting.file(), *value)
        }
        Op::AddAddress { link, address: net } => {
            let message = address(netlink.index(link).await?, *net);
            netlink.change(Message::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL).await
        }
        Op::DeleteAddress { link, address: net } => {
            let message = address(netlink.index(link).await?, *net);
            netlink.change(Message::DelAddress(message), 0).await
        }
        Op::AddRoute(wanted) => {
            let message = route(netlink.index(&wanted.device).await?, wanted);
            netlink.change(Message::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL).await
        }
        Op::DeleteRoute(unwanted) => {
            let mut message = route(netlink.index(&unwanted.device).await?, unwanted);
            // Deletion matches any scope (`fib_table_delete` in net/ipv4/fib_trie.c).
            message.header.scope = RouteScope::NoWhere;
            netlink.change(Message::DelRoute(message), 0).await
        }
    }
}

async fn existing(netlink: &Netlink, link: &IfName) -> io::Result<LinkMessage> {
    let mut message = LinkMessage::default();
    message.header.index = netlink.index(link).await?;
    Ok(message)
}

async fn set(netlink: &Netlink, link: &IfName, attribute: LinkAttribute) -> io::Result<()> {
    let mut message = existing(netlink, link).await?;
    message.attributes.push(attribute);
    netlink.change(Message::SetLink(message), 0).await
}

async fn set_up(netlink: &Netlink, link: &IfName, up: bool) -> io::Result<()> {
    let mut message = existing(netlink, link).await?;
    message.header.change_mask = LinkFlags::Up;
    message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
    netlink.change(Message::SetLink(message), 0).await
}

async fn create(netlink: &Netlink, message: LinkMessage) -> io::Result<()> {
    netlink.change(Message::NewLink(message), NLM_F_CREATE | NLM_F_EXCL).await
}

fn fresh(
    link: &IfName,
    mac: Option<Mac>,
    mtu: Option<u32>,
    kind: InfoKind,
    data: InfoData,
) -> LinkMessage {
    let mut message = LinkMessage::default();
    let attributes = &mut message.attributes;
    attributes.push(LinkAttribute::IfName(link.as_str().to_owned()));
    attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.octets().to_vec())));
    attributes.extend(mtu.map(LinkAttribute::Mtu));
    attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind), LinkInfo::Data(data)]));
    message
}

fn address(index: u32, net: IpNet) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.index = index;
    message.header.family = family(net.addr());
    message.header.prefix_len = net.prefix_len();
    message.attributes.push(AddressAttribute::Local(net.addr()));
    message.attributes.push(AddressAttribute::Address(net.addr()));
    if let IpNet::V4(net) = net
        && net.prefix_len() < 31
    {
        message.attributes.push(AddressAttribute::Broadcast(net.broadcast()));
    }
    message
}

fn route(index: u32, route: &Route) -> RouteMessage {
    let mut message = RouteMessage::default();
    let destination = route.destination;
    message.header.address_family = family(destination.addr());
    message.header.destination_prefix_length = destination.prefix_len();
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = route.protocol.into();
    message.header.kind = RouteType::Unicast;
    // An IPv4 route without gateway reaches its own link only.
    let on_link = route.gateway.is_none() && destination.addr().is_ipv4();
    message.header.scope = if on_link { RouteScope::Link } else { RouteScope::Universe };
    if route.onlink {
        message.header.flags = RouteFlags::Onlink;
    }
    if destination.prefix_len() > 0 {
        message.attributes.push(RouteAttribute::Destination(destination.addr().into()));
    }
    message.attributes.extend(route.gateway.map(|gateway| RouteAttribute::Gateway(gateway.into())));
    message.attributes.push(RouteAttribute::Oif(index));
    message.attributes.push(RouteAttribute::Priority(route.metric));
    message
}

pub(super) const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
