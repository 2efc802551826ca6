//! The agent API's server: HTTPS under the medium's CA, one router, bounded bodies. What is said
//! is in `types::report`; who may say it is in `enrolment`.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::enrolment::{Enrolments, Trade};
use crate::types::Secret;
use crate::types::report::{ApiError, Instruction, Progress, Report, Session, SessionRequest};

/// A host with hundreds of disks and NICs stays far below this.
const MAX_BODY: usize = 8 << 20;
const MAX_CONNECTIONS: usize = 1024;
const HANDSHAKE: Duration = Duration::from_secs(20);
const HEADERS: Duration = Duration::from_secs(30);
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// Longest time that `GET /v1/next` stays open.
const LONG_POLL: Duration = Duration::from_secs(25);

/// What one host did.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// It traded its token.
    CalledIn {
        /// Version of its agent.
        agent_version: String,
    },
    /// It said what it is doing.
    Progressed(String),
    /// It reported.
    Reported(Box<Report>),
    /// A second boot tried to use its token.
    Replayed,
}

/// Why the API can't be served.
#[derive(Debug, thiserror::Error)]
#[error("listening for agents on {address} failed: stop what listens there, or use another port")]
pub struct BindError {
    /// Where.
    pub address: SocketAddr,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// The running server. Dropping it ends every connection.
pub struct AgentApi {
    local: SocketAddr,
    shared: Arc<Shared>,
    _running: DropGuard,
}

struct Shared {
    enrolments: Mutex<Hosts>,
}

#[derive(Default)]
struct Hosts {
    tokens: Enrolments,
    channels: std::collections::HashMap<String, Channel>,
}

#[derive(Clone)]
struct Channel {
    events: mpsc::Sender<AgentEvent>,
    instruction: watch::Receiver<Instruction>,
}

/// One expected host. Dropping it ends its session.
pub struct Enrolled {
    host_id: String,
    shared: Arc<Shared>,
    events: mpsc::Receiver<AgentEvent>,
    instruction: watch::Sender<Instruction>,
}

impl AgentApi {
    /// Serves on `address` (port 0: any free one) from now on.
    ///
    /// # Errors
    /// When the address can't be listened on.
    pub async fn bind(address: SocketAddr, tls: Arc<ServerConfig>) -> Result<Self, BindError> {
        let failed = |source| BindError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared { enrolments: Mutex::default() });
        let stop = CancellationToken::new();
        let router = router(Arc::clone(&shared));
        tokio::spawn(stop.clone().run_until_cancelled_owned(serve(listener, tls, router)));
        Ok(Self { local, shared, _running: stop.drop_guard() })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Expects `host_id` to call with `token`.
    #[must_use]
    pub fn enrol(&self, host_id: String, token: Secret) -> Enrolled {
        let (events_in, events) = mpsc::channel(64);
        let (instruction, instruction_out) = watch::channel(Instruction::Wait);
        let mut hosts = self.shared.hosts();
        hosts.tokens.expect(host_id.clone(), token);
        let channel = Channel { events: events_in, instruction: instruction_out };
        hosts.channels.insert(host_id.clone(), channel);
        Enrolled { host_id, shared: Arc::clone(&self.shared), events, instruction }
    }
}

impl Enrolled {
    /// The next thing that the host did.
    pub async fn next_event(&mut self) -> AgentEvent {
        match self.events.recv().await {
            Some(event) => event,
            // The sender lives in `shared` for as long as this does.
            None => std::future::pending().await,
        }
    }

    /// What the host is told from now on.
    pub fn instruct(&self, instruction: Instruction) {
        self.instruction.send_replace(instruction);
    }
}

impl Drop for Enrolled {
    fn drop(&mut self) {
        let mut hosts = self.shared.hosts();
        hosts.tokens.forget(&self.host_id);
        hosts.channels.remove(&self.host_id);
    }
}

impl Shared {
    /// No code panics while it holds the lock, and a poisoned map would still be whole.
    fn hosts(&self) -> MutexGuard<'_, Hosts> {
        self.enrolments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/session", post(open_session))
        .route("/v1/progress", post(progress))
        .route("/v1/report", post(report))
        .route("/v1/next", get(next))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(shared)
}

async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, router: Router) {
    let acceptor = TlsAcceptor::from(tls);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, mostly: some will be free again soon.
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let (acceptor, router) = (acceptor.clone(), router.clone());
        connections.spawn(async move {
            if let Err(error) = answer(stream, acceptor, router).await {
                tracing::info!(%peer, %error, "connection of an agent ended");
            }
            drop(permit);
        });
    }
}

