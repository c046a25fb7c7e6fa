//! The arrays of an n-gram model.
//!
//! A context is the token before, or the two tokens before. The successors of all contexts are in one array, a row for
//! each context, and `offsets` has where each row begins. So a model is saved by copying its arrays, and read where it
//! is mapped. Such a file may be damaged: every lookup checks its bounds, and [`NGramModel::verify`] checks all.
use std::ops::Range;

use tokenmill_kernels::U32Array;

use super::token_bytes::TokenBytes;
use crate::error::{Defect, Error, Result};
use crate::ids::TokenId;
use crate::watch::{Ticker, Watch};

/// How many tokens an n-gram has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A token, and the one after it.
    Two,
    /// Two tokens, and the one after them.
    Three,
}

impl Order {
    /// The number of tokens.
    pub fn number(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }

    /// The order with this number of tokens.
    pub fn of(number: u64) -> Option<Self> {
        match number {
            2 => Some(Self::Two),
            3 => Some(Self::Three),
            _ => None,
        }
    }
}

/// The sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The order.
    pub order: Order,
    /// Tokens of the corpus.
    pub tokens: u64,
    /// Different tokens.
    pub symbols: u64,
    /// Bytes of all different tokens.
    pub bytes: u64,
    /// Different contexts.
    pub contexts: u64,
    /// Different n-grams.
    pub ngrams: u64,
}

/// The names of the arrays, in the order in which they are saved.
pub const SECTIONS: [&str; 8] =
    ["ids", "token_offsets", "token_bytes", "first_offsets", "contexts", "offsets", "successors", "counts"];

impl Sizes {
    /// The length of each of the [`SECTIONS`], in numbers of 32 bits.
    pub fn lengths(&self) -> [u64; 8] {
        let Self { symbols, bytes, contexts, ngrams, .. } = *self;
        let (firsts, seconds) = match self.order {
            Order::Two => (0, 0),
            Order::Three => (symbols.saturating_add(1), contexts),
        };
        let offsets = contexts.saturating_add(1);
        [symbols, symbols.saturating_add(1), bytes.div_ceil(4), firsts, seconds, offsets, ngrams, ngrams]
    }
}

/// An n-gram model with the decoder of its tokens. Immutable.
#[derive(Debug, Clone)]
pub struct NGramModel {
    pub(super) order: Order,
    /// Tokens of the corpus.
    pub(super) tokens: u64,
    /// Bytes of the decoder.
    pub(super) bytes: u64,
    pub(super) decoder: TokenBytes,
    /// For order 3, where the contexts begin whose first token is each symbol, and the end of the last.
    pub(super) first_offsets: U32Array,
    /// For order 3, the second token of each context; for order 2 the contexts are all symbols.
    pub(super) contexts: U32Array,
    /// Where the row of each context begins, and the end of the last.
    pub(super) offsets: U32Array,
    /// The successors of each context, ascending.
    pub(super) successors: U32Array,
    /// How often each occurs, added up from the start of its row.
    pub(super) counts: U32Array,
}

impl NGramModel {
    /// A model of arrays from a file, in the order of [`SECTIONS`].
    ///
    /// # Errors
    /// A format error if the lengths are not those of `sizes`, or if the model is empty.
    pub fn from_sections(sizes: Sizes, sections: [U32Array; 8]) -> Result<Self> {
        for ((length, section), name) in sizes.lengths().into_iter().zip(&sections).zip(SECTIONS) {
            if section.len() as u64 != length {
                let reason = format!("{} numbers where {length} belong; the file is damaged", section.len());
                return Err(Error::format(Defect::Inconsistent, reason).at(name));
            }
        }
        let Sizes { order, tokens, symbols, bytes, contexts, ngrams } = sizes;
        let is_too_large =
            [tokens, symbols, bytes, contexts, ngrams].iter().any(|&size| size > u32::MAX.into());
        let is_contradictory = ngrams > tokens || contexts > ngrams || symbols > contexts;
        if symbols == 0 || is_too_large || is_contradictory || (order == Order::Two && symbols != contexts) {
            let reason = "its sizes cannot be those of a model; the file is damaged";
            return Err(Error::format(Defect::Inconsistent, reason).at("sizes"));
        }
        let [ids, token_offsets, token_bytes, first_offsets, contexts, offsets, successors, counts] =
            sections;
        let decoder = TokenBytes { ids, offsets: token_offsets, packed: token_bytes };
        Ok(Self { order, tokens, bytes, decoder, first_offsets, contexts, offsets, successors, counts })
    }

