//! A BMC whose protocol is known only at run time: whatever its address says. Nothing is decided
//! here; what IPMI can't do is `Unsupported`, in words.

use super::ipmi::{self, Ipmi, IpmiError};
use super::redfish::{Credentials, Redfish, RedfishError, TlsPolicy};
use super::{
    BootControl, BootDevice, BootOverride, Class, Classified, EventLog, LogEntry, MediaSlot, Power,
    PowerControl, PowerOff, VirtualMedia,
};
use crate::types::{BmcAddress, BmcDriver, BmcHost};

/// A BMC by Redfish or by IPMI.
#[derive(Debug)]
pub enum AnyBmc {
    /// By Redfish.
    Redfish(Box<Redfish>),
    /// By IPMI.
    Ipmi(Ipmi),
}

/// What went wrong, in the protocol's own words.
#[derive(Debug, thiserror::Error)]
pub enum AnyBmcError {
    /// Of Redfish.
    #[error(transparent)]
    Redfish(#[from] RedfishError),
    /// Of IPMI.
    #[error(transparent)]
    Ipmi(#[from] IpmiError),
    /// IPMI lacks it.
    #[error("IPMI has no {what}: use the BMC's Redfish address, redfish-virtualmedia+https://…")]
    IpmiLacks {
        /// What it lacks.
        what: &'static str,
    },
}

impl Classified for AnyBmcError {
    fn class(&self) -> Class {
        match self {
            Self::Redfish(error) => error.class(),
            Self::Ipmi(error) => error.class(),
            Self::IpmiLacks { .. } => Class::Unsupported,
        }
    }
}

const NO_MEDIA: AnyBmcError = AnyBmcError::IpmiLacks { what: "virtual media" };

impl AnyBmc {
    /// Logs in to what the address names. The TLS policy is Redfish's alone.
    ///
    /// # Errors
    /// As the protocol's own `connect`.
    pub async fn connect(
        address: &BmcAddress,
        credentials: Credentials,
        tls: &TlsPolicy,
    ) -> Result<Self, AnyBmcError> {
        let (BmcDriver::Ipmi { privilege } | BmcDriver::Libvirt { privilege }) = address.driver
        else {
            let redfish = Redfish::connect(address, credentials, tls).await?;
            return Ok(Self::Redfish(Box::new(redfish)));
        };
        let host = match &address.host {
            BmcHost::Ip(address) => address.to_string(),
            BmcHost::Name(name) => name.clone(),
        };
        let port = address.ipmi_port().unwrap_or(ipmi::DEFAULT_PORT);
        let login =
            ipmi::Login::new(credentials.username, credentials.password).with_privilege(privilege);
        Ok(Self::Ipmi(Ipmi::connect(&host, port, login).await?))
    }

    /// Gives the session back, where the protocol has that.
    ///
    /// # Errors
    /// When the BMC can't be reached or refuses.
    pub async fn close(self) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.close().await?),
            // It closes by itself when the last clone goes.
            Self::Ipmi(_) => Ok(()),
        }
    }

    /// Off and on again.
    ///
    /// # Errors
    /// As the protocol says.
    pub async fn power_cycle(&self) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.power_cycle().await?),
            Self::Ipmi(ipmi) => Ok(ipmi.power_cycle().await?),
        }
    }

    /// Presses the reset button.
    ///
    /// # Errors
    /// As the protocol says.
    pub async fn power_reset(&self) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.power_reset().await?),
            Self::Ipmi(ipmi) => Ok(ipmi.power_reset().await?),
        }
    }
}

impl PowerControl for AnyBmc {
    type Error = AnyBmcError;

    async fn power(&self) -> Result<Power, AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.power().await?),
            Self::Ipmi(ipmi) => Ok(ipmi.power().await?),
        }
    }

    async fn power_on(&self) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.power_on().await?),
            Self::Ipmi(ipmi) => Ok(ipmi.power_on().await?),
        }
    }

    async fn power_off(&self, how: PowerOff) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.power_off(how).await?),
            Self::Ipmi(ipmi) => Ok(ipmi.power_off(how).await?),
        }
    }
}

impl BootControl for AnyBmc {
    type Error = AnyBmcError;

    async fn boot_override(&self) -> Result<BootOverride, AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.boot_override().await?),
            Self::Ipmi(ipmi) => Ok(ipmi.boot_override().await?),
        }
    }

    async fn boot_once(&self, device: BootDevice) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.boot_once(device).await?),
            Self::Ipmi(ipmi) => Ok(ipmi.boot_once(device).await?),
        }
    }

    async fn restore_boot(&self, before: BootOverride) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.restore_boot(before).await?),
            Self::Ipmi(ipmi) => Ok(ipmi.restore_boot(before).await?),
        }
    }
}

impl VirtualMedia for AnyBmc {
    type Error = AnyBmcError;

    async fn media(&self) -> Result<Vec<MediaSlot>, AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.media().await?),
            Self::Ipmi(_) => Err(NO_MEDIA),
        }
    }

    async fn insert(&self, url: &url::Url) -> Result<MediaSlot, AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.insert(url).await?),
            Self::Ipmi(_) => Err(NO_MEDIA),
        }
    }

    async fn eject(&self) -> Result<(), AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.eject().await?),
            Self::Ipmi(_) => Err(NO_MEDIA),
        }
    }
}

impl EventLog for AnyBmc {
    type Error = AnyBmcError;

    async fn entries(&self) -> Result<Vec<LogEntry>, AnyBmcError> {
        match self {
            Self::Redfish(redfish) => Ok(redfish.entries().await?),
            Self::Ipmi(ipmi) => Ok(ipmi.entries().await?),
        }
    }
}
