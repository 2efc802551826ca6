//! `leaseless/boot.json`: what one boot of one host is told, beside its network data. It travels
//! in the second initrd segment of the boot ISO and holds secrets.

use serde::{Deserialize, Serialize};

use super::Secret;

/// Where the boot configuration stands in the initrd segment.
pub const BOOT_CONFIG_PATH: &str = "leaseless/boot.json";
/// Where the host's network data stands in the initrd segment.
pub const NETWORK_DATA_PATH: &str = "leaseless/network_data.json";
/// Last file of the base initramfs: a kernel short of memory truncates the archive in silence.
pub const SENTINEL_PATH: &str = "leaseless/complete";
/// Volume label of every medium with OpenStack's `openstack/latest` tree.
pub const CONFIG_DRIVE_LABEL: &str = "config-2";
/// Network data as config-drive consumers look for it.
pub const CONFIG_DRIVE_NETWORK_DATA: &str = "openstack/latest/network_data.json";

/// The boot configuration, version 1. Unknown fields are ignored, so that an older agent boots
/// from a newer controller's medium.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootConfig {
    /// Format version: 1.
    pub version: u32,
    /// Opaque id of the host, chosen by the controller.
    pub host_id: String,
    /// Base URLs of the controller's agent API, tried in order, such as `https://192.0.2.1:8443`.
    /// Hosts are IP literals: the ramdisk has no resolver that it could trust.
    pub controller_urls: Vec<String>,
    /// PEM of the only CA that the agent trusts for those URLs.
    pub ca_pem: String,
    /// Traded once for a session.
    pub token: Secret,
    /// The controller's clock when the medium was made, seconds since the Unix epoch: a host
    /// whose clock is far before this can't verify any certificate.
    pub issued_at: i64,
    /// Whether networks that need DHCP may use a client instead of being refused by name.
    #[serde(default)]
    pub allow_dhcp: bool,
}
