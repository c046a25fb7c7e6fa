//! The tokens of a file in written form, with their ids.
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tokenmill_core::ids::TokenId;

use crate::tables::Set;
use crate::texts::Texts;

/// Tokens in the order of their first occurrence in the file.
#[derive(Debug, Default)]
pub(crate) struct Names {
    texts: Texts,
    ids: Vec<TokenId>,
    /// Index of each token by its text.
    places: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// The entries of a file, of which there are less than 2^32. Of equal tokens the last id
    /// counts, at the first index.
    pub(crate) fn new<T: AsRef<str>>(entries: &[(T, TokenId)]) -> Self {
        let bytes = entries.iter().map(|(token, _)| token.as_ref().len()).sum();
        let mut names = Self::with_capacity(entries.len(), bytes);
        for (token, id) in entries {
            names.insert(token.as_ref(), *id);
        }
        names
    }

    /// An empty list with capacity for `count` tokens of `bytes` bytes in all.
    pub(crate) fn with_capacity(count: usize, bytes: usize) -> Self {
        Self {
            texts: Texts::with_capacity(count, bytes),
            ids: Vec::with_capacity(count),
            places: HashTable::with_capacity(count),
            hasher: RandomState::default(),
        }
    }

    /// Adds a token. For a known token replaces the id, and returns its index and the old id.
    pub(crate) fn insert(&mut self, token: &str, id: TokenId) -> Option<(usize, TokenId)> {
        let Self { texts, ids, places, hasher } = self;
        let hash = |&place: &u32| hasher.hash_one(&texts[place as usize]);
        match places.entry(hasher.hash_one(token), |&other| texts[other as usize] == *token, hash) {
            Entry::Occupied(place) => {
                let place = *place.get() as usize;
                Some((place, std::mem::replace(&mut ids[place], id)))
            }
            Entry::Vacant(slot) => {
                slot.insert(ids.len() as u32);
                texts.push(token);
                ids.push(id);
                None
            }
        }
    }

    /// Number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The index of a token.
    #[inline]
    pub(crate) fn place(&self, token: &str) -> Option<usize> {
        let is_same = |&other: &u32| self.texts[other as usize] == *token;
        self.places.find(self.hasher.hash_one(token), is_same).map(|&place| place as usize)
    }

    /// The token at an index.
    #[inline]
    pub(crate) fn token(&self, place: usize) -> &str {
        &self.texts[place]
    }

    /// The id of the token at an index.
    #[inline]
    pub(crate) fn id(&self, place: usize) -> TokenId {
        self.ids[place]
    }

    /// The id of a token.
    pub(crate) fn get(&self, token: &str) -> Option<TokenId> {
        self.place(token).map(|place| self.id(place))
    }

    pub(crate) fn contains(&self, token: &str) -> bool {
        self.place(token).is_some()
    }

    /// For each token, whether it is in `tokens`.
    pub(crate) fn marked(&self, tokens: &Set<&str>) -> Vec<bool> {
        let mut marked = vec![false; self.len()];
        tokens.iter().filter_map(|token| self.place(token)).for_each(|place| marked[place] = true);
        marked
    }

    /// Total length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.texts.bytes()
    }

    /// All tokens with their ids, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, TokenId)> + Clone {
        self.ids.iter().enumerate().map(|(place, &id)| (self.token(place), id))
    }
}

/// Finds the concatenation of two tokens. Files list merges in the order of their results, so a
/// result is usually next to the last one.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    last: usize,
    joined: String,
}

impl Joining {
    /// The index of the concatenation.
    pub(crate) fn place(&mut self, names: &Names, left: &str, right: &str) -> Option<usize> {
        let is_joined = |&place: &usize| {
            let token = names.token(place);
            token.len() == left.len() + right.len() && token.starts_with(left) && token.ends_with(right)
        };
        let near = self.last..names.len().min(self.last + 2);
        let place = near.into_iter().find(is_joined).or_else(|| {
            self.joined.clear();
            self.joined.extend([left, right]);
            names.place(&self.joined)
        })?;
        self.last = place;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_id_of_a_token_counts() {
        let entries = [("a", 5), ("b", 6), ("a", 7), ("b", 8), ("c", 1), ("b", 6)];
        let mut names = Names::new(&entries);
        assert_eq!(names.iter().collect::<Vec<_>>(), [("a", 7), ("b", 6), ("c", 1)]);
        assert_eq!(names.insert("b", 9), Some((1, 6)));
        assert_eq!((names.get("b"), names.get("d"), names.place("c")), (Some(9), None, Some(2)));
        assert!(names.contains("a") && !names.contains(""));
    }

    #[test]
    fn joined_tokens_are_found_wherever_they_stand() {
        let tokens = ["a", "b", "ab", "ba", "abb", "bab", "aa"];
        let names = Names::new(&tokens.into_iter().zip(0..).collect::<Vec<_>>());
        let mut joining = Joining::default();
        for (left, right) in
            [("a", "b"), ("b", "a"), ("a", "b"), ("b", "ab"), ("ba", "b"), ("ab", "b"), ("a", "a")]
        {
            let place = joining.place(&names, left, right).unwrap();
            assert_eq!(names.token(place), format!("{left}{right}"));
        }
        assert_eq!(joining.place(&names, "b", "b"), None);
        assert_eq!(joining.place(&names, "a", "a"), Some(6));
    }
}
