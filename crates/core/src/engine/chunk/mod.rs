//! Pretokens by chunks: first the split finds some hundred of them and asks for what is known of
//! each, then that is taken, when it has had time to come near. What is not known of a chunk is found out
//! together.
mod parts;
mod single;
#[cfg(test)]
mod tests;

use tokenmill_kernels::short_table::SHORT;

use super::Engine;
use super::cache::{hardly_repeats, key_of_long};
use super::encode::{Run, Sink, Wants, placed};
use super::worker::Worker;
use crate::aligned::{Origins, Piece};
use crate::error::Result;
use crate::model::bpe::{TOGETHER, TOGETHER_BYTES};
use crate::pattern::Splitter;
use crate::span::Span;

pub(super) use self::parts::{Chunk, Others};
use self::parts::{Group, Segments, is_kept, is_segment};

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
        run.worker.chunk.begin_text();
        let split = splitter.for_each_ends(piece.text, |mut ends| {
            while let Some(&next) = ends.first() {
                let chunk = &mut run.worker.chunk;
                let (start, before) = (chunk.end, chunk.length);
                let count = chunk.put_short(text, ends, &run.worker.learnt);
                chunk.work += splitter.work_of(chunk.length - before, chunk.end - start);
                ends = &ends[count..];
                if chunk.is_ripe() {
                    self.take_chunk(text, piece.origins, run, sink)?;
                } else if count == 0 {
                    self.put_long(text, piece.origins, (splitter, next), run, sink)?;
                    ends = &ends[1..];
                }
            }
            Ok(())
        });
        // What was found before a split failed has its error first.
        self.take_chunk(text, piece.origins, run, sink)?;
        split
    }

    /// Puts the pretoken that ends at `end`, or the segments of it.
    fn put_long<S: Sink>(
        &self,
        text: &[u8],
        origins: Origins<'_>,
        (splitter, end): (&Splitter, usize),
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let worker = &mut *run.worker;
        let start = worker.chunk.end;
        let pretoken = Span::new(start, end);
        let goes_by_segments = hardly_repeats(pretoken.of(text));
        let Some(segments) = goes_by_segments.then(|| self.segments(text, pretoken)).flatten() else {
            worker.chunk.work += splitter.work(pretoken.len());
            worker.chunk.put(key_of_long(pretoken.of(text)), end, &worker.learnt);
            return Ok(());
        };
        worker.chunk.work += splitter.work(0);
        for (key, span) in segments {
            let worker = &mut *run.worker;
            worker.chunk.work += span.len();
            worker.chunk.put(key, span.end, &worker.learnt);
            if worker.chunk.is_ripe() {
                self.take_chunk(text, origins, run, sink)?;
            }
        }
        Ok(())
    }

    /// The segments of a pretoken, where it is these joined.
    fn segments<'a>(&'a self, text: &'a [u8], pretoken: Span) -> Option<Segments<'a>> {
        let bpe = self.parts.model.as_bpe().filter(|_| pretoken.len() > SHORT)?;
        let goes = bpe.goes_by_segments(pretoken.of(text), &self.parts.vocabulary);
        goes.then(|| Segments::new(bpe, text, pretoken))
    }

    /// Takes the parts of the chunk, and begins the next one. Where that fails the chunk has none any more, so
    /// that no part is taken twice.
    fn take_chunk<S: Sink>(
        &self,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let Chunk { length, work, .. } = &mut run.worker.chunk;
        let (length, work) = (std::mem::take(length), std::mem::take(work));
        run.ticker.spend(work)?;
        let Worker { chunk, learnt, .. } = &mut *run.worker;
        chunk.others.clear();
        let (mut from, mut waiting, mut alone) = (0, 0, 0);
        while from < length {
            let given = chunk.give(from, length, waiting, learnt);
            (from, waiting, alone) = (from + given.parts, waiting + given.ids, alone + given.parts);
            if from == length {
                break;
            }
            if let Some(hash) = chunk.give_other(from, length, &mut waiting, text, learnt) {
                self.seed.prefetch(hash);
            }
            from += 1;
        }
        if chunk.others.found.is_empty() {
            match S::WANTS {
                Wants::Ids => sink.extend(&chunk.ids[..waiting]),
                _ => sink.count(waiting),
            }
            learnt.note(length, 0, 0);
        } else {
            let asked = self.find_out(text, origins, run)?;
            let Worker { chunk, learnt, .. } = &mut *run.worker;
            chunk.others.give_out(&chunk.ids[..waiting], sink);
            for found in &chunk.others.found {
                let (part, span) = (&chunk.parts[found.part], chunk.span(found.part));
                if found.is_new && is_kept(part.key) {
                    learnt.learn(part.key, part.hash, span.of(text), found.ids(&chunk.others.ids));
                }
            }
            // Of what is known and has several ids the model need not be asked: two more in the mean.
            let saved = if asked > length / 8 { (waiting - alone) / 2 } else { asked };
            learnt.note(length, asked, saved);
        }
        let chunk = &mut run.worker.chunk;
        chunk.begin(chunk.end);
        Ok(())
    }

    /// Finds out what those parts of the chunk become that nothing is known of; says for how many the model
    /// was asked.
    #[cold]
    fn find_out(&self, text: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<usize> {
        let together = self.parts.model.as_bpe().filter(|bpe| bpe.is_canonical());
        let mut group = Group::default();
        let mut asked = 0;
        for index in 0..run.worker.chunk.others.found.len() {
            let chunk = &mut run.worker.chunk;
            let at = chunk.others.found[index].part;
            let (part, span) = (chunk.parts[at], chunk.span(at));
            let Others { found, ids } = &mut chunk.others;
            if !found[index].is_new {
                continue;
            }
            if is_kept(part.key)
                && let Some(value) = self.seed.get(part.key, part.hash)
            {
                found[index].becomes(ids.len(), 1);
                ids.push(value.words[0]);
                continue;
            }
            asked += 1;
            if let Some(bpe) = together.filter(|_| span.len() <= TOGETHER_BYTES) {
                group.indices[group.count % TOGETHER] = index;
                group.count += 1;
                if group.count == TOGETHER {
                    group.merge(bpe, chunk);
                }
            } else {
                self.find_out_one(index, text, origins, run)?;
            }
        }
        if let Some(bpe) = together {
            group.merge(bpe, &mut run.worker.chunk);
        }
        Ok(asked)
    }

    /// Asks the model what one part becomes.
    fn find_out_one(
        &self,
        index: usize,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        let Worker { chunk, learnt, scratch, .. } = &mut *run.worker;
        let at = chunk.others.found[index].part;
        let (part, span) = (chunk.parts[at], chunk.span(at));
        let pretoken = span.of(text);
        let Others { found, ids } = &mut chunk.others;
        let start = ids.len();
        if is_segment(part.key)
            && let Some(bpe) = self.parts.model.as_bpe()
        {
            let vocabulary = &self.parts.vocabulary;
            bpe.encode_segment(pretoken, vocabulary, &mut scratch.bpe, ids, run.ticker)?;
        } else {
            self.spell(pretoken, learnt, scratch, run.ticker)
                .map_err(|error| placed(error, origins.slice(span)))?;
            ids.extend_from_slice(&scratch.ids);
        }
        found[index].becomes(start, ids.len() - start);
        Ok(())
    }
}
