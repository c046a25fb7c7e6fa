//! The parts into which the earlier steps of a sequence of splits divide the characters.
//!
//! A text is cut between characters of different parts: no match crosses such a border, and no gap between matches.
//! A pattern that is not in a sequence has a single part.
use super::atoms::{AtomSet, MAX_ATOMS};

/// The number of the part of each atom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts([u8; MAX_ATOMS]);

impl Parts {
    /// All characters are in one part.
    pub(super) const ONE: Self = Self([0; MAX_ATOMS]);

    /// Cuts between these characters and others, too.
    pub(super) fn divide(&mut self, set: AtomSet) {
        // There are at most as many parts as atoms, so that the numbers stay small if each division makes them anew.
        let pairs = self.0.iter().enumerate().map(|(atom, &part)| (part, set >> atom & 1 == 1));
        let pairs: Vec<(u8, bool)> = pairs.collect();
        let number = |pair| pairs.iter().position(|other| *other == pair).unwrap_or_default();
        for (part, &pair) in self.0.iter_mut().zip(&pairs) {
            *part = number(pair) as u8;
        }
    }

    /// Are two atoms of the same part?
    #[inline]
    pub(super) fn are_same(&self, left: u8, right: u8) -> bool {
        self.0[usize::from(left) % MAX_ATOMS] == self.0[usize::from(right) % MAX_ATOMS]
    }

    /// Are these atoms all of one part?
    pub(super) fn hold_together(&self, set: AtomSet) -> bool {
        self.outside(set) & set == 0
    }

    /// The atoms that are in another part than the first atom of a set.
    pub(super) fn outside(&self, set: AtomSet) -> AtomSet {
        self.others().nth(set.trailing_zeros() as usize).unwrap_or_default()
    }

    /// For each atom, the atoms of other parts.
    pub(super) fn others(&self) -> impl Iterator<Item = AtomSet> {
        self.0.iter().map(|part| {
            let others = self.0.iter().enumerate().filter(move |(_, other)| *other != part);
            others.fold(0, |set, (atom, _)| set | 1 << atom)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_divided_again_and_again() {
        let mut parts = Parts::ONE;
        assert!(parts.hold_together(AtomSet::MAX) && parts.others().all(|others| others == 0));
        parts.divide(0b1110);
        parts.divide(0b0111);
        let expected = [0b0001, 0b0110, 0b1000];
        for set in expected {
            assert!(parts.hold_together(set));
            assert_eq!(parts.outside(set), !set, "{set:b}");
        }
        assert!(!parts.hold_together(0b0011) && !parts.are_same(2, 3) && parts.are_same(4, 31));
    }
}
