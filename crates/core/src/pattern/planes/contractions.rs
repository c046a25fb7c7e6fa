//! Contractions: literals at the start of a match, or behind words, which the algebra leaves in doubt. A look at a few
//! bytes settles most of them.
use tokenmill_kernels::cpu::Level;
use tokenmill_kernels::planes::PLANE_BITS;

use super::algebra::Found;
use super::blocks::Block;
use crate::pattern::arms::Literals;
use crate::pattern::atoms::{AtomSet, Atoms};

/// Texts that one look tells apart.
const TEXTS: usize = 8;

/// The literals of a pattern that has them in one of these places.
#[derive(Debug)]
pub(super) struct Contractions {
    literals: Literals,
    /// They follow words; else they come before everything else.
    is_suffix: bool,
    /// For each byte the texts whose second character begins with it: bit n is text n.
    by_second: [u8; 256],
}

impl Contractions {
    /// `None` where it is not as simple as that: what is behind the first character of a literal is to be in `body`, the
    /// characters of words, so that whatever begins behind a literal ends where the algebra says.
    pub(super) fn new(
        atoms: &impl Atoms,
        literals: Literals,
        is_suffix: bool,
        body: AtomSet,
    ) -> Option<Self> {
        let of_words = |text: &Vec<Vec<char>>| {
            text.len() > 1 && text[1..].iter().all(|choices| atoms.of_chars(choices) & !body == 0)
        };
        if literals.lead.is_none() || literals.texts.len() > TEXTS || !literals.texts.iter().all(of_words) {
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

    /// Settles the contractions of `found`, which are those of `block`; what cannot be settled without what follows the block
    /// is in doubt as before.
    ///
    /// What holds of every boundary afterwards: a match that starts there ends at the next one, unless a doubt is in between.
    /// Behind a literal the rest of its word is a word up to where the algebra says, as a word may start at any of its characters.
    pub(super) fn settle(&self, text: &[u8], block: &Block, level: Level, found: &mut Found) {
        // A doubt is about the character before a suffix, and the first one of other literals.
        let mut leads = found.contractions << u32::from(self.is_suffix);
        found.doubts |= if self.is_suffix { found.contractions & 1 << (PLANE_BITS - 1) } else { 0 };
        let mut places = [0; PLANE_BITS];
        block.places(level, leads, &mut places);
        // Characters before this one are those of a literal, and no word that one may follow.
        let mut done = 0;
        for place in places {
            if leads == 0 {
                break;
            }
            let lead = leads.trailing_zeros();
            leads &= leads - 1;
            if self.is_suffix && lead <= done {
                continue;
            }
            let Some(length) = self.length_at(text, place) else { continue };
            let end = lead + length;
            if end as usize >= PLANE_BITS || block.words().valid >> end & 1 == 0 {
                found.doubts |= 1 << (lead - u32::from(self.is_suffix));
                continue;
            }
            let first = lead + u32::from(!self.is_suffix);
            let within = (1 << end) - (1 << first);
            found.starts = found.starts & !within | 1 << end;
            done = end;
        }
    }

    /// How many characters the literal at `at` has, where there is one.
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
