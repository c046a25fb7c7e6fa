//! Byte-pair encoding: a pretoken becomes symbols, neighbours merge by rank until none can.
//!
//! Comes in: one pretoken. Goes out: its ids. What the symbols are and which of them merge is in
//! `symbols` and `pairs`, or in `pieces` for the model of SentencePiece. A pretoken that is a token
//! needs one look-up. Others go by what the vocabulary is and by their length: over all 256 bytes,
//! and with ranks that agree with one another, short ones are scanned for the lowest rank (the rows of the kernels)
//! and long ones merged window by window, in linear time (`long`); else the lowest rank is found by a scan or, in
//! long ones, by a heap, at n log n (`merge`).
mod agenda;
mod building;
mod canonical;
mod cuts;
mod exceptions;
mod islands;
mod long;
mod merge;
mod order;
mod pairs;
mod pieces;
mod steps;
mod symbols;
#[cfg(test)]
mod tests;

use tokenmill_kernels::rows::Width;
use tokenmill_kernels::{MadeOnce, PairTable};

use tokenmill_kernels::try_alloc;

use crate::description::{Alphabet, Bpe as BpeDescription, Merges};
use crate::error::{Defect, Error, Kind, Result};
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

use super::random::Random;
use agenda::Chance;
use canonical::Canonical;
use exceptions::Exceptions;
use pieces::{Out, Pieces};
use symbols::{Chars, Row, Unknown};

pub use canonical::TOGETHER;
pub use merge::Scratch;
pub use pairs::listed_merges;
pub use steps::{MOST_SYMBOLS, Step, Steps};

/// A compiled BPE model. Immutable.
#[derive(Debug)]
pub struct Bpe {
    symbols: Symbols,
    /// What merges bytes, where that is enough to spell every text.
    canonical: Option<Box<Canonical>>,
    /// All pairs that merge. With canonical merges only chance and people ask for the others, and
    /// they are made when that happens.
    pairs: MadeOnce<PairTable>,
    unknown: Unknown,
    /// By index in the vocabulary's token list: does merging these bytes give this token?
    builds: Vec<bool>,
    /// May a pretoken with these bytes become this token at once? Only where that says more:
    /// whole pretokens win over merging, and some are not what it gives.
    wins: Option<Vec<bool>>,
    /// Tokens that are none by merging, where there are any.
    exceptions: Option<Exceptions>,
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
    /// characters; at `dropout` for what is no probability; those of the watch.
    pub fn new(
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        if let Some(dropout) = description.dropout.filter(|dropout| !(0.0..=1.0).contains(dropout)) {
            let reason = format!("{dropout} is no probability; those go from 0 to 1");
            return Err(Error::format(Defect::Range, reason).at("dropout").at("model"));
        }
        let is_special: &dyn Fn(TokenId) -> bool = &|id| vocabulary.is_special(id);
        let prefix = description.continuing_prefix.as_deref();
        let (mut canonical, pairs) = (None, MadeOnce::default());
        let symbols = match (&description.alphabet, &description.merges) {
            (Alphabet::Chars { end_of_word: None }, Merges::ByScore { scores, kinds })
                if prefix.is_none() =>
            {
                let (pieces, by_score) = Pieces::new(scores, kinds, vocabulary, is_special)?;
                pairs.get_or_make(|| by_score);
                Symbols::Pieces(Box::new(pieces))
            }
            (_, Merges::ByScore { .. }) => {
                let reason = "merges go by score only over plain characters";
                return Err(Error::format(Defect::Inconsistent, reason).at("merges").at("model"));
            }
            (Alphabet::Bytes, merges) => {
                let table = symbols::byte_symbols(vocabulary, is_special);
                if prefix.is_none_or(str::is_empty) {
                    let tokens = vocabulary.tokens();
                    canonical = match merges {
                        Merges::Listed(merges) => {
                            Canonical::listed(merges, tokens, &table, is_special, ticker)?
                        }
                        _ => Canonical::by_id(tokens, &table, is_special, ticker)?,
                    };
                }
                Symbols::Bytes(table)
            }
            (Alphabet::Chars { end_of_word }, _) => {
                let mark = end_of_word.as_ref();
                Symbols::Chars(Box::new(Chars::new(prefix, mark, vocabulary, is_special)))
            }
        };
        if canonical.is_none() && pairs.get().is_none() {
            let all = pairs::all(description, vocabulary, ticker)?;
            pairs.get_or_make(|| all);
        }
        let BpeDescription { unk, fuse_unk, byte_fallback, .. } = *description;
        let unknown = Unknown::new(unk, fuse_unk, byte_fallback, vocabulary, is_special);
        let (canonical, builds) =
            canonical.map_or((None, None), |(merges, builds)| (Some(Box::new(merges)), Some(builds)));
        let mut model =
            Self { symbols, canonical, pairs, unknown, builds: Vec::new(), wins: None, exceptions: None };
        model.builds = match builds {
            Some(builds) => builds,
            None => model.self_building(vocabulary, ticker)?,
        };
        if description.whole_pretokens {
            let may_come_out = |index| match &model.symbols {
                Symbols::Pieces(pieces) => pieces.may_come_out(index),
                _ => !is_special(vocabulary.tokens().id(index)),
            };
            let wins: Vec<bool> = (0..vocabulary.tokens().len()).map(may_come_out).collect();
            model.wins = Some(wins).filter(|wins| *wins != model.builds);
            if model.wins.is_some() {
                let tokens = vocabulary.tokens().iter().enumerate();
                let exceptions = tokens.filter(|&(index, _)| model.is_exception(index));
                model.exceptions = Exceptions::of(exceptions.map(|(_, (_, bytes))| bytes));
            }
        }
        Ok(model)
    }

