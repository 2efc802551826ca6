//! Loads kernel modules for the devices that are there, and for those that appear later: what udev
//! and kmod do elsewhere. One thread, because loading a module blocks for as long as its driver
//! probes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use nix::errno::Errno;
use tokio::sync::watch;

use super::kernel_line::KernelLine;
use super::modules::{Module, ModuleIndex};
use crate::sys::kmod;
use crate::sys::uevent::{Heard, Uevents};

/// Modules that no device asks for: the kernel would ask `/sbin/modprobe`, and there is none.
const ALWAYS: [&str; 8] = [
    "af_packet",
    "bonding",
    "8021q",
    "isofs",
    "efivarfs",
    "ipmi_msghandler",
    "ipmi_si",
    "ipmi_devintf",
];
/// How often the thread looks whether it should end.
const TICK: Duration = Duration::from_secs(1);

/// The running loader. Dropping it ends its thread.
#[derive(Debug)]
pub struct Coldplug {
    activity: watch::Receiver<Activity>,
    stop: Arc<AtomicBool>,
}

/// What the loader did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Activity {
    first_pass_done: bool,
    events: u64,
}

impl Coldplug {
    /// Starts loading. `line` has the modules' parameters.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn start(line: KernelLine) -> io::Result<Self> {
        let (sender, activity) = watch::channel(Activity::default());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::Builder::new()
            .name("coldplug".to_owned())
            .spawn(move || run(line, &sender, &stopped))?;
        Ok(Self { activity, stop })
    }

    /// Waits until every device that was there at the start has its driver, at most `patience`.
    pub async fn first_pass(&self, patience: Duration) {
        let mut activity = self.activity.clone();
        let done = activity.wait_for(|now| now.first_pass_done);
        if tokio::time::timeout(patience, done).await.is_err() {
            tracing::warn!("drivers are still loading after {} s", patience.as_secs());
        }
    }

    /// Waits until the first pass is done and no device appeared for `quiet`, at most `patience`.
    pub async fn settled(&self, quiet: Duration, patience: Duration) {
        let mut activity = self.activity.clone();
        let quiet_at_last = async {
            // A loader that ended has nothing more to show.
            activity.wait_for(|now| now.first_pass_done).await.ok();
            while let Ok(Ok(())) = tokio::time::timeout(quiet, activity.changed()).await {}
        };
        // A bus that never rests must not hold up the report.
        if tokio::time::timeout(patience, quiet_at_last).await.is_err() {
            tracing::warn!("drivers are still loading: the report may lack devices");
        }
    }
}

impl Drop for Coldplug {
    fn drop(&mut self) {
        // Never joined: a driver that hangs in its probe must not keep the host from stopping.
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn run(line: KernelLine, activity: &watch::Sender<Activity>, stop: &AtomicBool) {
    // Listening comes first: a device that appears during the pass is heard.
    let uevents = Uevents::listen()
        .inspect_err(|error| tracing::warn!(%error, "late devices will get no driver"))
        .ok();
    let mut loader = Loader::open(line);
    for name in ALWAYS {
        loader.load(name);
    }
    loader.pass();
    activity.send_modify(|now| now.first_pass_done = true);
    let Some(uevents) = uevents else { return };
    while !stop.load(Ordering::Relaxed) {
        match uevents.next(TICK) {
            Ok(Heard::Device(alias)) => {
                activity.send_modify(|now| now.events += 1);
                loader.drive(&alias);
            }
            Ok(Heard::Lost) => {
                activity.send_modify(|now| now.events += 1);
                loader.pass();
            }
            Ok(Heard::Other) => activity.send_modify(|now| now.events += 1),
            Ok(Heard::Silence) => {}
            Err(error) => {
                tracing::warn!(%error, "late devices will get no driver");
                return;
            }
        }
    }
}

struct Loader {
    directory: PathBuf,
    index: ModuleIndex,
    line: KernelLine,
    /// Modules that were tried, and device names that were looked up: neither is repeated.
    tried: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl Loader {
    fn open(line: KernelLine) -> Self {
        let directory = kmod::module_directory().unwrap_or_default();
        let text = |name: &str| read_index(&directory, name);
        let index = ModuleIndex::parse(
            &text("modules.alias"),
            &text("modules.dep"),
            &text("modules.softdep"),
        );
        Self { directory, index, line, tried: BTreeSet::new(), seen: BTreeSet::new() }
    }

    /// Loads a driver for every device; a driver may show devices of its own, so look again until
    /// nothing is new. The bound is the deepest stack of buses that there can be.
    fn pass(&mut self) {
        for _ in 0..16 {
            let mut news = false;
            let mut aliases = kmod::modaliases();
            // Network first: a storage controller may take minutes, and the report needs a NIC.
            aliases.sort_by_key(|alias| !alias.contains("bc02"));
            for alias in aliases {
                news |= self.drive(&alias);
            }
            if !news {
                return;
            }
        }
    }

    /// Loads what drives a device; false where this name was looked up before.
    fn drive(&mut self, alias: &str) -> bool {
        if !self.seen.insert(alias.to_owned()) {
            return false;
        }
        let names: Vec<String> =
            self.index.matching(alias).into_iter().map(str::to_owned).collect();
        for name in names {
            self.load(&name);
        }
        true
    }

    fn load(&mut self, name: &str) {
        for module in self.index.load_order(name) {
            if self.tried.insert(module.name.clone()) && !self.line.blacklists(&module.name) {
                insert(&self.directory, module, &self.line);
            }
        }
    }
}

fn read_index(directory: &Path, name: &str) -> String {
    let path = directory.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "no such index of modules");
        String::new()
    })
}

fn insert(directory: &Path, module: &Module, line: &KernelLine) {
    let file = directory.join(&module.path);
    // Gone when an agent before this one tried it.
    if kmod::is_present(&module.name) || !file.exists() {
        return;
    }
    match kmod::load(&file, &line.module_parameters(&module.name)) {
        Ok(()) => tracing::debug!(module = module.name, "loaded"),
        // The module looked for its hardware and found none: most matches by CPU or class do.
        Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => {
            tracing::debug!(module = module.name, "no hardware for it");
        }
        Err(error) => tracing::warn!(module = module.name, %error, "loading a module failed"),
    }
    // The ramdisk is memory, and nothing loads a module twice.
    fs::remove_file(&file).ok();
}
