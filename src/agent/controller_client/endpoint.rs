//! One controller: an `https://` URL whose host is an IP address.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Name, Resolve, Resolving};
use url::{Host, Url};

/// A controller's base URL, known to be callable without a resolver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    base: Url,
    pub(super) address: IpAddr,
    pub(super) port: u16,
}

impl Endpoint {
    /// Reads one; anything else is logged and left out.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let base = Url::parse(text).ok();
        let found = base.and_then(Self::from_url);
        if found.is_none() {
            tracing::warn!(url = text, "not a controller: write https://<IP address>[:port]");
        }
        found
    }

    fn from_url(mut base: Url) -> Option<Self> {
        let address = match base.host()? {
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
            Host::Domain(_) => return None,
        };
        let port = base.port_or_known_default()?;
        let plain = base.scheme() == "https" && base.username().is_empty();
        // Without the slash, `join` would replace the last segment.
        let path = format!("{}/", base.path().trim_end_matches('/'));
        base.set_path(&path);
        base.set_query(None);
        base.set_fragment(None);
        plain.then_some(Self { base, address, port })
    }

    /// The URL of `path`, one of the API's own.
    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path()));
        url
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&SocketAddr::new(self.address, self.port), f)
    }
}

/// Resolves nothing: the ramdisk has no resolver that it could trust, and `getaddrinfo` of a
/// static glibc wants libraries that are not there.
#[derive(Debug)]
pub(super) struct NoNames;

impl Resolve for NoNames {
    fn resolve(&self, name: Name) -> Resolving {
        let text = format!("{:?} is a name, and only IP addresses are called", name.as_str());
        Box::pin(std::future::ready(Err(text.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ip_address_of_either_kind_is_callable() {
        let endpoint = Endpoint::parse("https://192.0.2.1:8443").unwrap();
        assert_eq!(endpoint.url("v1/next").as_str(), "https://192.0.2.1:8443/v1/next");
        assert_eq!(endpoint.to_string(), "192.0.2.1:8443");
        let endpoint = Endpoint::parse("https://[2001:db8::1]/below/").unwrap();
        assert_eq!(endpoint.url("v1/next").as_str(), "https://[2001:db8::1]/below/v1/next");
        assert_eq!(endpoint.to_string(), "[2001:db8::1]:443");
    }

    #[test]
    fn names_and_plain_http_are_not() {
        for text in ["https://controller:8443", "http://192.0.2.1", "https://", "192.0.2.1", ""] {
            assert_eq!(Endpoint::parse(text), None, "{text}");
        }
    }
}
