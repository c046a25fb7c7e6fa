//! A long text that comes in blocks, each encoded while it is in the cache: the whole of it is never in memory.
use tokenmill_kernels::Ahead;

use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::watch::Watch;

use super::Engine;
use super::encode::{Counter, Sink, Special, Text};

/// A block has about so many bytes: it stays in the second-level cache beside the tables.
const BLOCK: usize = 64 << 10;

/// A cut is looked for so far before the end of a block, then farther.
const BACK: [usize; 3] = [1 << 8, 1 << 12, 1 << 16];

/// Where the text comes from: appends more of it, any amount, and says where the rest will be read from; `None`
/// where it has ended.
pub type More<'a> = dyn FnMut(&mut String) -> Result<Option<Ahead>> + 'a;

impl Engine {
    /// May a text come in blocks under this policy? Only where pretokens are all that is looked at.
    pub fn takes_blocks(&self, special: &Special) -> bool {
        *special == Special::Text && self.may_be_cut() && self.parts.first.is_passed_over()
    }

    /// As [`Engine::encode`] under [`Special::Text`], of a text that comes in parts, where
    /// [`Self::takes_blocks`] says so. Places in errors are those in a block.
    ///
    /// # Errors
    /// As [`Engine::encode`], and those of `more`.
    pub fn encode_blocks(
        &self,
        more: &mut More<'_>,
        watch: &dyn Watch,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        self.for_each_block(BLOCK, more, watch, ids)
    }

    /// As [`Engine::count`]; else as [`Self::encode_blocks`].
    ///
    /// # Errors
    /// As [`Self::encode_blocks`].
    pub fn count_blocks(&self, more: &mut More<'_>, watch: &dyn Watch) -> Result<usize> {
        let mut counter = Counter::default();
        self.for_each_block(BLOCK, more, watch, &mut counter)?;
        Ok(counter.0)
    }

    fn for_each_block<S: Sink>(
        &self,
        size: usize,
        more: &mut More<'_>,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<()> {
        let Some(splitter) = self.splitter() else {
            return Err(Error::internal("a text in blocks for an engine that needs it whole"));
        };
        let mut text = String::with_capacity(4 * size);
        let mut enough = size;
        let mut ahead = Ahead::default();
        loop {
            let (before, length) = (ahead, text.len());
            while text.len() < enough {
                let Some(rest) = more(&mut text)? else {
                    return self.encode_into(Text::Str(&text), &Special::Text, watch, sink);
                };
                ahead = rest;
            }
            let cut = |back: &usize| splitter.safe_cut(&text, text.len().saturating_sub(*back));
            match BACK.iter().find_map(cut) {
                Some(cut) => {
                    // The next block is brought near while this one is encoded.
                    let bytes = before.bytes_before(ahead);
                    let next = ahead.first(bytes, text.len() - length);
                    self.encode_with(Text::Str(&text[..cut]), &Special::Text, next, watch, sink)?;
                    text.drain(..cut);
                    enough = size;
                }
                // What cannot be cut is collected.
                None => enough = 2 * text.len(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::description::{Alphabet, Bpe, Description, Merges, Split, TokenList};
    use crate::pattern::known;
    use crate::watch::Unwatched;
    use proptest::prelude::*;

    fn engine(split: &Split) -> Engine {
        let bytes = (0..=255_u8).map(|byte| vec![byte]);
        let more = ["th", "he", "the", " t", " the", "  ", "\n\n", "12", "123", "'s"];
        let tokens = bytes.chain(more.into_iter().map(|token| token.as_bytes().to_vec()));
        let tokens = TokenList::from_entries((0..).zip(tokens).collect());
        let model = Bpe::plain(Alphabet::Bytes, tokens, Merges::ById);
        compile(Description::of_bpe(split, model)).unwrap()
    }

    proptest! {
        #[test]
        fn blocks_give_the_ids_of_the_whole(
            pieces in proptest::collection::vec("the|'s| |\\n|\\r|[0-9]{1,4}|é|語|🦊|A|\\.|\\PC", 0..60),
            size in 1..40_usize,
            split in prop_oneof![Just("gpt2"), Just("cl100k"), Just("o200k"), Just("none")],
        ) {
            let engine = engine(&known::split_from(split));
            prop_assert!(engine.takes_blocks(&Special::Text));
            let text = pieces.concat();
            let mut whole = Vec::new();
            engine.encode(Text::Str(&text), &Special::Text, 1, &Unwatched, &mut whole).unwrap();
            let mut parts = pieces.iter();
            let mut more = |text: &mut String| {
                Ok(parts.next().map(|piece| {
                    text.push_str(piece);
                    Ahead::of(piece.as_bytes())
                }))
            };
            let mut ids = Vec::new();
            engine.for_each_block(size, &mut more, &Unwatched, &mut ids).unwrap();
            prop_assert_eq!(ids, whole);
        }
    }
}
