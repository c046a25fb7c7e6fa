//! Merging by the table of all pairs: the plain rule, for every vocabulary.
//!
//! In: one pretoken. Out: its ids; for callers that ask, with dropout. The ids must be those of the naive rule, so
//! that `canonical` is only a faster way to them.
//!
//! `symbols` splits a pretoken into symbols, `sentencepiece` does so for the models of that library; `pairs` makes
//! the table of merges; `merge` and `dropout` merge the symbols; `steps` explains the merges.
mod dropout;
mod merge;
pub(super) mod pairs;
mod sentencepiece;
pub(super) mod steps;
mod symbols;

use tokenmill_kernels::image::{ImageReader, ImageWriter};
use tokenmill_kernels::{MadeOnce, PairTable, try_alloc};

use crate::description::{Alphabet, BpeDescription, Merges};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::output::Output;
use crate::model::random::Random;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::scratch::BpeScratch;
use dropout::{MergeDropout, merge_with_dropout};
use merge::{SCAN_LIMIT, merge, merge_by_scan, write_linked};
use sentencepiece::{MergeMode, Pieces};
use symbols::{Chars, Fallback, SymbolWriter};

/// The symbols and the merges of a vocabulary.
#[derive(Debug)]
pub(super) struct General {
    symbols: Symbols,
    fallback: Fallback,
    /// All pairs that merge. If there are canonical merges, only dropout and explanations need this table, and it
    /// is made when one of them first does.
    pairs: MadeOnce<PairTable>,
}

/// The symbols that merging starts from.
#[derive(Debug)]
enum Symbols {
    /// The id of each byte; [`NO_ID`] if it has none.
    Bytes(Box<[TokenId; 256]>),
    Chars(Box<Chars>),
    /// Pieces, which merge by score.
    Pieces(Box<Pieces>),
}

impl General {
    /// Compiles the symbols of a valid description. The table of pairs is not made yet, unless the merges go by
    /// score.
    ///
    /// # Errors
    /// A format error at `merges` for scores of symbols that are not characters.
    pub(super) fn new(description: &BpeDescription, vocabulary: &Vocabulary) -> Result<Self> {
        let prefix = description.continuing_prefix.as_deref();
        let pairs = MadeOnce::default();
        let symbols = match (&description.alphabet, &description.merges) {
            (Alphabet::Chars { end_of_word: None }, Merges::ByScore { scores, kinds })
                if prefix.is_none() =>
            {
                let (pieces, by_score) = Pieces::new(scores, kinds, vocabulary)?;
                pairs.get_or_make(|| by_score);
                Symbols::Pieces(Box::new(pieces))
            }
            (_, Merges::ByScore { .. }) => {
                let reason = "merges go by score only over plain characters";
                return Err(Error::format(Defect::Inconsistent, reason).at("merges").at("model"));
            }
            (Alphabet::Bytes, _) => {
                Symbols::Bytes(symbols::byte_symbols(vocabulary, &|id| vocabulary.is_special(id)))
            }
            (Alphabet::Chars { end_of_word }, _) => {
                Symbols::Chars(Box::new(Chars::new(prefix, end_of_word.as_ref(), vocabulary)))
            }
        };
        Ok(Self { symbols, fallback: Fallback::new(description, vocabulary), pairs })
    }

    /// The id of each byte, if the symbols are bytes.
    pub(super) fn bytes(&self) -> Option<&[TokenId; 256]> {
        match &self.symbols {
            Symbols::Bytes(table) => Some(table),
            Symbols::Chars(_) | Symbols::Pieces(_) => None,
        }
    }

    /// All pairs that merge. The table is made by the first call.
    ///
    /// # Errors
    /// A format error for a pair that is listed twice; errors of the watch.
    pub(super) fn pairs(
        &self,
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<&PairTable> {
        if let Some(pairs) = self.pairs.get() {
            return Ok(pairs);
        }
        let all = pairs::all(description, vocabulary, ticker)?;
        Ok(self.pairs.get_or_make(|| all))
    }

    /// Writes the ids of a pretoken. The table of pairs must have been made.
    ///
    /// # Errors
    /// An unknown-token error for a symbol outside the alphabet; cancellation.
    pub(super) fn encode(
        &self,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        self.encode_scanning(SCAN_LIMIT, pretoken, scratch, output, ticker)
    }

    /// As [`Self::encode`]: rows of up to `scanned` symbols are merged by a scan, longer ones by a heap.
    pub(super) fn encode_scanning(
        &self,
        scanned: usize,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let Some(pairs) = self.pairs.get() else {
            return Err(Error::internal("a model has no merges"));
        };
        if let Symbols::Pieces(pieces) = &self.symbols {
            let tables = (pairs, &self.fallback);
            let mode = MergeMode::Deterministic { scanned };
            return pieces.encode(tables, text(pretoken)?, scratch, mode, output, ticker);
        }
        self.split(pretoken, output.ends.is_some(), scratch, ticker)?;
        merge::<false, _>(pairs, scratch, output, scanned, ticker)
    }

    /// As [`Self::encode`], but each merge is skipped with a probability.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub(super) fn sample(
        &self,
        pairs: &PairTable,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        (probability, random): (f64, &mut Random),
        output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if let Symbols::Pieces(pieces) = &self.symbols {
            let mode = MergeMode::Dropout(probability, random);
            let tables = (pairs, &self.fallback);
            return pieces.encode(tables, text(pretoken)?, scratch, mode, output, ticker);
        }
        self.split(pretoken, output.ends.is_some(), scratch, ticker)?;
        let dropout = MergeDropout::Delay(probability, random);
        merge_with_dropout(pairs, scratch, dropout, |_, _, _| {}, ticker)?;
        write_linked(scratch, output)
    }