    /// The arrays, in the order of [`SECTIONS`].
    pub fn sections(&self) -> [&U32Array; 8] {
        let TokenBytes { ids, offsets, packed } = &self.decoder;
        let Self { first_offsets, contexts, successors, counts, .. } = self;
        [ids, offsets, packed, first_offsets, contexts, &self.offsets, successors, counts]
    }

    /// The sizes.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            order: self.order,
            tokens: self.tokens,
            symbols: self.decoder.len() as u64,
            bytes: self.bytes,
            contexts: self.context_count() as u64,
            ngrams: self.successors.len() as u64,
        }
    }

    /// Heap bytes held; what is mapped is not among these.
    pub fn memory(&self) -> usize {
        let arrays = [&self.first_offsets, &self.contexts, &self.offsets, &self.successors, &self.counts];
        self.decoder.memory() + arrays.iter().map(|array| array.memory()).sum::<usize>()
    }

    /// The successors of a context, with how often each occurs. `None` if the context does not occur.
    ///
    /// # Errors
    /// A budget error for a context of another length; a format error if the model is damaged.
    pub fn successors(&self, context: &[TokenId]) -> Result<Option<Vec<(TokenId, u32)>>> {
        let Some(row) = self.context_of_ids(context)? else { return Ok(None) };
        let mut before = 0;
        let pairs = self.row(row)?.map(|place| {
            let count = self.count(place)?;
            let own = count.checked_sub(before).ok_or_else(|| damaged("counts", place))?;
            before = count;
            Ok((self.decoder.id(self.successor(place)?)?, own))
        });
        tokenmill_kernels::try_alloc::collect(pairs).map(Some)
    }

    /// The number of the context that these ids are.
    pub(super) fn context_of_ids(&self, ids: &[TokenId]) -> Result<Option<usize>> {
        match (self.order, ids) {
            (Order::Two, &[id]) => Ok(self.decoder.symbol(id).map(|symbol| symbol as usize)),
            (Order::Three, &[first, second]) => {
                match (self.decoder.symbol(first), self.decoder.symbol(second)) {
                    (Some(first), Some(second)) => self.context_of_pair(first, second),
                    _ => Ok(None),
                }
            }
            _ => {
                let wanted = self.order.number() - 1;
                let reason = format!("a context of this model has {wanted} ids, not {}", ids.len());
                Err(Error::argument(reason))
            }
        }
    }

    /// The number of the context of two symbols, for order 3.
    pub(super) fn context_of_pair(&self, first: u32, second: u32) -> Result<Option<usize>> {
        let range = self.contexts_of_first(first)?;
        let (mut from, mut to) = (range.start, range.end);
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.second(middle)? < second { from = middle + 1 } else { to = middle }
        }
        Ok(if from < range.end && self.second(from)? == second { Some(from) } else { None })
    }

    /// Does the second symbol follow the first somewhere in the corpus?
    pub(super) fn follows(&self, first: u32, second: u32) -> Result<bool> {
        if self.order == Order::Three {
            return Ok(self.context_of_pair(first, second)?.is_some());
        }
        let row = self.row(first as usize)?;
        let (mut from, mut to) = (row.start, row.end);
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.successor(middle)? < second { from = middle + 1 } else { to = middle }
        }
        Ok(from < row.end && self.successor(from)? == second)
    }

    /// The contexts whose first token is this symbol, for order 3.
    pub(super) fn contexts_of_first(&self, first: u32) -> Result<Range<usize>> {
        part_of(&self.first_offsets, first as usize, self.contexts.len(), "first_offsets")
    }

    /// The row of a context: places in `successors` and `counts`. Never empty.
    pub(super) fn row(&self, context: usize) -> Result<Range<usize>> {
        part_of(&self.offsets, context, self.successors.len(), "offsets")
    }

    pub(super) fn successor(&self, place: usize) -> Result<u32> {
        self.successors.get(place).ok_or_else(|| damaged("successors", place))
    }

    pub(super) fn count(&self, place: usize) -> Result<u32> {
        self.counts.get(place).ok_or_else(|| damaged("counts", place))
    }

    /// The second token of a context, for order 3.
    pub(super) fn second(&self, context: usize) -> Result<u32> {
        self.contexts.get(context).ok_or_else(|| damaged("contexts", context))
    }

    pub(super) fn context_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Checks everything that a lookup takes for granted. Cost: near-linear.
    ///
    /// # Errors
    /// A format error that names the array and the index; errors of the watch.
    pub fn verify(&self, watch: &dyn Watch) -> Result<()> {
        let ticker = &mut Ticker::new(watch);
        let (symbols, ngrams) = (self.decoder.len(), self.successors.len());
        ascends(&self.decoder.ids, 0..symbols, "ids", ticker)?;
        ends(&self.decoder.offsets, self.bytes as usize, false, "token_offsets", ticker)?;
        ends(&self.offsets, ngrams, true, "offsets", ticker)?;
        let used = self.bytes as usize % 4;
        if let Some(last) = self.decoder.packed.len().checked_sub(1)
            && used > 0
            && self.decoder.packed.get(last).is_none_or(|word| word >> (8 * used) != 0)
        {
            return Err(damaged("token_bytes", last));
        }
        if self.order == Order::Three {
            ends(&self.first_offsets, self.contexts.len(), true, "first_offsets", ticker)?;
        }
        let mut tokens = 0;
        for first in 0..symbols {
            let contexts = match self.order {
                Order::Two => first..first + 1,
                Order::Three => {
                    let contexts = self.contexts_of_first(first as u32)?;
                    ascends(&self.contexts, contexts.clone(), "contexts", ticker)?;
                    contexts
                }
            };
            for context in contexts {
                let row = self.row(context)?;
                ascends(&self.successors, row.clone(), "successors", ticker)?;
                ascends(&self.counts, row.clone(), "counts", ticker)?;
                if self.count(row.start)? == 0 {
                    return Err(damaged("counts", row.start));
                }
                tokens += u64::from(self.count(row.end - 1)?);
                let second = if self.order == Order::Three { self.second(context)? } else { 0 };
                if second as usize >= symbols {
                    return Err(damaged("contexts", context));
                }
                for place in row {
                    let successor = self.successor(place)?;
                    let leads_on = (successor as usize) < symbols
                        && (self.order == Order::Two || self.context_of_pair(second, successor)?.is_some());
                    if !leads_on {
                        return Err(damaged("successors", place));
                    }
                }
            }
        }
        if tokens == self.tokens {
            return Ok(());
        }
        let reason = format!("the counts are those of {tokens} tokens, the header says {}", self.tokens);
        Err(Error::format(Defect::Inconsistent, reason).at("counts"))
    }
}

