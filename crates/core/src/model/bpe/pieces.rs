//! The model of SentencePiece: any two neighbours whose text joined is a piece may merge, the piece
//! with the highest score first.
//!
//! Symbols have numbers of their own: those of pieces are their index in the vocabulary, behind
//! them stand characters that are no piece but occur in one. So a pair of symbols says what its
//! text is, and all pairs that may ever merge are known beforehand.
use std::collections::HashMap;

use foldhash::fast::FixedState;
use tokenmill_kernels::PairTable;

use tokenmill_kernels::try_alloc;

use crate::description::{Lengths, PieceKind};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::special::{LiteralMatcher, Segment};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::agenda::{self, Chance};
use super::pairs;

use super::symbols::{CharTable, Unknown, only_char, unknown_token};
use super::{Scratch, merge};

/// A character that is in no piece. It merges with nothing.
const STRANGER: u32 = u32::MAX - 1;

/// What a piece was last proposed to be merged from, by its symbol.
pub(super) type Splits = HashMap<u32, (u32, u32), FixedState>;

/// The symbols of a model by score.
#[derive(Debug)]
pub(super) struct Pieces {
    chars: CharTable,
    /// Pieces that are kept whole where they stand in the text.
    frozen: LiteralMatcher,
    frozen_symbols: Vec<u32>,
    /// The id of each symbol, `NO_ID` for one that is not to come out.
    ids: Vec<TokenId>,
    /// How many bytes each symbol is long.
    lengths: Vec<u32>,
    /// Are there pieces that are split again?
    has_unused: bool,
}

impl Pieces {
    /// The symbols, and which of them merge.
    pub(super) fn new(
        scores: &[f32],
        kinds: &[PieceKind],
        vocabulary: &Vocabulary,
        is_special: &dyn Fn(TokenId) -> bool,
    ) -> Result<(Self, PairTable)> {
        let tokens = vocabulary.tokens();
        let text = |index: usize| std::str::from_utf8(tokens.bytes(index)).unwrap_or_default();
        let kind = |index: usize| kinds.get(index).copied().filter(|_| !is_special(tokens.id(index)));
        let merges = |index: usize| matches!(kind(index), Some(PieceKind::Normal | PieceKind::Unused));
        let is_frozen = |index: usize| kind(index) == Some(PieceKind::UserDefined);
        let frozen_symbols: Vec<u32> = (0..tokens.len()).filter(|&i| is_frozen(i)).map(to_u32).collect();
        let mut pieces = Self {
            chars: CharTable::default(),
            frozen: LiteralMatcher::new(frozen_symbols.iter().map(|&index| text(index as usize)))?,
            frozen_symbols,
            ids: (0..tokens.len())
                .map(|i| {
                    let comes_out = matches!(kind(i), Some(PieceKind::Normal | PieceKind::UserDefined));
                    if comes_out { tokens.id(i) } else { NO_ID }
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
            vocabulary.find_index(char.as_bytes()).is_some_and(is_frozen)
        });
        // Equal scores have equal ranks, so that the leftmost of them comes first. Zeros differ by
        // their sign, as they do in SentencePiece since it compares the bits.
        let mut by_score: Vec<f32> = longer.iter().map(|&index| scores[index]).collect();
        by_score.sort_by(|a, b| b.total_cmp(a));
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
            for (cut, _) in piece.char_indices().skip(1) {
                if let (Some(left), Some(right)) = (symbol(&piece[..cut]), symbol(&piece[cut..])) {
                    entries.push(((left, right), (rank, to_u32(index))));
                }
            }
        }
        Ok((pieces, pairs::table(&entries)?))
    }

