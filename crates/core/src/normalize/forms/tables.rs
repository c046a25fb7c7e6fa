//! The data of the normal forms, in two editions, and the class of each character.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use unicode_normalization::char as current;
use unicode_normalization_alignments::char as reference;

use super::form::Form;
use crate::description::UnicodeTables;

/// The effect of a form on a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The character may compose or be reordered with those before it.
    ReachesBack = 1,
    /// The character changes, independent of those before it.
    Changes = 2,
    /// The character does not change.
    Stays = 3,
}

/// The data of a form in one edition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    pub(super) form: Form,
    tables: UnicodeTables,
    classes: &'static Classes,
}

/// The class of every code point, two bits each; 0 is unknown. A class is computed when a text
/// first contains the character. All threads would write the same value, so no ordering is needed.
#[derive(Debug)]
struct Classes([AtomicU64; WORDS]);

const WORDS: usize = 0x11_0000 / 32;

static CLASSES: [[Classes; 4]; 2] =
    [const { [const { Classes([const { AtomicU64::new(0) }; WORDS]) }; 4] }; 2];

impl Data {
    pub(super) fn new(form: Form, tables: UnicodeTables) -> Self {
        let edition = match tables {
            UnicodeTables::Reference => 0,
            UnicodeTables::Current => 1,
        };
        let index = match form {
            Form::Nfc => 0,
            Form::Nfd => 1,
            Form::Nfkc => 2,
            Form::Nfkd => 3,
        };
        Self { form, tables, classes: &CLASSES[edition][index] }
    }

    #[inline]
    pub(super) fn class(self, c: char) -> Class {
        let code = c as usize;
        let (word, shift) = (&self.classes.0[code / 32], code % 32 * 2);
        match word.load(Relaxed) >> shift & 3 {
            1 => Class::ReachesBack,
            2 => Class::Changes,
            3 => Class::Stays,
            _ => {
                let class = self.classify(c);
                word.fetch_or((class as u64) << shift, Relaxed);
                class
            }
        }
    }

    fn classify(self, c: char) -> Class {
        let mut first = None;
        let mut rest: Option<char> = None;
        let mut is_one = true;
        self.decompose(c, |part| {
            if first.is_none() {
                first = Some(part);
                rest = Some(part);
            } else {
                // The composition of the parts so far.
                rest = rest.filter(|_| self.form.is_composed()).and_then(|whole| self.compose(whole, part));
                is_one &= rest.is_some();
            }
        });
        let first = first.unwrap_or(c);
        if self.combining_class(first) != 0 || (self.form.is_composed() && may_be_second(first)) {
            Class::ReachesBack
        } else if is_one && rest == Some(c) {
            Class::Stays
        } else {
            Class::Changes
        }
    }

    /// The full decomposition of a character.
    pub(super) fn decompose(self, c: char, emit: impl FnMut(char)) {
        match (self.tables, self.form.is_compatible()) {
            (UnicodeTables::Reference, false) => reference::decompose_canonical(c, emit),
            (UnicodeTables::Reference, true) => reference::decompose_compatible(c, emit),
            (UnicodeTables::Current, false) => current::decompose_canonical(c, emit),
            (UnicodeTables::Current, true) => current::decompose_compatible(c, emit),
        }
    }

    /// The composition of two characters; `None` if they have none.
    pub(super) fn compose(self, a: char, b: char) -> Option<char> {
        match self.tables {
            UnicodeTables::Reference => reference::compose(a, b),
            UnicodeTables::Current => current::compose(a, b),
        }
    }

    pub(super) fn combining_class(self, c: char) -> u8 {
        match self.tables {
            UnicodeTables::Reference => reference::canonical_combining_class(c),
            UnicodeTables::Current => current::canonical_combining_class(c),
        }
    }
}

/// Can this character, whose combining class is 0, compose with a character before it? True for
/// some that cannot, which costs a little time.
fn may_be_second(c: char) -> bool {
    matches!(u32::from(c),
        0x09be | 0x09d7 | 0x0b3e..=0x0b57 | 0x0bbe | 0x0bd7 | 0x0cc2..=0x0cd6 | 0x0d3e..=0x0d57 | 0x0dcf
        | 0x0ddf | 0x102e | 0x1161..=0x11c2 | 0x1b35 | 0x11127 | 0x1133e..=0x11357 | 0x113b8..=0x113c9
        | 0x114b0..=0x114bd | 0x115af | 0x11930..=0x11938 | 0x1611e..=0x16129 | 0x16d63..=0x16d67)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_that_composes_with_one_before_it_is_known() {
        for tables in [UnicodeTables::Reference, UnicodeTables::Current] {
            let data = Data::new(Form::Nfc, tables);
            for c in '\0'..=char::MAX {
                let mut parts = Vec::new();
                data.decompose(c, |part| parts.push(part));
                // The last part of a decomposition is composed last, if at all.
                let Some((&last, rest)) = parts.split_last() else { continue };
                let Some((&first, rest)) = rest.split_first() else { continue };
                let whole = rest.iter().try_fold(first, |whole, &part| data.compose(whole, part));
                if whole.and_then(|whole| data.compose(whole, last)) == Some(c) {
                    assert!(data.combining_class(last) != 0 || may_be_second(last), "{last:?} of {c:?}");
                }
            }
        }
    }
}
