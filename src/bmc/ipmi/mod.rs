//! IPMI 2.0 over LAN: power, boot device, event log. ipmi-rs gives commands and the parsing of
//! records; the session and its packets are ours, for what its LAN transport lacks: cipher suite
//! 17, retransmission, privilege levels, errors that tell causes apart, a close.
//!
//! Not here: virtual media, which IPMI does not have, and the machine's own BMC
//! (`crate::sys::local_bmc`).
//!
//! | file | what |
//! |---|---|
//! | `crypto`, `packet`, `rakp` | bytes: keyed hashes, datagrams, session setup; pure |
//! | `wire`, `window`, `session` | socket with retransmission, session over it; blocking |
//! | `bmc`, `chassis`, `boot`, `sel` | commands |

mod bmc;
mod boot;
mod chassis;
mod crypto;
mod error;
mod login;
mod packet;
mod rakp;
mod sel;
mod session;
mod window;
mod wire;

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::panic;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::bmc::Bmc;
pub use self::error::IpmiError;
pub use self::login::{Login, Patience};
use self::session::Session;
use self::wire::Wire;
use super::{
    BootControl, BootDevice, BootOverride, EventLog, LogEntry, Power, PowerControl, PowerOff,
};

/// UDP port of IPMI over LAN.
pub const DEFAULT_PORT: u16 = 623;
/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 4;
/// BMCs drop a session after 60 s of silence (§6.12.15): one that was quiet this long is
/// replaced before it is used.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// A BMC reached by IPMI. Clones share one session, which is opened again when the BMC lost it.
#[derive(Clone)]
pub struct Ipmi(Arc<Shared>);

struct Shared {
    host: String,
    port: u16,
    login: Login,
    patience: Patience,
    live: Mutex<Option<Live>>,
    seen: Mutex<sel::Seen>,
}

struct Live {
    bmc: Bmc,
    used: Instant,
}

impl fmt::Debug for Ipmi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ipmi")
            .field("host", &self.0.host)
            .field("port", &self.0.port)
            .field("user", &self.0.login.user)
            .finish_non_exhaustive()
    }
}

impl Ipmi {
    /// Logs in. `host` is a name or an address, IPv6 with or without brackets.
    ///
    /// # Errors
    /// As [`IpmiError`] says: what can be wrong with address and login shows here.
    pub async fn connect(host: &str, port: u16, login: Login) -> Result<Self, IpmiError> {
        Self::connect_with(host, port, login, Patience::default()).await
    }

    /// Logs in with time-outs other than the default.
    ///
    /// # Errors
    /// As for [`Self::connect`].
    pub async fn connect_with(
        host: &str,
        port: u16,
        login: Login,
        patience: Patience,
    ) -> Result<Self, IpmiError> {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (live, seen) = (Mutex::default(), Mutex::default());
        let ipmi = Self(Arc::new(Shared { host, port, login, patience, live, seen }));
        ipmi.run(|_| Ok(())).await?;
        Ok(ipmi)
    }

    /// Cuts the power and gives it back after a moment; most BMCs refuse it while the host is off.
    /// Not sent twice when the BMC falls silent, for the host may be on its way already.
    ///
    /// # Errors
    /// As [`IpmiError`] says.
    pub async fn power_cycle(&self) -> Result<(), IpmiError> {
        self.blocking(|shared| shared.attempt(&mut chassis::power_cycle)).await
    }

    /// Presses the reset button; as [`Self::power_cycle`] otherwise.
    ///
    /// # Errors
    /// As [`IpmiError`] says.
    pub async fn power_reset(&self) -> Result<(), IpmiError> {
        self.blocking(|shared| shared.attempt(&mut chassis::power_reset)).await
    }

