//! A list of tokens in one arena: all bytes in a row, an offset per token, ascending ids.
use crate::error::{Error, Result};
use crate::ids::{TokenId, narrow};

/// Tokens by ascending id. The bytes of the `i`-th are `arena[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenList {
    arena: Vec<u8>,
    /// One more than there are tokens; the first is 0.
    offsets: Vec<u32>,
    ids: Vec<TokenId>,
}

impl Default for TokenList {
    fn default() -> Self {
        Self { arena: Vec::new(), offsets: vec![0], ids: Vec::new() }
    }
}

/// The arena is addressed by `u32`.
pub(crate) const ARENA_LIMIT: usize = u32::MAX as usize;

impl TokenList {
    /// An empty list with room for `tokens` tokens of `bytes` bytes in all.
    pub fn with_capacity(tokens: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(tokens + 1);
        offsets.push(0);
        Self { arena: Vec::with_capacity(bytes), offsets, ids: Vec::with_capacity(tokens) }
    }

    /// A list from entries in any order. Entries with equal ids stay beside each other, for
    /// validation to find.
    pub fn from_entries(mut entries: Vec<(TokenId, Vec<u8>)>) -> Self {
        entries.sort_by_key(|(id, _)| *id);
        let bytes = entries.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut list = Self::with_capacity(entries.len(), bytes);
        for (id, bytes) in &entries {
            list.push(*id, bytes);
        }
        list
    }

    /// Adds a token behind the others; its id must be larger than all before it (validation
    /// checks that).
    ///
    /// # Panics
    /// When the arena would pass 4 GiB; readers bound their sizes before that.
    pub fn push(&mut self, id: TokenId, bytes: &[u8]) {
        self.arena.extend_from_slice(bytes);
        assert!(self.arena.len() <= ARENA_LIMIT, "token arena over 4 GiB");
        self.offsets.push(narrow(self.arena.len()));
        self.ids.push(id);
    }

    /// Adds the token made of two tokens already here, given by their index.
    ///
    /// # Errors
    /// A limit error when the arena would pass 4 GiB: joined tokens double at every step.
    pub fn try_push_joined(&mut self, id: TokenId, left: usize, right: usize) -> Result<()> {
        let (left, right) = (self.range(left), self.range(right));
        if self.arena.len() + left.len() + right.len() > ARENA_LIMIT {
            return Err(Error::limit("the tokens are longer than 4 GiB in all", ARENA_LIMIT as u64));
        }
        self.arena.extend_from_within(left);
        self.arena.extend_from_within(right);
        self.offsets.push(narrow(self.arena.len()));
        self.ids.push(id);
        Ok(())
    }

    fn range(&self, index: usize) -> std::ops::Range<usize> {
        self.offsets[index] as usize..self.offsets[index + 1] as usize
    }

    /// How many tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The bytes of the token at `index` (not id).
    #[inline]
    pub fn bytes(&self, index: usize) -> &[u8] {
        &self.arena[self.range(index)]
    }

    /// The id of the token at `index`.
    #[inline]
    pub fn id(&self, index: usize) -> TokenId {
        self.ids[index]
    }

    /// All ids, ascending.
    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// The index of an id, by binary search.
    pub fn index_of(&self, id: TokenId) -> Option<usize> {
        // Nearly all vocabularies are dense from some first id on: try that place first.
        let guess = id.wrapping_sub(*self.ids.first()?) as usize;
        if self.ids.get(guess) == Some(&id) {
            return Some(guess);
        }
        self.ids.binary_search(&id).ok()
    }

    /// Id and bytes of every token.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TokenId, &[u8])> + '_ {
        (0..self.len()).map(|i| (self.ids[i], self.bytes(i)))
    }

    /// The same list without some of its tokens.
    #[must_use]
    pub fn without(&self, dropped: impl Fn(TokenId) -> bool) -> Self {
        let mut kept = Self::with_capacity(self.len(), self.arena.len());
        for (id, bytes) in self.iter().filter(|(id, _)| !dropped(*id)) {
            kept.push(id, bytes);
        }
        kept
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.arena.capacity() + 4 * (self.offsets.capacity() + self.ids.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_copies_both_parts() {
        let mut list = TokenList::default();
        list.push(5, b"ab");
        list.push(6, b"c");
        list.try_push_joined(9, 0, 1).unwrap();
        assert_eq!(list.bytes(2), b"abc");
        assert_eq!(list.index_of(9), Some(2));
        assert_eq!(list.index_of(7), None);
    }
}
