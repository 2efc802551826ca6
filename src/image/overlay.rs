//! What one host changes in the base ISO: about 1 KiB of bytes and where they go. Pure; reading
//! both as one file is `composite`'s.

use std::ops::Range;
use std::str::FromStr;
use std::{fmt, mem};

use bytes::Bytes;
use serde_json::{Value, json};

use super::manifest::{Extent, Manifest};
use super::segment::{self, SegmentFile};
use crate::types::boot::{BOOT_CONFIG_PATH, BootConfig, NETWORK_DATA_PATH};

/// A volume's publisher identifier: a UUID, fresh for every medium, by which the ramdisk tells its
/// own medium from any other (`ir_pub_id` on the kernel line).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherId(String);

/// Text that is no UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no UUID: write one as 5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a11")]
pub struct PublisherIdError(String);

impl PublisherId {
    /// A version 4 UUID (RFC 9562 §5.4) of 16 random bytes.
    #[must_use]
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0F | 0x40;
        bytes[8] = bytes[8] & 0x3F | 0x80;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (a, b, c, d, e) =
            (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
        Self(format!("{a}-{b}-{c}-{d}-{e}"))
    }

    /// 36 characters, lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublisherId {
    type Err = PublisherIdError;

    fn from_str(text: &str) -> Result<Self, PublisherIdError> {
        let shaped = text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            });
        if shaped {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(PublisherIdError(text.to_owned()))
        }
    }
}

impl fmt::Display for PublisherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything that differs between two hosts' boot media.
#[derive(Debug, Clone)]
pub struct HostMedia<'a> {
    /// What the agent is told; secret.
    pub boot: &'a BootConfig,
    /// Network data in OpenStack's form.
    pub network_data: &'a Value,
    /// Meta data in OpenStack's form. [`HostMedia::meta_data`] makes the least that will do.
    pub meta_data: &'a Value,
    /// Fresh for every medium.
    pub publisher: &'a PublisherId,
    /// Further arguments of the kernel, such as `bonding.max_bonds=0`; may be empty.
    pub kernel_args: &'a str,
}

impl HostMedia<'_> {
    /// The least meta data that cloud-init takes: it refuses a drive without a `uuid`.
    #[must_use]
    pub fn meta_data(publisher: &PublisherId) -> Value {
        json!({ "uuid": publisher.as_str() })
    }
}

/// Why a host's data does not go into the base ISO.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// More than the base ISO has room for.
    #[error("{what} takes {size} bytes and the boot image has room for {room}")]
    TooLarge {
        /// Which part.
        what: &'static str,
        /// Bytes it needs.
        size: usize,
        /// Bytes there are.
        room: u64,
    },
    /// Isolinux and GRUB read these differently, or take them for their own syntax.
    #[error(
        "kernel argument {word:?}: {character:?} does not survive the boot loaders; use letters, digits and %+,-./:=@_~"
    )]
    KernelArgument {
        /// The argument.
        word: String,
        /// What is wrong in it.
        character: char,
    },
    /// A document that JSON can't hold.
    #[error("rendering {0} failed")]
    Render(&'static str, #[source] serde_json::Error),
}

/// One host's bytes, and where they go in the base ISO.
#[derive(Clone, PartialEq, Eq)]
pub struct Overlay {
    bytes: Bytes,
    /// In the order of the ISO; they don't overlap.
    patches: Box<[Patch]>,
}

/// Some of an overlay's bytes, and their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Patch {
    /// Place in the ISO.
    at: u64,
    /// Place in the overlay's bytes. Two patches may share bytes.
    from: u32,
    length: u32,
}

impl Overlay {
    /// Puts a host's data into the room that the base ISO leaves.
    ///
    /// # Errors
    /// When something is too large for its extent, or a kernel argument would not arrive.
    pub fn compose(manifest: &Manifest, host: &HostMedia<'_>) -> Result<Self, OverlayError> {
        let boot = json_line("the boot configuration", host.boot)?;
        let network_data = json_line("network data", host.network_data)?;
        let meta_data = json_line("meta data", host.meta_data)?;
        let kernel_args = kernel_args(host.publisher, host.kernel_args)?;
        let (archive, places) = segment::render(&[
            SegmentFile { path: BOOT_CONFIG_PATH, content: &boot },
            SegmentFile { path: NETWORK_DATA_PATH, content: &network_data },
        ]);
        let archive_end = archive.len();
        let mut composer = Composer { bytes: archive, patches: Vec::with_capacity(6) };
        let reserved = &manifest.reserved;
        composer.patch("the initrd segment", reserved.segment, 0..archive_end)?;
        // The same bytes a second time, at no cost: the segment has them already.
        let network_data = places.into_iter().nth(1).unwrap_or_default();
        composer.patch("network data", reserved.network_data, network_data)?;
        composer.add("meta data", &[reserved.meta_data], &meta_data)?;
        composer.add("the publisher id", &[reserved.publisher], host.publisher.0.as_bytes())?;
        composer.add("the kernel line", &reserved.kernel_args, kernel_args.as_bytes())?;
        Ok(composer.finish())
    }

