//! A table of atoms for one pattern, finer than the shipped table.
//!
//! In: the classes that contain only a part of some shipped atom. Out: a table in which every class is a
//! set of atoms, or `None` if that takes more atoms than a set has bits.
use std::collections::HashMap;

use foldhash::fast::FixedState;
use regex_syntax::hir::ClassUnicode;

use super::atoms::{self, AtomSet, Atoms, MAX_ATOMS, Sets, ShippedAtoms};
use super::classes::Classes;

/// The atoms of one pattern. Two characters have the same atom if they have the same shipped atom and are in the
/// same classes.
#[derive(Debug)]
pub(super) struct CustomAtoms {
    ascii: [u8; 256],
    classes: Classes,
    runs: Vec<(u32, u32, u8)>,
    counts: Vec<u32>,
    sets: Sets,
}

impl CustomAtoms {
    /// `None` if there would be too many atoms, or if there are too many classes.
    ///
    /// Cost: a few milliseconds.
    pub(super) fn new(classes: &[ClassUnicode]) -> Option<Self> {
        // For each code point, its shipped atom in the low bits and one bit for each class that contains it.
        let mut signatures = vec![0_u64; 0x11_0000];
        for &(start, end, atom) in atoms::runs() {
            signatures[start as usize..end as usize].fill(u64::from(atom));
        }
        for (i, class) in classes.iter().enumerate() {
            let bit = 1_u64.checked_shl(8 + i as u32)?;
            for range in class.ranges() {
                for signature in &mut signatures[range.start() as usize..=range.end() as usize] {
                    *signature |= bit;
                }
            }
        }
        // Surrogates are not characters. They get the atom of their neighbour, so that they take up no atom of
        // their own.
        let no_character = signatures[0xD7FF];
        signatures[0xD800..0xE000].fill(no_character);
        let mut numbers: HashMap<u64, u8, FixedState> = HashMap::default();
        let mut flat = Vec::with_capacity(signatures.len());
        let mut runs: Vec<(u32, u32, u8)> = Vec::new();
        let mut last = None;
        for (code_point, &signature) in (0..).zip(&signatures) {
            if last != Some(signature) {
                let next = numbers.len() as u8;
                let atom = *numbers.entry(signature).or_insert(next);
                if numbers.len() > MAX_ATOMS {
                    return None;
                }
                runs.push((code_point, code_point, atom));
                last = Some(signature);
            }
            if let Some((_, end, atom)) = runs.last_mut() {
                *end = code_point + 1;
                flat.push(*atom);
            }
        }
        let mut counts = vec![0; numbers.len()];
        for &(start, end, atom) in &runs {
            counts[usize::from(atom)] += end - start - atoms::surrogates(start, end);
        }
        let mut ascii = [0; 256];
        ascii[..128].copy_from_slice(&flat[..128]);
        let finer = |set: AtomSet| {
            let within = numbers.iter().filter(|(signature, _)| set >> (*signature & 0xFF) & 1 == 1);
            within.fold(0, |set, (_, &atom)| set | 1 << atom)
        };
        let of_bytes = |from: u8, to: u8| (from..=to).fold(0, |set, b| set | 1 << ascii[usize::from(b)]);
        let shipped = ShippedAtoms.sets();
        let lower = of_bytes(b'a', b'z');
        let sets = Sets {
            all: finer(shipped.all),
            white: finer(shipped.white),
            space: finer(shipped.space),
            newlines: finer(shipped.newlines),
            line_feed: finer(shipped.line_feed),
            in_ascii: of_bytes(0, 0x7F),
            cased: lower | of_bytes(b'A', b'Z'),
            lower,
        };
        Some(Self { ascii, classes: Classes::of_flat(&flat), runs, counts, sets })
    }
}

impl Atoms for CustomAtoms {
    #[inline]
    fn ascii(&self) -> &[u8; 256] {
        &self.ascii
    }

    #[inline]
    fn of(&self, code_point: u32) -> u8 {
        self.classes.of(code_point)
    }

    #[inline]
    fn sets(&self) -> Sets {
        self.sets
    }

    fn set_of(&self, class: &ClassUnicode) -> Option<AtomSet> {
        atoms::set_of(class, &self.runs, &self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::classes::class;

    #[test]
    fn a_table_tells_its_classes_apart_and_keeps_the_shipped_atoms() {
        let classes = [class("[a-z]"), class(r"\p{Han}"), class("[!-/]")];
        let custom = CustomAtoms::new(&classes).unwrap();
        for class in classes.iter().chain(&[class(r"\p{L}"), class(r"\s")]) {
            let set = custom.set_of(class).unwrap();
            for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
                let is_in = class.iter().any(|range| (range.start()..=range.end()).contains(&c));
                assert_eq!(set >> custom.of(u32::from(c)) & 1 == 1, is_in, "{c:?}");
            }
        }
        assert_eq!(custom.set_of(&class("[b]")), None);
        assert_eq!(custom.set_of(&class(r"\s")), Some(custom.sets().white));
        assert_eq!(custom.set_of(&class("[\n]")), Some(custom.sets().line_feed));
        assert_eq!(custom.sets().lower, custom.set_of(&class("[a-z]")).unwrap());
    }

    #[test]
    fn too_many_atoms_are_none() {
        let classes: Vec<_> = ('a'..='t').map(|c| class(&format!("[{c}]"))).collect();
        assert!(CustomAtoms::new(&classes).is_none());
        assert!(CustomAtoms::new(&vec![class("[a-c]"); 60]).is_none());
    }
}
