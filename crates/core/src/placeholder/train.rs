//! A corpus of ids into a model.
//!
//! The corpus is a circle: after its last token comes its first, so that every context has a successor. Its positions
//! are sorted by the n-grams that begin there, token by token from the last one: each pass is a counting sort, and the
//! order of the pass before is what it keeps within a token. Cost: linear in the corpus.
use tokenmill_kernels::try_alloc;

use super::model::{NGramModel, Order};
use super::token_bytes::TokenBytes;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::watch::{Ticker, Watch};

/// Bits of an id that one pass sorts by.
const DIGIT: u32 = 16;

impl NGramModel {
    /// Counts the n-grams of a corpus. The model holds the bytes that each id decodes to.
    ///
    /// # Errors
    /// A training error for a corpus that is empty or has 2^32 ids; a vocabulary error for an id that the tokenizer
    /// does not have; errors of the watch; out of memory.
    pub fn train(engine: &Engine, ids: &[TokenId], order: Order, watch: &dyn Watch) -> Result<Self> {
        if ids.is_empty() {
            return Err(Error::training("there is no token to learn from; give a text that is not empty"));
        }
        if u32::try_from(ids.len()).is_err() {
            return Err(Error::training(format!(
                "{} tokens are over the limit of 2^32; train on less",
                ids.len()
            )));
        }
        let ticker = &mut Ticker::new(watch);
        let corpus = Corpus::new(ids, ticker)?;
        let mut sorted = try_alloc::copy(&corpus.sorted)?;
        for _ in 1..order.number() {
            sorted = corpus.sort_by_token_before(&sorted, ticker)?;
        }
        let mut before = try_alloc::vec(corpus.ids.len())?;
        before.extend(corpus.starts.iter().map(|&start| {
            let position = corpus.sorted[start as usize] as usize;
            ids[corpus.before(position)]
        }));
        let counted = Counted::new(&corpus, &sorted, order, ticker)?;
        let tokens = ids.len() as u64;
        let decoder = TokenBytes::new(engine, corpus.ids, &before, ticker)?;
        Ok(Self {
            order,
            tokens,
            bytes: decoder.offsets.get(decoder.len()).unwrap_or_default().into(),
            decoder,
            first_offsets: counted.first_offsets.into(),
            contexts: counted.contexts.into(),
            offsets: counted.offsets.into(),
            successors: counted.successors.into(),
            counts: counted.counts.into(),
        })
    }
}

/// A corpus as symbols: numbers of its different ids, in their order.
struct Corpus {
    /// The id of each symbol.
    ids: Vec<TokenId>,
    /// The symbol at each position.
    symbols: Vec<u32>,
    /// All positions, sorted by symbol and then by place.
    sorted: Vec<u32>,
    /// Where each symbol begins in `sorted`.
    starts: Vec<u32>,
}

impl Corpus {
    fn new(ids: &[TokenId], ticker: &mut Ticker<'_>) -> Result<Self> {
        let mut sorted = try_alloc::vec(ids.len())?;
        sorted.extend(0..ids.len() as u32);
        let largest = ids.iter().copied().max().unwrap_or_default();
        // By the lower half of the ids, then by the upper half, if any has one.
        for shift in [0, DIGIT] {
            if shift == 0 || largest >> DIGIT > 0 {
                let digits = (largest >> shift).min((1 << DIGIT) - 1) as usize + 1;
                let digit = |position: u32| ids[position as usize] >> shift & ((1 << DIGIT) - 1);
                let mut starts = try_alloc::filled(0, digits)?;
                for position in 0..ids.len() as u32 {
                    starts[digit(position) as usize] += 1;
                }
                counts_to_starts(&mut starts);
                sorted = scatter(&sorted, &mut starts, |position| (position, digit(position)), ticker)?;
            }
        }
        let (mut different, mut starts) = (Vec::new(), Vec::new());
        let mut symbols = try_alloc::filled(0, ids.len())?;
        for (place, &position) in sorted.iter().enumerate() {
            let id = ids[position as usize];
            if different.last() != Some(&id) {
                try_alloc::push(&mut different, id)?;
                try_alloc::push(&mut starts, place as u32)?;
            }
            symbols[position as usize] = different.len() as u32 - 1;
        }
        ticker.spend(8 * ids.len())?;
        Ok(Self { ids: different, symbols, sorted, starts })
    }

