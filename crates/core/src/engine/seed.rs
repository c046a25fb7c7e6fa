//! Tokens by their bytes, looked up in place of asking the model: made with the engine, shared by all workers, and never
//! changed.
use tokenmill_kernels::short_table::{self, Key, NumberTable, SHORT, Value};

use crate::ids::TokenId;
use crate::model::Model;
use crate::vocabulary::Vocabulary;

/// A table is asked for so many places ahead while it is filled.
const AHEAD: usize = 8;

/// The tokens that a pretoken may become at once: all of those that are short.
#[derive(Debug)]
pub(super) struct Seed {
    /// Each holds what there was no place for in the one before.
    tables: Vec<NumberTable>,
}

impl Seed {
    /// Those of a model for which that can be said beforehand.
    pub(super) fn new(model: &Model, vocabulary: &Vocabulary) -> Self {
        let is_short = |bytes: &[u8]| (1..=SHORT).contains(&bytes.len());
        let tokens = vocabulary.tokens().iter().enumerate();
        let tokens = tokens.filter(|&(index, (_, bytes))| {
            is_short(bytes) && model.as_bpe().is_some_and(|bpe| bpe.may_become(index))
        });
        let mut left: Vec<(Key, TokenId)> =
            tokens.map(|(_, (id, bytes))| (short_table::key_at(bytes, 0, bytes.len()), id)).collect();
        let mut tables = Vec::new();
        while tables.is_empty() || !left.is_empty() {
            let mut table = NumberTable::for_keys(left.len());
            let mut without = Vec::new();
            for (at, &(key, id)) in left.iter().enumerate() {
                if let Some(&(next, _)) = left.get(at + AHEAD) {
                    table.prefetch(short_table::hash(next));
                }
                // Of tokens with the same bytes the last counts, as in the vocabulary.
                if !table.insert(key, short_table::hash(key), id) {
                    without.push((key, id));
                }
            }
            left = without;
            tables.push(table);
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
    pub(super) fn memory(&self) -> usize {
        self.tables.iter().map(NumberTable::memory).sum()
    }
}
