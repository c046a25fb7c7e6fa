//! A two-level table that assigns a number to every character.
//!
//! In: classes of characters, each with a number. Out: an immutable table.
use std::collections::HashMap;

use foldhash::fast::FixedState;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::atoms::{TABLE_BLOCK, decode};

/// The number of code points.
const END: usize = 0x11_0000;

/// The table of the number of each character. Immutable.
#[derive(Debug, Clone)]
pub struct Classes {
    ascii: [u8; 128],
    /// For every [`TABLE_BLOCK`] code points, the number of their block. Equal blocks are stored once.
    index: Box<[u16]>,
    blocks: Box<[u8]>,
}

impl Classes {
    /// A character has the number of its class, or 0 if it is in none of the classes. If it is in several, the
    /// last one counts.
    ///
    /// Cost: about a millisecond.
    pub fn new<'c>(numbered: impl IntoIterator<Item = (u8, &'c ClassUnicode)>) -> Self {
        let mut flat = vec![0; END];
        for (number, class) in numbered {
            for range in class.ranges() {
                flat[range.start() as usize..=range.end() as usize].fill(number);
            }
        }
        Self::of_flat(&flat)
    }

    /// `flat` has a number for each code point, including surrogates.
    pub(super) fn of_flat(flat: &[u8]) -> Self {
        let mut ascii = [0; 128];
        ascii.copy_from_slice(&flat[..128]);
        let mut known: HashMap<&[u8], u16, FixedState> = HashMap::default();
        let (mut index, mut blocks) = (Vec::with_capacity(END / TABLE_BLOCK), Vec::new());
        for block in flat.chunks_exact(TABLE_BLOCK) {
            // All code points make fewer than 2^16 blocks.
            let number = *known.entry(block).or_insert_with(|| {
                blocks.extend_from_slice(block);
                (blocks.len() / TABLE_BLOCK - 1) as u16
            });
            index.push(number);
        }
        Self { ascii, index: index.into(), blocks: blocks.into() }
    }

    /// The number of a code point.
    #[inline]
    pub fn of(&self, code_point: u32) -> u8 {
        let (block, at) = (code_point as usize / TABLE_BLOCK, code_point as usize % TABLE_BLOCK);
        self.blocks[usize::from(self.index[block]) * TABLE_BLOCK + at]
    }

    /// The number of the character that starts at `at`, and the length of the character in bytes. `bytes` must be
    /// valid UTF-8 and `at` a character boundary before its end.
    #[inline]
    pub fn at(&self, bytes: &[u8], at: usize) -> (u8, usize) {
        let first = bytes[at];
        if first < 0x80 {
            return (self.ascii[usize::from(first)], 1);
        }
        let (code_point, width) = decode(bytes, at);
        (self.of(code_point), width)
    }
}

/// The characters of a class such as `[\p{P}&&\p{Age=8.0}]`, as the pinned regex-syntax reads it. Empty if `text`
/// is not a class.
pub fn class(text: &str) -> ClassUnicode {
    match regex_syntax::parse(text).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // regex-syntax turns a class of one character into a literal.
        Ok(HirKind::Literal(literal)) => std::str::from_utf8(&literal.0)
            .ok()
            .filter(|text| text.chars().count() == 1)
            .map_or_else(ClassUnicode::empty, |text| {
                ClassUnicode::new(text.chars().map(|c| ClassUnicodeRange::new(c, c)))
            }),
        _ => ClassUnicode::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_the_number_of_the_last_class_that_holds_it() {
        let (letters, upper) = (class(r"\p{L}"), class(r"\p{Lu}"));
        let classes = Classes::new([(7, &letters), (9, &upper)]);
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let holds = |class: &ClassUnicode| class.iter().any(|r| (r.start()..=r.end()).contains(&c));
            let expected = if holds(&upper) { 9 } else { 7 * u8::from(holds(&letters)) };
            assert_eq!(classes.of(u32::from(c)), expected, "{c:?}");
            let text = c.to_string();
            assert_eq!(classes.at(text.as_bytes(), 0), (expected, text.len()));
        }
    }

    #[test]
    fn what_is_no_class_is_empty() {
        assert_eq!(class("(").ranges().len(), 0);
        assert_eq!(class("ab").ranges().len(), 0);
        assert_eq!(class("[ ]").ranges(), [ClassUnicodeRange::new(' ', ' ')]);
        assert!(class(r"[\p{P}&&\p{Age=8.0}]").ranges().len() > 100);
    }
}
