//! DNS from all the places where producers put it: `services` at the top, on a network, on a
//! route; `dns_nameservers` and `dns_search` on a network.

use std::net::IpAddr;

use crate::netdata::model::Dns;
use crate::netdata::problem::Problems;

use super::object::Object;
use super::prefix;

const KEYS: [&str; 3] = ["type", "address", "search"];

/// The document's own services.
pub(super) fn of_document(document: &Object<'_>, problems: &mut Problems) -> Dns {
    let mut dns = Dns::default();
    read_services(document, &mut dns, problems);
    dns
}

/// The services of a network's routes.
pub(super) fn of_routes(network: &Object<'_>, problems: &mut Problems) -> Dns {
    let mut dns = Dns::default();
    // Whoever reads the routes reports what is wrong with the list itself.
    for route in network.objects("routes", &mut Problems::default()) {
        read_services(&route, &mut dns, problems);
    }
    dns
}

/// The services of a network, after those of its routes.
pub(super) fn of_network(network: &Object<'_>, dns: &mut Dns, problems: &mut Problems) {
    read_services(network, dns, problems);
    for (path, text) in network.texts("dns_nameservers", problems) {
        add_server(&text, path, dns, problems);
    }
    read_search(network, "dns_search", dns, problems);
}

fn read_services(object: &Object<'_>, dns: &mut Dns, problems: &mut Problems) {
    for service in object.objects("services", problems) {
        service.warn_unknown(&[&KEYS], problems);
        let kind = service.text("type", problems);
        let Ok(kind) = service.need("type", kind, "write dns", problems) else { continue };
        if !kind.eq_ignore_ascii_case("dns") {
            let message = "only dns is read; cloud-init would take it for a nameserver";
            problems.warning(service.at("type"), Some(kind), message, "remove the service");
            continue;
        }
        let address = service.text("address", problems);
        let fix = "write the server's address";
        if let Ok(address) = service.need("address", address, fix, problems) {
            add_server(&address, service.at("address"), dns, problems);
        }
        read_search(&service, "search", dns, problems);
    }
}

fn add_server(text: &str, path: String, dns: &mut Dns, problems: &mut Problems) {
    let Ok(address) = prefix::address(text, &path, None, problems) else { return };
    if address.is_loopback() {
        let message = "a loopback address: it works only where a resolver runs on the host";
        let fix = "write the address of a DNS server";
        problems.warning(path, Some(text.to_owned()), message, fix);
    } else if let Some(why) = prefix::unusable(address) {
        let message = format!("{why} is no DNS server");
        problems.error(path, Some(text.to_owned()), message, "write a server's address");
        return;
    } else if is_link_local(address) {
        let message = "a link-local server is not reachable without an interface";
        problems.error(path, Some(text.to_owned()), message, "write a routed address");
        return;
    }
    if !dns.servers.contains(&address) {
        dns.servers.push(address);
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn read_search(object: &Object<'_>, key: &str, dns: &mut Dns, problems: &mut Problems) {
    for (path, domain) in object.texts(key, problems) {
        if !is_domain(&domain) {
            let fix = "write a domain such as example.com";
            problems.error(path, Some(domain), "not a domain name", fix);
        } else if !dns.search.contains(&domain) {
            dns.search.push(domain);
        }
    }
}

/// Letters, digits, `-` and `_` in labels of at most 63 bytes: it ends up in `resolv.conf`.
fn is_domain(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
