//! What a chunk holds: the parts of a text that were found, and the ids of those that are known.
use tokenmill_kernels::Ahead;
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::short_table::parts::Part;
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT};

use super::luck::Luck;
use super::others::Others;
use crate::engine::cache::Learnt;
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::bpe::Bpe;
use crate::span::Span;

/// Parts of a chunk.
pub(super) const LENGTH: usize = 256;
/// A chunk whose pretokens took this much work to find is taken at once, so that a wish to stop is
/// heard in time.
const WORK: usize = 1 << 15;
/// Ids that wait for a sink. What is not known of one chunk may wait until the next ones have been taken; all parts
/// of one have room for the ids of an entry.
const IDS: usize = 3 * LENGTH * INLINE;
/// Parts that may be put aside, of one chunk or more, before what is not known of them is found out at the latest.
const ASIDE: usize = 2 * LENGTH;

/// Text is brought near so many bytes before it is looked at: the machine asks for what is next by itself, but not
/// beyond a page.
pub(in super::super) const AHEAD: usize = 2 << 10;

/// Segments that are put together.
const TOGETHER: usize = 32;

/// Characters of four bytes begin with this or more.
const LEAD_OF_FOUR: u8 = 0xF0;

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

/// What was given of a part.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gave {
    Known,
    /// So many ids that were not known.
    Spelled(usize),
    /// It is among the others; its hash.
    Nothing(u64),
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
        let mark = if bpe.segments_encode_as_pretokens() { 0 } else { IS_SEGMENT };
        Self { bpe, pretokens: &text[..pretoken.end], text, mark, from: pretoken.start }
    }
}

impl Segments<'_> {
    /// Where the next segments end, as many as there is room for in `ends`: they are passed over.
    #[inline]
    fn next_ends<'a>(&mut self, ends: &'a mut [usize]) -> &'a [usize] {
        let count = self.bpe.next_cuts(self.pretokens, self.from, ends);
        self.from = if count > 0 { ends[count - 1] } else { self.from };
        &ends[..count]
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
    /// What is brought near while pretokens are put: the rest of the text, and what comes behind it.
    rest: Ahead,
    behind: Ahead,
    luck: Luck,
    /// Ids that were not given out yet, and so many of them, and those that belong between these.
    ids: [TokenId; IDS],
    pub(super) waiting: usize,
    pub(in super::super) others: Others,
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
            rest: Ahead::default(),
            behind: Ahead::default(),
            luck: Luck::default(),
            ids: [0; IDS],
            waiting: 0,
            others: Others::default(),
        }
    }
}

impl Chunk {
    /// This comes behind the next text, or nothing where there is none: what is brought near belongs to a call.
    pub(in super::super) fn expect(&mut self, behind: Ahead) {
        (self.rest, self.behind) = (Ahead::default(), behind);
    }

    /// Begins a text.
    pub(super) fn begin_text(&mut self, text: &[u8]) {
        self.level = cpu::level();
        let rest = text.get(AHEAD..).unwrap_or_default();
        self.rest = Ahead::of(rest).first(rest.len(), rest.len());
        self.forget();
        self.begin(0);
    }

    /// Forgets what was not given out.
    pub(super) fn forget(&mut self) {
        self.waiting = 0;
        self.others.clear();
    }

    /// The ids that were not given out.
    pub(super) fn ids(&self) -> &[TokenId] {
        &self.ids[..self.waiting]
    }

    /// May ids wait until the next chunk has been taken?
    pub(super) fn has_room(&self) -> bool {
        self.waiting + LENGTH * INLINE < IDS && self.others.len() < ASIDE && self.others.count_ids() < IDS
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
        let count = learnt.table().ask(self.level, text, self.end, ends, 0, room);
        if let Some(last) = count.checked_sub(1) {
            self.reach(ends[last]);
        }
        self.length += count;
        count
    }

