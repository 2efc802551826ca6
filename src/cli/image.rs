//! `leaseless image`: boot images and config drives.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use serde_json::Value;
use time::OffsetDateTime;

use super::{CliError, netdata};
use crate::image::base::{self, Base, BaseError};
use crate::image::build::{self, Build, BuildError};
use crate::image::composite::Composite;
use crate::image::config_drive::{ConfigDrive, ConfigDriveError};
use crate::image::overlay::{HostMedia, Overlay, PublisherId};
use crate::image::serve::{IsoServer, Published, ServeError};
use crate::netdata::render;
use crate::types::Secret;
use crate::types::boot::BootConfig;

/// A server of one machine's media: what is served is held in memory.
const LARGEST_SERVED: u64 = 1 << 30;
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Build the boot image, write media for one host, serve them
#[derive(Debug, Args)]
pub struct ImageArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Build(BuildArgs),
    Boot(BootArgs),
    ConfigDrive(ConfigDriveArgs),
    Serve(ServeArgs),
}

/// Build the boot image from Debian packages: base ISO, kernel and initramfs for Ironic, manifest
#[derive(Debug, Args)]
struct BuildArgs {
    /// Directory to write the image to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Static leaseless-agent, the image's init; else the one of this source tree or package
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Where downloaded packages are kept
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Use exactly the .deb files in this directory and no mirror
    #[arg(long, value_name = "DIR")]
    packages: Option<PathBuf>,
}

