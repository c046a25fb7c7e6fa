//! Byte-pair encoding: a pretoken becomes symbols, neighbours merge by rank until none can.
//!
//! Comes in: one pretoken. Goes out: its ids. What the symbols are and which of them merge is in
//! `symbols` and `pairs`, or in `pieces` for the model of SentencePiece. The path depends on the
//! length alone: a pretoken that is a token needs one look-up, short ones a scan for the lowest
//! rank, long ones a heap, which keeps the cost at n log n for every text.
mod agenda;
mod merge;
mod pairs;
mod pieces;
mod steps;
mod symbols;
#[cfg(test)]
mod tests;

use tokenmill_kernels::PairTable;

use crate::description::{Alphabet, Bpe as BpeDescription, Merges};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId, narrow};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::random::Random;
use agenda::Chance;
use pieces::{Out, Pieces};
use symbols::{Chars, Row, Unknown};

pub use merge::Scratch;
pub use pairs::listed_merges;
pub use steps::{MOST_SYMBOLS, Step, Steps};

/// A compiled BPE model. Immutable.
#[derive(Debug)]
pub struct Bpe {
    symbols: Symbols,
    pairs: PairTable,
    unknown: Unknown,
    /// By index in the vocabulary's token list: may a pretoken with these bytes become this
    /// token at once? True where merging gives the same, or where whole pretokens win.
    at_once: Vec<bool>,
}

/// How a pretoken is broken up.
#[derive(Debug)]
enum Symbols {
    Bytes(Box<[TokenId; 256]>),
    Chars(Box<Chars>),
    /// They merge by score.
    Pieces(Box<Pieces>),
}

impl Bpe {
    /// Compiles the model of a valid description. Special tokens never come out of a text.
    ///
    /// # Errors
    /// A format error at `merges` for a pair that is listed twice, or for scores of what is not
    /// characters; at `dropout` for what is no probability.
    pub fn new(description: &BpeDescription, vocabulary: &Vocabulary) -> Result<Self> {
        if let Some(dropout) = description.dropout.filter(|dropout| !(0.0..=1.0).contains(dropout)) {
            let reason = format!("{dropout} is no probability; those go from 0 to 1");
            return Err(Error::format(Defect::Range, reason).at("dropout").at("model"));
        }
        let is_special: &dyn Fn(TokenId) -> bool = &|id| vocabulary.is_special(id);
        let prefix = description.continuing_prefix.as_deref();
        let (symbols, pairs) = match (&description.alphabet, &description.merges) {
            (Alphabet::Chars { end_of_word: None }, Merges::ByScore { scores, kinds })
                if prefix.is_none() =>
            {
                let (pieces, pairs) = Pieces::new(scores, kinds, vocabulary, is_special)?;
                (Symbols::Pieces(Box::new(pieces)), pairs)
            }
            (_, Merges::ByScore { .. }) => {
                let reason = "merges go by score only over plain characters";
                return Err(Error::format(Defect::Inconsistent, reason).at("merges").at("model"));
            }
            (alphabet, merges) => {
                let symbols = match alphabet {
                    Alphabet::Bytes => Symbols::Bytes(symbols::byte_symbols(vocabulary, is_special)),
                    Alphabet::Chars { end_of_word } => {
                        let mark = end_of_word.as_ref();
                        Symbols::Chars(Box::new(Chars::new(prefix, mark, vocabulary, is_special)))
                    }
                };
                let pairs = match merges {
                    Merges::Listed(merges) => pairs::listed(merges, is_special)?,
                    _ => pairs::by_id(vocabulary, prefix, is_special)?,
                };
                (symbols, pairs)
            }
        };
        let BpeDescription { unk, fuse_unk, byte_fallback, .. } = *description;
        let unknown = Unknown::new(unk, fuse_unk, byte_fallback, vocabulary, is_special);
        let mut model = Self { symbols, pairs, unknown, at_once: Vec::new() };
        model.at_once = if description.whole_pretokens {
            let may_come_out = |index| match &model.symbols {
                Symbols::Pieces(pieces) => pieces.may_come_out(index),
                _ => !is_special(vocabulary.tokens().id(index)),
            };
            (0..vocabulary.tokens().len()).map(may_come_out).collect()
        } else {
            model.self_building(vocabulary).collect()
        };
        Ok(model)
    }

    /// For every ordinary token: does merging its bytes give this one token?
    fn self_building<'a>(&'a self, vocabulary: &'a Vocabulary) -> impl Iterator<Item = bool> + 'a {
        let mut scratch = Scratch::default();
        let mut ids = Vec::new();
        vocabulary.tokens().iter().map(move |(id, bytes)| {
            ids.clear();
            let watch = crate::watch::Unwatched;
            let merged = self.merge_pretoken(
                bytes,
                &mut scratch,
                Chance::Never,
                Out { ids: &mut ids, ends: None },
                &mut Ticker::new(&watch),
            );
            merged.is_ok() && ids == [id]
        })
    }

