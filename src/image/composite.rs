//! A base ISO and one host's overlay, read as one file that is nowhere on disk.

use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;

use super::base::Base;
use super::overlay::Overlay;

/// One host's boot ISO. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Composite {
    base: Bytes,
    overlay: Overlay,
}

impl Composite {
    /// `overlay` was composed for this base's manifest.
    #[must_use]
    pub fn new(base: &Base, overlay: Overlay) -> Self {
        Self { base: base.bytes().clone(), overlay }
    }

    /// An ISO that is whole as it is, such as a config drive.
    #[must_use]
    pub fn plain(iso: Bytes) -> Self {
        Self { base: iso, overlay: Overlay::empty() }
    }

    /// Bytes of the ISO; always those of the base.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.base.len() as u64
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base.is_empty()
    }

    /// The bytes of `span` as consecutive pieces, none of them copied. What lies behind the end is
    /// left out.
    #[must_use]
    pub fn pieces(&self, span: Range<u64>) -> Vec<Bytes> {
        let end = span.end.min(self.len());
        let mut at = span.start.min(end);
        let mut pieces = Vec::new();
        let base = |from: u64, to: u64| {
            // The base is in memory, so its places are no wider than `usize`.
            let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
            self.base.slice(place(from)..place(to))
        };
        for (start, bytes) in self.overlay.within(at..end) {
            if start > at {
                pieces.push(base(at, start));
            }
            at = start + bytes.len() as u64;
            pieces.push(bytes);
        }
        if end > at {
            pieces.push(base(at, end));
        }
        pieces
    }

    /// The bytes of `span` in one run.
    #[must_use]
    pub fn read_at(&self, span: Range<u64>) -> Vec<u8> {
        self.pieces(span).concat()
    }

    /// Writes the whole ISO.
    ///
    /// # Errors
    /// As `out` has them.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        self.pieces(0..self.len()).iter().try_for_each(|piece| out.write_all(piece))
    }
}
