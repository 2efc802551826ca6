//! A BMC that is not there: stateful, takes time, refuses and lies, after the manner of a vendor.
//! Its answers are our own, written from what BMCs were seen or reported to do (`docs/bmc.md`).
//!
//! Time is tokio's: under a paused clock a two-minute wait is over at once.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod answer;
pub(crate) mod boot;
pub(crate) mod media;
pub(crate) mod profile;
pub(crate) mod resources;
pub(crate) mod tls;
pub(crate) mod world;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use leaseless::bmc::redfish::{Credentials, Redfish, RedfishError, TlsPolicy};
use leaseless::types::{BmcAddress, Secret};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) use profile::Profile;
pub(crate) use world::{Fault, Seen, World};

pub(crate) const USER: &str = "admin";
pub(crate) const PASSWORD: &str = "correct horse";

/// A running one; gone when dropped.
pub(crate) struct SimulatedBmc {
    pub(crate) address: SocketAddr,
    world: Arc<Mutex<World>>,
    server: JoinHandle<()>,
    /// PEM of its certificate, if it speaks TLS.
    pub(crate) certificate: Option<String>,
}

impl Drop for SimulatedBmc {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl SimulatedBmc {
    /// Over plain HTTP, on a free port.
    pub(crate) async fn start(profile: Profile) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let world = Arc::new(Mutex::new(World::new(profile)));
        let app = app(Arc::clone(&world));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, world, server, certificate: None }
    }

    /// Over TLS, with a certificate of its own for `names`.
    pub(crate) async fn start_tls(profile: Profile, names: &[&str]) -> Self {
        let (listener, certificate) = tls::TlsListener::bind(names).await;
        let address = listener.address();
        let world = Arc::new(Mutex::new(World::new(profile)));
        let app = app(Arc::clone(&world));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, world, server, certificate: Some(certificate) }
    }

    /// Its state.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it misbehave from now on.
    pub(crate) fn fault(&self, fault: Fault) -> &Self {
        self.world().faults.push(fault);
        self
    }

    pub(crate) fn url(&self) -> String {
        let transport = if self.certificate.is_some() { "https" } else { "http" };
        format!("redfish-virtualmedia+{transport}://{}", self.address)
    }

    /// Logs in as its user should.
    pub(crate) async fn connect(&self) -> Result<Redfish, RedfishError> {
        self.connect_to(&self.url(), &TlsPolicy::default()).await
    }

    /// Logs in to another path, or with another trust.
    pub(crate) async fn connect_to(
        &self,
        url: &str,
        tls: &TlsPolicy,
    ) -> Result<Redfish, RedfishError> {
        let address: BmcAddress = url.parse().unwrap();
        let password = Secret::new(PASSWORD);
        Redfish::connect(&address, Credentials { username: USER.to_owned(), password }, tls).await
    }

    /// Bodies of the requests to paths that end like this, in order.
    pub(crate) fn sent(&self, method: &str, path_end: &str) -> Vec<serde_json::Value> {
        let world = self.world();
        let matching = world.seen.iter().filter(|seen| seen.is(method, path_end));
        matching.map(|seen| seen.body.clone()).collect()
    }
}

fn app(world: Arc<Mutex<World>>) -> Router {
    Router::new().fallback(serve).with_state(world)
}

async fn serve(State(world): State<Arc<Mutex<World>>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    let seen = Seen::new(&head, body);
    let (wait, response) = {
        let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
        (world.slowness(), world.answer(seen))
    };
    tokio::time::sleep(wait).await;
    response
}
