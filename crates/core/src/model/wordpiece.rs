//! WordPiece: the longest token first, from left to right; a pretoken that cannot be spelled this way is unknown
//! as a whole.
//! In: one pretoken. Out: its ids. The ids of a pretoken must never contain both ordinary tokens and the unknown
//! one. The longest token at every position is found in one pass, whatever the text: an automaton of the reversed
//! tokens reads the pretoken backwards, and the longest token that ends at a position in this direction is the
//! longest that starts there.
use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::{Automaton, NO_KEY, State, try_alloc};

use crate::description::{TokenList, WordPieceDescription};
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::output::Output;
use crate::model::unknown::{unknown_char, unknown_pretoken};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// A compiled WordPiece model. Immutable.
#[derive(Debug)]
pub struct WordPiece {
    /// The tokens that may start a pretoken, by index in the token list.
    first: Automaton,
    /// The tokens that may follow, without their prefix, backwards.
    following: Automaton,
    prefix: usize,
    max_chars: usize,
    unk: Option<TokenId>,
}

/// The buffers for spelling a pretoken, reused from one to the next.
#[derive(Debug, Default)]
pub struct WordPieceScratch {
    /// For every position, the index of the longest token that may follow there.
    longest: Vec<u32>,
}

impl WordPieceScratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * self.longest.capacity()
    }
}

impl WordPiece {
    /// Compiles the model of a valid description.
    pub fn new(description: &WordPieceDescription, vocabulary: &Vocabulary) -> Self {
        let tokens = &description.tokens;
        let prefix = description.continuing_prefix.as_bytes();
        let indexed = || {
            let indices = (0..tokens.len()).filter(|&index| !vocabulary.is_special(tokens.id(index)));
            indices.map(|index| (to_u32(index), tokens.bytes(index)))
        };
        let following: Vec<(u32, Vec<u8>)> = indexed()
            .filter_map(|(index, bytes)| {
                Some((index, bytes.strip_prefix(prefix)?.iter().rev().copied().collect()))
            })
            .collect();
        let first = Automaton::new(indexed());
        let following = Automaton::new(following.iter().map(|(index, bytes)| (*index, bytes.as_slice())));
        Self::of(description, first, following)
    }

    fn of(description: &WordPieceDescription, first: Automaton, following: Automaton) -> Self {
        let &WordPieceDescription { max_chars, unk, ref continuing_prefix, .. } = description;
        Self { first, following, prefix: continuing_prefix.len(), max_chars, unk }
    }

