//! Pretokens by chunks: first the split finds some hundred of them and asks for what is known of
//! each, then that is taken, when it has had time to come near. What is not known is found out together.
mod luck;
mod others;
mod parts;
mod single;
#[cfg(test)]
mod tests;

use tokenmill_kernels::rows::{Widest, Width};
use tokenmill_kernels::short_table::{Key, SHORT};
use tokenmill_kernels::try_alloc;

use super::Engine;
use super::cache::{hardly_repeats, key_of_long};
use super::encode::{Run, Sink, Wants, placed};
use super::worker::Worker;
use crate::aligned::{Origins, Piece};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::bpe::Bpe;
use crate::pattern::{Plan, Splitter};
use crate::span::Span;

use self::others::Item;
pub(super) use self::others::Others;
pub(super) use self::parts::{AHEAD, Chunk};
use self::parts::{Gave, Segments, is_kept, is_segment};

impl Engine {
    /// Splits a text in which no added tokens are and encodes its pretokens, for a sink that asks
    /// for ids or their number alone.
    pub(super) fn encode_by_chunks<S: Sink>(
        &self,
        splitter: &Splitter,
        piece: Piece<'_>,
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let text = piece.text.as_bytes();
        run.worker.chunk.begin_text(text);
        let mut room = run.worker.walk_room.take().unwrap_or_default();
        let split = splitter.for_each_ends(piece.text, &mut room, |mut ends| {
            while let Some(&next) = ends.first() {
                let chunk = &mut run.worker.chunk;
                let (start, before) = (chunk.end, chunk.length);
                let count = chunk.put_short(text, ends, &run.worker.learnt);
                chunk.work += splitter.work_of(chunk.length - before, chunk.end - start);
                ends = &ends[count..];
                if chunk.is_ripe() {
                    self.take_chunk(text, piece.origins, run, sink, false)?;
                } else if count == 0 {
                    self.put_long(text, piece.origins, (splitter, next), run, sink)?;
                    ends = &ends[1..];
                }
            }
            Ok(())
        });
        run.worker.walk_room = Some(room);
        // What was found before a split failed has its error first.
        self.take_chunk(text, piece.origins, run, sink, true)?;
        split
    }

    /// Puts the pretoken that ends at `end`, or the segments of it where it hardly repeats.
    fn put_long<S: Sink>(
        &self,
        text: &[u8],
        origins: Origins<'_>,
        (splitter, end): (&Splitter, usize),
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let start = run.worker.chunk.end;
        let pretoken = Span::new(start, end);
        let (is_whole, hardly_repeats) = (splitter.plan() == Plan::Whole, hardly_repeats(pretoken.of(text)));
        if (is_whole || hardly_repeats)
            && let Some(mut segments) = self.segments(text, pretoken)
        {
            run.worker.chunk.work += splitter.work(0);
            let mut has_long = false;
            while !has_long
                && let Worker { chunk, learnt, .. } = &mut *run.worker
                && let Some(is_long) = chunk.put_segments(text, &mut segments, learnt)
            {
                has_long = is_long && !hardly_repeats;
                if !has_long && run.worker.chunk.is_ripe() {
                    self.take_chunk(text, origins, run, sink, false)?;
                }
            }
            if !has_long {
                return Ok(());
            }
            // A text that is not split may come again, and this segment would be merged each time. There are not as
            // many before it as a chunk has room for.
            run.worker.chunk.begin(start);
        }
        let worker = &mut *run.worker;
        worker.chunk.work += splitter.work(pretoken.len());
        worker.chunk.put(key_of_long(pretoken.of(text)), end, &worker.learnt);
        Ok(())
    }

    /// The segments of a pretoken, where it is these joined.
    fn segments<'a>(&'a self, text: &'a [u8], pretoken: Span) -> Option<Segments<'a>> {
        let bpe = self.parts.model.as_bpe().filter(|_| pretoken.len() > SHORT)?;
        let goes = bpe.may_divide(pretoken.of(text), &self.parts.vocabulary);
        goes.then(|| Segments::new(bpe, text, pretoken))
    }

    /// Takes the parts of the chunk, and begins the next one. After the last one, and where no more ids can wait,
    /// all are given out.
    fn take_chunk<S: Sink>(
        &self,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
        sink: &mut S,
        is_last: bool,
    ) -> Result<()> {
        if let Err(error) = self.take_parts(text, origins, run, is_last) {
            // So that nothing is taken twice.
            run.worker.chunk.forget();
            return Err(error);
        }
        let chunk = &mut run.worker.chunk;
        if chunk.others.len() == 0 {
            match S::WANTS {
                Wants::Ids => sink.extend(chunk.ids())?,
                _ => sink.count(chunk.waiting),
            }
            chunk.waiting = 0;
        } else if chunk.others.is_settled() {
            chunk.others.give_out(chunk.ids(), sink)?;
            chunk.forget();
        }
        chunk.begin(chunk.end);
        Ok(())
    }

