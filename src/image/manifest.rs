//! `manifest.json` of a built image: which files there are, and where the base ISO leaves room for
//! what differs from host to host. Written by `images/build.sh`. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The only format that this version knows.
pub const FORMAT: u32 = 1;

/// A manifest that holds together: every extent lies in the ISO, and no two overlap.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Document")]
#[non_exhaustive]
pub struct Manifest {
    /// Release of the kernel, as `uname -r` has it.
    pub kernel_release: String,
    /// SHA-256 of the agent that is the image's init, in hex.
    pub agent_sha256: String,
    /// Least memory that boots the image.
    pub memory_floor_mib: MemoryFloor,
    /// The base ISO.
    pub iso: BuiltFile,
    /// The kernel of the pair for Ironic.
    pub kernel: BuiltFile,
    /// The initramfs of the pair for Ironic, gzip.
    pub initramfs: BuiltFile,
    /// What the host's overlay may write.
    pub reserved: Reserved,
    /// Debian packages that the image is made of, and their versions.
    pub packages: BTreeMap<String, String>,
}

/// Least memory that boots the image, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct MemoryFloor {
    /// Through isolinux.
    pub bios: u32,
    /// Through GRUB, which needs more.
    pub uefi: u32,
}

/// One file beside the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BuiltFile {
    /// Name, without a directory.
    pub file: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hex, lower case.
    pub sha256: String,
}

/// The extents of the base ISO that a host's overlay may write.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Reserved {
    /// Publisher identifier of the primary volume descriptor (ECMA-119 §8.4.16), blanks.
    pub publisher: Extent,
    /// `/host.img`, zeros.
    pub segment: Extent,
    /// `/openstack/latest/network_data.json`, `{}` and blanks.
    pub network_data: Extent,
    /// `/openstack/latest/meta_data.json`, `{}` and blanks.
    pub meta_data: Extent,
    /// Ends of the kernel lines in both loaders' configurations: a line of `#`.
    pub kernel_args: Vec<Extent>,
}

/// A run of bytes in the base ISO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Extent {
    /// Where it starts.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
}

/// Why a manifest can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not the document that the recipe writes.
    #[error("it is no manifest of a boot image")]
    Syntax(#[source] serde_json::Error),
    /// Built by another version.
    #[error(
        "the image has format {0} and this version knows format {FORMAT}: build it again with `leaseless image build`"
    )]
    Format(u32),
    /// Extents that can't be.
    #[error("{0}: build the image again with `leaseless image build`")]
    Extents(String),
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When it is none, of another format, or contradicts itself.
    pub fn parse(json: &[u8]) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = serde_json::from_slice(json).map_err(ManifestError::Syntax)?;
        if version.format != FORMAT {
            return Err(ManifestError::Format(version.format));
        }
        let document: Document = serde_json::from_slice(json).map_err(ManifestError::Syntax)?;
        Self::try_from(document)
    }
}

/// The manifest as it is written.
#[derive(Deserialize)]
struct Document {
    kernel_release: String,
    agent_sha256: String,
    memory_floor_mib: MemoryFloor,
    iso: BuiltFile,
    kernel: BuiltFile,
    initramfs: BuiltFile,
    reserved: Reserved,
    packages: BTreeMap<String, String>,
}

impl TryFrom<Document> for Manifest {
    type Error = ManifestError;

    fn try_from(document: Document) -> Result<Self, ManifestError> {
        document.reserved.check(document.iso.size)?;
        let Document {
            kernel_release,
            agent_sha256,
            memory_floor_mib,
            iso,
            kernel,
            initramfs,
            reserved,
            packages,
        } = document;
        Ok(Self {
            kernel_release,
            agent_sha256,
            memory_floor_mib,
            iso,
            kernel,
            initramfs,
            reserved,
            packages,
        })
    }
}

impl Reserved {
    fn check(&self, iso_size: u64) -> Result<(), ManifestError> {
        let mut named = vec![
            ("publisher", self.publisher),
            ("segment", self.segment),
            ("network_data", self.network_data),
            ("meta_data", self.meta_data),
        ];
        named.extend(self.kernel_args.iter().map(|extent| ("kernel_args", *extent)));
        named.sort_by_key(|(_, extent)| extent.offset);
        let mut free_from = 0;
        let mut before = "the start";
        for (name, extent) in named {
            let end = extent.offset.checked_add(extent.length);
            match end {
                Some(end) if end <= iso_size => {
                    if extent.offset < free_from {
                        return Err(ManifestError::Extents(format!(
                            "the reserved extents {before} and {name} overlap"
                        )));
                    }
                    (free_from, before) = (end, name);
                }
                Some(_) | None => {
                    return Err(ManifestError::Extents(format!(
                        "the reserved extent {name} ends behind the ISO's {iso_size} bytes"
                    )));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::manifest_json;
    use super::*;

    #[test]
    fn what_contradicts_itself_is_refused() {
        let said = |format, publisher, size| {
            Manifest::parse(manifest_json(format, publisher, size).as_bytes())
                .map_or_else(|error| error.to_string(), |_| "fine".to_owned())
        };
        assert_eq!(said(1, 318, 10_000), "fine");
        assert!(said(2, 318, 10_000).starts_with("the image has format 2"), "{}", said(2, 1, 1));
        assert!(said(1, 500, 10_000).contains("publisher and kernel_args overlap"));
        assert!(said(1, 318, 9_100).contains("kernel_args ends behind the ISO's 9100 bytes"));
        assert!(said(1, u64::MAX, 10_000).contains("publisher ends behind"));
        assert!(matches!(Manifest::parse(b"[]"), Err(ManifestError::Syntax(_))));
    }
}
