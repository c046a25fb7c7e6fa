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
        let tokens = || {
            let tokens = vocabulary.tokens().iter().enumerate();
            let tokens = tokens.filter(|&(index, (_, bytes))| {
                (1..=SHORT).contains(&bytes.len()) && model.as_bpe().is_some_and(|bpe| bpe.may_become(index))
            });
            tokens.map(|(_, (id, bytes))| (short_table::key_at(bytes, 0, bytes.len()), id))
        };
        let (first, mut left) = filled(tokens().count(), tokens());
        let mut tables = vec![first];
        while !left.is_empty() {
            let (table, without) = filled(left.len(), left.into_iter());
            tables.push(table);
            left = without;
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

/// A table of so many tokens, and those that there is no place for.
fn filled(count: usize, tokens: impl Iterator<Item = (Key, TokenId)>) -> (NumberTable, Vec<(Key, TokenId)>) {
    let mut table = NumberTable::for_keys(count);
    let mut without = Vec::new();
    let mut put = |table: &mut NumberTable, (key, hash, id): (Key, u64, TokenId)| {
        // Of tokens with the same bytes the last counts, as in the vocabulary.
        if !table.insert(key, hash, id) {
            without.push((key, id));
        }
    };
    let mut waiting = [None; AHEAD];
    let mut next = 0;
    for (key, id) in tokens {
        let hash = short_table::hash(key);
        table.prefetch(hash);
        if let Some(one) = waiting[next].replace((key, hash, id)) {
            put(&mut table, one);
        }
        next = (next + 1) % AHEAD;
    }
    waiting.rotate_left(next);
    waiting.into_iter().flatten().for_each(|one| put(&mut table, one));
    (table, without)
}