async fn answer(
    stream: TcpStream,
    tls: TlsAcceptor,
    router: Router,
) -> Result<(), ConnectionError> {
    let stream = tokio::time::timeout(HANDSHAKE, tls.accept(stream))
        .await
        .map_err(|_| ConnectionError::SlowHandshake)?
        .map_err(ConnectionError::Handshake)?;
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await
        .map_err(ConnectionError::Http)
}

#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error("the TLS handshake took too long")]
    SlowHandshake,
    #[error("the TLS handshake failed: {0}")]
    Handshake(io::Error),
    #[error("HTTP failed: {0}")]
    Http(hyper::Error),
}

async fn open_session(
    State(shared): State<Arc<Shared>>,
    Json(request): Json<SessionRequest>,
) -> Result<Json<Session>, Refusal> {
    let fresh = random_token().map_err(|_| Refusal::Internal)?;
    let (trade, channel) = {
        let mut hosts = shared.hosts();
        let trade = hosts.tokens.trade(&request, fresh);
        (trade, hosts.channels.get(&request.host_id).cloned())
    };
    let tell = async |event| match channel {
        // The listener is gone: so is the enrolment, and the next request says so.
        Some(channel) => channel.events.send(event).await.ok(),
        None => None,
    };
    match trade {
        Trade::Granted { session, first } => {
            if first {
                tell(AgentEvent::CalledIn { agent_version: request.agent_version }).await;
            }
            Ok(Json(Session { session }))
        }
        Trade::Unknown => Err(Refusal::UnknownToken),
        Trade::Replayed => {
            tell(AgentEvent::Replayed).await;
            Err(Refusal::SpentToken)
        }
    }
}

async fn progress(host: Host, Json(progress): Json<Progress>) -> Result<StatusCode, Refusal> {
    host.tell(AgentEvent::Progressed(progress.message)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn report(host: Host, Json(report): Json<Report>) -> Result<Json<Instruction>, Refusal> {
    host.tell(AgentEvent::Reported(Box::new(report))).await?;
    Ok(Json(*host.0.instruction.borrow()))
}

async fn next(mut host: Host) -> Json<Instruction> {
    let changed = host.0.instruction.wait_for(|now| *now != Instruction::Wait);
    match tokio::time::timeout(LONG_POLL, changed).await {
        Ok(Ok(instruction)) => Json(*instruction),
        Ok(Err(_)) | Err(_) => Json(Instruction::Wait),
    }
}

/// The host behind a request's session.
struct Host(Channel);

impl Host {
    async fn tell(&self, event: AgentEvent) -> Result<(), Refusal> {
        self.0.events.send(event).await.map_err(|_| Refusal::NoSession)
    }
}

impl FromRequestParts<Arc<Shared>> for Host {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Refusal> {
        let session = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
            .ok_or(Refusal::NoSession)?;
        let hosts = shared.hosts();
        let host = hosts.tokens.host_of(session).ok_or(Refusal::NoSession)?;
        hosts.channels.get(host).cloned().map(Self).ok_or(Refusal::NoSession)
    }
}

#[derive(Debug, Clone, Copy)]
enum Refusal {
    UnknownToken,
    SpentToken,
    NoSession,
    Internal,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::UnknownToken => (StatusCode::UNAUTHORIZED, "no host waits with this token"),
            Self::SpentToken => (StatusCode::CONFLICT, "another boot spent this token"),
            Self::NoSession => (StatusCode::UNAUTHORIZED, "no such session"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "no randomness"),
        };
        (status, Json(ApiError { error: error.to_owned() })).into_response()
    }
}

/// 256 random bits in hex.
///
/// # Errors
/// When the kernel gives no randomness.
pub fn random_token() -> Result<Secret, getrandom::Error> {
    let mut bytes = zeroize::Zeroizing::new([0_u8; 32]);
    getrandom::fill(bytes.as_mut_slice())?;
    Ok(Secret::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}
