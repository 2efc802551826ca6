//! Speeds of ethtool's link modes (`enum ethtool_link_mode_bit_indices` of `linux/ethtool.h`,
//! speeds as `net/ethtool/common.c` has them).

use std::ops::RangeInclusive;

/// Bit numbers and their speed in Mbit/s. Bits that are no speed (autonegotiation, ports, pause,
/// error correction) are not listed.
const SPEEDS: [(RangeInclusive<u32>, u32); 34] = [
    (0..=1, 10),
    (2..=3, 100),
    (4..=5, 1_000),
    (12..=12, 10_000),
    (15..=15, 2_500),
    (17..=17, 1_000),
    (18..=20, 10_000),
    (21..=22, 20_000),
    (23..=26, 40_000),
    (27..=30, 56_000),
    (31..=33, 25_000),
    (34..=35, 50_000),
    (36..=39, 100_000),
    (40..=40, 50_000),
    (41..=41, 1_000),
    (42..=46, 10_000),
    (47..=47, 2_500),
    (48..=48, 5_000),
    (52..=56, 50_000),
    (57..=61, 100_000),
    (62..=66, 200_000),
    (67..=67, 100),
    (68..=68, 1_000),
    (69..=73, 400_000),
    (75..=79, 100_000),
    (80..=84, 200_000),
    (85..=89, 400_000),
    (90..=91, 100),
    (92..=92, 10),
    (93..=98, 800_000),
    (99..=102, 10),
    (103..=108, 200_000),
    (109..=114, 400_000),
    (115..=120, 800_000),
];

/// The fastest speed, in Mbit/s, of a link mode mask in 32-bit words, lowest first.
#[must_use]
pub fn fastest(mask: &[u32]) -> Option<u32> {
    let set = |bit: u32| {
        let word = usize::try_from(bit / 32).ok().and_then(|word| mask.get(word));
        word.is_some_and(|word| word >> (bit % 32) & 1 == 1)
    };
    SPEEDS.iter().filter(|(bits, _)| bits.clone().any(set)).map(|(_, speed)| *speed).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_mode_wins_and_bits_that_are_no_speed_do_not_count() {
        // Intel I350: 10 to 1000 Mbit/s over twisted pair, autonegotiation, pause.
        let i350 = 0b10_1100_1111;
        assert_eq!(fastest(&[i350]), Some(100));
        assert_eq!(fastest(&[i350 | 1 << 5, 0]), Some(1_000));
        // Mellanox ConnectX-5: 25, 50 and 100 Gbit/s.
        assert_eq!(fastest(&[1 << 31, 1 | 1 << 2 | 1 << 6, 0]), Some(100_000));
        // 800000baseCR8 is bit 93, 10baseT1S_P2MP_Half bit 101.
        assert_eq!(fastest(&[1 << 5, 0, 1 << 29, 0]), Some(800_000));
        assert_eq!(fastest(&[1 << 5, 0, 0, 1 << 5]), Some(1_000));
        assert_eq!(fastest(&[1 << 6 | 1 << 13]), None);
        assert_eq!(fastest(&[]), None);
    }
}
