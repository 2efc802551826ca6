//! The built boot image on disk: finding it, reading it, and trusting it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::manifest::{Manifest, ManifestError};

/// Names the image's directory where no argument does.
pub const IMAGE_VARIABLE: &str = "LEASELESS_IMAGE";
/// Where `leaseless image build` writes in a source tree, and where a package installs.
const USUAL_PLACES: [&str; 2] = ["build/image", "/var/lib/leaseless/image"];
const MANIFEST: &str = "manifest.json";

/// A base ISO in memory, with its manifest. About 30 MB, once, however many hosts boot from it; and
/// a build that replaces the files does not disturb a server that is being read from.
#[derive(Clone)]
pub struct Base {
    manifest: Manifest,
    bytes: Bytes,
}

/// Why there is no usable image.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// None in the usual places.
    #[error(
        "no boot image: build one with `leaseless image build --out build/image`, or name its directory with --image or {IMAGE_VARIABLE} (looked in {0})"
    )]
    NotFound(String),
    /// A file of the image can't be read.
    #[error("reading {} failed", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The manifest is not usable.
    #[error("{} can't be used", .0.display())]
    Manifest(PathBuf, #[source] ManifestError),
    /// The ISO is not the one of the manifest.
    #[error("{} is not the ISO of its manifest: it has {size} bytes and SHA-256 {sha256}, and {expected_size} and {expected_sha256} are expected; build the image again", .path.display())]
    Differs {
        /// The ISO.
        path: PathBuf,
        /// Bytes found.
        size: u64,
        /// Hash found.
        sha256: String,
        /// Bytes that the manifest names.
        expected_size: u64,
        /// Hash that the manifest names.
        expected_sha256: String,
    },
}

/// The directory of the boot image: `argument` (`--image`), else `$LEASELESS_IMAGE`, else
/// `build/image` here, else `/var/lib/leaseless/image`.
///
/// # Errors
/// When nobody named one and the usual places have none. A named one is not checked here.
pub fn find(argument: Option<&Path>) -> Result<PathBuf, BaseError> {
    let variable = || env::var_os(IMAGE_VARIABLE).filter(|value| !value.is_empty());
    if let Some(named) = argument.map(Path::to_owned).or_else(|| variable().map(PathBuf::from)) {
        return Ok(named);
    }
    USUAL_PLACES
        .iter()
        .map(PathBuf::from)
        .find(|directory| directory.join(MANIFEST).is_file())
        .ok_or_else(|| BaseError::NotFound(USUAL_PLACES.join(", ")))
}

impl Base {
    /// Reads the image in `directory` and checks it against its manifest's hash. Blocks for some
    /// 0.1 s.
    ///
    /// # Errors
    /// When a file is missing, of another version, or not what the manifest says.
    pub fn open(directory: &Path) -> Result<Self, BaseError> {
        let path = directory.join(MANIFEST);
        let json = fs::read(&path).map_err(|error| BaseError::Read(path.clone(), error))?;
        let manifest = Manifest::parse(&json).map_err(|error| BaseError::Manifest(path, error))?;
        let path = directory.join(&manifest.iso.file);
        let bytes = fs::read(&path).map_err(|error| BaseError::Read(path.clone(), error))?;
        let size = bytes.len() as u64;
        let sha256: String =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if size != manifest.iso.size || sha256 != manifest.iso.sha256 {
            return Err(BaseError::Differs {
                path,
                size,
                sha256,
                expected_size: manifest.iso.size,
                expected_sha256: manifest.iso.sha256,
            });
        }
        Ok(Self { manifest, bytes: bytes.into() })
    }

    /// What the image is and where it leaves room.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The ISO.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Base({}, {} bytes)", self.manifest.kernel_release, self.bytes.len())
    }
}
