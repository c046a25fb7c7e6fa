//! What a chunk holds: the parts of a text that were found, and what becomes of them.
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT, Value};

use crate::engine::cache::Learnt;
use crate::ids::TokenId;
use crate::model::bpe::{Bpe, TOGETHER};
use crate::span::Span;

/// Parts of a chunk.
pub(super) const LENGTH: usize = 256;
/// A chunk whose pretokens took this much work to find is taken at once, so that a wish to stop is
/// heard in time.
const WORK: usize = 1 << 15;
/// Ids that may wait when others than those of an entry are put behind them.
pub(super) const ROOM: usize = 256;
/// Ids that may wait for a sink: these, and an entry for each part.
pub(super) const IDS: usize = LENGTH * INLINE + ROOM;

/// In the key of a segment of a long pretoken, where a pretoken with the same bytes may have other ids.
const IS_SEGMENT: Key = 0x40 << 120;

/// Is it the key of a segment that is no pretoken?
pub(super) fn is_segment(key: Key) -> bool {
    (key >> 124) == (IS_SEGMENT >> 124)
}

/// Is what has this key kept? Only a mark stands for a segment that is not.
#[inline]
pub(super) fn is_kept(key: Key) -> bool {
    key & !IS_SEGMENT != 0
}

/// The segments of a long pretoken: the key of each, and where in the pretoken it stands. One that is too
/// long for a key is not kept.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    bpe: &'a Bpe,
    pretoken: &'a [u8],
    mark: Key,
    from: usize,
}

impl<'a> Segments<'a> {
    pub(super) fn new(bpe: &'a Bpe, pretoken: &'a [u8]) -> Self {
        let mark = if bpe.segments_are_pretokens() { 0 } else { IS_SEGMENT };
        Self { bpe, pretoken, mark, from: 0 }
    }
}

impl Iterator for Segments<'_> {
    type Item = (Key, Span);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let from = self.from;
        if from >= self.pretoken.len() {
            return None;
        }
        self.from = self.bpe.next_cut(self.pretoken, from);
        let key = match self.from - from {
            length @ 0..=SHORT => short_table::key_at(self.pretoken, from, length) | self.mark,
            _ => IS_SEGMENT,
        };
        Some((key, Span::new(from, self.from)))
    }
}

/// A pretoken, or a segment of one that is too long to be kept: segments repeat where whole
/// pretokens do not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// What it is looked up by, if it [is kept](is_kept).
    pub(super) key: Key,
    pub(super) hash: u64,
    /// It begins where the one before it ends.
    pub(super) end: usize,
}

/// Parts of a text that were found, and ids that were not yet given out.
#[derive(Debug)]
pub(in super::super) struct Chunk {
    pub(super) parts: [Part; LENGTH],
    pub(super) length: usize,
    /// Where the first part begins, and where the last one ends.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) work: usize,
    /// Of each part what is known of it; no ids for the others.
    pub(super) values: [Value; LENGTH],
    pub(in super::super) others: Others,
    pub(super) ids: [TokenId; IDS],
}

/// In place of a value that is not known.
pub(super) const UNKNOWN: Value = Value { words: [0; INLINE], count: 0 };

impl Default for Chunk {
    fn default() -> Self {
        Self {
            parts: [Part { key: 0, hash: 0, end: 0 }; LENGTH],
            length: 0,
            start: 0,
            end: 0,
            work: 0,
            values: [UNKNOWN; LENGTH],
            others: Others::default(),
            ids: [0; IDS],
        }
    }
}

impl Chunk {
    /// Should it be taken before more is put?
    pub(super) fn is_ripe(&self) -> bool {
        self.length == LENGTH || self.work >= WORK
    }

    pub(super) fn begin(&mut self, at: usize) {
        (self.length, self.start, self.end, self.work) = (0, at, at, 0);
    }

    /// Puts the pretokens with these ends, up to the first long one and as many as there is room for; says
    /// how many.
    #[inline]
    pub(super) fn put_short(&mut self, text: &[u8], ends: &[usize], learnt: &Learnt) -> usize {
        let mut start = self.end;
        let mut count = 0;
        for (part, &end) in self.parts[self.length..].iter_mut().zip(ends) {
            let length = end - start;
            if length > SHORT {
                break;
            }
            let key = short_table::key_at(text, start, length);
            let hash = short_table::hash(key);
            learnt.prefetch(hash);
            *part = Part { key, hash, end };
            start = end;
            count += 1;
        }
        self.length += count;
        self.end = start;
        count
    }

    /// Puts one more. There is room for it.
    pub(super) fn put(&mut self, key: Key, end: usize, learnt: &Learnt) {
        let hash = short_table::hash(key);
        learnt.prefetch(hash);
        self.parts[self.length % LENGTH] = Part { key, hash, end };
        self.length += 1;
        self.end = end;
    }

    #[inline]
    pub(super) fn span(&self, at: usize) -> Span {
        let start = if at == 0 { self.start } else { self.parts[at - 1].end };
        Span::new(start, self.parts[at].end)
    }
}

/// The parts of a chunk that nothing is known of, in order, and what they become.
#[derive(Debug, Default)]
pub(in super::super) struct Others {
    pub(super) found: Vec<Found>,
    pub(super) ids: Vec<TokenId>,
}

impl Others {
    /// Heap bytes held.
    pub(in super::super) fn memory(&self) -> usize {
        self.found.capacity() * size_of::<Found>() + self.ids.capacity() * size_of::<TokenId>()
    }

    pub(super) fn clear(&mut self) {
        self.found.clear();
        self.ids.clear();
    }
}

/// The ids of one of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) part: usize,
    pub(super) start: usize,
    pub(super) count: usize,
}

impl Found {
    pub(super) fn ids(self, ids: &[TokenId]) -> &[TokenId] {
        ids.get(self.start..self.start + self.count).unwrap_or_default()
    }
}

/// Unknown parts that are to be merged side by side.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) indices: [usize; TOGETHER],
    pub(super) count: usize,
}

impl Group {
    pub(super) fn merge(&mut self, bpe: &Bpe, chunk: &mut Chunk) {
        let indices = &self.indices[..std::mem::take(&mut self.count)];
        let Others { found, ids } = &mut chunk.others;
        let mut keys = [0; TOGETHER];
        for (key, &index) in keys.iter_mut().zip(indices) {
            *key = chunk.parts[found[index].part].key;
        }
        let mut start = ids.len();
        for (&index, count) in indices.iter().zip(bpe.encode_together(&keys[..indices.len()], ids)) {
            found[index] = Found { start, count, ..found[index] };
            start += count;
        }
    }
}
