//! A table from characters to numbers.
//!
//! Comes in: characters and their numbers. Goes out: the number of a character, or nothing. A number is never
//! [`NO_ID`].
use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::ids::NO_ID;

/// The table.
#[derive(Debug, Clone)]
pub(super) struct CharTable {
    /// Most text is ASCII; [`NO_ID`] where a character has no number.
    ascii: [u32; 128],
    others: HashMap<char, u32, FixedState>,
}

impl Default for CharTable {
    fn default() -> Self {
        Self { ascii: [NO_ID; 128], others: HashMap::default() }
    }
}

impl CharTable {
    pub(super) fn insert(&mut self, char: char, number: u32) {
        match self.ascii.get_mut(char as usize) {
            Some(slot) => *slot = number,
            None => _ = self.others.insert(char, number),
        }
    }

    #[inline]
    pub(super) fn get(&self, char: char) -> Option<u32> {
        match self.ascii.get(char as usize) {
            Some(&number) => (number != NO_ID).then_some(number),
            None => self.others.get(&char).copied(),
        }
    }

    pub(super) fn memory(&self) -> usize {
        // A slot holds key and value, and there are at most twice as many slots as entries.
        self.others.capacity() * 16
    }
}

/// The character that is all of `text`.
pub(super) fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}
