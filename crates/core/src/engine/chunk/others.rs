//! The parts of a text whose ids did not stand in the table: which they are, what is not known of them yet, and where
//! between the other ids theirs go.
//!
//! What is not known is found out together, so most parts wait for others: first until they have been looked
//! for in the seed, which takes its time to come near, and then until there are many. These are merged side by side, a few at
//! a time: those of like length together, which need about as many steps. Ids that come behind wait with them, and may
//! be those of several chunks. A part that comes again while it waits is the same as the first.
use tokenmill_kernels::rows::{Narrow, Wide, Widest, Width, wide_row, widest_row};
use tokenmill_kernels::short_table::{Key, SHORT};
use tokenmill_kernels::try_alloc;

use super::parts::{is_kept, is_segment};
use crate::engine::cache::Learnt;
use crate::engine::encode::{Kept, Sink, Wants};
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::bpe::{Bpe, MERGE_BATCH};
use crate::span::Span;

/// Parts that wait for the seed.
const UNSEEN: usize = 8;

/// Parts that wait to be merged.
const WAITING: usize = 64;

/// Such parts, in order.
#[derive(Debug, Default)]
pub(in super::super) struct Others {
    items: Vec<Item>,
    /// So many of them have been looked for in the seed.
    seen: usize,
    recent: Recent,
    /// Those that wait to be merged, by their widths.
    narrow: Vec<usize>,
    wide: Vec<usize>,
    widest: Vec<usize>,
    /// Room for sorting these.
    sorted: Vec<usize>,
    ids: Vec<TokenId>,
}

/// By a hash the last item that had it, perhaps one of another text.
#[derive(Debug)]
struct Recent([u32; 1 << RECENT_BITS]);

const RECENT_BITS: u32 = 8;

impl Default for Recent {
    fn default() -> Self {
        Self([0; _])
    }
}

impl Recent {
    /// Puts an item in the place of the last one.
    fn replace(&mut self, hash: u64, item: usize) -> usize {
        std::mem::replace(&mut self.0[(hash >> (64 - RECENT_BITS)) as usize], to_u32(item)) as usize
    }
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) key: Key,
    pub(super) hash: u64,
    pub(super) span: Span,
    /// How many of the other ids are before those of this part.
    behind: usize,
    /// The item that has its ids: itself, or the first of those that are the same.
    same: usize,
    /// Its own ids.
    start: usize,
    count: usize,
}

impl Item {
    /// A part that is known has ids.
    pub(super) fn is_known(&self) -> bool {
        self.count > 0
    }
}

