//! The characters that a vocabulary covers.
use tokenmill_kernels::try_alloc;

use super::words::MARK;
use crate::error::Result;
use crate::train::alphabet::text;
use crate::train::options::UnigramOptions;
use crate::train::types::Types;
use crate::watch::Ticker;

/// What is known of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Uncovered,
    /// It is covered and occurs.
    Seen,
    /// It is covered and does not occur.
    Unseen,
}

#[derive(Debug)]
pub(super) struct Alphabet {
    /// By code point.
    uses: Vec<Use>,
    len: usize,
}

impl Alphabet {
    /// The most frequent characters, as many as are needed to cover the share of the text that is asked for, and those
    /// that are asked for by themselves.
    pub(super) fn new(model: &UnigramOptions, types: &Types, ticker: &mut Ticker<'_>) -> Result<Self> {
        let mut counts: Vec<u64> = Vec::new();
        for (bytes, count) in types.iter() {
            ticker.spend(bytes.len())?;
            for char in text(bytes)?.chars() {
                let at = char as usize;
                if counts.len() <= at {
                    try_alloc::resize(&mut counts, at + 1, 0)?;
                }
                counts[at] += count;
            }
        }
        let mut seen: Vec<usize> = (0..counts.len()).filter(|&at| counts[at] > 0).collect();
        seen.sort_by_key(|&at| std::cmp::Reverse(counts[at]));
        let needed = model.character_coverage * counts.iter().sum::<u64>() as f64;
        let mut uses = try_alloc::filled(Use::Uncovered, counts.len())?;
        let mut covered = 0_u64;
        for &at in &seen {
            if model.character_coverage < 1.0 && covered as f64 >= needed {
                break;
            }
            covered += counts[at];
            uses[at] = Use::Seen;
        }
        // A text is cut at the mark of a space, however rare it is.
        if let Some(used) = uses.get_mut(MARK as usize).filter(|_| counts[MARK as usize] > 0) {
            *used = Use::Seen;
        }
        for &char in &model.initial_alphabet {
            let at = char as usize;
            if uses.len() <= at {
                try_alloc::resize(&mut uses, at + 1, Use::Uncovered)?;
            }
            let occurs = counts.get(at).is_some_and(|&count| count > 0);
            uses[at] = if occurs { Use::Seen } else { Use::Unseen };
        }
        let len = uses.iter().filter(|&&used| used != Use::Uncovered).count();
        Ok(Self { uses, len })
    }

    /// Number of characters.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn covers(&self, char: char) -> bool {
        self.uses.get(char as usize).is_some_and(|&used| used != Use::Uncovered)
    }

    /// The characters that do not occur.
    pub(super) fn unseen(&self) -> impl Iterator<Item = char> {
        let unseen = (0..).zip(&self.uses).filter(|(_, used)| **used == Use::Unseen);
        unseen.filter_map(|(at, _)| char::from_u32(at))
    }
}
