//! The static table: all short tokens that a pretoken may become as a whole, by their bytes.
//!
//! It is made when a tokenizer is compiled, shared by all workers, and never changes. Asked before the
//! model is: by the miss queue, for the segments of a pretoken that is spelled by itself, and for a single pretoken.
//! Only short ones can be found, and none under a key that is marked as a segment's.
use tokenmill_kernels::short_table::{self, Key, NumberTable, SHORT, Value};

use crate::engine::RawSegments;
use crate::ids::TokenId;
use crate::model::Model;
use crate::vocabulary::Vocabulary;

/// A slot is prefetched this many tokens before it is filled.
const PREFETCH_DISTANCE: usize = 8;

/// Short tokens by their bytes.
#[derive(Debug)]
pub(in super::super) struct StaticTable {
    /// Each table holds what overflowed the one before.
    tables: Vec<NumberTable>,
}

impl StaticTable {
    /// The table of a model; empty for all models but byte-pair encoding.
    pub(in super::super) fn new(
        model: &Model,
        vocabulary: &Vocabulary,
        raw_segments: Option<&RawSegments>,
    ) -> Self {
        let tokens = || {
            let tokens = vocabulary.tokens().iter().enumerate();
            let tokens = tokens.filter(|&(index, _)| model.as_bpe().is_some_and(|bpe| bpe.may_become(index)));
            let mut buffer = Vec::new();
            tokens.filter_map(move |(_, (id, bytes))| {
                let bytes = match raw_segments {
                    Some(raw) => raw.raw_of(bytes, &mut buffer)?,
                    None => bytes,
                };
                let is_short = (1..=SHORT).contains(&bytes.len());
                is_short.then(|| (short_table::key_at(bytes, 0, bytes.len()), id))
            })
        };
        let (first, mut overflow) = filled(tokens().count(), tokens());
        let mut tables = vec![first];
        while !overflow.is_empty() {
            let (table, rest) = filled(overflow.len(), overflow.into_iter());
            tables.push(table);
            overflow = rest;
        }
        Self { tables }
    }

    #[inline]
    pub(super) fn get(&self, key: Key, hash: u64) -> Option<Value> {
        for table in &self.tables {
            let found = table.get(key, hash);
            if found.is_some() || !table.overflows(hash) {
                return found.map(|id| Value::of(&[id]));
            }
        }
        None
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.tables[0].prefetch(hash);
    }

    /// Heap bytes held.
    pub(in super::super) fn memory(&self) -> usize {
        self.tables.iter().map(NumberTable::memory).sum()
    }
}

/// A table for `count` tokens, and those that overflowed it.
fn filled(count: usize, tokens: impl Iterator<Item = (Key, TokenId)>) -> (NumberTable, Vec<(Key, TokenId)>) {
    let mut table = NumberTable::for_keys(count);
    let mut overflow = Vec::new();
    let mut insert = |table: &mut NumberTable, (key, hash, id): (Key, u64, TokenId)| {
        // Of tokens with the same bytes the last one counts, as in the vocabulary.
        if !table.insert(key, hash, id) {
            overflow.push((key, id));
        }
    };
    let mut prefetched = [None; PREFETCH_DISTANCE];
    let mut next = 0;
    for (key, id) in tokens {
        let hash = short_table::hash(key);
        table.prefetch(hash);
        if let Some(token) = prefetched[next].replace((key, hash, id)) {
            insert(&mut table, token);
        }
        next = (next + 1) % PREFETCH_DISTANCE;
    }
    prefetched.rotate_left(next);
    prefetched.into_iter().flatten().for_each(|token| insert(&mut table, token));
    (table, overflow)
}