impl Others {
    /// Heap bytes held.
    pub(in super::super) fn memory(&self) -> usize {
        let waiting = [&self.narrow, &self.wide, &self.widest, &self.sorted].map(Vec::capacity);
        self.items.capacity() * size_of::<Item>()
            + waiting.iter().sum::<usize>() * size_of::<usize>()
            + self.ids.capacity() * size_of::<TokenId>()
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.ids.clear();
        self.seen = 0;
        self.narrow.clear();
        self.wide.clear();
        self.widest.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// How many ids are known of them.
    pub(super) fn count_ids(&self) -> usize {
        self.ids.len()
    }

    /// Is everything known of all of them?
    pub(super) fn is_settled(&self) -> bool {
        self.seen == self.items.len() && self.narrow.len() + self.wide.len() + self.widest.len() == 0
    }

    /// Should they be looked for in the seed?
    pub(super) fn is_ripe(&self) -> bool {
        self.items.len() >= self.seen + UNSEEN
    }

    /// Puts a part that is not known.
    pub(super) fn put(&mut self, key: Key, hash: u64, span: Span, behind: usize) {
        let same = self.items.len();
        self.items.push(Item { key, hash, span, behind, same, start: 0, count: 0 });
    }

    /// Puts a part with its ids. It waits for those before it.
    pub(super) fn put_known(&mut self, span: Span, behind: usize, ids: &[TokenId]) -> Result<()> {
        self.put(0, 0, span, behind);
        let item = self.items.len() - 1;
        try_alloc::extend(&mut self.ids, ids)?;
        self.becomes(item, self.ids.len() - ids.len());
        Ok(())
    }

    /// The next one that has not been looked for in the seed, and its number.
    pub(super) fn next(&mut self) -> Option<(usize, Item)> {
        let number = self.seen;
        let item = *self.items.get(number)?;
        self.seen += 1;
        Some((number, item))
    }

    /// Is this one the same as one before it? Then it has its ids, and counts as met once.
    pub(super) fn is_again(&mut self, item: usize, text: &[u8]) -> bool {
        let Item { key, hash, span, .. } = self.items[item];
        let before = self.recent.replace(hash, item);
        // A key of a short one is the text.
        let is_same =
            |same: &&Item| same.key == key && (span.len() <= SHORT || same.span.of(text) == span.of(text));
        let Some(&Item { same, .. }) = self.items[..item].get(before).filter(is_same) else { return false };
        self.items[item].same = same;
        true
    }

    /// Has `make` put the ids of this one behind those of the others, and tells `learnt` what they are.
    pub(super) fn settle(
        &mut self,
        item: usize,
        text: &[u8],
        learnt: &mut Learnt,
        make: impl FnOnce(&mut Vec<TokenId>, &mut Learnt) -> Result<()>,
    ) -> Result<()> {
        let start = self.ids.len();
        make(&mut self.ids, learnt)?;
        self.becomes(item, start);
        self.teach(item, text, learnt);
        Ok(())
    }

    /// The ids from `start` on are those of this one.
    fn becomes(&mut self, item: usize, start: usize) {
        let count = self.ids.len() - start;
        self.items[item] = Item { start, count, ..self.items[item] };
    }

    /// Tells `learnt` what this one became.
    fn teach(&self, item: usize, text: &[u8], learnt: &mut Learnt) {
        let Item { key, hash, span, start, count, .. } = self.items[item];
        if is_kept(key) {
            learnt.learn(key, hash, span.of(text), &self.ids[start..start + count]);
        }
    }

    /// Has one that is to be merged with others of its width wait for these, and merges them when they are enough.
    pub(super) fn wait(&mut self, item: usize, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) -> Result<()> {
        let length = self.items[item].span.len();
        if length <= Narrow::LONGEST {
            self.narrow.push(item);
            if self.narrow.len() == WAITING {
                return self.merge_narrow(bpe, text, learnt);
            }
        } else if length <= Wide::LONGEST {
            self.wide.push(item);
            if self.wide.len() == WAITING {
                return self.merge_wide(bpe, text, learnt);
            }
        } else {
            self.widest.push(item);
            if self.widest.len() == WAITING {
                return self.merge_widest(bpe, text, learnt);
            }
        }
        Ok(())
    }

    /// Takes out one that waits to be merged as the only one of the longest, where it may have segments.
    pub(super) fn take_alone(&mut self) -> Option<(usize, Item)> {
        let [number] = self.widest[..] else { return None };
        let item = self.items[number];
        (!is_segment(item.key)).then(|| {
            self.widest.clear();
            (number, item)
        })
    }

    /// Merges those that wait.
    pub(super) fn merge(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) -> Result<()> {
        self.merge_narrow(bpe, text, learnt)?;
        self.merge_wide(bpe, text, learnt)?;
        self.merge_widest(bpe, text, learnt)
    }

    fn merge_narrow(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) -> Result<()> {
        let waiting = std::mem::take(&mut self.narrow);
        self.narrow = self.merge_all::<Narrow>(waiting, |item| item.key, bpe, text, learnt)?;
        Ok(())
    }

    fn merge_wide(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) -> Result<()> {
        let waiting = std::mem::take(&mut self.wide);
        self.wide =
            self.merge_all::<Wide>(waiting, |item| wide_row(item.span.of(text)), bpe, text, learnt)?;
        Ok(())
    }

    fn merge_widest(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) -> Result<()> {
        let waiting = std::mem::take(&mut self.widest);
        let row = |item: Item| widest_row(item.span.of(text));
        self.widest = self.merge_all::<Widest>(waiting, row, bpe, text, learnt)?;
        Ok(())
    }

    /// Those of the same length one behind the other, the shortest first.
    fn sort(&mut self, waiting: &mut Vec<usize>) {
        // Where those of each length begin: behind all that are shorter.
        let mut places = [0; Widest::LONGEST + 2];
        for &item in &*waiting {
            places[self.items[item].span.len() + 1] += 1;
        }
        for length in 1..places.len() {
            places[length] += places[length - 1];
        }
        self.sorted.resize(waiting.len(), 0);
        for &item in &*waiting {
            let place = &mut places[self.items[item].span.len()];
            self.sorted[*place] = item;
            *place += 1;
        }
        std::mem::swap(&mut self.sorted, waiting);
    }

    /// Merges these, and gives back the room that they stand in.
    fn merge_all<W: Width>(
        &mut self,
        mut waiting: Vec<usize>,
        row: impl Fn(Item) -> W::Row,
        bpe: &Bpe,
        text: &[u8],
        learnt: &mut Learnt,
    ) -> Result<Vec<usize>> {
        if waiting.len() > MERGE_BATCH {
            self.sort(&mut waiting);
        }
        // A group that is not full takes nearly as long as one that is, so the shortest are in it.
        let (few, others) = waiting.split_at(waiting.len() % MERGE_BATCH);
        for group in std::iter::once(few).chain(others.chunks(MERGE_BATCH)) {
            let mut rows = [W::Row::default(); MERGE_BATCH];
            for (to, &item) in rows.iter_mut().zip(group) {
                *to = row(self.items[item]);
            }
            let mut start = self.ids.len();
            let counts = bpe.merge_batch::<W>(&rows[..group.len()], &mut self.ids)?;
            for (&item, count) in group.iter().zip(counts) {
                self.items[item] = Item { start, count, ..self.items[item] };
                start += count;
                self.teach(item, text, learnt);
            }
        }
        waiting.clear();
        Ok(waiting)
    }

    /// Gives out all ids: those that waited, and these between them.
    pub(super) fn give_out<S: Sink>(&self, waiting: &[TokenId], sink: &mut S) -> Kept {
        if !matches!(S::WANTS, Wants::Ids) {
            let counts = self.items.iter().map(|item| self.items[item.same].count);
            sink.count(waiting.len() + counts.sum::<usize>());
            return Ok(());
        }
        let mut from = 0;
        for item in &self.items {
            sink.extend(&waiting[from..item.behind])?;
            let Item { start, count, .. } = self.items[item.same];
            sink.extend(&self.ids[start..start + count])?;
            from = item.behind;
        }
        sink.extend(&waiting[from..])
    }
}
