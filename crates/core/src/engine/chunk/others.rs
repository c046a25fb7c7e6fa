//! The parts of a text whose ids did not stand in the table: which they are, what is not known of them yet, and where
//! between the other ids theirs go.
//!
//! What is not known is found out together, so most parts wait for a few others: first until they have been looked
//! for in the seed, which takes its time to come near, and then until there are so many that they are merged side
//! by side. Ids that come behind wait with them, and may be those of several chunks. Few wait: what is not known may come
//! a second time until it is.
use tokenmill_kernels::rows::{Narrow, Wide, Widest, Width, wide_row, widest_row};
use tokenmill_kernels::short_table::Key;

use super::parts::is_kept;
use crate::engine::cache::Learnt;
use crate::engine::encode::{Sink, Wants};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::bpe::{Bpe, TOGETHER};
use crate::span::Span;

/// Parts that wait for the seed.
const UNSEEN: usize = 8;

/// Such parts, in order.
#[derive(Debug, Default)]
pub(in super::super) struct Others {
    items: Vec<Item>,
    /// So many of them have been looked for in the seed.
    seen: usize,
    /// Those that wait to be merged, by their widths.
    narrow: Group,
    wide: Group,
    widest: Group,
    ids: Vec<TokenId>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) key: Key,
    pub(super) hash: u64,
    pub(super) span: Span,
    /// How many of the other ids are before those of this part.
    behind: usize,
    /// Its own.
    start: usize,
    count: usize,
}

impl Item {
    /// A part that is known has ids.
    pub(super) fn is_known(&self) -> bool {
        self.count > 0
    }
}

/// Some that wait.
#[derive(Debug, Default)]
struct Group {
    items: [usize; TOGETHER],
    count: usize,
}

impl Group {
    /// Are they as many as are merged together?
    fn put(&mut self, item: usize) -> bool {
        self.items[self.count % TOGETHER] = item;
        self.count += 1;
        self.count == TOGETHER
    }
}

impl Others {
    /// Heap bytes held.
    pub(in super::super) fn memory(&self) -> usize {
        self.items.capacity() * size_of::<Item>() + self.ids.capacity() * size_of::<TokenId>()
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.ids.clear();
        self.seen = 0;
        (self.narrow.count, self.wide.count, self.widest.count) = (0, 0, 0);
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
        self.seen == self.items.len() && self.narrow.count + self.wide.count + self.widest.count == 0
    }

    /// Should they be looked for in the seed?
    pub(super) fn is_ripe(&self) -> bool {
        self.items.len() >= self.seen + UNSEEN
    }

    /// Puts a part that is not known.
    pub(super) fn put(&mut self, key: Key, hash: u64, span: Span, behind: usize) {
        self.items.push(Item { key, hash, span, behind, start: 0, count: 0 });
    }

    /// Puts a part with its ids. It waits for those before it.
    pub(super) fn put_known(&mut self, span: Span, behind: usize, ids: &[TokenId]) {
        self.put(0, 0, span, behind);
        let item = self.items.len() - 1;
        self.ids.extend_from_slice(ids);
        self.becomes(item, self.ids.len() - ids.len());
    }

    /// The next one that has not been looked for in the seed, and its number.
    pub(super) fn next(&mut self) -> Option<(usize, Item)> {
        let number = self.seen;
        let item = *self.items.get(number)?;
        self.seen += 1;
        Some((number, item))
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
    pub(super) fn wait(&mut self, item: usize, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) {
        let length = self.items[item].span.len();
        if length <= Narrow::LONGEST {
            if self.narrow.put(item) {
                self.merge_narrow(bpe, text, learnt);
            }
        } else if length <= Wide::LONGEST {
            if self.wide.put(item) {
                self.merge_wide(bpe, text, learnt);
            }
        } else if self.widest.put(item) {
            self.merge_widest(bpe, text, learnt);
        }
    }

    /// Merges those that wait.
    pub(super) fn merge(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) {
        self.merge_narrow(bpe, text, learnt);
        self.merge_wide(bpe, text, learnt);
        self.merge_widest(bpe, text, learnt);
    }

    fn merge_narrow(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) {
        let group = std::mem::take(&mut self.narrow);
        self.merge_group::<Narrow>(&group, |item| item.key, bpe, text, learnt);
    }

    fn merge_wide(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) {
        let group = std::mem::take(&mut self.wide);
        self.merge_group::<Wide>(&group, |item| wide_row(item.span.of(text)), bpe, text, learnt);
    }

    fn merge_widest(&mut self, bpe: &Bpe, text: &[u8], learnt: &mut Learnt) {
        let group = std::mem::take(&mut self.widest);
        self.merge_group::<Widest>(&group, |item| widest_row(item.span.of(text)), bpe, text, learnt);
    }

    #[inline]
    fn merge_group<W: Width>(
        &mut self,
        group: &Group,
        row: impl Fn(Item) -> W::Row,
        bpe: &Bpe,
        text: &[u8],
        learnt: &mut Learnt,
    ) {
        let items = &group.items[..group.count];
        let mut rows = [W::Row::default(); TOGETHER];
        for (to, &item) in rows.iter_mut().zip(items) {
            *to = row(self.items[item]);
        }
        let mut start = self.ids.len();
        let counts = bpe.encode_together::<W>(&rows[..items.len()], &mut self.ids);
        for (&item, count) in items.iter().zip(counts) {
            self.items[item] = Item { start, count, ..self.items[item] };
            start += count;
            self.teach(item, text, learnt);
        }
    }

    /// Gives out all ids: those that waited, and these between them.
    pub(super) fn give_out<S: Sink>(&self, waiting: &[TokenId], sink: &mut S) {
        if !matches!(S::WANTS, Wants::Ids) {
            let counts = self.items.iter().map(|item| item.count);
            sink.count(waiting.len() + counts.sum::<usize>());
            return;
        }
        let mut from = 0;
        for item in &self.items {
            sink.extend(&waiting[from..item.behind]);
            sink.extend(&self.ids[item.start..item.start + item.count]);
            from = item.behind;
        }
        sink.extend(&waiting[from..]);
    }
}
