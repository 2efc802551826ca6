//! How a command line names a BMC and logs in to it; shared by every command that needs one.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};

use super::CliError;
use crate::bmc::any::AnyBmc;
use crate::bmc::redfish::{Credentials, TlsPolicy, TlsVersion};
use crate::types::{BmcAddress, Secret};

/// Passwords and CA files are small; something else was named by mistake.
const FILE_BOUND: u64 = 1 << 20;

/// Which BMC, and how to log in.
#[derive(Debug, Clone, Args)]
pub struct BmcArgs {
    /// BMC address as in Metal3: redfish-virtualmedia+https://192.0.2.5/redfish/v1/Systems/1, ipmi://192.0.2.5
    #[arg(long, value_name = "URL")]
    pub bmc: BmcAddress,

    /// User of the BMC
    #[arg(long, value_name = "NAME", env = "LEASELESS_BMC_USER")]
    pub bmc_user: String,

    /// File with the user's password; without it, the environment variable `LEASELESS_BMC_PASSWORD`
    #[arg(long, value_name = "FILE")]
    pub bmc_password_file: Option<PathBuf>,

    /// Trust any certificate of the BMC
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,

    /// PEM file with the CA of the BMC's certificate, or that certificate itself
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Oldest TLS version to speak with the BMC
    #[arg(long, value_name = "VERSION", default_value = "1.2")]
    pub tls_min: TlsMin,
}

/// TLS versions on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TlsMin {
    /// TLS 1.2
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3
    #[value(name = "1.3")]
    Tls13,
}

impl BmcArgs {
    /// User and password; the password from the file, else from the environment.
    ///
    /// # Errors
    /// `Usage` when there is none, or the file can't be used.
    pub fn credentials(&self) -> Result<Credentials, CliError> {
        if self.bmc_user.trim().is_empty() {
            return Err(CliError::Usage(anyhow!("--bmc-user is empty")));
        }
        let (text, source) = match &self.bmc_password_file {
            Some(path) => {
                let bytes = read_small(path)?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| anyhow!("{} is no text", path.display()))
                    .map_err(CliError::Usage)?;
                (text, path.display().to_string())
            }
            None => {
                let name = "LEASELESS_BMC_PASSWORD";
                let text = std::env::var(name).map_err(|_| {
                    let text = "no password: give --bmc-password-file FILE or set ";
                    CliError::Usage(anyhow!("{text}{name}"))
                })?;
                (text, name.to_owned())
            }
        };
        // White space around it, as in a file that an editor wrote, is no part of it.
        let password = Secret::new(text.trim());
        if password.is_empty() {
            return Err(CliError::Usage(anyhow!("the password in {source} is empty")));
        }
        Ok(Credentials { username: self.bmc_user.trim().to_owned(), password })
    }

    /// How the BMC's certificate is checked.
    ///
    /// # Errors
    /// `Usage` when the CA file can't be read.
    pub fn tls(&self) -> Result<TlsPolicy, CliError> {
        Ok(TlsPolicy {
            ca_pem: self.ca.as_deref().map(read_small).transpose()?,
            verify: !self.insecure,
            min_version: match self.tls_min {
                TlsMin::Tls12 => TlsVersion::Tls12,
                TlsMin::Tls13 => TlsVersion::Tls13,
            },
        })
    }

    /// Logs in.
    ///
    /// # Errors
    /// `Usage` for input that can't be used, `Failed` for what the BMC says.
    pub async fn connect(&self) -> Result<AnyBmc, CliError> {
        let (credentials, tls) = (self.credentials()?, self.tls()?);
        let bmc = AnyBmc::connect(&self.bmc, credentials, &tls).await;
        bmc.map_err(|error| CliError::Failed(error.into()))
    }
}

fn read_small(path: &Path) -> Result<Vec<u8>, CliError> {
    let read = || {
        let size = std::fs::metadata(path)?.len();
        if size > FILE_BOUND {
            return Err(std::io::Error::other(format!("{size} bytes are too many")));
        }
        std::fs::read(path)
    };
    read().with_context(|| format!("reading {}", path.display())).map_err(CliError::Usage)
}