/// The part between two offsets, which must not be empty.
fn part_of(offsets: &U32Array, index: usize, length: usize, name: &str) -> Result<Range<usize>> {
    let bounds = offsets.get(index).zip(offsets.get(index + 1));
    match bounds.map(|(start, end)| (start as usize)..(end as usize)) {
        Some(part) if part.start < part.end && part.end <= length => Ok(part),
        _ => Err(damaged(name, index)),
    }
}

/// Are these numbers ascending?
fn ascends(words: &U32Array, range: Range<usize>, name: &str, ticker: &mut Ticker<'_>) -> Result<()> {
    ticker.spend(4 * range.len())?;
    for place in range.start + 1..range.end {
        if words.get(place - 1) >= words.get(place) {
            return Err(damaged(name, place));
        }
    }
    Ok(())
}

/// Do these offsets go from 0 to `end`, without a step back, or with `is_strict` without an empty part?
fn ends(words: &U32Array, end: usize, is_strict: bool, name: &str, ticker: &mut Ticker<'_>) -> Result<()> {
    ticker.spend(4 * words.len())?;
    let last = words.len().saturating_sub(1);
    if words.get(0) != Some(0) || words.get(last) != Some(end as u32) {
        return Err(damaged(name, if words.get(0) == Some(0) { last } else { 0 }));
    }
    for place in 1..words.len() {
        let (before, own) = (words.get(place - 1), words.get(place));
        if before > own || (is_strict && before == own) {
            return Err(damaged(name, place));
        }
    }
    Ok(())
}

/// A number that no model has.
#[cold]
pub(super) fn damaged(name: &str, index: usize) -> Error {
    let reason = "this number cannot be that of a model; the file is damaged, so train or download it again";
    Error::format(Defect::Inconsistent, reason).at_index(index).at(name)
}
