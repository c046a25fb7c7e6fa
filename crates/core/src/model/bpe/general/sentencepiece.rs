//! The model of SentencePiece: any two neighbours whose joined text is a piece may merge, the piece with the
//! highest score first.
//!
//! In: text. Out: ids. An unused piece must never be one of them: it is split again as SentencePiece splits it.
//!
//! Symbols have their own numbers: a piece has its index in the vocabulary, and the characters that are no piece
//! but occur in one come after these. So a pair of symbols determines its text, and all pairs that may ever merge
//! are known in advance.
use tokenmill_kernels::image::{Array, ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::{PairTable, sorting, try_alloc};

use crate::description::{Lengths, PieceKind};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::bpe::scratch::BpeScratch;
use crate::model::output::Output;
use crate::model::random::Random;
use crate::model::unknown::unknown_symbol;
use crate::special::{LiteralMatcher, TextPart};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::dropout::{MergeDropout, merge_with_dropout};
use super::merge::{merge, write_linked};
use super::pairs::table;
use super::symbols::{CharTable, Fallback, only_char};

/// The symbol of a character that is in no piece. It merges with nothing.
const UNKNOWN_CHAR: u32 = u32::MAX - 1;

/// Which merges are made.
pub(super) enum MergeMode<'a> {
    /// All that can be made. Rows of up to `scanned` symbols are merged by a scan, where no piece is unused.
    Deterministic { scanned: usize },
    /// Each merge is skipped for good with this probability.
    Dropout(f64, &'a mut Random),
}

/// The symbols of a model that merges by score.
#[derive(Debug)]
pub(super) struct Pieces {
    chars: CharTable,
    /// User-defined pieces: found in the text before anything merges, and kept whole.
    user_defined: LiteralMatcher,
    user_defined_symbols: Array<u32>,
    /// The id of each symbol; [`NO_ID`] for one that no text may become.
    ids: Array<TokenId>,
    /// The bytes of each symbol.
    lengths: Array<u32>,
    /// Are there unused pieces, which are split again?
    has_unused: bool,
}

impl Pieces {
    /// The symbols, and the table of pairs that merge.
    pub(super) fn new(
        scores: &[f32],
        kinds: &[PieceKind],
        vocabulary: &Vocabulary,
    ) -> Result<(Self, PairTable)> {
        let tokens = vocabulary.tokens();
        let text = |index: usize| std::str::from_utf8(tokens.bytes(index)).unwrap_or_default();
        let kind =
            |index: usize| kinds.get(index).copied().filter(|_| !vocabulary.is_special(tokens.id(index)));
        let merges = |index: usize| matches!(kind(index), Some(PieceKind::Normal | PieceKind::Unused));
        let is_user_defined = |index: usize| kind(index) == Some(PieceKind::UserDefined);
        let user_defined_symbols: Array<u32> =
            (0..tokens.len()).filter(|&i| is_user_defined(i)).map(to_u32).collect();
        let mut pieces = Self {
            chars: CharTable::default(),
            user_defined: literals(&user_defined_symbols, vocabulary)?,
            user_defined_symbols,
            ids: (0..tokens.len())
                .map(|i| {
                    let is_output = matches!(kind(i), Some(PieceKind::Normal | PieceKind::UserDefined));
                    if is_output { tokens.id(i) } else { NO_ID }
                })
                .collect(),
            lengths: tokens.iter().map(|(_, bytes)| to_u32(bytes.len())).collect(),
            has_unused: false,
        };
        let mut longer = Vec::new();
        for index in (0..tokens.len()).filter(|&index| merges(index)) {
            match only_char(text(index)) {
                Some(char) => pieces.chars.insert(char, to_u32(index)),
                None => longer.push(index),
            }
        }
        pieces.has_unused = longer.iter().any(|&index| kind(index) == Some(PieceKind::Unused));
        pieces.add_characters(longer.iter().map(|&index| text(index)), |char| {
            vocabulary.find_index(char.as_bytes()).is_some_and(is_user_defined)
        });
        // Equal scores have equal ranks, so that the leftmost comes first. Positive and negative zero differ, as in
        // SentencePiece, which compares bits.
        let mut by_score: Vec<f32> = longer.iter().map(|&index| scores[index]).collect();
        sorting::sort_by(&mut by_score, |a, b| b.total_cmp(a));
        by_score.dedup_by(|a, b| a.total_cmp(b).is_eq());
        let rank = |index: usize| by_score.partition_point(|other| other.total_cmp(&scores[index]).is_gt());
        let lengths = Lengths::of_tokens(tokens);
        let symbol = |part: &str| match only_char(part) {
            Some(char) => pieces.chars.get(char),
            None if !lengths.has(part.len()) => None,
            None => vocabulary.find_index(part.as_bytes()).filter(|&index| merges(index)).map(to_u32),
        };
        let mut entries = Vec::new();
        for &index in &longer {
            let (piece, rank) = (text(index), to_u32(rank(index)));
            for (place, _) in piece.char_indices().skip(1) {
                if let (Some(left), Some(right)) = (symbol(&piece[..place]), symbol(&piece[place..])) {
                    entries.push(((left, right), (rank, to_u32(index))));
                }
            }
        }
        Ok((pieces, table(&entries)?))
    }

    /// Numbers the characters of pieces that are no piece themselves.
    fn add_characters<'a>(
        &mut self,
        pieces: impl Iterator<Item = &'a str>,
        is_user_defined: impl Fn(&str) -> bool,
    ) {
        for char in pieces.flat_map(str::chars) {
            // A user-defined character is never part of a merge.
            if self.chars.get(char).is_none() && !is_user_defined(char.encode_utf8(&mut [0; 4])) {
                self.chars.insert(char, to_u32(self.ids.len()));
                self.ids.push(NO_ID);
                self.lengths.push(to_u32(char.len_utf8()));
            }
        }
    }

    /// Writes the ids of `text`.
    pub(super) fn encode(
        &self,
        (table, fallback): (&PairTable, &Fallback),
        text: &str,
        scratch: &mut BpeScratch,
        mode: MergeMode<'_>,
        mut output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        self.split(text, scratch, ticker)?;
        let mut splits = std::mem::take(&mut scratch.splits);
        let mut symbols = std::mem::take(&mut scratch.merged);
        let mut bounds = std::mem::take(&mut scratch.merged_ends);
        splits.clear();
        symbols.clear();
        bounds.clear();
        let merged = Output { ids: &mut symbols, ends: Some(&mut bounds) };
        let dropout = match mode {
            MergeMode::Deterministic { scanned } if !self.has_unused => {
                merge::<true, _>(table, scratch, merged, scanned, ticker)?;
                None
            }
            MergeMode::Deterministic { .. } => Some(MergeDropout::Off),
            MergeMode::Dropout(probability, random) => Some(MergeDropout::Drop(probability, random)),
        };
        if let Some(dropout) = dropout {
            let propose = |result: u32, left, right| {
                if self.ids[result as usize] == NO_ID {
                    splits.insert(result, (left, right));
                }
            };
            merge_with_dropout(table, scratch, dropout, propose, ticker)?;
            write_linked(scratch, Output { ids: &mut symbols, ends: Some(&mut bounds) })?;
        }
        let mut at = 0;
        let mut was_unknown = false;
        for (&symbol, &bound) in symbols.iter().zip(&bounds) {
            let mut stack = std::mem::take(&mut scratch.stack);
            stack.clear();
            stack.push(symbol);
            while let Some(part) = stack.pop() {
                // The last part ends where the symbol ends.
                let end = if stack.is_empty() { bound as usize } else { at + self.length(part) };
                if let Some(&id) = self.ids.get(part as usize).filter(|&&id| id != NO_ID) {
                    output.push(id, to_u32(end))?;
                    was_unknown = false;
                } else if let Some(&(left, right)) = splits.get(&part) {
                    stack.extend([right, left]);
                    continue;
                } else {
                    was_unknown = write_unknown(&mut output, &text[at..end], at, was_unknown, fallback)?;
                }
                at = end;
            }
            scratch.stack = stack;
            ticker.spend(1)?;
        }
        (scratch.splits, scratch.merged, scratch.merged_ends) = (splits, symbols, bounds);
        Ok(())
    }

    /// Splits `text` into the symbols that merging starts from.
    pub(super) fn split(&self, text: &str, scratch: &mut BpeScratch, ticker: &mut Ticker<'_>) -> Result<()> {
        let BpeScratch { symbols, bounds, .. } = scratch;
        symbols.clear();
        bounds.clear();
        self.user_defined.for_each_part(text.as_bytes(), ticker, |segment, ticker| match segment {
            TextPart::Literal(which, span) => {
                try_alloc::push(symbols, self.user_defined_symbols[which])?;
                Ok(try_alloc::push(bounds, to_u32(span.end))?)
            }
            TextPart::Ordinary(span) => {
                // At most one symbol for each byte.
                try_alloc::reserve(symbols, span.len())?;
                try_alloc::reserve(bounds, span.len())?;
                for (i, char) in text[span.start..span.end].char_indices() {
                    symbols.push(self.chars.get(char).unwrap_or(UNKNOWN_CHAR));
                    bounds.push(to_u32(span.start + i + char.len_utf8()));
                }
                ticker.spend(span.len())
            }
        })
    }

    /// May text become the piece at this index of the vocabulary?
    pub(super) fn is_output(&self, index: usize) -> bool {
        self.ids[index] != NO_ID
    }

    fn length(&self, symbol: u32) -> usize {
        self.lengths.get(symbol as usize).map_or(0, |&length| length as usize)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.chars.memory() + self.ids.memory() + self.lengths.memory()
    }

    /// Appends the symbols to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        self.chars.write(image);
        image.array(&self.user_defined_symbols);
        image.array(&self.ids);
        image.array(&self.lengths);
        image.number(u64::from(self.has_unused));
    }

    /// The symbols of an image, for the same vocabulary.
    pub(super) fn read(vocabulary: &Vocabulary, image: &mut ImageReader) -> Result<Self> {
        let (chars, user_defined_symbols) = (CharTable::read(image)?, image.array::<u32>()?);
        let (ids, lengths) = (image.array()?, image.array()?);
        let has_unused = image.number_below(2)? == 1;
        if user_defined_symbols.iter().any(|&symbol| symbol as usize >= vocabulary.tokens().len()) {
            return Err(ImageError::Inconsistent("a user-defined piece is no token").into());
        }
        let user_defined = literals(&user_defined_symbols, vocabulary)?;
        Ok(Self { chars, user_defined, user_defined_symbols, ids, lengths, has_unused })
    }
}

/// The user-defined pieces among the tokens, by their indices.
fn literals(indices: &[u32], vocabulary: &Vocabulary) -> Result<LiteralMatcher> {
    let text =
        |index: &u32| std::str::from_utf8(vocabulary.tokens().bytes(*index as usize)).unwrap_or_default();
    LiteralMatcher::new(indices.iter().map(text))
}

/// Writes the tokens for unknown text that starts at `at`; returns whether that was the unknown token.
fn write_unknown(
    output: &mut Output<'_>,
    text: &str,
    at: usize,
    was_unknown: bool,
    fallback: &Fallback,
) -> Result<bool> {
    if let Some(tokens) = fallback.tokens_of(text.as_bytes()) {
        for (i, token) in tokens.enumerate() {
            output.push(token, to_u32(at + i + 1))?;
        }
        return Ok(false);
    }
    let Some(unk) = fallback.unk else { return Err(unknown_symbol(text, at)) };
    let end = to_u32(at + text.len());
    if was_unknown && fallback.fuse {
        // The text is joined to that of the last id.
        if let Some(last) = output.ends.as_mut().and_then(|ends| ends.last_mut()) {
            *last = end;
        }
    } else {
        output.push(unk, end)?;
    }
    Ok(true)
}
