//! ISOs over HTTP/1.1, for BMCs: byte ranges, exact lengths, unguessable paths, nothing on disk.
//! Plain HTTP: what a BMC reads here is as open as its own network, which is why a boot token works
//! once.

mod answer;
mod body;
mod progress;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use self::answer::Validators;
pub use self::progress::Progress;
use self::progress::Readings;
use super::composite::Composite;

/// Connections at one time. A BMC keeps a few; what comes above waits in the kernel's queue.
const MOST_CONNECTIONS: usize = 512;
/// A BMC may leave its connection alone while the host's firmware does something else.
const LONGEST_IDLE: Duration = Duration::from_mins(10);
/// How often idle connections are looked for.
const IDLE_CHECK: Duration = Duration::from_secs(30);
/// How long open transfers may go on when the server stops.
const PARTING: Duration = Duration::from_secs(2);
/// Room for a request's head, and what is written at once.
const BUFFER: usize = 64 << 10;
/// Rest after a failed accept: out of file descriptors, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Why ISOs can't be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Somebody else listens there.
    #[error("{0} is in use by another program: stop that, or listen on another port")]
    InUse(SocketAddr),
    /// Listening is not possible.
    #[error("listening on {0} failed")]
    Listen(SocketAddr, #[source] io::Error),
    /// The kernel gave no random bytes.
    #[error("no random bytes for an unguessable path")]
    Random(#[source] io::Error),
}

/// A server of ISOs. Dropping it ends every transfer.
#[derive(Debug)]
pub struct IsoServer {
    address: SocketAddr,
    shelf: Arc<Shelf>,
    stop: CancellationToken,
    accepting: JoinHandle<()>,
}

/// An ISO that is being served, until this is dropped.
pub struct Published {
    path: String,
    shelf: Arc<Shelf>,
    item: Arc<Item>,
}

/// What is served, by path.
#[derive(Default)]
struct Shelf(RwLock<HashMap<String, Arc<Item>>>);

#[derive(Debug)]
struct Item {
    iso: Composite,
    validators: Validators,
    readings: Arc<Readings>,
}

impl IsoServer {
    /// Listens on `address`; port 0 takes any free port.
    ///
    /// # Errors
    /// When the port is taken or may not be used.
    pub async fn bind(address: SocketAddr) -> Result<Self, ServeError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => ServeError::InUse(address),
            _ => ServeError::Listen(address, error),
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shelf = Arc::<Shelf>::default();
        let stop = CancellationToken::new();
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shelf), stop.clone()));
        Ok(Self { address, shelf, stop, accepting })
    }

    /// Where the server listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves `iso` under a new path that nobody can guess, `/vm/<32 hex digits>.iso`.
    ///
    /// # Errors
    /// When the kernel gives no random bytes.
    pub fn publish(&self, iso: Composite) -> Result<Published, ServeError> {
        let mut random = [0; 24];
        getrandom::fill(&mut random)
            .map_err(|error| ServeError::Random(io::Error::other(error)))?;
        let (name, tag) = random.split_at(16);
        let path = format!("/vm/{}.iso", hex(name));
        let item = Arc::new(Item {
            readings: Arc::new(Readings::new(iso.len())),
            // The bytes under this path never change, so any fresh tag is a strong one.
            validators: Validators::new(&hex(tag), SystemTime::now()),
            iso,
        });
        self.shelf.put(path.clone(), Arc::clone(&item));
        Ok(Published { path, shelf: Arc::clone(&self.shelf), item })
    }

    /// Stops listening, lets open transfers go on for 2 s, and ends them.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        // A panic in it was printed already.
        (&mut self.accepting).await.ok();
    }
}

impl Drop for IsoServer {
    fn drop(&mut self) {
        self.stop.cancel();
        self.accepting.abort();
    }
}

impl Published {
    /// `/vm/<32 hex digits>.iso`. Whoever knows it reads the host's secrets: keep it out of logs.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How much was read so far.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.item.readings.progress()
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        self.shelf.remove(&self.path);
    }
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Published({})", shortened(&self.path))
    }
}

impl fmt::Debug for Shelf {
    /// How many, and no paths: those are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.read().unwrap_or_else(PoisonError::into_inner).len();
        write!(f, "Shelf({count})")
    }
}

impl Shelf {
    fn put(&self, path: String, item: Arc<Item>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(path, item);
    }

    fn remove(&self, path: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    fn find(&self, path: &str) -> Option<Arc<Item>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

async fn accept(listener: TcpListener, shelf: Arc<Shelf>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let free = tokio::select! {
            () = stop.cancelled() => break,
            free = Arc::clone(&places).acquire_owned() => free,
        };
        // The semaphore is never closed.
        let Ok(place) = free else { break };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let serving = connection(stream, peer, Arc::clone(&shelf), stop.clone());
                connections.spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let parted = async { while connections.join_next().await.is_some() {} };
    tokio::time::timeout(PARTING, parted).await.ok();
    // What is left ends as the set is dropped.
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    shelf: Arc<Shelf>,
    stop: CancellationToken,
) {
    // Small answers must not wait for a BMC's delayed acknowledgement.
    stream.set_nodelay(true).ok();
    let activity = Arc::new(progress::Activity::default());
    let service = service_fn(|request| {
        let answer = respond(&request, peer, &shelf, &activity);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut stopping = false;
    loop {
        tokio::select! {
            ended = &mut connection => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "connection ended");
                }
                return;
            }
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(IDLE_CHECK) => {
                if activity.idle() > LONGEST_IDLE {
                    tracing::debug!(%peer, "connection was idle for too long");
                    return;
                }
            }
        }
    }
}

fn respond(
    request: &Request<Incoming>,
    peer: SocketAddr,
    shelf: &Shelf,
    activity: &Arc<progress::Activity>,
) -> Response<BoxBody<Bytes, Infallible>> {
    activity.mark();
    let path = request.uri().path();
    let item = request.uri().query().is_none().then(|| shelf.find(path)).flatten();
    let answer = match &item {
        Some(item) => {
            item.readings.asked();
            answer::answer(request.method(), request.headers(), &item.validators, item.iso.len())
        }
        None => answer::Answer::not_found(),
    };
    tracing::debug!(
        %peer,
        method = %request.method(),
        path = shortened(path),
        range = ?request.headers().get(hyper::header::RANGE),
        status = answer.status.as_u16(),
        "asked"
    );
    answer.into_response(item.as_deref(), activity)
}

/// Enough of a path to tell two hosts apart in a log, and too little to read either's ISO.
fn shortened(path: &str) -> String {
    let mut shown: String = path.chars().take(8).collect();
    shown.push('…');
    shown
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
