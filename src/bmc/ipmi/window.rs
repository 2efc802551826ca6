//! Which packets of a session are new.

/// Sequence numbers that a session has received (IPMI 2.0 §6.12.13): each once, up to 15
/// ahead of the highest and up to 16 behind.
#[derive(Debug, Default)]
pub(super) struct Window {
    highest: Option<u32>,
    /// Bit n: `highest - n` was received.
    seen: u32,
}

impl Window {
    const AHEAD: u32 = 15;
    const BEHIND: u32 = 16;

    pub(super) fn admits(&mut self, sequence: u32) -> bool {
        let Some(highest) = self.highest else {
            (self.highest, self.seen) = (Some(sequence), 1);
            return true;
        };
        let (ahead, behind) = (sequence.wrapping_sub(highest), highest.wrapping_sub(sequence));
        if (1..=Self::AHEAD).contains(&ahead) {
            (self.highest, self.seen) = (Some(sequence), self.seen << ahead | 1);
            return true;
        }
        let fresh = behind <= Self::BEHIND && self.seen & 1 << behind == 0;
        if fresh {
            self.seen |= 1 << behind;
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sequence_number_is_admitted_once() {
        let mut window = Window::default();
        for (sequence, admitted) in [
            (5, true),
            (5, false),
            (7, true),
            (6, true),
            (6, false),
            (22, true),
            (38, false),
            (7, false),
            (8, true),
            (5, false),
            (37, true),
        ] {
            assert_eq!(window.admits(sequence), admitted, "{sequence}");
        }
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut window = Window::default();
        assert!(window.admits(u32::MAX));
        assert!(window.admits(1));
        assert!(window.admits(u32::MAX - 1));
        assert!(!window.admits(u32::MAX));
    }
}