    /// For every ordinary token: does merging its bytes give this one token?
    fn self_building(&self, vocabulary: &Vocabulary, ticker: &mut Ticker<'_>) -> Result<Vec<bool>> {
        let mut scratch = Scratch::default();
        let mut ids = Vec::new();
        let builds = |(id, bytes): (TokenId, &[u8])| {
            ids.clear();
            ticker.spend(bytes.len() + 16)?;
            match self.merge_pretoken(bytes, &mut scratch, Out { ids: &mut ids, ends: None }, ticker) {
                Ok(()) => Ok(ids == [id]),
                Err(error) if matches!(error.kind, Kind::Cancelled) => Err(error),
                Err(_) => Ok(false),
            }
        };
        vocabulary.tokens().iter().map(builds).collect()
    }

    /// May a pretoken with the bytes of the token at this index become it at once?
    pub fn may_become(&self, index: usize) -> bool {
        self.at_once().get(index) == Some(&true)
    }

    /// Of each token: does a pretoken with its bytes become it?
    #[inline]
    fn at_once(&self) -> &[bool] {
        self.wins.as_ref().unwrap_or(&self.builds)
    }

    /// Does merging build every token that a text may become from its bytes, so that the rule for
    /// whole pretokens says nothing new?
    pub fn builds_every_token(&self) -> bool {
        self.exceptions.is_none()
    }

    /// All pairs that merge.
    fn pairs(&self, description: &BpeDescription, vocabulary: &Vocabulary) -> Result<&PairTable> {
        if let Some(pairs) = self.pairs.get() {
            return Ok(pairs);
        }
        let all = pairs::all(description, vocabulary, &mut Ticker::new(&Unwatched))?;
        Ok(self.pairs.get_or_make(|| all))
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
        let out = Out { ids, ends };
        self.encode_whole(pretoken, self.at_once(), vocabulary, scratch, out, ticker)
    }

    /// As [`Self::encode`], for a segment of a pretoken between two places that
    /// [`Self::next_cut`] gives: no rule for whole pretokens.
    ///
    /// # Errors
    /// As [`Self::encode`].
    #[inline]
    pub fn encode_segment(
        &self,
        segment: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let out = Out { ids, ends: None };
        if self.canonical.is_some() {
            // Of what merges give, the rule for whole pretokens would say the same.
            return self.merge_pretoken(segment, scratch, out, ticker);
        }
        self.encode_whole(segment, &self.builds, vocabulary, scratch, out, ticker)
    }

    /// Are its merges [canonical](Canonical), so that texts have cuts and segments can be merged side by side?
    pub fn is_canonical(&self) -> bool {
        self.canonical.is_some()
    }

    /// As [`Self::encode_segment`], of up to [`TOGETHER`] that are rows of a width; how many ids each has. Nothing where
    /// the merges are not [canonical](Self::is_canonical).
    ///
    /// # Errors
    /// Memory that cannot be had.
    #[inline]
    pub fn encode_together<W: Width>(
        &self,
        segments: &[W::Row],
        ids: &mut Vec<TokenId>,
    ) -> Result<[usize; TOGETHER]> {
        let Some(merges) = &self.canonical else { return Ok([0; TOGETHER]) };
        merges.encode_together::<W>(segments, ids)
    }

    /// Puts the ids of a segment into `room`, which is at least as long, where it falls into short [islands](islands);
    /// says how many they are.
    ///
    /// Cost: linear, up to the first long one.
    #[inline]
    pub fn spell_islands(&self, segment: &[u8], room: &mut [TokenId]) -> Option<usize> {
        self.canonical.as_ref()?.spell_islands(segment, room)
    }

    /// Where the next segment of a pretoken ends: the first place behind `from` that nothing is
    /// merged across, or the end. `from` is such a place, too, or the start. The ids of a pretoken
    /// that is no token by the rule for whole pretokens are those of its segments joined.
    ///
    /// Cost: linear in the distance.
    #[inline]
    pub fn next_cut(&self, pretoken: &[u8], from: usize) -> usize {
        match &self.canonical {
            Some(merges) => merges.cuts.next(pretoken, from),
            None => pretoken.len(),
        }
    }

    /// As [`Self::next_cut`], of as many segments as there is room for in `ends`; says how many.
    #[inline]
    pub fn next_cuts(&self, pretoken: &[u8], from: usize, ends: &mut [usize]) -> usize {
        match (&self.canonical, ends) {
            (Some(merges), ends) => merges.cuts.next_ones(pretoken, from, ends),
            (None, [end, ..]) if from < pretoken.len() => {
                *end = pretoken.len();
                1
            }
            (None, _) => 0,
        }
    }

