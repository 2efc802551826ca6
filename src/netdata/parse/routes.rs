//! `routes[]` of a network, and its `gateway` key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::netdata::model::Route;
use crate::netdata::problem::{Problems, Reported};

use super::networks::RouteDraft;
use super::node::Node;
use super::object::{Field, Object};
use super::prefix::{self, Family};

const KEYS: [&str; 5] = ["network", "netmask", "gateway", "metric", "services"];

/// Reads the routes of a network: its `gateway` first, as cloud-init ranks it.
pub(super) fn read(
    network: &Object<'_>,
    family: Option<Family>,
    problems: &mut Problems,
) -> Vec<RouteDraft> {
    let gateway = read_gateway(network, family, problems).ok().flatten();
    let mut drafts: Vec<RouteDraft> = gateway
        .map(|gateway| RouteDraft {
            path: network.at("gateway"),
            route: route(default_of(Family::of(gateway)), Some(gateway)),
            metric: 0,
        })
        .into_iter()
        .collect();
    for object in network.objects("routes", problems) {
        object.warn_unknown(&[&KEYS], problems);
        let Ok(draft) = read_route(&object, family, problems) else { continue };
        // Some producers say the default route both ways.
        if drafts.first().is_none_or(|first| first.route != draft.route) || gateway.is_none() {
            drafts.push(draft);
        }
    }
    drafts
}

fn read_route(
    object: &Object<'_>,
    family: Option<Family>,
    problems: &mut Problems,
) -> Result<RouteDraft, Reported> {
    let destination = read_destination(object, family, problems);
    let family = destination.map(|net| Family::of(net.addr())).ok().or(family);
    let gateway = read_gateway(object, family, problems);
    let metric = object.integer("metric", 0..=u32::MAX, problems);
    Ok(RouteDraft {
        path: object.path().to_owned(),
        route: route(destination?, gateway?),
        metric: metric?.unwrap_or(0),
    })
}

fn route(destination: IpNet, gateway: Option<IpAddr>) -> Route {
    Route { destination, gateway, onlink: false, rank: 0 }
}

fn default_of(family: Family) -> IpNet {
    match family {
        Family::V4 => IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0)),
        Family::V6 => IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0)),
    }
}

fn read_destination(
    object: &Object<'_>,
    family: Option<Family>,
    problems: &mut Problems,
) -> Result<IpNet, Reported> {
    const KEY: &str = "network";
    let net = prefix::address_with_prefix(object, KEY, family, problems);
    let fix = "write the destination: 0.0.0.0 or :: for the default route";
    let net = object.need(KEY, net, fix, problems)?;
    let masked = net.trunc();
    if masked != net {
        let value = object.get(KEY).and_then(Node::quoted);
        let message = "has bits set beyond its prefix; they are cleared";
        let fix = format!("write {}", masked.network());
        problems.warning(object.at(KEY), value, message, fix);
    }
    Ok(masked)
}

/// A next hop. Unset, or the unspecified address, is a route without one.
fn read_gateway(
    object: &Object<'_>,
    family: Option<Family>,
    problems: &mut Problems,
) -> Field<IpAddr> {
    const KEY: &str = "gateway";
    let Some(text) = object.text(KEY, problems)? else { return Ok(None) };
    let path = object.at(KEY);
    let (bare, zone) = match text.split_once('%') {
        Some((bare, zone)) => (bare, Some(zone)),
        None => (text.as_str(), None),
    };
    let gateway = prefix::address(bare, &path, family, problems)?;
    if zone.is_some() {
        let message = "the zone is ignored: a route is on its network's link";
        problems.warning(path.clone(), Some(text.clone()), message, format!("write {gateway}"));
    }
    if gateway.is_unspecified() {
        return Ok(None);
    }
    if let Some(why) = prefix::unusable(gateway) {
        let message = format!("{why} can't be a gateway");
        return Err(problems.error(
            path,
            Some(text.clone()),
            message,
            "write the router's address",
        ));
    }
    Ok(Some(gateway))
}
