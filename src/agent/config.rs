//! Where the agent's configuration comes from: the initrd segment, else the boot medium, else a
//! directory it was given. Everything is read into memory, and no medium stays mounted.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io};

use super::kernel_line::KernelLine;
use super::medium::{self, Device, DeviceKind, Volume};
use super::segment;
use crate::sys::boot_device::{self, BlockDevice};
use crate::sys::mount::MountedIso;
use crate::types::boot::{
    BOOT_CONFIG_PATH, BootConfig, CONFIG_DRIVE_NETWORK_DATA, NETWORK_DATA_PATH,
};

/// The initrd segment as a file of the boot ISO.
const SEGMENT_FILE: &str = "host.img";
const MOUNT_POINT: &str = "/run/leaseless/medium";
/// Larger than any network data; a medium is input from outside.
const LARGEST_FILE: u64 = 4 << 20;
const MEDIUM_TRIES: u32 = 30;
const MEDIUM_INTERVAL: Duration = Duration::from_secs(1);

/// A configuration that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Whom to report to.
    pub boot: BootConfig,
    /// Network data as it was written; `None` leaves the network alone.
    pub network_data: Option<String>,
    /// Where both were.
    pub source: Source,
}

/// Where a configuration was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A directory: the root of the ramdisk for the initrd segment, or `--config`.
    Directory(PathBuf),
    /// A boot medium.
    Medium {
        /// Kernel name of the drive.
        device: String,
        /// Label of the volume.
        label: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) if path == Path::new("/") => f.write_str("initrd segment"),
            Self::Directory(path) => write!(f, "directory {}", path.display()),
            Self::Medium { device, label } => write!(f, "medium {label:?} in {device}"),
        }
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there and can't be read.
    #[error("reading {} failed", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The boot configuration is no such document.
    ///
    /// The parser's own words are left out: they quote what it found, and that may be the token.
    #[error("the boot configuration of the {0} is not valid at line {1} column {2}")]
    Syntax(Source, usize, usize),
    /// The boot configuration is of a format that this agent does not know.
    #[error("the boot configuration of the {0} has version {1}, and this agent knows version 1")]
    Version(Source, u32),
    /// Nothing is there.
    #[error("no {BOOT_CONFIG_PATH} in the {0}")]
    Missing(Source),
    /// No medium appeared in time.
    #[error("no boot medium appeared")]
    NoMedium,
}

/// Whether to wait for a boot medium that is not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// 30 s: virtual USB drives appear seconds after the kernel starts.
    Wait,
    /// Not at all: one look.
    Look,
}

/// The configuration of a machine that is ours: from the initrd segment at the ramdisk's `root`,
/// else from the boot medium.
///
/// # Errors
/// When neither has one.
pub async fn find(
    root: &Path,
    line: &KernelLine,
    patience: Patience,
) -> Result<Configuration, ConfigError> {
    if root.join(BOOT_CONFIG_PATH).exists() {
        return load(
            Source::Directory(root.to_owned()),
            read(&root.join(BOOT_CONFIG_PATH))?,
            read(&root.join(NETWORK_DATA_PATH))?,
        );
    }
    tracing::info!("no initrd segment: looking for a boot medium");
    let publisher = line.get("ir_pub_id");
    let mut refused = ConfigError::NoMedium;
    let tries = match patience {
        Patience::Wait => MEDIUM_TRIES,
        Patience::Look => 1,
    };
    for attempt in 1..=tries {
        let volumes = volumes();
        let last_call = attempt == tries;
        if let Some((device, volume)) = medium::choose(&volumes, publisher, last_call) {
            match from_medium(&device.name, volume) {
                Ok(found) => return Ok(found),
                // A drive that is being swapped may read well a second later.
                Err(error) => refused = error,
            }
        }
        if !last_call {
            tokio::time::sleep(MEDIUM_INTERVAL).await;
        }
    }
    Err(refused)
}

/// The configuration of a service: `boot.json` and, where the network is to be set up,
/// `network_data.json` in `directory`.
///
/// # Errors
/// When `boot.json` is missing or not valid.
pub fn from_directory(directory: &Path) -> Result<Configuration, ConfigError> {
    load(
        Source::Directory(directory.to_owned()),
        read(&directory.join("boot.json"))?,
        read(&directory.join("network_data.json"))?,
    )
}

/// Volumes in every drive that may hold the medium.
fn volumes() -> Vec<(Device, Volume)> {
    let devices = boot_device::block_devices().into_iter().map(Device::from);
    devices
        .filter(Device::may_hold_medium)
        .filter_map(|device| {
            let bytes = boot_device::read_at(
                &device.name,
                medium::DESCRIPTOR_OFFSET,
                medium::DESCRIPTOR_SIZE,
            );
            Some((device, Volume::parse(&bytes.ok()?)?))
        })
        .collect()
}