    /// May a pretoken with the bytes of the token at this index become it at once?
    pub fn may_become(&self, index: usize) -> bool {
        self.at_once.get(index) == Some(&true)
    }

    /// Does merging build every token that a text may become from its bytes, so that the rule for
    /// whole pretokens says nothing new?
    pub fn builds_every_token(&self, vocabulary: &Vocabulary) -> bool {
        self.self_building(vocabulary).zip(&self.at_once).all(|(builds, &asked)| builds || !asked)
    }

    /// Puts the ids of a pretoken behind `ids`, and where the part of each ends behind `ends`.
    ///
    /// # Errors
    /// An unknown-token error for a symbol outside the alphabet; cancellation.
    #[inline]
    pub fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
        ends: Option<&mut Vec<u32>>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if let Some(index) = vocabulary.find_index(pretoken)
            && self.at_once.get(index) == Some(&true)
        {
            ids.push(vocabulary.tokens().id(index));
            if let Some(ends) = ends {
                ends.push(narrow(pretoken.len()));
            }
            return Ok(());
        }
        self.merge_pretoken(pretoken, scratch, Chance::Never, Out { ids, ends }, ticker)
    }

    /// As [`Self::encode`], with merges passed over by chance and no rule for whole pretokens.
    ///
    /// Where merges are listed, one that is passed over may still be made after the next one, as in
    /// the tokenizers library; where they go by score it is not, as in SentencePiece.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn sample(
        &self,
        pretoken: &[u8],
        scratch: &mut Scratch,
        (probability, random): (f64, &mut Random),
        ids: &mut Vec<TokenId>,
        ends: Option<&mut Vec<u32>>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let chance = match self.symbols {
            Symbols::Pieces(_) => Chance::Dropped(probability, random),
            _ => Chance::Delayed(probability, random),
        };
        self.merge_pretoken(pretoken, scratch, chance, Out { ids, ends }, ticker)
    }

    fn merge_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut Scratch,
        chance: Chance<'_>,
        mut out: Out<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        // Places and ends are counted in 32 bits.
        if u32::try_from(pretoken.len()).is_err() {
            return Err(Error::argument(format!(
                "a pretoken of {} bytes is over the limit of 2^32; choose a split that cuts the text",
                pretoken.len()
            )));
        }
        scratch.symbols.clear();
        scratch.bounds.clear();
        match &self.symbols {
            Symbols::Bytes(table) => self.break_up_bytes(pretoken, table, scratch, out.ends.is_some())?,
            Symbols::Chars(chars) => {
                let Scratch { symbols, bounds, .. } = scratch;
                chars.break_up(text(pretoken)?, &self.unknown, Row::new(symbols, bounds))?;
            }
            Symbols::Pieces(pieces) => {
                let tables = (&self.pairs, &self.unknown);
                return pieces.spell(tables, text(pretoken)?, scratch, chance, out, ticker);
            }
        }
        if matches!(chance, Chance::Never) {
            return merge::merge::<false>(&self.pairs, scratch, out.ids, out.ends, ticker);
        }
        agenda::merge(&self.pairs, scratch, chance, |_, _, _| {}, ticker)?;
        merge::collect(scratch, out.ids, out.ends.take());
        Ok(())
    }

    fn break_up_bytes(
        &self,
        pretoken: &[u8],
        table: &[TokenId; 256],
        scratch: &mut Scratch,
        wants_ends: bool,
    ) -> Result<()> {
        let Scratch { symbols, bounds, .. } = scratch;
        symbols.extend(pretoken.iter().map(|&byte| table[usize::from(byte)]));
        if wants_ends {
            bounds.extend(1..=narrow(pretoken.len()));
        }
        if symbols.contains(&NO_ID) {
            symbols.clear();
            bounds.clear();
            symbols::break_up_bytes(pretoken, table, &self.unknown, Row::new(symbols, bounds))?;
        }
        Ok(())
    }

    /// Can every text be spelled without an unknown token?
    pub fn is_byte_complete(&self) -> bool {
        match &self.symbols {
            Symbols::Bytes(table) => !table.contains(&NO_ID),
            Symbols::Chars(_) | Symbols::Pieces(_) => self.unknown.spells_all(),
        }
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        let symbols = match &self.symbols {
            Symbols::Bytes(_) => 1024,
            Symbols::Chars(chars) => chars.memory(),
            Symbols::Pieces(pieces) => pieces.memory(),
        };
        self.pairs.memory() + self.at_once.capacity() + symbols
    }
}

fn text(pretoken: &[u8]) -> Result<&str> {
    std::str::from_utf8(pretoken)
        .map_err(|_| Error::internal("a character model was given bytes that are not UTF-8"))
}
