//! The symbols of WordPiece, numbered, with their written forms.
//!
//! In: characters, then pairs of symbols. Out: the number of their written form. Two pairs may have the same written
//! form (`a` and `##bc`, `ab` and `##c`); they make the same symbol.
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::error::{Error, Result};
use crate::ids::to_u32;

/// Limit of all written forms together, in bytes: offsets are `u32`.
const LIMIT: usize = u32::MAX as usize;

/// Written forms, numbered in the order in which they were added.
#[derive(Debug)]
pub(super) struct Pieces {
    prefix: String,
    text: String,
    /// Where each ends in `text`.
    ends: Vec<u32>,
    numbers: HashTable<u32>,
}

fn hash(piece: &str) -> u64 {
    FixedState::default().hash_one(piece)
}

impl Pieces {
    /// No pieces. `prefix` is what a piece begins with that does not begin a word.
    pub(super) fn new(prefix: String) -> Self {
        Self { prefix, text: String::new(), ends: Vec::new(), numbers: HashTable::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The written form of a symbol.
    pub(super) fn get(&self, symbol: u32) -> &str {
        piece(&self.text, &self.ends, symbol)
    }

    /// What a pair is written as.
    pub(super) fn joined(&self, left: u32, right: u32) -> String {
        let right = self.get(right);
        [self.get(left), right.strip_prefix(&*self.prefix).unwrap_or(right)].concat()
    }

    /// How a character is written that begins a word, or does not.
    pub(super) fn of_char(&self, char: char, begins: bool) -> String {
        if begins { char.to_string() } else { format!("{}{char}", self.prefix) }
    }

    /// The number of a written form, if there is such a symbol.
    pub(super) fn find(&self, written: &str) -> Option<u32> {
        self.numbers.find(hash(written), |&at| self.get(at) == written).copied()
    }

    /// The number of a written form, which is added if there is none.
    ///
    /// # Errors
    /// Out of memory; a training error if all pieces together pass 4 GiB.
    pub(super) fn add(&mut self, written: &str) -> Result<u32> {
        if let Some(symbol) = self.find(written) {
            return Ok(symbol);
        }
        if self.text.len() + written.len() > LIMIT {
            return Err(Error::training("the tokens together pass 4 GiB; set max_token_length"));
        }
        let symbol = to_u32(self.ends.len());
        try_alloc::push_text(&mut self.text, written)?;
        try_alloc::push(&mut self.ends, to_u32(self.text.len()))?;
        let Self { text, ends, numbers, .. } = self;
        let again = |&at: &u32| hash(piece(text, ends, at));
        numbers.try_reserve(1, again).map_err(|_| OutOfMemory::items::<u32>(symbol as usize + 1))?;
        numbers.insert_unique(hash(written), symbol, again);
        Ok(symbol)
    }
}

fn piece<'a>(text: &'a str, ends: &[u32], symbol: u32) -> &'a str {
    let at = symbol as usize;
    let start = at.checked_sub(1).map_or(0, |before| ends[before] as usize);
    &text[start..ends[at] as usize]
}
