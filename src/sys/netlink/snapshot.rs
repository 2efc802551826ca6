//! Dumps of links, addresses and routes as one [`Host`].

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use rtnetlink::packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use rtnetlink::packet_route::link::{
    AfSpecInet6, AfSpecUnspec, InfoBondPort, InfoData, InfoKind, InfoPortData, InfoVlan,
    LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, State, VlanProtocol,
};
use rtnetlink::packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteType,
};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage as Message};

use super::{Netlink, NetlinkError, bond};
use crate::netplan::current::{Address, BondState, Device, DeviceKind, Host, Ipv6Settings, Route};
use crate::sys::sysctl;
use crate::types::{IfName, Mac};

pub(super) async fn take(netlink: &Netlink) -> Result<Host, NetlinkError> {
    let read = |what| move |source| NetlinkError::Read { what, source };
    let links =
        netlink.dump(Message::GetLink(LinkMessage::default())).await.map_err(read("links"))?;
    let links: Vec<LinkMessage> = links
        .into_iter()
        .filter_map(|message| match message {
            Message::NewLink(link) => Some(link),
            _ => None,
        })
        .collect();
    let names: Names =
        links.iter().filter_map(|link| Some((link.header.index, name(link)?))).collect();
    let mut devices: Vec<Device> = links.iter().filter_map(|link| device(link, &names)).collect();
    devices.sort_by_key(|device| device.index);

    let addresses = netlink
        .dump(Message::GetAddress(AddressMessage::default()))
        .await
        .map_err(read("addresses"))?;
    for message in addresses {
        let Message::NewAddress(message) = message else { continue };
        let index = message.header.index;
        let Some(device) = devices.iter_mut().find(|device| device.index == index) else {
            continue;
        };
        device.addresses.extend(address(&message));
    }

    let mut routes = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut query = RouteMessage::default();
        query.header.address_family = family;
        let messages = netlink.dump(Message::GetRoute(query)).await.map_err(read("routes"))?;
        routes.extend(messages.into_iter().filter_map(|message| match message {
            Message::NewRoute(message) if message.header.address_family == family => {
                route(&message, &names)
            }
            _ => None,
        }));
    }
    let ipv6_default = sysctl::read_ipv6_default().ok();
    Ok(Host { devices, routes, ipv6_default })
}

/// Devices by index. A name that is no [`IfName`] makes its device invisible.
type Names = BTreeMap<u32, IfName>;

fn name(link: &LinkMessage) -> Option<IfName> {
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => name.parse().ok(),
        _ => None,
    })
}

fn device(link: &LinkMessage, names: &Names) -> Option<Device> {
    let mut device = Device {
        index: link.header.index,
        name: names.get(&link.header.index)?.clone(),
        kind: DeviceKind::Other(String::new()),
        permanent_mac: None,
        mac: None,
        mtu: 0,
        up: link.header.flags.contains(LinkFlags::Up),
        carrier: false,
        master: None,
        addresses: Vec::new(),
        ipv6: None,
    };
    let mut parent = None;
    let mut info: &[LinkInfo] = &[];
    let mut operstate = State::Unknown;
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Address(bytes) => device.mac = hardware_address(bytes),
            LinkAttribute::PermAddress(bytes) => device.permanent_mac = hardware_address(bytes),
            LinkAttribute::Mtu(mtu) => device.mtu = *mtu,
            LinkAttribute::OperState(state) => operstate = *state,
            LinkAttribute::Controller(index) => device.master = names.get(index).cloned(),
            LinkAttribute::Link(index) => parent = Some(*index),
            // The parent is in another namespace, where indexes mean other devices.
            LinkAttribute::LinkNetNsId(_) => parent = Some(0),
            LinkAttribute::LinkInfo(nested) => info = nested,
            LinkAttribute::AfSpecUnspec(families) => device.ipv6 = ipv6_settings(families),
            _ => {}
        }
    }
    let signal = link.header.flags.contains(LinkFlags::LowerUp);
    // Virtual drivers that set no operstate leave it unknown (Documentation/networking/operstates).
    device.carrier = device.up && signal && matches!(operstate, State::Up | State::Unknown);
    let parent = parent.and_then(|index| names.get(&index).cloned());
    device.kind = kind(link.header.link_layer_type, info, parent, names);
    // A veth in a bond has no permanent address but the one that the bond keeps for it.
    device.permanent_mac = device.permanent_mac.or_else(|| bond_port_mac(info));
    Some(device)
}