    /// Numbers the characters of pieces that are no piece themselves.
    fn add_characters<'a>(
        &mut self,
        pieces: impl Iterator<Item = &'a str>,
        is_frozen: impl Fn(&str) -> bool,
    ) {
        for char in pieces.flat_map(str::chars) {
            // A frozen character is never a part of anything.
            if self.chars.get(char).is_none() && !is_frozen(char.encode_utf8(&mut [0; 4])) {
                self.chars.insert(char, to_u32(self.ids.len()));
                self.ids.push(NO_ID);
                self.lengths.push(to_u32(char.len_utf8()));
            }
        }
    }

    /// Puts the ids of `text` behind `ids`, and where the part of each ends behind `ends`.
    pub(super) fn spell(
        &self,
        (table, unknown): (&PairTable, &Unknown),
        text: &str,
        scratch: &mut Scratch,
        chance: Chance<'_>,
        mut out: Out<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        self.break_up(text, scratch, ticker)?;
        let mut splits = std::mem::take(&mut scratch.splits);
        let mut symbols = std::mem::take(&mut scratch.merged);
        let mut bounds = std::mem::take(&mut scratch.merged_ends);
        splits.clear();
        symbols.clear();
        bounds.clear();
        if self.has_unused || !matches!(chance, Chance::Never) {
            let propose = |result: u32, left, right| {
                if self.ids[result as usize] == NO_ID {
                    splits.insert(result, (left, right));
                }
            };
            agenda::merge(table, scratch, chance, propose, ticker)?;
            merge::collect(scratch, &mut symbols, Some(&mut bounds))?;
        } else {
            merge::merge::<true>(table, scratch, &mut symbols, Some(&mut bounds), ticker)?;
        }
        let mut at = 0;
        let mut was_unknown = false;
        for (&symbol, &bound) in symbols.iter().zip(&bounds) {
            let mut parts = std::mem::take(&mut scratch.parts);
            parts.clear();
            parts.push(symbol);
            while let Some(part) = parts.pop() {
                // Where a piece was not split, all of it is left.
                let end = if parts.is_empty() { bound as usize } else { at + self.length(part) };
                if let Some(&id) = self.ids.get(part as usize).filter(|&&id| id != NO_ID) {
                    out.put(id, end)?;
                    was_unknown = false;
                } else if let Some(&(left, right)) = splits.get(&part) {
                    parts.extend([right, left]);
                    continue;
                } else {
                    was_unknown = out.put_unknown(&text[at..end], at, was_unknown, unknown)?;
                }
                at = end;
            }
            scratch.parts = parts;
            ticker.spend(1)?;
        }
        (scratch.splits, scratch.merged, scratch.merged_ends) = (splits, symbols, bounds);
        Ok(())
    }

    pub(super) fn break_up(&self, text: &str, scratch: &mut Scratch, ticker: &mut Ticker<'_>) -> Result<()> {
        let Scratch { symbols, bounds, .. } = scratch;
        symbols.clear();
        bounds.clear();
        self.frozen.for_each_segment(text.as_bytes(), ticker, |segment, ticker| match segment {
            Segment::Literal(which, span) => {
                try_alloc::push(symbols, self.frozen_symbols[which])?;
                Ok(try_alloc::push(bounds, to_u32(span.end))?)
            }
            Segment::Ordinary(span) => {
                // No more characters than bytes.
                try_alloc::reserve(symbols, span.len())?;
                try_alloc::reserve(bounds, span.len())?;
                for (i, char) in text[span.start..span.end].char_indices() {
                    symbols.push(self.chars.get(char).unwrap_or(STRANGER));
                    bounds.push(to_u32(span.start + i + char.len_utf8()));
                }
                ticker.spend(span.len())
            }
        })
    }

    /// May text become the piece at this index of the vocabulary?
    pub(super) fn may_come_out(&self, index: usize) -> bool {
        self.ids[index] != NO_ID
    }

    fn length(&self, symbol: u32) -> usize {
        self.lengths.get(symbol as usize).map_or(0, |&length| length as usize)
    }

    pub(super) fn memory(&self) -> usize {
        self.chars.memory() + 4 * (self.ids.capacity() + self.lengths.capacity())
    }
}

/// Where ids go, and where the part of each ends, if anybody asks.
pub(super) struct Out<'a> {
    pub(super) ids: &'a mut Vec<TokenId>,
    pub(super) ends: Option<&'a mut Vec<u32>>,
}

impl Out<'_> {
    pub(super) fn put(&mut self, id: TokenId, end: usize) -> Result<()> {
        try_alloc::push(self.ids, id)?;
        match &mut self.ends {
            Some(ends) => Ok(try_alloc::push(ends, to_u32(end))?),
            None => Ok(()),
        }
    }

    /// Puts what stands for unknown text; is it the unknown token?
    fn put_unknown(&mut self, text: &str, at: usize, was_unknown: bool, unknown: &Unknown) -> Result<bool> {
        if let Some(tokens) = unknown.tokens_of(text.as_bytes()) {
            for (i, token) in tokens.enumerate() {
                self.put(token, at + i + 1)?;
            }
            return Ok(false);
        }
        let Some(unk) = unknown.unk else { return Err(unknown_token(text, at)) };
        if was_unknown && unknown.fuse {
            self.widen(at + text.len());
        } else {
            self.put(unk, at + text.len())?;
        }
        Ok(true)
    }

    /// The last id ends later.
    fn widen(&mut self, end: usize) {
        if let Some(last) = self.ends.as_mut().and_then(|ends| ends.last_mut()) {
            *last = to_u32(end);
        }
    }
}