    /// Runs a goal, which may be stated twice, in the session; once more in a new one if the BMC
    /// has lost the first.
    async fn run<T, F>(&self, mut goal: F) -> Result<T, IpmiError>
    where
        T: Send + 'static,
        F: FnMut(&mut Bmc) -> Result<T, IpmiError> + Send + 'static,
    {
        self.blocking(move |shared| match shared.attempt(&mut goal) {
            Err(IpmiError::SessionLost(_) | IpmiError::Closed(_)) => shared.attempt(&mut goal),
            other => other,
        })
        .await
    }

    /// Away from the async threads. The work goes on to its own deadline if the caller is gone.
    async fn blocking<T, F>(&self, work: F) -> Result<T, IpmiError>
    where
        T: Send + 'static,
        F: FnOnce(&Shared) -> Result<T, IpmiError> + Send + 'static,
    {
        let shared = Arc::clone(&self.0);
        match tokio::task::spawn_blocking(move || work(&shared)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                Err(_) => Err(IpmiError::Interrupted),
            },
        }
    }
}

impl Shared {
    /// One goal in the session that is open, or in a new one. Any error of the session ends it.
    fn attempt<T>(
        &self,
        goal: &mut impl FnMut(&mut Bmc) -> Result<T, IpmiError>,
    ) -> Result<T, IpmiError> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = live.take().filter(|live| live.used.elapsed() < IDLE_MAX);
        let mut bmc = match fresh {
            Some(live) => live.bmc,
            None => self.open()?,
        };
        let result = goal(&mut bmc);
        if !result.as_ref().is_err_and(ends_session) {
            *live = Some(Live { bmc, used: Instant::now() });
        }
        result
    }

    /// A session with the first address of the BMC's name that answers.
    fn open(&self) -> Result<Bmc, IpmiError> {
        let resolve = |source| IpmiError::Resolve { host: self.host.clone(), source };
        let addresses = (self.host.as_str(), self.port).to_socket_addrs().map_err(resolve)?;
        let mut last = resolve(io::ErrorKind::NotFound.into());
        for address in addresses.take(ADDRESSES_MAX) {
            match self.open_at(address) {
                Ok(bmc) => return Ok(bmc),
                Err(
                    error @ (IpmiError::NoAnswer(_)
                    | IpmiError::Closed(_)
                    | IpmiError::Socket { .. }),
                ) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn open_at(&self, address: SocketAddr) -> Result<Bmc, IpmiError> {
        let wire = Wire::new(address, self.patience)?;
        Ok(Bmc::new(Session::open(wire, &self.login)?, self.login.privilege))
    }
}

/// Errors after which nobody knows what the session is worth.
fn ends_session(error: &IpmiError) -> bool {
    matches!(error, IpmiError::SessionLost(_) | IpmiError::Closed(_) | IpmiError::Socket { .. })
}

impl PowerControl for Ipmi {
    type Error = IpmiError;

    async fn power(&self) -> Result<Power, IpmiError> {
        self.run(chassis::power).await
    }

    async fn power_on(&self) -> Result<(), IpmiError> {
        self.run(chassis::power_on).await
    }

    async fn power_off(&self, how: PowerOff) -> Result<(), IpmiError> {
        self.run(move |bmc| chassis::power_off(bmc, how)).await
    }
}

impl BootControl for Ipmi {
    type Error = IpmiError;

    async fn boot_override(&self) -> Result<BootOverride, IpmiError> {
        self.run(boot::standing).await
    }

    async fn boot_once(&self, device: BootDevice) -> Result<(), IpmiError> {
        self.run(move |bmc| boot::set(bmc, BootOverride { device, persistent: false })).await
    }

    async fn restore_boot(&self, before: BootOverride) -> Result<(), IpmiError> {
        self.run(move |bmc| boot::set(bmc, before)).await
    }
}

impl EventLog for Ipmi {
    type Error = IpmiError;

    async fn entries(&self) -> Result<Vec<LogEntry>, IpmiError> {
        let shared = Arc::clone(&self.0);
        self.run(move |bmc| {
            let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
            sel::entries(bmc, &mut seen)
        })
        .await
    }
}
