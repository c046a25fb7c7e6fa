//! The partition of the characters that the earlier steps of a sequence of splits make.
//!
//! A text is cut wherever two neighbours are of different parts: neither a match nor a gap between matches has both.
//! A pattern that is not part of a sequence has a single part.
use super::atoms::{AtomSet, MAX_ATOMS};

/// The number of the part that each atom is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition([u8; MAX_ATOMS]);

impl Partition {
    /// All characters are in one part.
    pub(super) const ONE: Self = Self([0; MAX_ATOMS]);

    /// Divides every part into the characters of this set and the others.
    pub(super) fn refine(&mut self, set: AtomSet) {
        // The parts are numbered again by their first atoms, so the numbers stay below the number of atoms.
        let pairs = self.0.iter().enumerate().map(|(atom, &part)| (part, set >> atom & 1 == 1));
        let pairs: Vec<(u8, bool)> = pairs.collect();
        let number = |pair| pairs.iter().position(|other| *other == pair).unwrap_or_default();
        for (part, &pair) in self.0.iter_mut().zip(&pairs) {
            *part = number(pair) as u8;
        }
    }

    /// Are two atoms of the same part?
    #[inline]
    pub(super) fn same_part(&self, left: u8, right: u8) -> bool {
        self.0[usize::from(left) % MAX_ATOMS] == self.0[usize::from(right) % MAX_ATOMS]
    }

    /// Are these atoms all of one part?
    pub(super) fn in_one_part(&self, set: AtomSet) -> bool {
        self.outside(set) & set == 0
    }

    /// The atoms of other parts than the one that this set lies in; the first atom of the set names it.
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
    fn a_partition_is_refined_by_each_set() {
        let mut parts = Partition::ONE;
        assert!(parts.in_one_part(AtomSet::MAX) && parts.others().all(|others| others == 0));
        parts.refine(0b1110);
        parts.refine(0b0111);
        let expected = [0b0001, 0b0110, 0b1000];
        for set in expected {
            assert!(parts.in_one_part(set));
            assert_eq!(parts.outside(set), !set, "{set:b}");
        }
        assert!(!parts.in_one_part(0b0011) && !parts.same_part(2, 3) && parts.same_part(4, 31));
    }
}