    /// Puts the next segments of a pretoken, up to [`TOGETHER`] of them and as many as there is room for: more than none. `None`
    /// at its end, else whether one of them is too long to be kept.
    pub(super) fn put_segments(
        &mut self,
        text: &[u8],
        segments: &mut Segments<'_>,
        learnt: &Learnt,
    ) -> Option<bool> {
        let mut ends = [0; TOGETHER];
        debug_assert!(self.length < LENGTH, "a ripe chunk is taken first");
        let wanted = (LENGTH - self.length).min(TOGETHER);
        let mut ends = segments.next_ends(&mut ends[..wanted]);
        self.work += ends.last()? - self.end;
        let mut has_long = false;
        while !ends.is_empty() {
            let room = &mut self.parts[self.length..];
            let count = learnt.table().ask(self.level, text, self.end, ends, segments.mark, room);
            self.length += count;
            if let Some(last) = count.checked_sub(1) {
                self.reach(ends[last]);
            }
            ends = &ends[count..];
            if let Some((&end, behind)) = ends.split_first() {
                has_long = true;
                self.put(IS_SEGMENT, end, learnt);
                ends = behind;
            }
        }
        Some(has_long)
    }

    /// Puts what is known of the parts from `from` to `length` behind the ids that wait, up to the first one whose ids
    /// do not stand in the table; says how many these are, and whether the next one is unknown.
    #[inline]
    pub(super) fn give(&mut self, from: usize, length: usize, learnt: &Learnt) -> (usize, bool) {
        let (parts, room) = (&self.parts[from..length], &mut self.ids[self.waiting..]);
        let given = learnt.table().give(self.level, parts, learnt.apart(), room);
        self.waiting += given.ids;
        (given.parts, given.is_unknown)
    }

    /// Puts the ids of such a one behind those, or puts it among the others.
    ///
    /// One that is new may be spelled at once: `spell` puts its ids into a room that is as long as it, and says how many.
    pub(super) fn give_other(
        &mut self,
        (at, is_unknown): (usize, bool),
        length: usize,
        text: &[u8],
        learnt: &mut Learnt,
        spell: impl FnOnce(&[u8], Key, &mut [TokenId]) -> Option<usize>,
    ) -> Result<Gave> {
        let (Part { key, hash, .. }, span) = (self.parts[at], self.span(at));
        let part = span.of(text);
        // Those behind it need their room.
        let has_room = |together: usize| together + (length - at) * INLINE < IDS;
        let value = if is_unknown || !is_kept(key) { None } else { learnt.get(key, hash) };
        let Some(ids) = value.as_ref().and_then(|value| learnt.ids_of(value, part)) else {
            let end = self.waiting + part.len();
            if has_room(end)
                && self.luck.tries()
                && let Some(count) = spell(part, key, &mut self.ids[self.waiting..end])
            {
                self.luck.had();
                let ids = &self.ids[self.waiting..end][..count];
                // There are a million characters of four bytes, and hardly a script that is in use has them. A space may be
                // before them.
                let begins_rare = part.iter().take(2).any(|&byte| byte >= LEAD_OF_FOUR);
                let is_rare = count == part.len() && begins_rare;
                match self.luck.is_streak() {
                    _ if !is_kept(key) => {}
                    true if is_rare => {}
                    true => learnt.learn_again(key, hash, part, ids),
                    false => learnt.learn(key, hash, part, ids),
                }
                self.waiting += count;
                return Ok(Gave::Spelled(count));
            }
            self.others.put(key, hash, span, self.waiting);
            return Ok(Gave::Nothing(hash));
        };
        let together = self.waiting + ids.len();
        if has_room(together) {
            self.ids[self.waiting..together].copy_from_slice(ids);
            self.waiting = together;
        } else {
            self.others.put_known(span, self.waiting, ids)?;
        }
        Ok(Gave::Known)
    }

    /// Puts one more. There is room for it.
    pub(super) fn put(&mut self, key: Key, end: usize, learnt: &Learnt) {
        let hash = short_table::hash(key);
        learnt.prefetch(hash);
        self.parts[self.length % LENGTH] = Part { key, hash, end };
        self.length += 1;
        self.reach(end);
    }

    /// The last part ends here.
    #[inline]
    fn reach(&mut self, end: usize) {
        self.rest.bring(end - self.end);
        self.behind.bring(end - self.end);
        self.end = end;
    }

    #[inline]
    fn span(&self, at: usize) -> Span {
        let start = if at == 0 { self.start } else { self.parts[at - 1].end };
        Span::new(start, self.parts[at].end)
    }
}