    /// An overlay that changes nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self { bytes: Bytes::new(), patches: Box::default() }
    }

    /// The patches that touch `span` of the ISO, in order: where in the ISO, and which bytes.
    pub fn within(&self, span: Range<u64>) -> impl Iterator<Item = (u64, Bytes)> + '_ {
        let first = self.patches.partition_point(|patch| patch.end() <= span.start);
        self.patches[first..].iter().take_while(move |patch| patch.at < span.end).map(
            move |patch| {
                let start = span.start.max(patch.at);
                let end = span.end.min(patch.end());
                let from = patch.from as usize;
                let inside = |place: u64| from + small(place - patch.at);
                (start, self.bytes.slice(inside(start)..inside(end)))
            },
        )
    }

    /// Bytes of memory that this host costs.
    #[must_use]
    pub fn memory(&self) -> usize {
        mem::size_of::<Self>() + self.bytes.len() + mem::size_of_val(&*self.patches)
    }
}

impl fmt::Debug for Overlay {
    /// Sizes alone: the bytes hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Overlay({} bytes in {} places)", self.bytes.len(), self.patches.len())
    }
}

impl Patch {
    fn end(&self) -> u64 {
        self.at + u64::from(self.length)
    }
}

/// A distance within one overlay: far below 4 GiB by construction.
fn small(distance: u64) -> usize {
    usize::try_from(distance).unwrap_or(usize::MAX)
}

struct Composer {
    bytes: Vec<u8>,
    patches: Vec<Patch>,
}

impl Composer {
    /// Puts bytes that the overlay has already over the start of an extent.
    fn patch(
        &mut self,
        what: &'static str,
        extent: Extent,
        from: Range<usize>,
    ) -> Result<(), OverlayError> {
        let too_large = || OverlayError::TooLarge { what, size: from.len(), room: extent.length };
        let length = u32::try_from(from.len()).map_err(|_| too_large())?;
        let start = u32::try_from(from.start).map_err(|_| too_large())?;
        if u64::from(length) > extent.length {
            return Err(too_large());
        }
        self.patches.push(Patch { at: extent.offset, from: start, length });
        Ok(())
    }

    /// Puts new bytes over the start of each extent.
    fn add(
        &mut self,
        what: &'static str,
        extents: &[Extent],
        content: &[u8],
    ) -> Result<(), OverlayError> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(content);
        for extent in extents {
            self.patch(what, *extent, start..start + content.len())?;
        }
        Ok(())
    }

    fn finish(mut self) -> Overlay {
        self.patches.sort_by_key(|patch| patch.at);
        // Exactly the bytes: this is what a host costs.
        Overlay { bytes: self.bytes.into_boxed_slice().into(), patches: self.patches.into() }
    }
}

/// One line of JSON. The line's end makes it longer than the `{}` that it goes over; the blanks
/// behind are white space to any parser.
fn json_line(what: &'static str, value: &impl serde::Serialize) -> Result<Vec<u8>, OverlayError> {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, value).map_err(|error| OverlayError::Render(what, error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The end of the kernel line. What is left of the field becomes a comment.
fn kernel_args(publisher: &PublisherId, further: &str) -> Result<String, OverlayError> {
    let mut line = format!("ir_pub_id={publisher}");
    for word in further.split_ascii_whitespace() {
        let survives = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_~".contains(c);
        if let Some(character) = word.chars().find(|c| !survives(*c)) {
            return Err(OverlayError::KernelArgument { word: word.to_owned(), character });
        }
        line.push(' ');
        line.push_str(word);
    }
    line.push_str("\n#");
    Ok(line)
}

#[cfg(test)]
mod tests;