    /// Is a pretoken its segments joined? Not where nothing is known of cuts, nor where it is a
    /// token by the rule for whole pretokens.
    #[inline]
    pub fn goes_by_segments(&self, pretoken: &[u8], vocabulary: &Vocabulary) -> bool {
        let may_be = || self.exceptions.as_ref().is_some_and(|exceptions| exceptions.may_hold(pretoken));
        let is_exception = || vocabulary.find_index(pretoken).is_some_and(|index| self.is_exception(index));
        self.canonical.is_some() && !(may_be() && is_exception())
    }

    /// Is it a token by the rule for whole pretokens alone?
    fn is_exception(&self, index: usize) -> bool {
        self.may_become(index) && self.builds.get(index) == Some(&false)
    }

    /// Does a segment always have the ids that it has as a pretoken, so that one cache may hold
    /// both?
    pub fn segments_are_pretokens(&self) -> bool {
        self.wins.is_none()
    }

    #[inline]
    fn encode_whole(
        &self,
        pretoken: &[u8],
        at_once: &[bool],
        vocabulary: &Vocabulary,
        scratch: &mut Scratch,
        out: Out<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if let Some(index) = vocabulary.find_index(pretoken)
            && at_once.get(index) == Some(&true)
        {
            let mut out = out;
            return out.put(vocabulary.tokens().id(index), pretoken.len());
        }
        self.merge_pretoken(pretoken, scratch, out, ticker)
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
        (description, vocabulary): (&BpeDescription, &Vocabulary),
        scratch: &mut Scratch,
        (probability, random): (f64, &mut Random),
        (ids, ends): (&mut Vec<TokenId>, Option<&mut Vec<u32>>),
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let pairs = self.pairs(description, vocabulary)?;
        if let Symbols::Pieces(pieces) = &self.symbols {
            let chance = Chance::Dropped(probability, random);
            let tables = (pairs, &self.unknown);
            return pieces.spell(tables, text(pretoken)?, scratch, chance, Out { ids, ends }, ticker);
        }
        self.break_up(pretoken, ends.is_some(), scratch)?;
        let chance = Chance::Delayed(probability, random);
        agenda::merge(pairs, scratch, chance, |_, _, _| {}, ticker)?;
        merge::collect(scratch, ids, ends)
    }

    fn merge_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut Scratch,
        out: Out<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        // Places and ends are counted in 32 bits.
        if u32::try_from(pretoken.len()).is_err() {
            return Err(Error::argument(format!(
                "a pretoken of {} bytes is over the limit of 2^32; choose a split that cuts the text",
                pretoken.len()
            )));
        }
        if let Some(merges) = &self.canonical {
            return merges.encode(pretoken, scratch, out, ticker);
        }
        let Some(pairs) = self.pairs.get() else {
            return Err(Error::internal("a model has no merges"));
        };
        if let Symbols::Pieces(pieces) = &self.symbols {
            let tables = (pairs, &self.unknown);
            return pieces.spell(tables, text(pretoken)?, scratch, Chance::Never, out, ticker);
        }
        self.break_up(pretoken, out.ends.is_some(), scratch)?;
        merge::merge::<false>(pairs, scratch, out.ids, out.ends, ticker)
    }

    /// Breaks a pretoken up into symbols that are ids.
    fn break_up(&self, pretoken: &[u8], wants_ends: bool, scratch: &mut Scratch) -> Result<()> {
        scratch.symbols.clear();
        scratch.bounds.clear();
        match &self.symbols {
            Symbols::Bytes(table) => self.break_up_bytes(pretoken, table, scratch, wants_ends),
            Symbols::Chars(chars) => {
                let Scratch { symbols, bounds, .. } = scratch;
                chars.break_up(text(pretoken)?, &self.unknown, Row::new(symbols, bounds))
            }
            Symbols::Pieces(_) => Err(Error::internal("pieces have symbols of their own")),
        }
    }

    fn break_up_bytes(
        &self,
        pretoken: &[u8],
        table: &[TokenId; 256],
        scratch: &mut Scratch,
        wants_ends: bool,
    ) -> Result<()> {
        let Scratch { symbols, bounds, .. } = scratch;
        try_alloc::reserve(symbols, pretoken.len())?;
        symbols.extend(pretoken.iter().map(|&byte| table[usize::from(byte)]));
        if wants_ends {
            try_alloc::reserve(bounds, pretoken.len())?;
            bounds.extend(1..=to_u32(pretoken.len()));
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
        self.pairs.get().map_or(0, PairTable::memory)
            + self.canonical.as_ref().map_or(0, |merges| merges.memory())
            + self.builds.capacity()
            + self.exceptions.as_ref().map_or(0, Exceptions::memory)
            + self.wins.as_ref().map_or(0, Vec::capacity)
            + symbols
    }
}

fn text(pretoken: &[u8]) -> Result<&str> {
    std::str::from_utf8(pretoken)
        .map_err(|_| Error::internal("a character model was given bytes that are not UTF-8"))
}