impl From<BlockDevice> for Device {
    fn from(device: BlockDevice) -> Self {
        let kind = match (device.is_rom, device.is_usb) {
            (true, _) => DeviceKind::Rom,
            (false, true) => DeviceKind::UsbDisk,
            (false, false) => DeviceKind::Disk,
        };
        Self { name: device.name, kind, size: device.size }
    }
}

fn from_medium(device: &str, volume: &Volume) -> Result<Configuration, ConfigError> {
    let source = Source::Medium { device: device.to_owned(), label: volume.label.clone() };
    let mounted = MountedIso::mount(&boot_device::node(device), Path::new(MOUNT_POINT))
        .map_err(|error| ConfigError::Read(boot_device::node(device), io::Error::other(error)))?;
    let file = |path: &str| read(&mounted.path().join(path));
    let archive = file(SEGMENT_FILE)?.unwrap_or_default();
    let in_segment = |path: &str| segment::find(&archive, path).map(<[u8]>::to_vec);
    let boot = match in_segment(BOOT_CONFIG_PATH) {
        Some(found) => Some(found),
        None => file(BOOT_CONFIG_PATH)?,
    };
    let network_data = match in_segment(NETWORK_DATA_PATH) {
        Some(found) => Some(found),
        None => file(CONFIG_DRIVE_NETWORK_DATA)?,
    };
    load(source, boot, network_data)
}

/// The file's bytes; `None` where it is not there.
fn read(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let failed = |error| ConfigError::Read(path.to_owned(), error);
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(failed(io::Error::other("it is larger than 4 MiB")));
    }
    Ok(Some(bytes))
}

fn load(
    source: Source,
    boot: Option<Vec<u8>>,
    network_data: Option<Vec<u8>>,
) -> Result<Configuration, ConfigError> {
    let Some(boot) = boot else { return Err(ConfigError::Missing(source)) };
    let boot: BootConfig = match serde_json::from_slice(&boot) {
        Ok(boot) => boot,
        Err(error) => return Err(ConfigError::Syntax(source, error.line(), error.column())),
    };
    if boot.version != 1 {
        return Err(ConfigError::Version(source, boot.version));
    }
    // What is not UTF-8 is not JSON either: the parser names the place.
    let network_data = network_data.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Configuration { boot, network_data, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = r#"{"version": 1, "host_id": "h", "controller_urls": ["https://192.0.2.1:8443"],
        "ca_pem": "x", "token": "hunter2", "issued_at": 1700000000, "from_the_future": true}"#;

    fn ramdisk(boot: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("leaseless")).unwrap();
        fs::write(root.path().join(BOOT_CONFIG_PATH), boot).unwrap();
        root
    }

    #[tokio::test]
    async fn the_initrd_segment_comes_first() {
        let root = ramdisk(BOOT);
        fs::write(root.path().join(NETWORK_DATA_PATH), "{}").unwrap();
        let found = find(root.path(), &KernelLine::default(), Patience::Look).await.unwrap();
        assert_eq!(found.boot.host_id, "h");
        assert_eq!(found.network_data.as_deref(), Some("{}"));
        assert_eq!(found.source, Source::Directory(root.path().to_owned()));
    }

    #[tokio::test]
    async fn a_segment_of_another_version_is_refused_and_not_passed_over() {
        let root = ramdisk(&BOOT.replacen("\"version\": 1", "\"version\": 2", 1));
        let error = find(root.path(), &KernelLine::default(), Patience::Look).await.unwrap_err();
        assert!(matches!(error, ConfigError::Version(_, 2)), "{error}");
    }

    #[test]
    fn a_services_directory_needs_a_boot_configuration_alone() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(from_directory(directory.path()), Err(ConfigError::Missing(_))));
        fs::write(directory.path().join("boot.json"), BOOT).unwrap();
        assert_eq!(from_directory(directory.path()).unwrap().network_data, None);
        fs::write(directory.path().join("boot.json"), "{").unwrap();
        let error = from_directory(directory.path()).unwrap_err();
        assert!(matches!(error, ConfigError::Syntax(..)), "{error}");
    }

    #[test]
    fn the_token_is_not_in_what_is_printed() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("boot.json"), BOOT).unwrap();
        let found = from_directory(directory.path()).unwrap();
        assert!(!format!("{found:?}").contains("hunter2"));
    }
}
