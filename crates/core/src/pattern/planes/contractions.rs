//! Settles the doubts of contractions: literals such as `'s` at the start of a match or after a word.
//!
//! In: the boundaries of a block. Out: the same boundaries with most doubts settled by a look at a few bytes
//! of the text. A contraction that cannot be decided within the block stays in doubt.
use tokenmill_kernels::cpu::Level;
use tokenmill_kernels::planes::PLANE_BITS;

use super::blocks::BlockBatch;
use super::boundaries::BatchBoundaries;
use crate::pattern::arms::{Arm, Case, Literals, Run};
use crate::pattern::atoms::{AtomSet, Atoms};

/// The most texts: each has one bit of a byte.
const MAX_TEXTS: usize = 8;

/// The literals of a pattern of the family, if they are all in one position: at the start of a match or after
/// words.
#[derive(Debug)]
pub(super) struct Contractions {
    literals: Literals,
    /// Do the literals follow words?
    is_suffix: bool,
    /// For each byte, the texts whose second character begins with that byte: bit n is text n.
    by_second: [u8; 256],
}

impl Contractions {
    /// `None` if the pattern has no contractions, or contractions that only the arms can match.
    pub(super) fn new(atoms: &impl Atoms, arms: &[Arm], body: AtomSet) -> Option<Self> {
        let mut literals = arms.iter().filter_map(|arm| match arm {
            Arm::Literal(literals) => Some(literals),
            _ => None,
        });
        let suffix = arms.iter().find_map(|arm| match arm {
            Arm::Run(Run { suffix, .. }) | Arm::Case(Case { suffix, .. }) => suffix.as_ref(),
            _ => None,
        });
        let first = literals.next();
        let is_first = matches!(arms.first(), Some(Arm::Literal(_)));
        match (first, literals.next(), suffix) {
            (Some(first), None, None) if is_first => Self::of(atoms, first.clone(), false, body),
            (None, None, Some(suffix)) => Self::of(atoms, suffix.clone(), true, body),
            _ => None,
        }
    }

    /// All characters of a literal but the first must be in `body`, the characters of words. Otherwise the match
    /// after the literal might not end at a boundary of the algebra.
    fn of(atoms: &impl Atoms, literals: Literals, is_suffix: bool, body: AtomSet) -> Option<Self> {
        let of_words = |text: &Vec<Vec<char>>| {
            text.len() > 1 && text[1..].iter().all(|choices| atoms.of_chars(choices) & !body == 0)
        };
        if literals.lead.is_none() || literals.texts.len() > MAX_TEXTS || !literals.texts.iter().all(of_words)
        {
            return None;
        }
        let mut by_second = [0; 256];
        for (number, text) in literals.texts.iter().enumerate() {
            for char in text.get(1).into_iter().flatten() {
                let mut bytes = [0; 4];
                by_second[usize::from(char.encode_utf8(&mut bytes).as_bytes()[0])] |= 1 << number;
            }
        }
        Some(Self { literals, is_suffix, by_second })
    }

    /// Settles the contractions of one block of a batch, whose boundaries are `found`. A contraction that depends on
    /// the text after the block stays in doubt.
    ///
    /// The invariant holds afterwards: a match that starts at a boundary ends at the next one, unless a doubt is
    /// between them. The characters after a literal, up to the next boundary of the algebra, are a word of their
    /// own, as a word may start at any of its characters.
    pub(super) fn settle(
        &self,
        text: &[u8],
        (batch, at): (&BlockBatch, usize),
        level: Level,
        found: &mut BatchBoundaries,
    ) {
        let (marked, starts, doubts) = (found.contractions[at], &mut found.starts[at], &mut found.doubts[at]);
        // A suffix is marked at the character before it, other literals at their first character. `leads` has
        // their first characters in both cases.
        let mut leads = marked << u32::from(self.is_suffix);
        *doubts |= if self.is_suffix { marked & 1 << (PLANE_BITS - 1) } else { 0 };
        let mut positions = [0; PLANE_BITS];
        batch.blocks[at].positions(level, leads, &mut positions);
        // The end of the last literal. A suffix has to follow a word, and the characters of a literal are not one.
        let mut done = 0;
        for position in positions {
            if leads == 0 {
                break;
            }
            let lead = leads.trailing_zeros();
            leads &= leads - 1;
            if self.is_suffix && lead <= done {
                continue;
            }
            let Some(length) = self.length_at(text, position) else { continue };
            let end = lead + length;
            if end as usize >= PLANE_BITS || batch.valid[at] >> end & 1 == 0 {
                *doubts |= 1 << (lead - u32::from(self.is_suffix));
                continue;
            }
            let first = lead + u32::from(!self.is_suffix);
            let within = (1 << end) - (1 << first);
            *starts = *starts & !within | 1 << end;
            done = end;
        }
    }

    /// The number of characters of the first literal that matches at `at`.
    #[inline]
    fn length_at(&self, text: &[u8], at: usize) -> Option<u32> {
        let mut candidates = self.by_second[usize::from(*text.get(at + 1)?)];
        while candidates != 0 {
            let chars = &self.literals.texts[candidates.trailing_zeros() as usize];
            candidates &= candidates - 1;
            if Literals::end_of(chars, text, at).is_some() {
                return Some(chars.len() as u32);
            }
        }
        None
    }
}
