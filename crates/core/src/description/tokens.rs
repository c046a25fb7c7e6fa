//! A list of tokens in one arena: contiguous bytes, an offset per token, ascending ids.
use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tokenmill_kernels::image::{Array, ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::{MadeOnce, try_alloc};

use crate::error::{Error, Result};
use crate::ids::{TokenId, to_u32};
use crate::watch::{Ticker, Unwatched};

/// Tokens by ascending id. The bytes of the `i`-th are `arena[offsets[i]..offsets[i + 1]]`.
///
/// Some published files give one id to several tokens. These are adjacent, in the order of their
/// bytes, and the id decodes to the first of them; so the result does not depend on the layout of
/// the file.
#[derive(Debug, Clone)]
pub struct TokenList {
    arena: Array<u8>,
    /// One more entry than there are tokens; the first is 0.
    offsets: Array<u32>,
    ids: Array<TokenId>,
    /// Built at the first lookup by bytes.
    places: MadeOnce<Places>,
}

/// `places` is derived, so it is not compared.
impl PartialEq for TokenList {
    fn eq(&self, other: &Self) -> bool {
        self.arena == other.arena && self.offsets == other.offsets && self.ids == other.ids
    }
}

impl Eq for TokenList {}

impl Default for TokenList {
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

/// Index of each token by its bytes; of equal tokens the last.
#[derive(Debug, Clone, Default)]
struct Places {
    table: HashTable<u32>,
    hasher: RandomState,
    /// The first token with the same bytes as an earlier one.
    first_repeated: Option<usize>,
}

/// Limit of the arena in bytes: offsets are `u32`.
pub(crate) const ARENA_LIMIT: usize = u32::MAX as usize;

impl TokenList {
    /// An empty list with capacity for `tokens` tokens of `bytes` bytes in all.
    pub fn with_capacity(tokens: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(tokens + 1);
        offsets.push(0);
        let (arena, ids) = (Vec::with_capacity(bytes), Vec::with_capacity(tokens));
        Self { arena: arena.into(), offsets: offsets.into(), ids: ids.into(), places: MadeOnce::new() }
    }

    /// Builds a list from entries in any order.
    pub fn from_entries<B: AsRef<[u8]> + Ord>(mut entries: Vec<(TokenId, B)>) -> Self {
        entries.sort_unstable();
        let bytes = entries.iter().map(|(_, bytes)| bytes.as_ref().len()).sum();
        let mut list = Self::with_capacity(entries.len(), bytes);
        for (id, bytes) in &entries {
            list.push(*id, bytes.as_ref());
        }
        list
    }

    /// Appends a token. Its id must not be smaller than the one before; for equal ids the bytes
    /// must ascend (validation checks this).
    ///
    /// # Panics
    /// When the arena would exceed 4 GiB; readers limit their sizes before that.
    pub fn push(&mut self, id: TokenId, bytes: &[u8]) {
        append(&mut self.arena, bytes);
        self.put(id);
    }

    /// As [`Self::push`], unless the list already contains a token with these bytes.
    ///
    /// # Errors
    /// The index of the token with these bytes.
    ///
    /// # Panics
    /// As [`Self::push`].
    pub fn push_new(&mut self, id: TokenId, bytes: &[u8]) -> std::result::Result<(), usize> {
        let Self { arena, offsets, ids, places } = self;
        let Some(places) = places.get_mut() else {
            self.places = MadeOnce::from(self.find_places());
            return self.push_new(id, bytes);
        };
        match places.entry((arena, offsets), bytes) {
            Entry::Occupied(place) => Err(*place.get() as usize),
            Entry::Vacant(slot) => {
                append(arena, bytes);
                slot.insert(to_u32(ids.len()));
                self.end(id);
                Ok(())
            }
        }
    }

    /// Ends a token at the end of the arena, and discards `places`.
    fn put(&mut self, id: TokenId) {
        self.end(id);
        self.places.take();
    }

    /// As [`Self::put`], but keeps `places`, which already has the token.
    #[inline]
    fn end(&mut self, id: TokenId) {
        self.offsets.push(to_u32(self.arena.len()));
        self.ids.push(id);
    }

    /// Appends the concatenation of two tokens, given by their indices.
    ///
    /// # Errors
    /// A limit error when the arena would exceed 4 GiB: the length of joined tokens can double at every step.
    pub fn try_push_joined(&mut self, id: TokenId, left: usize, right: usize) -> Result<()> {
        let (left, right) = (self.range(left), self.range(right));
        if self.arena.len() + left.len() + right.len() > ARENA_LIMIT {
            return Err(Error::limit("the tokens are longer than 4 GiB in all", ARENA_LIMIT as u64));
        }
        let mut arena = self.arena.to_mut();
        try_alloc::reserve(&mut arena, left.len() + right.len())?;
        arena.extend_from_within(left);
        arena.extend_from_within(right);
        drop(arena);
        self.put(id);
        Ok(())
    }

    /// Releases unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.arena.to_mut().shrink_to_fit();
        self.offsets.to_mut().shrink_to_fit();
        self.ids.to_mut().shrink_to_fit();
    }

    /// The same tokens with other ids, which must ascend as well.
    ///
    /// # Panics
    /// When the number of ids differs from the number of tokens.
    #[must_use]
    pub fn with_ids(self, ids: Vec<TokenId>) -> Self {
        assert_eq!(ids.len(), self.len(), "an id for each token");
        debug_assert!(ids.is_sorted(), "ids ascend");
        Self { ids: ids.into(), ..self }
    }

    fn range(&self, index: usize) -> Range<usize> {
        range(&self.offsets, index)
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Total number of bytes.
    pub fn size(&self) -> usize {
        self.arena.len()
    }

    /// Is the list empty?
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
    #[inline]
    pub fn index_of(&self, id: TokenId) -> Option<usize> {
        // Nearly all vocabularies are dense from their first id on, so that position is tried first.
        let guess = id.wrapping_sub(*self.ids.first()?) as usize;
        if self.ids.get(guess) == Some(&id) && (guess == 0 || self.ids[guess - 1] != id) {
            return Some(guess);
        }
        let first = self.ids.partition_point(|&other| other < id);
        (self.ids.get(first) == Some(&id)).then_some(first)
    }

    /// The index of the token with exactly these bytes; of several the last. The first call takes
    /// time linear in the list.
    #[inline]
    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        let Places { table, hasher, .. } = self.places();
        let is_same = |&index: &u32| self.bytes(index as usize) == bytes;
        table.find(hasher.hash_one(bytes), is_same).map(|&index| index as usize)
    }

    /// The index of the first token with the same bytes as an earlier one.
    pub fn first_repeated(&self) -> Option<usize> {
        self.places().first_repeated
    }

    /// Builds the table of [`Self::find`] now, under a watch.
    ///
    /// # Errors
    /// Errors of the watch.
    pub fn prepare_to_find(&self, ticker: &mut Ticker<'_>) -> Result<()> {
        if self.places.get().is_none() {
            let places = self.try_find_places(ticker)?;
            self.places.get_or_make(|| places);
        }
        Ok(())
    }

    #[inline]
    fn places(&self) -> &Places {
        self.places.get_or_make(|| self.find_places())
    }

    fn find_places(&self) -> Places {
        // Without a watch nothing can cancel.
        self.try_find_places(&mut Ticker::new(&Unwatched)).unwrap_or_default()
    }

    fn try_find_places(&self, ticker: &mut Ticker<'_>) -> Result<Places> {
        let table = HashTable::with_capacity(self.len());
        let mut places = Places { table, ..Places::default() };
        for index in 0..self.len() {
            ticker.spend(16)?;
            match places.entry((&self.arena, &self.offsets), self.bytes(index)) {
                Entry::Occupied(mut place) => {
                    *place.get_mut() = to_u32(index);
                    places.first_repeated.get_or_insert(index);
                }
                Entry::Vacant(slot) => _ = slot.insert(to_u32(index)),
            }
        }
        Ok(places)
    }

    /// The indices of all tokens with this id.
    #[inline]
    pub fn indices_of(&self, id: TokenId) -> Range<usize> {
        let Some(first) = self.index_of(id) else { return 0..0 };
        let more = self.ids[first + 1..].iter().take_while(|&&other| other == id).count();
        first..first + 1 + more
    }

    /// The first id with several tokens, and the index of the second of them.
    pub fn first_shared_id(&self) -> Option<(usize, TokenId)> {
        let second = self.ids.windows(2).position(|pair| pair[0] == pair[1])? + 1;
        Some((second, self.ids[second]))
    }

    /// The id and bytes of every token.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TokenId, &[u8])> + '_ {
        (0..self.len()).map(|i| (self.ids[i], self.bytes(i)))
    }

    /// A copy without some of the tokens.
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
        let places =
            self.places.get().map_or(0, |places| places.table.capacity() * 8 / 7 * (size_of::<u32>() + 1));
        self.arena.memory() + self.offsets.memory() + self.ids.memory() + places
    }
}

