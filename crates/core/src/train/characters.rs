//! The characters that a vocabulary covers.
//!
//! In: distinct pretokens, and how many characters are wanted. Out: which are covered, those that occur and others.
#![allow(clippy::cast_precision_loss)] // counts become numbers of double precision

use tokenmill_kernels::{sorting, try_alloc};

use super::types::{Types, text};
use crate::error::{Error, Result};
use crate::watch::Ticker;

/// Which characters an alphabet has. Rare ones may be left out: they are unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct CharacterOptions {
    /// The share of the text's characters that are covered, above 0 and at most 1; the most frequent ones.
    pub coverage: f64,
    /// Maximum number of characters, those of `initial` among them.
    pub limit: Option<usize>,
    /// Characters that are covered whether or not they occur.
    pub initial: Vec<char>,
}

/// All that occur, and no others.
impl Default for CharacterOptions {
    fn default() -> Self {
        Self { coverage: 1.0, limit: None, initial: Vec::new() }
    }
}

impl CharacterOptions {
    /// The checks that need no text.
    pub(super) fn check(&self) -> Result<()> {
        if !(self.coverage > 0.0 && self.coverage <= 1.0) {
            return Err(Error::training("must be above 0 and at most 1").at("character_coverage"));
        }
        let mut initial = self.initial.clone();
        sorting::sort(&mut initial);
        initial.dedup();
        match self.limit {
            Some(limit) if limit < initial.len() => {
                let reason =
                    format!("{limit} is less than the {} characters of initial_alphabet", initial.len());
                Err(Error::training(reason).at("limit_alphabet"))
            }
            _ => Ok(()),
        }
    }
}

/// What is known of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Uncovered,
    /// It is covered and occurs.
    Seen,
    /// It is covered and does not occur.
    Unseen,
}

/// The covered characters of a text.
#[derive(Debug)]
pub(super) struct Characters {
    /// By code point.
    uses: Vec<Use>,
    len: usize,
}

impl Characters {
    /// The characters of `initial`, then the most frequent others, of equally frequent ones the smallest. `always`,
    /// where it occurs, is covered too, and `never` is not.
    ///
    /// # Errors
    /// Those of the watch.
    pub(super) fn new(
        options: &CharacterOptions,
        always: Option<char>,
        never: Option<char>,
        types: &Types,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
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
        let mut characters = Self { uses: try_alloc::filled(Use::Uncovered, counts.len())?, len: 0 };
        let occurs = |char: char| counts.get(char as usize).is_some_and(|&count| count > 0);
        for &char in options.initial.iter().filter(|&&char| Some(char) != never) {
            characters.cover(char, if occurs(char) { Use::Seen } else { Use::Unseen })?;
        }
        if let Some(char) = always.filter(|&char| occurs(char)) {
            characters.cover(char, Use::Seen)?;
        }
        let mut seen: Vec<u32> =
            (0..).zip(&counts).filter(|(_, count)| **count > 0).map(|(at, _)| at).collect();
        sorting::sort_by_key(&mut seen, |&at| (std::cmp::Reverse(counts[at as usize]), at));
        let needed = options.coverage * counts.iter().sum::<u64>() as f64;
        let mut covered = 0_u64;
        for char in seen.into_iter().filter_map(char::from_u32).filter(|&char| Some(char) != never) {
            if options.coverage < 1.0 && covered as f64 >= needed {
                break;
            }
            covered += counts[char as usize];
            if options.limit.is_none_or(|limit| characters.len < limit) {
                characters.cover(char, Use::Seen)?;
            }
        }
        Ok(characters)
    }

    fn cover(&mut self, char: char, used: Use) -> Result<()> {
        let at = char as usize;
        if self.uses.len() <= at {
            try_alloc::resize(&mut self.uses, at + 1, Use::Uncovered)?;
        }
        self.len += usize::from(self.uses[at] == Use::Uncovered);
        self.uses[at] = used;
        Ok(())
    }

    /// Number of characters.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn covers(&self, char: char) -> bool {
        self.uses.get(char as usize).is_some_and(|&used| used != Use::Uncovered)
    }

    /// The covered characters that do not occur, by code point.
    pub(super) fn unseen(&self) -> impl Iterator<Item = char> {
        let unseen = (0..).zip(&self.uses).filter(|(_, used)| **used == Use::Unseen);
        unseen.filter_map(|(at, _)| char::from_u32(at))
    }
}
