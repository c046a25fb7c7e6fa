//! A set of places in a row of symbols, as a bit for each place: where a symbol begins.
//!
//! In: places. Out: the next one and the previous one. Merging two symbols removes the place between them. A bit a
//! place takes less memory than a linked list in both directions, and a text in which most symbols are short is
//! walked within a word.
use tokenmill_kernels::{OutOfMemory, try_alloc};

/// The places where symbols begin.
#[derive(Debug, Default)]
pub(super) struct Borders {
    words: Vec<u64>,
}

impl Borders {
    /// Replaces the set by all places below `count`.
    pub(super) fn fill(&mut self, count: usize) -> Result<(), OutOfMemory> {
        self.words.clear();
        try_alloc::reserve(&mut self.words, count.div_ceil(64))?;
        self.words.resize(count / 64, u64::MAX);
        if !count.is_multiple_of(64) {
            self.words.push((1 << (count % 64)) - 1);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn remove(&mut self, place: usize) {
        self.words[place / 64] &= !(1 << (place % 64));
    }

    /// The first place after this one.
    #[inline]
    pub(super) fn after(&self, place: usize) -> Option<usize> {
        self.from(place + 1)
    }

    /// The first place that is not below `place`.
    #[inline]
    pub(super) fn from(&self, place: usize) -> Option<usize> {
        let mut at = place / 64;
        let mut bits = *self.words.get(at)? & u64::MAX << (place % 64);
        while bits == 0 {
            at += 1;
            bits = *self.words.get(at)?;
        }
        Some(at * 64 + bits.trailing_zeros() as usize)
    }

    /// The last place before this one.
    #[inline]
    pub(super) fn before(&self, place: usize) -> Option<usize> {
        let mut at = place / 64;
        let mut bits = self.words[at] & ((1 << (place % 64)) - 1);
        while bits == 0 {
            at = at.checked_sub(1)?;
            bits = self.words[at];
        }
        Some(at * 64 + bits.ilog2() as usize)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        8 * self.words.capacity()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set_of_places(count in 1..300_usize, removed in prop::collection::vec(0..300_usize, 0..300)) {
            let (mut borders, mut set) = (Borders::default(), (0..count).collect::<BTreeSet<_>>());
            borders.fill(count).unwrap();
            for place in removed.into_iter().filter(|&place| place < count) {
                borders.remove(place);
                set.remove(&place);
            }
            for place in 0..count {
                prop_assert_eq!(borders.before(place), set.range(..place).next_back().copied());
                prop_assert_eq!(borders.from(place), set.range(place..).next().copied());
                prop_assert_eq!(borders.after(place), set.range(place + 1..).next().copied());
            }
            prop_assert_eq!(borders.from(count), None);
        }
    }
}
