//! The body of an answer: pieces of an ISO, handed on without copying, and noted as they go.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::progress::{Activity, Readings};

/// What goes out at once: enough for the kernel, little enough that a slow reader shows progress.
const PIECE: usize = 256 << 10;

/// One piece of a body.
#[derive(Debug)]
enum Piece {
    /// Framing of a multipart body.
    Framing(Bytes),
    /// Bytes of the ISO, which start there.
    Iso(u64, Bytes),
}

/// A body of known length.
#[derive(Debug)]
pub(super) struct IsoBody {
    pieces: VecDeque<Piece>,
    left: u64,
    readings: Arc<Readings>,
    activity: Arc<Activity>,
}

impl IsoBody {
    pub(super) fn new(readings: Arc<Readings>, activity: Arc<Activity>) -> Self {
        Self { pieces: VecDeque::new(), left: 0, readings, activity }
    }

    pub(super) fn push_framing(&mut self, text: String) {
        self.left += text.len() as u64;
        self.pieces.push_back(Piece::Framing(text.into()));
    }

    /// Consecutive pieces of the ISO that fill `span`.
    pub(super) fn push_iso(&mut self, span: &Range<u64>, pieces: Vec<Bytes>) {
        let mut at = span.start;
        for bytes in pieces {
            let length = bytes.len() as u64;
            self.left += length;
            self.pieces.push_back(Piece::Iso(at, bytes));
            at += length;
        }
    }

    /// The next bytes to send, at most [`PIECE`].
    fn take(&mut self) -> Option<Bytes> {
        let sent = match self.pieces.pop_front()? {
            Piece::Framing(bytes) => bytes,
            Piece::Iso(at, mut bytes) => {
                let sent = bytes.split_to(PIECE.min(bytes.len()));
                let end = at + sent.len() as u64;
                self.readings.sent(&(at..end));
                if !bytes.is_empty() {
                    self.pieces.push_front(Piece::Iso(end, bytes));
                }
                sent
            }
        };
        self.left -= sent.len() as u64;
        Some(sent)
    }
}

impl Body for IsoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.activity.mark();
        Poll::Ready(self.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
