//! Redfish (DSP0266): power, boot override, virtual media, event log and system information of
//! one system, on whatever BMC it is.
//!
//! Lenient by design: it reads JSON as BMCs give it, not as the schema says. What differs between
//! vendors is in `quirks.rs`, as data. Not here: when to do what.

mod answer;
mod boot;
#[cfg(test)]
mod captures;
mod client;
mod error;
mod etag;
mod info;
mod log;
mod media;
mod power;
mod quirks;
mod resource;
mod session;
mod system;
mod task;
mod tls;
mod transport;

pub use answer::{Answer, Message};
pub use boot::BootSnapshot;
pub use error::{Cause, RedfishError, RequestLine, Step};
pub use info::{BmcInfo, NicInfo, ProcessorInfo, SystemInfo};
pub use quirks::Vendor;
pub use session::Credentials;
pub use tls::{TlsPolicy, TlsVersion};

use std::sync::Mutex;

use client::Client;
use quirks::{Platform, Quirks};
use resource::Resource;

use crate::types::{BmcAddress, BmcDriver};

/// One system behind a BMC, logged in to. [`Redfish::close`] gives the session back; without it
/// the BMC keeps the session until it times out.
pub struct Redfish {
    client: Client,
    /// Path of the system.
    system: String,
    managers: Vec<String>,
    platform: Platform,
    quirks: Quirks,
    /// `RedfishVersion`.
    version: Option<String>,
    /// The boot override as it was last read.
    last_boot: Mutex<Option<BootSnapshot>>,
}

impl std::fmt::Debug for Redfish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redfish").field("system", &self.system).finish_non_exhaustive()
    }
}

impl Redfish {
    /// Logs in, finds the system and sees what kind of BMC it is.
    ///
    /// # Errors
    /// When the BMC can't be reached, its certificate does not verify, it refuses the login, is no
    /// Redfish service, or the address does not name one of its systems; `Unsupported` for an
    /// address that is not Redfish.
    pub async fn connect(
        address: &BmcAddress,
        credentials: Credentials,
        tls: &TlsPolicy,
    ) -> Result<Self, RedfishError> {
        let (BmcDriver::Redfish { system, .. }, Some(base)) =
            (&address.driver, address.redfish_base())
        else {
            let text = format!("{address} is no Redfish address");
            return Err(Cause::Unsupported(text).at(Step::ReadingRoot));
        };
        let client = Client::new(&base, credentials, tls)?;
        let root = client.root().await?;
        client.log_in(sessions(&root)).await?;
        let found = Self::discover(&client, &root, system.as_deref()).await;
        match found {
            Ok((system, managers, platform)) => Ok(Self {
                system: system.path,
                managers,
                quirks: Quirks::of(&platform),
                platform,
                version: root.text("/RedfishVersion"),
                last_boot: Mutex::new(None),
                client,
            }),
            Err(error) => {
                // Sessions are few: not even a failed login may keep one.
                client.log_out().await.ok();
                Err(error)
            }
        }
    }

    async fn discover(
        client: &Client,
        root: &Resource,
        path: Option<&str>,
    ) -> Result<(Resource, Vec<String>, Platform), RedfishError> {
        let system = system::find(client, root, path).await?;
        let managers = system::managers(client, root, &system).await?;
        let manager = match managers.first() {
            Some(path) => client.get_optional(Step::FindingSystem, path).await?,
            None => None,
        };
        let platform = Platform::detect(root, &system, manager.as_ref());
        Ok((system, managers, platform))
    }

    /// Path of the system on the BMC.
    #[must_use]
    pub fn system_path(&self) -> &str {
        &self.system
    }

    /// Deletes the session. Everything was done by then: a failure is worth a line in the log.
    ///
    /// # Errors
    /// When the BMC can't be reached or refuses.
    pub async fn close(self) -> Result<(), RedfishError> {
        self.client.log_out().await
    }
}

/// The session collection: linked by the root, else below its session service.
fn sessions(root: &Resource) -> Option<String> {
    root.link("/Links/Sessions").or_else(|| {
        let service = root.link("/SessionService")?;
        Some(format!("{}/Sessions", service.trim_end_matches('/')))
    })
}

impl Client {
    /// The service root, which is open; a BMC that asks for a login even there gets Basic.
    async fn root(&self) -> Result<Resource, RedfishError> {
        const ROOT: &str = "/redfish/v1/";
        let step = Step::ReadingRoot;
        let mut root = self.get(step, ROOT).await;
        if root.as_ref().is_err_and(|error| error.status() == Some(401)) {
            self.set_auth(session::Auth::Basic);
            root = self.get(step, ROOT).await;
        }
        match root {
            Err(error) if matches!(*error.cause, Cause::Refused { .. }) => {
                let status = error.status().unwrap_or_default();
                if !matches!(status, 404 | 405 | 410) {
                    return Err(error);
                }
                let base = self.transport.base().to_owned();
                Err(Cause::NoService { base, status }.on(step, reqwest::Method::GET, ROOT))
            }
            other => other,
        }
    }
}