    /// Takes the parts of the chunk, which has none then.
    fn take_parts(
        &self,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
        is_last: bool,
    ) -> Result<()> {
        let Chunk { length, work, waiting: before, .. } = &mut run.worker.chunk;
        let (length, work, before) = (std::mem::take(length), std::mem::take(work), *before);
        run.ticker.spend(work)?;
        let (mut from, mut alone, mut asked) = (0, 0, 0);
        while from < length {
            let Worker { chunk, learnt, .. } = &mut *run.worker;
            let (given, is_unknown) = chunk.give(from, length, learnt);
            (from, alone) = (from + given, alone + given);
            if from == length {
                break;
            }
            let spell = |part: &[u8], key: Key, room: &mut [TokenId]| self.spell_at_once(part, key, room);
            match chunk.give_other((from, is_unknown), length, text, learnt, spell)? {
                Gave::Known => {}
                Gave::Spelled(ids) => (alone, asked) = (alone + ids, asked + 1),
                Gave::Nothing(hash) => {
                    self.seed.prefetch(hash);
                    if chunk.others.is_ripe() {
                        asked += self.find_out(text, origins, run)?;
                    }
                }
            }
            from += 1;
        }
        let chunk = &run.worker.chunk;
        if (is_last || !chunk.has_room()) && !chunk.others.is_settled() {
            asked += self.find_out(text, origins, run)?;
            // With nothing to be merged beside, each step would wait for the one before: most of its segments are known.
            if let Some((number, item)) = run.worker.chunk.others.take_alone() {
                self.find_out_one(number, item, text, origins, run)?;
            }
            if let Some(bpe) = self.parts.model.as_bpe() {
                let Worker { chunk, learnt, .. } = &mut *run.worker;
                chunk.others.merge(bpe, text, learnt)?;
            }
        }
        let Worker { chunk, learnt, .. } = &mut *run.worker;
        // Of what is known and has several ids the model need not be asked: two more in the mean.
        let saved = if asked > length / 8 { (chunk.waiting - before - alone) / 2 } else { asked };
        learnt.note(length, asked, saved);
        Ok(())
    }

    /// Puts the ids of a part into `room`, which is as long, where that takes less than to look further; says how many
    /// they are.
    #[inline(never)]
    fn spell_at_once(&self, part: &[u8], key: Key, room: &mut [TokenId]) -> Option<usize> {
        if part.iter().take(2).all(u8::is_ascii) {
            return None;
        }
        let bpe = self.parts.model.as_bpe()?;
        let count = bpe.encode_byte_runs(part, room)?;
        (is_segment(key) || bpe.may_divide(part, &self.parts.vocabulary)).then_some(count)
    }

    /// Looks into the seed for those parts that wait for it. What does not stand there the model is asked for, now or
    /// together with others; says for how many.
    #[cold]
    fn find_out(&self, text: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<usize> {
        let together = self.parts.model.as_bpe().filter(|bpe| bpe.is_canonical());
        let mut asked = 0;
        while let Some((number, item)) = run.worker.chunk.others.next() {
            if item.is_known() {
                continue;
            }
            let Worker { chunk, learnt, .. } = &mut *run.worker;
            if is_kept(item.key) {
                if chunk.others.is_again(number, text) {
                    continue;
                }
                if let Some(value) = self.seed.get(item.key, item.hash) {
                    chunk
                        .others
                        .settle(number, text, learnt, |ids, _| Ok(try_alloc::push(ids, value.words[0])?))?;
                    continue;
                }
            }
            asked += 1;
            let pretoken = item.span.of(text);
            let may_wait = |bpe: &&Bpe| {
                pretoken.len() <= SHORT
                    || pretoken.len() <= Widest::LONGEST
                        && (is_segment(item.key) || bpe.may_divide(pretoken, &self.parts.vocabulary))
            };
            if let Some(bpe) = together.filter(may_wait) {
                chunk.others.wait(number, bpe, text, learnt)?;
            } else {
                self.find_out_one(number, item, text, origins, run)?;
            }
        }
        Ok(asked)
    }

    /// Asks the model what one part becomes.
    fn find_out_one(
        &self,
        number: usize,
        item: Item,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        let Worker { chunk, learnt, scratch, .. } = &mut *run.worker;
        let pretoken = item.span.of(text);
        chunk.others.settle(number, text, learnt, |ids, learnt| {
            if is_segment(item.key)
                && let Some(bpe) = self.parts.model.as_bpe()
            {
                let vocabulary = &self.parts.vocabulary;
                return bpe.encode_segment(pretoken, vocabulary, &mut scratch.bpe, ids, run.ticker);
            }
            self.spell(pretoken, learnt, scratch, run.ticker)
                .map_err(|error| placed(error, origins.slice(item.span)))?;
            Ok(try_alloc::extend(ids, &scratch.ids)?)
        })
    }
}