    /// The position before one, in the circle.
    fn before(&self, position: usize) -> usize {
        position.checked_sub(1).unwrap_or(self.symbols.len() - 1)
    }

    /// The symbol `distance` positions after one, in the circle.
    fn symbol(&self, position: u32, distance: usize) -> u32 {
        self.symbols[(position as usize + distance) % self.symbols.len()]
    }

    /// From positions sorted by the tokens from there on, those before them, sorted by one token more.
    fn sort_by_token_before(&self, sorted: &[u32], ticker: &mut Ticker<'_>) -> Result<Vec<u32>> {
        let mut starts = try_alloc::copy(&self.starts)?;
        let key = |position: u32| {
            let before = self.before(position as usize);
            (before as u32, self.symbols[before])
        };
        scatter(sorted, &mut starts, key, ticker)
    }
}

/// From the number of items of each key to where these begin.
fn counts_to_starts(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Puts items where those of their keys begin, in their order. `starts` is used up.
fn scatter(
    items: &[u32],
    starts: &mut [u32],
    item_and_key: impl Fn(u32) -> (u32, u32),
    ticker: &mut Ticker<'_>,
) -> Result<Vec<u32>> {
    let mut sorted = try_alloc::filled(0, items.len())?;
    for part in items.chunks(1 << 14) {
        for &item in part {
            let (item, key) = item_and_key(item);
            let start = &mut starts[key as usize];
            sorted[*start as usize] = item;
            *start += 1;
        }
        ticker.spend(4 * part.len())?;
    }
    Ok(sorted)
}

/// The arrays of a model.
#[derive(Default)]
struct Counted {
    first_offsets: Vec<u32>,
    contexts: Vec<u32>,
    offsets: Vec<u32>,
    successors: Vec<u32>,
    counts: Vec<u32>,
}

impl Counted {
    /// Counts the n-grams at positions that are sorted by these.
    fn new(corpus: &Corpus, sorted: &[u32], order: Order, ticker: &mut Ticker<'_>) -> Result<Self> {
        let mut arrays = Self::default();
        let (mut context, mut successor) = (None, None);
        for part in sorted.chunks(1 << 14) {
            for &position in part {
                let first = corpus.symbol(position, 0);
                let own = match order {
                    Order::Two => (first, 0),
                    Order::Three => (first, corpus.symbol(position, 1)),
                };
                if context != Some(own) {
                    if order == Order::Three {
                        while arrays.first_offsets.len() <= first as usize {
                            try_alloc::push(&mut arrays.first_offsets, arrays.contexts.len() as u32)?;
                        }
                        try_alloc::push(&mut arrays.contexts, own.1)?;
                    }
                    try_alloc::push(&mut arrays.offsets, arrays.successors.len() as u32)?;
                    (context, successor) = (Some(own), None);
                }
                let next = corpus.symbol(position, order.number() - 1);
                if successor == Some(next) {
                    if let Some(count) = arrays.counts.last_mut() {
                        *count += 1;
                    }
                } else {
                    let before = if successor.is_some() { arrays.counts.last().copied() } else { None };
                    try_alloc::push(&mut arrays.successors, next)?;
                    try_alloc::push(&mut arrays.counts, before.unwrap_or(0) + 1)?;
                    successor = Some(next);
                }
            }
            ticker.spend(8 * part.len())?;
        }
        try_alloc::push(&mut arrays.offsets, arrays.successors.len() as u32)?;
        if order == Order::Three {
            try_alloc::push(&mut arrays.first_offsets, arrays.contexts.len() as u32)?;
        }
        let vectors = [&mut arrays.first_offsets, &mut arrays.contexts, &mut arrays.offsets];
        vectors.into_iter().chain([&mut arrays.successors, &mut arrays.counts]).for_each(Vec::shrink_to_fit);
        Ok(arrays)
    }
}
