//! A set of addresses as disjoint intervals: a pool of a million free addresses is one entry.

use std::collections::BTreeMap;

/// Numbers in disjoint, non-adjacent intervals, both ends included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Intervals {
    by_first: BTreeMap<u128, u128>,
    len: u128,
}

impl Intervals {
    /// All of `first..=last`; nothing where `first > last`. The whole of IPv6 is not a pool, so
    /// the count always fits.
    pub(super) fn full(first: u128, last: u128) -> Self {
        if first > last {
            return Self::default();
        }
        Self { by_first: BTreeMap::from([(first, last)]), len: last - first + 1 }
    }

    pub(super) const fn len(&self) -> u128 {
        self.len
    }

    /// The lowest number.
    pub(super) fn first(&self) -> Option<u128> {
        self.by_first.keys().next().copied()
    }

    /// The number at `rank`, counted from the lowest.
    pub(super) fn at(&self, rank: u128) -> Option<u128> {
        let mut before = 0;
        for (&first, &last) in &self.by_first {
            let here = last - first + 1;
            if rank < before + here {
                return Some(first + (rank - before));
            }
            before += here;
        }
        None
    }

    /// Takes a number out; false where it was not in.
    pub(super) fn remove(&mut self, number: u128) -> bool {
        let Some((first, last)) = self.around(number) else { return false };
        self.by_first.remove(&first);
        if first < number {
            self.by_first.insert(first, number - 1);
        }
        if number < last {
            self.by_first.insert(number + 1, last);
        }
        self.len -= 1;
        true
    }

    /// Takes out whatever of `first..=last` is in.
    pub(super) fn remove_all(&mut self, first: u128, last: u128) {
        while let Some((start, end)) = self.overlapping(first, last) {
            self.by_first.remove(&start);
            self.len -= end - start + 1;
            if start < first {
                self.by_first.insert(start, first - 1);
                self.len += first - start;
            }
            if last < end {
                self.by_first.insert(last + 1, end);
                self.len += end - last;
            }
        }
    }

    fn overlapping(&self, first: u128, last: u128) -> Option<(u128, u128)> {
        let (&start, &end) = self.by_first.range(..=last).next_back()?;
        (first <= end).then_some((start, end))
    }

    /// The interval that holds `number`.
    fn around(&self, number: u128) -> Option<(u128, u128)> {
        let (&first, &last) = self.by_first.range(..=number).next_back()?;
        (number <= last).then_some((first, last))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(taken in proptest::collection::vec(0_u128..40, 0..60)) {
            let mut model: BTreeSet<u128> = (5..30).collect();
            let mut set = Intervals::full(5, 29);
            for number in taken {
                prop_assert_eq!(set.remove(number), model.remove(&number));
            }
            prop_assert_eq!(set.len(), model.len() as u128);
            prop_assert_eq!(set.first(), model.first().copied());
            for (rank, number) in model.iter().enumerate() {
                prop_assert_eq!(set.at(rank as u128), Some(*number));
            }
            prop_assert_eq!(set.at(model.len() as u128), None);
            let ends: Vec<_> = set.by_first.iter().collect();
            prop_assert!(ends.windows(2).all(|pair| *pair[0].1 + 1 < *pair[1].0), "{:?}", ends);
        }
    }

    proptest! {
        #[test]
        fn a_stretch_goes_at_once(first in 0_u128..40, length in 0_u128..40, hole in 0_u128..40) {
            let mut set = Intervals::full(5, 29);
            set.remove(hole);
            let mut model = set.clone();
            set.remove_all(first, first + length);
            for number in first..=first + length {
                model.remove(number);
            }
            prop_assert_eq!(set, model);
        }
    }

    #[test]
    fn the_ends_of_the_number_line_hold() {
        let mut set = Intervals::full(u128::MAX - 1, u128::MAX);
        assert!(set.remove(u128::MAX) && !set.remove(u128::MAX));
        assert_eq!(set.first(), Some(u128::MAX - 1));
        assert_eq!(Intervals::full(3, 2).len(), 0);
    }
}
