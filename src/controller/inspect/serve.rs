//! Everything that the BMC and the host will ask this machine for: the composed ISO over HTTP,
//! and the agent API over TLS. Changes nothing on the BMC.

use std::net::{IpAddr, SocketAddr};

use time::OffsetDateTime;
use url::Url;

use super::{NoSourceAddress, Wanted, source_address};
use crate::controller::agent_api::{AgentApi, BindError, Enrolled, random_token};
use crate::controller::authority::{Authority, AuthorityError};
use crate::image::base::{Base, BaseError};
use crate::image::composite::Composite;
use crate::image::overlay::{HostMedia, Overlay, OverlayError, PublisherId};
use crate::image::serve::{self, IsoServer, Published};
use crate::types::boot::BootConfig;
use crate::types::reason::sel;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The base image is missing or broken.
    #[error("the base image can't be used")]
    Base(#[from] BaseError),
    /// The host's data does not fit the image.
    #[error("the host's data can't be put on the boot ISO")]
    Overlay(#[from] OverlayError),
    /// No way back from the BMC or the host.
    #[error("no address to be reached at")]
    NoSourceAddress(#[from] NoSourceAddress),
    /// The host has no fixed address, so no route tells where it will call from.
    #[error(
        "which of this machine's addresses the host can reach is unknown: name it with --controller-address"
    )]
    NoHostAddress,
    /// The agent API's port.
    #[error("serving the agent API failed")]
    AgentApi(#[from] BindError),
    /// The ISO's port.
    #[error("serving the boot ISO failed")]
    Iso(#[from] serve::ServeError),
    /// Certificates.
    #[error("securing the agent API failed")]
    Authority(#[from] AuthorityError),
    /// The kernel.
    #[error("no randomness")]
    Random(#[from] getrandom::Error),
}

/// What is being served; dropping it ends the serving.
pub(super) struct Served {
    pub(super) iso_url: Url,
    pub(super) enrolled: Enrolled,
    /// Marks this boot's entries in the event log.
    pub(super) boot_tag: u16,
    published: Published,
    controller_urls: Vec<String>,
    _iso: IsoServer,
    _api: AgentApi,
}

impl Served {
    /// One line on where to be reached, without what is secret in it.
    pub(super) fn describe(&self) -> String {
        let iso = &self.iso_url[..url::Position::BeforePath];
        format!("ISO at {iso}, agent API at {}", self.controller_urls.join(", "))
    }

    /// Distinct bytes of the ISO that were read, and its size.
    pub(super) fn iso_read(&self) -> (u64, u64) {
        let progress = self.published.progress();
        (progress.covered, progress.length)
    }
}

pub(super) async fn serve(wanted: &Wanted) -> Result<Served, ServeError> {
    let base = Base::open(&wanted.image)?;
    let iso_address = match wanted.iso_address {
        Some(address) => address,
        None => source_address(wanted.bmc_address)?,
    };
    let controllers = controller_addresses(wanted)?;
    let now = OffsetDateTime::now_utc();
    let authority = Authority::generate(&controllers, now)?;
    let api = AgentApi::bind(wanted.agent_listen, authority.server()).await?;
    let port = api.local_addr().port();
    let controller_urls: Vec<String> = controllers
        .iter()
        .map(|address| format!("https://{}", SocketAddr::new(*address, port)))
        .collect();

    let host_id = PublisherId::from_random(random_bytes()?).to_string();
    let token = random_token()?;
    let boot_tag = sel::boot_tag(&token);
    let boot = BootConfig {
        version: 1,
        host_id: host_id.clone(),
        controller_urls: controller_urls.clone(),
        ca_pem: authority.ca_pem().to_owned(),
        token: token.clone(),
        issued_at: now.unix_timestamp(),
        allow_dhcp: wanted.allow_dhcp,
    };
    let publisher = PublisherId::from_random(random_bytes()?);
    let overlay = Overlay::compose(
        base.manifest(),
        &HostMedia {
            boot: &boot,
            network_data: &wanted.network_data,
            meta_data: &HostMedia::meta_data(&publisher),
            publisher: &publisher,
            kernel_args: &wanted.kernel_args,
        },
    )?;
    let iso = IsoServer::bind(wanted.iso_listen).await?;
    let published = iso.publish(Composite::new(&base, overlay))?;
    let iso_url = iso_url(SocketAddr::new(iso_address, iso.local_addr().port()), published.path());
    let enrolled = api.enrol(host_id, token);
    Ok(Served { iso_url, enrolled, boot_tag, published, controller_urls, _iso: iso, _api: api })
}

/// This machine's addresses as the host will see it, each once, in the host's order.
fn controller_addresses(wanted: &Wanted) -> Result<Vec<IpAddr>, ServeError> {
    if !wanted.controller_addresses.is_empty() {
        return Ok(wanted.controller_addresses.clone());
    }
    let mut found = Vec::new();
    for host in &wanted.host_addresses {
        let address = source_address(*host)?;
        if !found.contains(&address) {
            found.push(address);
        }
    }
    if found.is_empty() { Err(ServeError::NoHostAddress) } else { Ok(found) }
}

fn iso_url(at: SocketAddr, path: &str) -> Url {
    Url::parse(&format!("http://{at}{path}")).expect("an address and a hex path make a URL")
}

fn random_bytes() -> Result<[u8; 16], getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iso_url_brackets_ipv6() {
        let at = "[2001:db8::1]:8080".parse().unwrap();
        assert_eq!(iso_url(at, "/vm/00.iso").as_str(), "http://[2001:db8::1]:8080/vm/00.iso");
    }
}
