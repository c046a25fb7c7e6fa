//! Tokens as a file writes them, each with its id.
use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tokenmill_core::ids::TokenId;

/// Tokens in the order in which the file has them first. Of what is the text of the file as it stands there is no copy.
#[derive(Debug, Default)]
pub(crate) struct Names<'a> {
    entries: Vec<(Cow<'a, str>, TokenId)>,
    /// Their places, by their text.
    places: HashTable<u32>,
    hasher: RandomState,
}

impl<'a> Names<'a> {
    /// The entries of a file, which are fewer than 2^32. Of equal tokens the last id counts, at the first place.
    pub(crate) fn new(entries: Vec<(Cow<'a, str>, TokenId)>) -> Self {
        let mut names = Self::with_capacity(entries.len());
        for (token, id) in entries {
            names.insert(token, id);
        }
        names
    }

    /// None yet, with room for so many.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let (entries, places) = (Vec::with_capacity(count), HashTable::with_capacity(count));
        Self { entries, places, hasher: RandomState::default() }
    }

    /// Puts a token. Where it is there already this id counts; the place and the id that it had are returned.
    pub(crate) fn insert(&mut self, token: Cow<'a, str>, id: TokenId) -> Option<(usize, TokenId)> {
        let Self { entries, places, hasher } = self;
        let of = |place: u32| &*entries[place as usize].0;
        let hash = |&place: &u32| hasher.hash_one(of(place));
        match places.entry(hasher.hash_one(&*token), |&other| of(other) == token, hash) {
            Entry::Occupied(place) => {
                let place = *place.get() as usize;
                Some((place, std::mem::replace(&mut entries[place].1, id)))
            }
            Entry::Vacant(slot) => {
                slot.insert(entries.len() as u32);
                entries.push((token, id));
                None
            }
        }
    }

    /// How many tokens.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Where a token stands among all.
    pub(crate) fn place(&self, token: &str) -> Option<usize> {
        let is_same = |&other: &u32| self.entries[other as usize].0 == token;
        self.places.find(self.hasher.hash_one(token), is_same).map(|&place| place as usize)
    }

    /// The token at a place.
    pub(crate) fn token(&self, place: usize) -> &str {
        &self.entries[place].0
    }

    /// The id of the token at a place.
    pub(crate) fn id(&self, place: usize) -> TokenId {
        self.entries[place].1
    }

    /// The id of a token.
    pub(crate) fn get(&self, token: &str) -> Option<TokenId> {
        self.place(token).map(|place| self.id(place))
    }

    pub(crate) fn contains(&self, token: &str) -> bool {
        self.place(token).is_some()
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, TokenId)> {
        self.entries.iter().map(|(token, id)| (&**token, *id))
    }
}

/// Where what two tokens join to stands. Files list merges by what they make, so that it is mostly found beside the last
/// one.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    last: usize,
    joined: String,
}

impl Joining {
    /// The place of the token that these join to.
    pub(crate) fn place(&mut self, names: &Names<'_>, left: &str, right: &str) -> Option<usize> {
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
        let mut names = Names::new(entries.into_iter().map(|(token, id)| (token.into(), id)).collect());
        assert_eq!(names.iter().collect::<Vec<_>>(), [("a", 7), ("b", 6), ("c", 1)]);
        assert_eq!(names.insert("b".into(), 9), Some((1, 6)));
        assert_eq!((names.get("b"), names.get("d"), names.place("c")), (Some(9), None, Some(2)));
        assert!(names.contains("a") && !names.contains(""));
    }

    #[test]
    fn joined_tokens_are_found_wherever_they_stand() {
        let tokens = ["a", "b", "ab", "ba", "abb", "bab", "aa"];
        let names = Names::new(tokens.into_iter().map(Cow::Borrowed).zip(0..).collect());
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
