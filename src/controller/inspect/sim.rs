//! A BMC for tests that keeps state, takes its time and can refuse: what the ports promise, with
//! nothing behind it.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::bmc::{
    BootControl, BootDevice, BootOverride, Class, Classified, EventLog, LogEntry, MediaSlot, Power,
    PowerControl, PowerOff, VirtualMedia,
};

/// What the BMC refuses to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Insert,
    Eject,
    SetBoot,
    PowerOn,
    PowerOff,
}

/// The refusal.
#[derive(Debug, thiserror::Error)]
#[error("the BMC refused: {0:?}")]
pub(super) struct Refused(Verb);

impl Classified for Refused {
    fn class(&self) -> Class {
        Class::Permanent
    }
}

/// The whole BMC.
pub(super) struct SimBmc {
    state: Mutex<State>,
    refuses: Option<Verb>,
}

pub(super) struct State {
    pub(super) on: bool,
    pub(super) off_at: Option<Instant>,
    pub(super) image: Option<String>,
    pub(super) boot: BootOverride,
    pub(super) log: Vec<LogEntry>,
    /// Everything that was asked for, in order.
    pub(super) asked: Vec<String>,
}

pub(super) const DISK_FOREVER: BootOverride =
    BootOverride { device: BootDevice::Disk, persistent: true };

impl SimBmc {
    pub(super) fn off() -> Self {
        let state = State {
            on: false,
            off_at: None,
            image: None,
            boot: DISK_FOREVER,
            log: Vec::new(),
            asked: Vec::new(),
        };
        Self { state: Mutex::new(state), refuses: None }
    }

    pub(super) fn refusing(mut self, verb: Verb) -> Self {
        self.refuses = Some(verb);
        self
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap();
        if state.off_at.is_some_and(|at| at <= Instant::now()) {
            state.on = false;
            state.off_at = None;
        }
        look(&mut state)
    }

    /// The guest powers itself off after a while.
    pub(super) fn guest_powers_off_in(&self, time: Duration) {
        self.with(|state| state.off_at = Some(Instant::now() + time));
    }

    fn ask(&self, verb: Verb, what: String) -> Result<(), Refused> {
        self.with(|state| state.asked.push(what));
        if self.refuses == Some(verb) { Err(Refused(verb)) } else { Ok(()) }
    }
}

impl PowerControl for SimBmc {
    type Error = Refused;

    async fn power(&self) -> Result<Power, Refused> {
        Ok(self.with(|state| if state.on { Power::On } else { Power::Off }))
    }

    async fn power_on(&self) -> Result<(), Refused> {
        self.ask(Verb::PowerOn, "power on".into())?;
        self.with(|state| state.on = true);
        Ok(())
    }

    async fn power_off(&self, how: PowerOff) -> Result<(), Refused> {
        self.ask(Verb::PowerOff, format!("power off {how:?}"))?;
        self.guest_powers_off_in(Duration::from_secs(3));
        Ok(())
    }
}

impl BootControl for SimBmc {
    type Error = Refused;

    async fn boot_override(&self) -> Result<BootOverride, Refused> {
        Ok(self.with(|state| state.boot))
    }

    async fn boot_once(&self, device: BootDevice) -> Result<(), Refused> {
        self.ask(Verb::SetBoot, format!("boot {device:?} once"))?;
        self.with(|state| state.boot = BootOverride { device, persistent: false });
        Ok(())
    }

    async fn restore_boot(&self, before: BootOverride) -> Result<(), Refused> {
        self.ask(Verb::SetBoot, format!("boot {:?} again", before.device))?;
        self.with(|state| state.boot = before);
        Ok(())
    }
}

impl VirtualMedia for SimBmc {
    type Error = Refused;

    async fn media(&self) -> Result<Vec<MediaSlot>, Refused> {
        let image = self.with(|state| state.image.clone());
        Ok(vec![MediaSlot { id: "Cd".into(), image }])
    }

    async fn insert(&self, url: &Url) -> Result<MediaSlot, Refused> {
        self.ask(Verb::Insert, format!("insert {}", &url[..url::Position::BeforePath]))?;
        self.with(|state| state.image = Some(url.to_string()));
        Ok(MediaSlot { id: "Cd".into(), image: Some(url.to_string()) })
    }

    async fn eject(&self) -> Result<(), Refused> {
        self.ask(Verb::Eject, "eject".into())?;
        self.with(|state| state.image = None);
        Ok(())
    }
}

impl EventLog for SimBmc {
    type Error = Refused;

    async fn entries(&self) -> Result<Vec<LogEntry>, Refused> {
        Ok(self.with(|state| state.log.clone()))
    }
}
