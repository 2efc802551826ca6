//! A config drive: OpenStack's `openstack/latest` tree on a small ISO without a kernel, as
//! cloud-init, glean and Ignition look for it. Pure.

use std::fmt;

use serde_json::Value;

use super::iso9660::{Directory, File, Volume, render};
use super::overlay::PublisherId;
use crate::types::boot::CONFIG_DRIVE_LABEL;

/// More than any config drive holds (Nova's own limit is 64 MB).
const LARGEST: usize = 64 << 20;

/// What goes on the drive.
#[derive(Clone)]
pub struct ConfigDrive<'a> {
    /// Network data in OpenStack's form.
    pub network_data: &'a Value,
    /// Meta data in OpenStack's form; `uuid` is what cloud-init calls the instance id.
    pub meta_data: &'a Value,
    /// User data, as it is.
    pub user_data: Option<&'a [u8]>,
    /// The volume's publisher identifier.
    pub publisher: &'a PublisherId,
    /// Every date on the volume, seconds since the Unix epoch.
    pub date: i64,
}

/// Why a drive can't be written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigDriveError {
    /// cloud-init takes no drive without it.
    #[error(
        "meta data: uuid: it is missing, and cloud-init refuses a drive without it; add \"uuid\": \"<any text, new for each instance>\""
    )]
    NoUuid,
    /// More than there is room for.
    #[error("{what} has {size} bytes, and a config drive takes at most {LARGEST}")]
    TooLarge {
        /// Which file.
        what: &'static str,
        /// Its bytes.
        size: usize,
    },
    /// A document that JSON can't hold.
    #[error("rendering {0} failed")]
    Render(&'static str, #[source] serde_json::Error),
}

impl ConfigDrive<'_> {
    /// The ISO: label `config-2`, Rock Ridge and Joliet names. The same input gives the same bytes.
    ///
    /// # Errors
    /// When cloud-init would refuse the drive, or something is too large.
    pub fn render(&self) -> Result<Vec<u8>, ConfigDriveError> {
        if !self.meta_data["uuid"].is_string() {
            return Err(ConfigDriveError::NoUuid);
        }
        let json = |what, value: &Value| {
            serde_json::to_vec_pretty(value).map_err(|error| ConfigDriveError::Render(what, error))
        };
        let network_data = json("network data", self.network_data)?;
        let meta_data = json("meta data", self.meta_data)?;
        let mut files = vec![
            File { name: "meta_data.json", directory: 2, content: &meta_data },
            File { name: "network_data.json", directory: 2, content: &network_data },
        ];
        files.extend(self.user_data.map(|content| File {
            name: "user_data",
            directory: 2,
            content,
        }));
        if let Some(file) = files.iter().find(|file| file.content.len() > LARGEST) {
            let what = if file.name == "user_data" { "user data" } else { "a JSON document" };
            return Err(ConfigDriveError::TooLarge { what, size: file.content.len() });
        }
        Ok(render(&Volume {
            label: CONFIG_DRIVE_LABEL,
            publisher: self.publisher.as_str(),
            date: self.date,
            directories: &[
                Directory { name: "", parent: 0 },
                Directory { name: "openstack", parent: 0 },
                Directory { name: "latest", parent: 1 },
            ],
            files: &files,
        }))
    }
}

impl fmt::Debug for ConfigDrive<'_> {
    /// Nothing of the content: user data often holds secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigDrive({})", self.publisher)
    }
}