    /// Appends the tables to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        self.first.write(image);
        self.following.write(image);
    }

    /// The tables of an image, for the same description.
    pub(super) fn read(
        description: &WordPieceDescription,
        image: &mut ImageReader,
    ) -> std::result::Result<Self, ImageError> {
        Ok(Self::of(description, Automaton::read(image)?, Automaton::read(image)?))
    }

    /// Writes the ids of a pretoken.
    ///
    /// # Errors
    /// If the pretoken cannot be spelled and there is no unknown token: an unknown-token error that shows the
    /// character at which no token starts, or the pretoken if it is too long; cancellation.
    pub(super) fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut WordPieceScratch,
        mut output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if pretoken.is_empty() {
            return Ok(());
        }
        let start = output.lengths();
        let failed_at = if self.is_too_long(pretoken) {
            None
        } else {
            match self.spell(pretoken, vocabulary, scratch, &mut output, ticker)? {
                None => return Ok(()),
                failed_at => failed_at,
            }
        };
        let unk = self.unk.ok_or_else(|| match failed_at {
            Some(at) => unknown_char(pretoken, at),
            None => unknown_pretoken(pretoken),
        })?;
        output.truncate(start);
        Ok(output.push(unk, to_u32(pretoken.len()))?)
    }

    fn is_too_long(&self, pretoken: &[u8]) -> bool {
        let starts_char = |byte: &&u8| **byte & 0xc0 != 0x80;
        pretoken.len() > self.max_chars && pretoken.iter().filter(starts_char).count() > self.max_chars
    }

    /// Does a pretoken with the bytes of an ordinary token become this token?
    pub(crate) fn is_token(&self, token: &[u8]) -> bool {
        !token.is_empty() && !self.is_too_long(token)
    }

    /// Returns the position at which no token starts, if there is one.
    fn spell(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut WordPieceScratch,
        output: &mut Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<usize>> {
        let tokens = vocabulary.tokens();
        let mut write = |index: u32, end: usize| output.push(tokens.id(index as usize), to_u32(end));
        let Some((index, mut at)) = self.longest_first(pretoken, tokens) else { return Ok(Some(0)) };
        write(index, at)?;
        if at == pretoken.len() {
            return Ok(None);
        }
        let rest = &pretoken[at..];
        let longest = &mut scratch.longest;
        longest.clear();
        try_alloc::resize(longest, rest.len(), NO_KEY)?;
        let mut state = State::START;
        for (place, &byte) in longest.iter_mut().zip(rest).rev() {
            state = self.following.step(state, byte);
            *place = self.following.longest(state);
        }
        ticker.spend(rest.len())?;
        let first = at;
        while at < pretoken.len() {
            let index = longest[at - first];
            if index == NO_KEY {
                return Ok(Some(at));
            }
            at += tokens.bytes(index as usize).len() - self.prefix;
            write(index, at)?;
        }
        Ok(None)
    }

    /// The index and length of the longest token that starts the pretoken.
    fn longest_first(&self, pretoken: &[u8], tokens: &TokenList) -> Option<(u32, usize)> {
        let mut state = State::START;
        let mut found = None;
        for (i, &byte) in pretoken.iter().enumerate() {
            let Some(next) = self.first.child(state, byte) else { break };
            state = next;
            let index = self.first.longest(state);
            if index != NO_KEY && tokens.bytes(index as usize).len() == i + 1 {
                found = Some((index, i + 1));
            }
        }
        found
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.first.memory() + self.following.memory()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tokenmill_reference as reference;

    use super::*;
    use crate::description::{Description, ModelDescription, Split};
    use crate::error::{Kind, Place};
    use crate::watch::Unwatched;

    /// The unknown token is the last.
    fn described(pieces: &[String], prefix: &str, max_chars: usize) -> WordPieceDescription {
        let entries = pieces.iter().map(|piece| piece.as_bytes().to_vec()).chain([b"[UNK]".to_vec()]);
        let tokens = TokenList::from_entries((0..).zip(entries).collect());
        WordPieceDescription {
            tokens: Arc::new(tokens),
            unk: Some(to_u32(pieces.len())),
            continuing_prefix: prefix.to_owned(),
            max_chars,
        }
    }

    fn encode(description: &WordPieceDescription, text: &str) -> Result<(Vec<TokenId>, Vec<u32>)> {
        let plain = crate::description::BpeDescription::plain(
            crate::description::Alphabet::Bytes,
            TokenList::default(),
            crate::description::Merges::ById,
        );
        let mut whole = Description::of_bpe(&Split::Whole, plain);
        whole.model = ModelDescription::WordPiece(description.clone());
        let vocabulary = Vocabulary::new(&whole);
        let model = WordPiece::new(description, &vocabulary);
        let (mut ids, mut ends, mut scratch) = (vec![], vec![], WordPieceScratch::default());
        let ticker = &mut Ticker::new(&Unwatched);
        let output = Output { ids: &mut ids, ends: Some(&mut ends) };
        model.encode(text.as_bytes(), &vocabulary, &mut scratch, output, ticker)?;
        Ok((ids, ends))
    }

    #[test]
    fn a_pretoken_of_too_many_characters_is_unknown() {
        let pieces = ["é", "##é"].map(str::to_owned);
        let described = described(&pieces, "##", 5);
        assert_eq!(encode(&described, "ééééé").unwrap(), (vec![0, 1, 1, 1, 1], vec![2, 4, 6, 8, 10]));
        assert_eq!(encode(&described, "éééééé").unwrap(), (vec![2], vec![12]));
        assert_eq!(encode(&described, "").unwrap(), (vec![], vec![]));
    }

    #[test]
    fn without_an_unknown_token_the_place_is_named() {
        let mut described = described(&["ab", "##c"].map(str::to_owned), "##", 5);
        described.unk = None;
        for (text, symbol, place) in [("abçc", "ç", 2), ("b", "b", 0), ("abcccc", "abcccc", 0)] {
            match encode(&described, text).unwrap_err().into_kind() {
                Kind::UnknownToken { symbol: found, position } => {
                    assert_eq!((found.as_str(), position), (symbol, Place::Byte(place)));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_the_longest_token_first(
            pieces in prop::collection::btree_set("(##|#)?[abé]{1,4}", 0..14),
            text in "[abé#]{0,10}",
            prefix in prop_oneof!["##", "", "#"],
            max_chars in 6usize..12,
        ) {
            let pieces: Vec<String> = pieces.into_iter().collect();
            let got = encode(&described(&pieces, &prefix, max_chars), &text).unwrap();
            let want = match reference::wordpiece(&text, &pieces, &prefix, max_chars) {
                Some(parts) => parts.into_iter().map(|(token, end)| (to_u32(token), to_u32(end))).unzip(),
                None => (vec![to_u32(pieces.len())], vec![to_u32(text.len())]),
            };
            prop_assert_eq!(got, want);
        }
    }
}