    /// Splits a pretoken into the symbols that merging starts from.
    fn split(
        &self,
        pretoken: &[u8],
        wants_ends: bool,
        scratch: &mut BpeScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let BpeScratch { symbols, bounds, .. } = scratch;
        symbols.clear();
        bounds.clear();
        match &self.symbols {
            Symbols::Bytes(table) => self.split_bytes(pretoken, table, scratch, wants_ends),
            Symbols::Chars(chars) => {
                chars.split(text(pretoken)?, &self.fallback, SymbolWriter::new(symbols, bounds))
            }
            Symbols::Pieces(pieces) => pieces.split(text(pretoken)?, scratch, ticker),
        }
    }

    fn split_bytes(
        &self,
        pretoken: &[u8],
        table: &[TokenId; 256],
        scratch: &mut BpeScratch,
        wants_ends: bool,
    ) -> Result<()> {
        let BpeScratch { symbols, bounds, .. } = scratch;
        try_alloc::reserve(symbols, pretoken.len())?;
        symbols.extend(pretoken.iter().map(|&byte| table[usize::from(byte)]));
        if wants_ends {
            try_alloc::reserve(bounds, pretoken.len())?;
            bounds.extend(1..=to_u32(pretoken.len()));
        }
        if symbols.contains(&NO_ID) {
            symbols.clear();
            bounds.clear();
            symbols::split_bytes(pretoken, table, &self.fallback, SymbolWriter::new(symbols, bounds))?;
        }
        Ok(())
    }

    /// Are the symbols ids of the vocabulary?
    pub(super) fn symbols_are_ids(&self) -> bool {
        !matches!(self.symbols, Symbols::Pieces(_))
    }

    /// May text become the token at this index of the vocabulary?
    pub(super) fn is_output(&self, index: usize, vocabulary: &Vocabulary) -> bool {
        match &self.symbols {
            Symbols::Pieces(pieces) => pieces.is_output(index),
            Symbols::Bytes(_) | Symbols::Chars(_) => !vocabulary.is_special(vocabulary.tokens().id(index)),
        }
    }

    /// Can every text be spelled without an unknown token?
    pub(super) fn is_byte_complete(&self) -> bool {
        match &self.symbols {
            Symbols::Bytes(table) => !table.contains(&NO_ID),
            Symbols::Chars(_) | Symbols::Pieces(_) => self.fallback.spells_all(),
        }
    }

    /// Appends the tables to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        match &self.symbols {
            Symbols::Bytes(table) => image.array(&table[..]),
            Symbols::Chars(chars) => chars.write(image),
            Symbols::Pieces(pieces) => pieces.write(image),
        }
        self.fallback.write(image);
        image.optional(self.pairs.get());
    }

    /// The tables of an image, for the same description.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(super) fn read(
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        image: &mut ImageReader,
    ) -> Result<Self> {
        let symbols = match (&description.alphabet, &description.merges) {
            (_, Merges::ByScore { .. }) => Symbols::Pieces(Box::new(Pieces::read(vocabulary, image)?)),
            (Alphabet::Bytes, _) => Symbols::Bytes(image.copy()?),
            (Alphabet::Chars { end_of_word }, _) => {
                let prefix = description.continuing_prefix.as_deref();
                Symbols::Chars(Box::new(Chars::read(prefix, end_of_word.as_ref(), image)?))
            }
        };
        let fallback = Fallback::read(description, image)?;
        let pairs = image.optional::<PairTable>()?.map_or_else(MadeOnce::new, MadeOnce::from);
        Ok(Self { symbols, fallback, pairs })
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        let symbols = match &self.symbols {
            Symbols::Bytes(_) => 1024,
            Symbols::Chars(chars) => chars.memory(),
            Symbols::Pieces(pieces) => pieces.memory(),
        };
        self.pairs.get().map_or(0, PairTable::memory) + symbols
    }
}

/// Merges the ids in `scratch.symbols`, which are symbols, by the naive rule; says the rank of each merge.
///
/// # Errors
/// None of its own. Cost: quadratic in the number of symbols.
pub(super) fn merge_row(
    pairs: &PairTable,
    scratch: &mut BpeScratch,
    mut on_merge: impl FnMut(u32),
) -> Result<()> {
    let BpeScratch { symbols, pairs: buffer, .. } = scratch;
    merge_by_scan::<true, _>(pairs, symbols, buffer, |_, pair| {
        on_merge((pair >> 32) as u32);
        Ok(())
    })
}

fn text(pretoken: &[u8]) -> Result<&str> {
    std::str::from_utf8(pretoken)
        .map_err(|_| Error::internal("a character model was given bytes that are not UTF-8"))
}
