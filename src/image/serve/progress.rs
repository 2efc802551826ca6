//! How much of an ISO was read, and when a connection last did something. Counters alone: a
//! transfer must not wait for whoever looks at it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Parts of the ISO in which reading is noted. 230 bytes of counters for 30 MB.
const BLOCK: u64 = 16 << 10;

/// What was read of one ISO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the ISO.
    pub length: u64,
    /// Bytes sent, every repetition counted.
    pub sent: u64,
    /// Bytes of the ISO that were sent at least once, in steps of 16 KiB.
    pub covered: u64,
    /// Requests, of any method.
    pub requests: u64,
    /// Time since the last request; `None` before the first.
    pub since_last_request: Option<Duration>,
}

/// The counters of one ISO.
#[derive(Debug)]
pub(super) struct Readings {
    length: u64,
    sent: AtomicU64,
    requests: AtomicU64,
    last_request: Activity,
    blocks: Box<[AtomicU64]>,
}

impl Readings {
    pub(super) fn new(length: u64) -> Self {
        let words = length.div_ceil(BLOCK * 64);
        Self {
            length,
            sent: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            last_request: Activity::default(),
            blocks: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub(super) fn asked(&self) {
        self.last_request.mark();
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// `span` of the ISO went out.
    pub(super) fn sent(&self, span: &Range<u64>) {
        self.sent.fetch_add(span.end - span.start, Ordering::Relaxed);
        for block in span.start / BLOCK..span.end.div_ceil(BLOCK) {
            let word = usize::try_from(block / 64).ok().and_then(|word| self.blocks.get(word));
            if let Some(word) = word {
                word.fetch_or(1 << (block % 64), Ordering::Relaxed);
            }
        }
    }

    pub(super) fn progress(&self) -> Progress {
        let blocks: u64 = self
            .blocks
            .iter()
            .map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()))
            .sum();
        let requests = self.requests.load(Ordering::Relaxed);
        Progress {
            length: self.length,
            sent: self.sent.load(Ordering::Relaxed),
            covered: (blocks * BLOCK).min(self.length),
            requests,
            since_last_request: (requests > 0).then(|| self.last_request.idle()),
        }
    }
}

/// When something last happened.
#[derive(Debug)]
pub(super) struct Activity {
    start: Instant,
    /// Milliseconds after `start`.
    last: AtomicU64,
}

impl Default for Activity {
    fn default() -> Self {
        Self { start: Instant::now(), last: AtomicU64::new(0) }
    }
}

impl Activity {
    pub(super) fn mark(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    pub(super) fn idle(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetition_counts_as_sent_and_not_as_covered() {
        let readings = Readings::new(100_000);
        assert_eq!(readings.progress().since_last_request, None);
        readings.asked();
        readings.sent(&(0..10));
        readings.sent(&(5..20));
        readings.sent(&(BLOCK - 1..BLOCK + 1));
        let seen = readings.progress();
        assert_eq!((seen.sent, seen.covered, seen.requests), (27, 2 * BLOCK, 1));
        readings.sent(&(0..100_000));
        assert_eq!(readings.progress().covered, 100_000, "never more than there is");
    }
}
