//! The static table: all short tokens that a pretoken may become as a whole, by their bytes.
//!
//! It is made when a tokenizer is compiled or read from an image, shared by all workers, and never changes. It is
//! asked before the model: by the miss queue, for the segments of a pretoken that is spelled by itself, for the
//! pretokens of a raw part, and for a single pretoken. Only short ones can be found, and none under a key that is
//! marked as a segment's. Raw words of WordPiece are here under marked keys.
use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::short_table::{self, Key, NumberTable, SHORT, Value};

use super::keys::WORD;
use crate::engine::raw::{Raw, RawWords};
use crate::ids::TokenId;
use crate::model::Model;
use crate::model::wordpiece::WordPiece;
use crate::vocabulary::Vocabulary;

/// A slot is prefetched this many tokens before it is filled.
const PREFETCH_DISTANCE: usize = 8;

/// Short tokens by their bytes.
#[derive(Debug)]
pub(in super::super) struct StaticTable {
    /// Each table holds what overflowed the one before.
    tables: Vec<NumberTable>,
    /// The tokens of one byte, which are also in the tables. A punctuation mark in a word is such a pretoken.
    by_byte: Box<[Option<TokenId>; 256]>,
}

impl StaticTable {
    /// The table of a model. It is empty, unless the model is BPE, or a WordPiece whose raw words are looked up.
    pub(in super::super) fn new(model: &Model, vocabulary: &Vocabulary, raw: Option<&Raw>) -> Self {
        let mut entries = Vec::new();
        match (raw, model) {
            (Some(Raw::Segments(segments)), Model::Bpe(bpe)) => {
                let mut buffer = Vec::new();
                for (index, (id, token)) in vocabulary.tokens().iter().enumerate() {
                    let raw = segments.raw_of(token, &mut buffer).filter(|_| bpe.may_become(index));
                    entries.extend(raw.and_then(short_key).map(|key| (key, id)));
                }
            }
            (Some(Raw::Words(words)), Model::WordPiece(word_piece)) => {
                add_words(words, word_piece, vocabulary, &mut entries);
            }
            (_, Model::Bpe(bpe)) => {
                let tokens = vocabulary.tokens().iter().enumerate();
                let tokens = tokens.filter(|&(index, _)| bpe.may_become(index));
                entries.extend(tokens.filter_map(|(_, (id, token))| Some((short_key(token)?, id))));
            }
            _ => {}
        }
        let (first, mut overflow) = filled(entries.len(), entries.into_iter());
        let mut tables = vec![first];
        while !overflow.is_empty() {
            let (table, rest) = filled(overflow.len(), overflow.into_iter());
            tables.push(table);
            overflow = rest;
        }
        Self::of(tables)
    }

    fn of(tables: Vec<NumberTable>) -> Self {
        let by_byte = std::array::from_fn(|byte| {
            let key = short_table::key_at(&[byte as u8], 0, 1);
            find(&tables, key, short_table::hash(key))
        });
        Self { tables, by_byte: Box::new(by_byte) }
    }

    #[inline]
    pub(super) fn get(&self, key: Key, hash: u64) -> Option<Value> {
        self.id(key, hash).map(|id| Value::of(&[id]))
    }

    /// The token with this key.
    #[inline]
    pub(super) fn id(&self, key: Key, hash: u64) -> Option<TokenId> {
        find(&self.tables, key, hash)
    }

    /// The token of one byte.
    #[inline]
    pub(super) fn id_of_byte(&self, byte: u8) -> Option<TokenId> {
        self.by_byte[usize::from(byte)]
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.tables[0].prefetch(hash);
    }

    /// Heap bytes held.
    pub(in super::super) fn memory(&self) -> usize {
        self.tables.iter().map(NumberTable::memory).sum::<usize>() + size_of_val(&*self.by_byte)
    }
}

impl InImage for StaticTable {
    fn write(&self, image: &mut ImageWriter) {
        image.number(self.tables.len() as u64);
        self.tables.iter().for_each(|table| table.write(image));
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        let count = image.number()?;
        let tables = (0..count).map(|_| NumberTable::read(image)).collect::<Result<Vec<_>, _>>()?;
        if tables.is_empty() {
            return Err(ImageError::Inconsistent("there is no static table"));
        }
        Ok(Self::of(tables))
    }
}

/// The token with this key, in tables of which each holds what overflowed the one before.
#[inline]
fn find(tables: &[NumberTable], key: Key, hash: u64) -> Option<TokenId> {
    for table in tables {
        let found = table.get(key, hash);
        if found.is_some() || !table.overflows(hash) {
            return found;
        }
    }
    None
}

/// The key of a token; `None` if it is empty or longer than 15 bytes.
fn short_key(token: &[u8]) -> Option<Key> {
    (1..=SHORT).contains(&token.len()).then(|| short_table::key_at(token, 0, token.len()))
}

/// Adds the tokens of WordPiece as pretokens, and as words: as they are, and capitalized if that is normalized to the
/// same.
fn add_words(
    words: &RawWords,
    model: &WordPiece,
    vocabulary: &Vocabulary,
    entries: &mut Vec<(Key, TokenId)>,
) {
    for (id, token) in vocabulary.tokens().iter() {
        let key = short_key(token).filter(|_| !vocabulary.is_special(id) && model.is_token(token));
        let Some(key) = key else { continue };
        entries.push((key, id));
        let Some(plain) = words.plain().filter(|plain| plain.keeps_ascii(token)) else { continue };
        entries.push((key | WORD, id));
        if token[0].is_ascii_lowercase() && plain.lowers(token[0]) {
            let capital = Key::from(token[0] ^ token[0].to_ascii_uppercase());
            entries.push(((key | WORD) ^ capital, id));
        }
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