impl InImage for TokenList {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.arena);
        image.array(&self.offsets);
        image.array(&self.ids);
    }

    fn read(image: &mut ImageReader) -> std::result::Result<Self, ImageError> {
        let (arena, offsets, ids) = (image.array()?, image.array()?, image.array()?);
        let list = Self { arena, offsets, ids, places: MadeOnce::new() };
        let ends_well = list.offsets.last().is_some_and(|&end| end as usize == list.arena.len());
        if list.offsets.len() != list.len() + 1 || !ends_well {
            return Err(ImageError::Inconsistent("tokens have another number of offsets"));
        }
        Ok(list)
    }
}

impl Places {
    /// The table entry for these bytes, for a list with this arena and these offsets.
    #[inline]
    fn entry(&mut self, (arena, offsets): (&[u8], &[u32]), bytes: &[u8]) -> Entry<'_, u32> {
        let Self { table, hasher, .. } = self;
        let bytes_of = |index: u32| &arena[range(offsets, index as usize)];
        table.entry(
            hasher.hash_one(bytes),
            |&other| bytes_of(other) == bytes,
            |&other| hasher.hash_one(bytes_of(other)),
        )
    }
}

#[inline]
fn append(arena: &mut Array<u8>, bytes: &[u8]) {
    assert!(bytes.len() <= ARENA_LIMIT - arena.len(), "token arena over 4 GiB");
    arena.extend_from_slice(bytes);
}

#[inline]
fn range(offsets: &[u32], index: usize) -> Range<usize> {
    offsets[index] as usize..offsets[index + 1] as usize
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
    fn tokens_are_found_by_their_bytes_whenever_they_came() {
        let mut list = TokenList::default();
        assert_eq!((list.push_new(3, b"a"), list.push_new(4, b"ab")), (Ok(()), Ok(())));
        assert_eq!(list.push_new(5, b"a"), Err(0));
        assert_eq!(
            (list.len(), list.find(b"ab"), list.find(b"b"), list.first_repeated()),
            (2, Some(1), None, None)
        );
        list.push(6, b"b");
        assert_eq!((list.find(b"b"), list.find(b"a")), (Some(2), Some(0)));
        list.try_push_joined(7, 0, 2).unwrap();
        assert_eq!((list.find(b"ab"), list.first_repeated()), (Some(3), Some(3)));
        assert_eq!(list.push_new(8, b"ab"), Err(3));
        let other = list.clone().with_ids(vec![1, 2, 3, 4]);
        assert_eq!((other.find(b"b"), other.id(2), other == list), (Some(2), 3, false));
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
