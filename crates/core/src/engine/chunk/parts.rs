//! What a chunk holds: the parts of a text that were found, and what becomes of them.
use tokenmill_kernels::Ahead;
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::short_table::parts::{Given, Part};
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT};

use crate::engine::cache::Learnt;
use crate::engine::encode::{Sink, Wants};
use crate::ids::TokenId;
use crate::model::bpe::{Bpe, TOGETHER};
use crate::span::Span;

/// Parts of a chunk.
pub(super) const LENGTH: usize = 256;
/// A chunk whose pretokens took this much work to find is taken at once, so that a wish to stop is
/// heard in time.
const WORK: usize = 1 << 15;
/// Ids of a chunk that wait for a sink: those of an entry for each part, and some that stand apart.
pub(super) const IDS: usize = LENGTH * INLINE + 256;

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

/// The segments of a long pretoken: the key of each, and where in the text it ends. One that is too
/// long for a key is not kept.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    bpe: &'a Bpe,
    /// The text up to the end of the pretoken.
    pretokens: &'a [u8],
    /// All of it: a key is read faster where there is more behind it.
    text: &'a [u8],
    mark: Key,
    from: usize,
}

impl<'a> Segments<'a> {
    pub(super) fn new(bpe: &'a Bpe, text: &'a [u8], pretoken: Span) -> Self {
        let mark = if bpe.segments_are_pretokens() { 0 } else { IS_SEGMENT };
        Self { bpe, pretokens: &text[..pretoken.end], text, mark, from: pretoken.start }
    }
}

impl Iterator for Segments<'_> {
    type Item = (Key, Span);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let from = self.from;
        if from >= self.pretokens.len() {
            return None;
        }
        self.from = self.bpe.next_cut(self.pretokens, from);
        let key = match self.from - from {
            length @ 0..=SHORT => short_table::key_at(self.text, from, length) | self.mark,
            _ => IS_SEGMENT,
        };
        Some((key, Span::new(from, self.from)))
    }
}

/// Parts of a text that were found, and ids that were not yet given out.
///
/// A part is a pretoken, or a segment of one that is too long to be kept: segments repeat where whole
/// pretokens do not.
#[derive(Debug)]
pub(in super::super) struct Chunk {
    level: Level,
    pub(super) parts: [Part; LENGTH],
    pub(super) length: usize,
    /// Where the first part begins, and where the last one ends.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) work: usize,
    /// What is brought near while pretokens are put.
    pub(in super::super) ahead: Ahead,
    pub(in super::super) others: Others,
    pub(super) ids: [TokenId; IDS],
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            level: Level::Portable,
            parts: [Part::default(); LENGTH],
            length: 0,
            start: 0,
            end: 0,
            work: 0,
            ahead: Ahead::default(),
            others: Others::default(),
            ids: [0; IDS],
        }
    }
}

impl Chunk {
    /// Begins a text.
    pub(super) fn begin_text(&mut self) {
        self.level = cpu::level();
        self.begin(0);
    }

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
        let room = &mut self.parts[self.length..];
        let count = learnt.table().ask(self.level, text, self.end, ends, room);
        if let Some(last) = count.checked_sub(1) {
            self.ahead.bring(ends[last] - self.end);
            self.end = ends[last];
        }
        self.length += count;
        count
    }

    /// Puts what is known of the parts from `from` to `length` behind the `waiting` ids of those before, up to the
    /// first one whose ids do not stand in the table.
    #[inline]
    pub(super) fn give(&mut self, from: usize, length: usize, waiting: usize, learnt: &Learnt) -> Given {
        let (parts, room) = (&self.parts[from..length], &mut self.ids[waiting..]);
        learnt.table().give(self.level, parts, learnt.apart(), room)
    }

    /// Puts the ids of such a one behind those, or among the others; its hash where nothing is known of it.
    pub(super) fn give_other(
        &mut self,
        at: usize,
        length: usize,
        waiting: &mut usize,
        text: &[u8],
        learnt: &Learnt,
    ) -> Option<u64> {
        let (part, span) = (self.parts[at], self.span(at));
        let value = if is_kept(part.key) { learnt.get(part.key, part.hash) } else { None };
        let known = value.as_ref().and_then(|value| learnt.ids_of(value, span.of(text)));
        let mut found = Found { part: at, behind: *waiting, start: 0, count: 0, is_new: known.is_none() };
        if let Some(ids) = known {
            let together = *waiting + ids.len();
            // Those behind it need their room.
            if together + (length - at) * INLINE < IDS {
                self.ids[*waiting..together].copy_from_slice(ids);
                *waiting = together;
                return None;
            }
            found = Found { start: self.others.ids.len(), count: ids.len(), ..found };
            self.others.ids.extend_from_slice(ids);
        }
        self.others.found.push(found);
        found.is_new.then_some(part.hash)
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

/// The parts of a chunk whose ids did not stand in the table, in order.
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

    /// Gives out all ids of the chunk: those that waited, and these between them.
    pub(super) fn give_out<S: Sink>(&self, waiting: &[TokenId], sink: &mut S) {
        if !matches!(S::WANTS, Wants::Ids) {
            sink.count(waiting.len() + self.ids.len());
            return;
        }
        let mut from = 0;
        for found in &self.found {
            sink.extend(&waiting[from..found.behind]);
            sink.extend(found.ids(&self.ids));
            from = found.behind;
        }
        sink.extend(&waiting[from..]);
    }
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) part: usize,
    /// How many ids of the chunk are before those of this part.
    pub(super) behind: usize,
    /// Its own.
    pub(super) start: usize,
    pub(super) count: usize,
    /// Nothing was known of it.
    pub(super) is_new: bool,
}

impl Found {
    pub(super) fn becomes(&mut self, start: usize, count: usize) {
        *self = Self { start, count, ..*self };
    }

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
            found[index].becomes(start, count);
            start += count;
        }
    }
}
