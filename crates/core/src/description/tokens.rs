//! A list of tokens in one arena: all bytes in a row, an offset per token, ascending ids.
use std::ops::Range;

use crate::error::{Error, Result};
use crate::ids::{TokenId, narrow};

/// Tokens by ascending id. The bytes of the `i`-th are `arena[offsets[i]..offsets[i + 1]]`.
///
/// Published files give one id to several tokens, each of which becomes it. They stand beside each
/// other in the order of their bytes, and the id decodes to the first: an order that no layout of a
/// file changes.
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

    /// A list from entries in any order.
    pub fn from_entries<B: AsRef<[u8]> + Ord>(mut entries: Vec<(TokenId, B)>) -> Self {
        entries.sort_unstable();
        let bytes = entries.iter().map(|(_, bytes)| bytes.as_ref().len()).sum();
        let mut list = Self::with_capacity(entries.len(), bytes);
        for (id, bytes) in &entries {
            list.push(*id, bytes.as_ref());
        }
        list
    }

    /// Adds a token behind the others; its id must not be smaller than those before it, nor its
    /// bytes where the ids are equal (validation checks that).
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

    fn range(&self, index: usize) -> Range<usize> {
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

    /// The index of an id, by binary search; of several tokens with that id the first.
    pub fn index_of(&self, id: TokenId) -> Option<usize> {
        // Nearly all vocabularies are dense from some first id on: try that place first.
        let guess = id.wrapping_sub(*self.ids.first()?) as usize;
        if self.ids.get(guess) == Some(&id) && (guess == 0 || self.ids[guess - 1] != id) {
            return Some(guess);
        }
        let first = self.ids.partition_point(|&other| other < id);
        (self.ids.get(first) == Some(&id)).then_some(first)
    }

    /// The indices of all tokens with an id.
    pub fn indices_of(&self, id: TokenId) -> Range<usize> {
        let Some(first) = self.index_of(id) else { return 0..0 };
        let count = self.ids[first..].iter().take_while(|&&other| other == id).count();
        first..first + count
    }

    /// The first id that several tokens have, with the index of the second of them.
    pub fn first_shared_id(&self) -> Option<(usize, TokenId)> {
        let second = self.ids.windows(2).position(|pair| pair[0] == pair[1])? + 1;
        Some((second, self.ids[second]))
    }

    /// Id and bytes of every token.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TokenId, &[u8])> + '_ {
        (0..self.len()).map(|i| (self.ids[i], self.bytes(i)))
    }

    /// The same list without some of its tokens.
    #[must_use]
    pub fn without(&self, dropped: impl Fn(TokenId, &[u8]) -> bool) -> Self {
        let mut kept = Self::with_capacity(self.len(), self.arena.len());
        for (id, bytes) in self.iter().filter(|(id, bytes)| !dropped(*id, bytes)) {
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

    #[test]
    fn several_tokens_with_one_id_stand_in_the_order_of_their_bytes() {
        let entry = |id, bytes: &str| (id, bytes.as_bytes().to_vec());
        let list = TokenList::from_entries(vec![entry(2, "z"), entry(1, "c"), entry(0, "a"), entry(1, "b")]);
        assert_eq!(list.indices_of(1), 1..3);
        assert_eq!((list.bytes(1), list.bytes(2)), (&b"b"[..], &b"c"[..]));
        assert_eq!((list.index_of(0), list.index_of(1), list.index_of(2)), (Some(0), Some(1), Some(3)));
        assert_eq!((list.indices_of(9), list.first_shared_id()), (0..0, Some((2, 1))));
    }
}