fn kind(
    layer: LinkLayerType,
    info: &[LinkInfo],
    parent: Option<IfName>,
    names: &Names,
) -> DeviceKind {
    let kind = info.iter().find_map(|info| match info {
        LinkInfo::Kind(kind) => Some(kind),
        _ => None,
    });
    let data = info.iter().find_map(|info| match info {
        LinkInfo::Data(data) => Some(data),
        _ => None,
    });
    let physical = matches!(kind, None | Some(InfoKind::Dsa));
    match (layer, kind, data) {
        (LinkLayerType::Infiniband, _, _) => DeviceKind::Infiniband,
        (LinkLayerType::Ether, None | Some(InfoKind::Veth | InfoKind::Dsa), _) => {
            DeviceKind::Nic { physical }
        }
        (_, Some(InfoKind::Bond), Some(InfoData::Bond(attributes))) => {
            bond_state(attributes, names).map_or_else(
                || DeviceKind::Other("bond".to_owned()),
                |state| DeviceKind::Bond(Box::new(state)),
            )
        }
        (_, Some(InfoKind::Vlan), Some(InfoData::Vlan(attributes))) => vlan(attributes, parent),
        (_, kind, _) => {
            DeviceKind::Other(kind.map_or_else(|| format!("{layer:?}"), ToString::to_string))
        }
    }
}

fn bond_state(
    attributes: &[rtnetlink::packet_route::link::InfoBond],
    names: &Names,
) -> Option<BondState> {
    let reported = bond::parse(attributes)?;
    let named = |index: Option<u32>| index.and_then(|index| names.get(&index).cloned());
    Some(BondState {
        mode: reported.mode,
        options: reported.options,
        primary: named(reported.primary),
        active: named(reported.active),
        partner: reported.partner,
    })
}

/// 802.1ad service VLANs are none of ours.
fn vlan(attributes: &[InfoVlan], parent: Option<IfName>) -> DeviceKind {
    let mut id = None;
    let mut customer = true;
    for attribute in attributes {
        match attribute {
            InfoVlan::Id(number) => id = Some(*number),
            InfoVlan::Protocol(protocol) => customer = *protocol == VlanProtocol::Ieee8021Q,
            _ => {}
        }
    }
    match id.filter(|_| customer) {
        Some(id) => DeviceKind::Vlan { parent, id },
        None => DeviceKind::Other("vlan".to_owned()),
    }
}

fn bond_port_mac(info: &[LinkInfo]) -> Option<Mac> {
    info.iter().find_map(|info| match info {
        LinkInfo::PortData(InfoPortData::BondPort(attributes)) => {
            attributes.iter().find_map(|attribute| match attribute {
                InfoBondPort::PermHwaddr(bytes) => hardware_address(bytes),
                _ => None,
            })
        }
        _ => None,
    })
}

/// Of the 20 bytes of InfiniBand, network data has bytes 12-14 and 17-19.
fn hardware_address(bytes: &[u8]) -> Option<Mac> {
    let mac = match bytes {
        [_, _, _, _, _, _, _, _, _, _, _, _, a, b, c, _, _, d, e, f] => {
            Mac::new([*a, *b, *c, *d, *e, *f])
        }
        _ => Mac::from_slice(bytes)?,
    };
    Some(mac).filter(|mac| !mac.is_zero())
}

fn ipv6_settings(families: &[AfSpecUnspec]) -> Option<Ipv6Settings> {
    families.iter().find_map(|family| {
        let AfSpecUnspec::Inet6(attributes) = family else { return None };
        attributes.iter().find_map(|attribute| match attribute {
            AfSpecInet6::DevConf(settings) => Some(Ipv6Settings {
                accept_ra: settings.accept_ra,
                autoconf: settings.autoconf,
                accept_dad: settings.accept_dad,
                disable_ipv6: settings.disable_ipv6,
            }),
            _ => None,
        })
    })
}

fn address(message: &AddressMessage) -> Option<Address> {
    let mut local = None;
    let mut peer = None;
    let mut flags = AddressFlags::from_bits_retain(message.header.flags.bits().into());
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(address) => local = Some(*address),
            AddressAttribute::Address(address) => peer = Some(*address),
            AddressAttribute::Flags(all) => flags = *all,
            _ => {}
        }
    }
    let net = IpNet::new(local.or(peer)?, message.header.prefix_len).ok()?;
    Some(Address {
        net,
        permanent: flags.contains(AddressFlags::Permanent),
        tentative: flags.contains(AddressFlags::Tentative),
        dad_failed: flags.contains(AddressFlags::Dadfailed),
    })
}

/// Unicast routes of the main table through one device, but for the kernel's own.
fn route(message: &RouteMessage, names: &Names) -> Option<Route> {
    let header = &message.header;
    let ours = header.kind == RouteType::Unicast
        && header.protocol != RouteProtocol::Kernel
        && !header.flags.contains(RouteFlags::Cloned);
    if !ours {
        return None;
    }
    let unspecified = match header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        _ => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let (mut destination, mut gateway, mut device) = (unspecified, None, None);
    let (mut metric, mut table) = (0, u32::from(header.table));
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = ip(address)?,
            RouteAttribute::Gateway(address) => gateway = ip(address),
            RouteAttribute::Oif(index) => device = names.get(index).cloned(),
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::Table(number) => table = *number,
            _ => {}
        }
    }
    if table != u32::from(RouteHeader::RT_TABLE_MAIN) {
        return None;
    }
    Some(Route {
        destination: IpNet::new(destination, header.destination_prefix_length).ok()?,
        gateway,
        device: device?,
        metric,
        onlink: header.flags.contains(RouteFlags::Onlink),
        protocol: header.protocol.into(),
    })
}

const fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}