/// Write the boot ISO of one host to a file
#[derive(Debug, Args)]
struct BootArgs {
    /// Network data, as JSON, YAML or a Secret; - reads standard input
    #[arg(long, value_name = "FILE")]
    network_data: PathBuf,
    /// The agent's boot.json; without one the host sets up its network, reports to nobody and shows
    /// itself on its console
    #[arg(long, value_name = "FILE")]
    boot_config: Option<PathBuf>,
    /// OpenStack meta data, as JSON
    #[arg(long, value_name = "FILE")]
    meta_data: Option<PathBuf>,
    /// Further arguments of the kernel
    #[arg(long, value_name = "ARGUMENTS", default_value = "", allow_hyphen_values = true)]
    kernel_args: String,
    /// Directory of the boot image; else $LEASELESS_IMAGE, build/image or /var/lib/leaseless/image
    #[arg(long, value_name = "DIR")]
    image: Option<PathBuf>,
    /// ISO to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Write a config drive, an ISO without a kernel, for cloud-init, glean or Ignition
#[derive(Debug, Args)]
struct ConfigDriveArgs {
    /// Network data, as JSON, YAML or a Secret; - reads standard input
    #[arg(long, value_name = "FILE")]
    network_data: PathBuf,
    /// OpenStack meta data, as JSON with a "uuid"; else a uuid alone, new each time
    #[arg(long, value_name = "FILE")]
    meta_data: Option<PathBuf>,
    /// User data, as it is
    #[arg(long, value_name = "FILE")]
    user_data: Option<PathBuf>,
    /// ISO to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Serve ISOs over HTTP with byte ranges, each under a path that nobody can guess
#[derive(Debug, Args)]
struct ServeArgs {
    /// An ISO, or a directory of files that end in .iso
    path: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

/// Runs the command.
///
/// # Errors
/// Usage where an input file is wrong; failed where something can't be built, written or served.
pub fn run(args: &ImageArgs) -> Result<(), CliError> {
    match &args.verb {
        Verb::Build(args) => build_image(args),
        Verb::Boot(args) => boot(args),
        Verb::ConfigDrive(args) => config_drive(args),
        Verb::Serve(args) => serve(args),
    }
}

fn build_image(args: &BuildArgs) -> Result<(), CliError> {
    let agent = match &args.agent {
        Some(agent) => agent.clone(),
        None => build::usual_agent().map_err(usage)?,
    };
    let build = Build {
        agent,
        out: args.out.clone(),
        cache: args.cache.clone(),
        packages: args.packages.clone(),
    };
    build.run().map_err(|error| match error {
        BuildError::NoAgent(_) | BuildError::Agent { .. } => usage(error),
        BuildError::File(..) | BuildError::Start(_) | BuildError::Recipe(_) => {
            CliError::Failed(error.into())
        }
    })
}

fn boot(args: &BootArgs) -> Result<(), CliError> {
    let network_data = render::openstack(&netdata::load(&args.network_data)?);
    let boot = match &args.boot_config {
        Some(file) => parse_json(file)?,
        None => unattached(),
    };
    let publisher = PublisherId::from_random(random()?);
    let meta_data = match &args.meta_data {
        Some(file) => parse_json(file)?,
        None => HostMedia::meta_data(&publisher),
    };
    let base = open_base(args.image.as_deref())?;
    let host = HostMedia {
        boot: &boot,
        network_data: &network_data,
        meta_data: &meta_data,
        publisher: &publisher,
        kernel_args: &args.kernel_args,
    };
    let overlay = Overlay::compose(base.manifest(), &host).map_err(usage)?;
    write(&args.out, |file| Composite::new(&base, overlay).write_to(file))
}

/// What an agent without a controller is told.
fn unattached() -> BootConfig {
    BootConfig {
        version: 1,
        host_id: "unattached".to_owned(),
        controller_urls: Vec::new(),
        ca_pem: String::new(),
        token: Secret::new(""),
        issued_at: OffsetDateTime::now_utc().unix_timestamp(),
        allow_dhcp: false,
    }
}

fn open_base(argument: Option<&Path>) -> Result<Base, CliError> {
    let opened = base::find(argument).and_then(|directory| Base::open(&directory));
    opened.map_err(|error| match error {
        BaseError::NotFound(_) => usage(error),
        BaseError::Read(..) | BaseError::Manifest(..) | BaseError::Differs { .. } => {
            CliError::Failed(error.into())
        }
    })
}

fn config_drive(args: &ConfigDriveArgs) -> Result<(), CliError> {
    let network_data = render::openstack(&netdata::load(&args.network_data)?);
    let publisher = PublisherId::from_random(random()?);
    let meta_data: Value = match &args.meta_data {
        Some(file) => parse_json(file)?,
        None => HostMedia::meta_data(&publisher),
    };
    let user_data = args.user_data.as_deref().map(read).transpose()?;
    let drive = ConfigDrive {
        network_data: &network_data,
        meta_data: &meta_data,
        user_data: user_data.as_deref(),
        publisher: &publisher,
        date: OffsetDateTime::now_utc().unix_timestamp(),
    };
    let iso = drive.render().map_err(|error| match error {
        ConfigDriveError::NoUuid | ConfigDriveError::TooLarge { .. } => usage(error),
        ConfigDriveError::Render(..) => CliError::Failed(error.into()),
    })?;
    write(&args.out, |file| file.write_all(&iso))
}

fn serve(args: &ServeArgs) -> Result<(), CliError> {
    let files = isos(&args.path)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("starting the async runtime")?;
    runtime.block_on(serve_until_stopped(args.listen, files))
}

/// The ISOs at a path, with their content.
fn isos(path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, CliError> {
    let mut files = if path.is_dir() {
        let entries = fs::read_dir(path)
            .with_context(|| format!("reading {} failed", path.display()))
            .map_err(CliError::Usage)?;
        let is_iso = |file: &PathBuf| file.extension().is_some_and(|end| end == "iso");
        entries.flatten().map(|entry| entry.path()).filter(is_iso).collect()
    } else {
        vec![path.to_owned()]
    };
    files.sort();
    if files.is_empty() {
        return Err(CliError::Usage(anyhow!("{} has no file that ends in .iso", path.display())));
    }
    let sizes = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|about| about.len());
    let total: u64 = sizes.sum();
    if total > LARGEST_SERVED {
        return Err(CliError::Usage(anyhow!(
            "{} holds {total} bytes of ISOs; at most {LARGEST_SERVED} are served",
            path.display()
        )));
    }
    files.into_iter().map(|file| Ok((file.clone(), read(&file)?))).collect()
}

async fn serve_until_stopped(
    listen: SocketAddr,
    files: Vec<(PathBuf, Vec<u8>)>,
) -> Result<(), CliError> {
    let server = IsoServer::bind(listen).await.map_err(|error| match error {
        ServeError::InUse(_) => usage(error),
        ServeError::Listen(..) | ServeError::Random(_) => CliError::Failed(error.into()),
    })?;
    let address = server.local_addr();
    if address.ip().is_unspecified() {
        eprintln!("leaseless: put an address that the BMC reaches in place of {}", address.ip());
    }
    let mut served = Vec::with_capacity(files.len());
    for (file, bytes) in files {
        let published = server
            .publish(Composite::plain(bytes.into()))
            .map_err(|error| CliError::Failed(error.into()))?;
        let host = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let mut out = std::io::stdout();
        writeln!(out, "{}\thttp://{host}:{}{}", file.display(), address.port(), published.path())
            .context("writing standard output failed")?;
        served.push((file, published));
    }
    tokio::select! {
        stopped = tokio::signal::ctrl_c() => stopped.context("waiting for Ctrl-C failed")?,
        () = show_progress(&served) => {}
    }
    server.shutdown().await;
    Ok(())
}

/// Says on a terminal how much of each ISO was read, whenever that changes.
async fn show_progress(served: &[(PathBuf, Published)]) {
    let mut shown = vec![0; served.len()];
    let mut tick = tokio::time::interval(PROGRESS_INTERVAL);
    loop {
        tick.tick().await;
        if !std::io::stderr().is_terminal() {
            continue;
        }
        for ((file, published), shown) in served.iter().zip(&mut shown) {
            let progress = published.progress();
            if progress.sent != *shown {
                *shown = progress.sent;
                eprintln!(
                    "{}: {} of {} bytes read, {} requests",
                    file.display(),
                    progress.covered,
                    progress.length,
                    progress.requests
                );
            }
        }
    }
}

fn usage(error: impl Into<anyhow::Error>) -> CliError {
    CliError::Usage(error.into())
}

fn random() -> Result<[u8; 16], CliError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("no random bytes for a publisher id")?;
    Ok(bytes)
}

fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    fs::read(file)
        .with_context(|| format!("reading {} failed", file.display()))
        .map_err(CliError::Usage)
}

fn parse_json<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, CliError> {
    serde_json::from_slice(&read(file)?)
        .with_context(|| format!("{} does not hold what it should", file.display()))
        .map_err(CliError::Usage)
}

/// Writes a file that only its owner reads, as a whole or not at all: media hold secrets.
fn write(
    path: &Path,
    content: impl FnOnce(&mut fs::File) -> std::io::Result<()>,
) -> Result<(), CliError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| content(&mut file).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // What is half written is of no use.
        fs::remove_file(&new).ok();
    }
    written.with_context(|| format!("writing {} failed", path.display()))?;
    Ok(())
}
