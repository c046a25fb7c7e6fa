//! Pretokens by chunks: first the split finds some hundred of them and asks for what is known of
//! each, then that is taken, when it has had time to come near. What is not known of a chunk is found out
//! together.
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT, Value};

use crate::aligned::{Origins, Piece};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::model::bpe::{Bpe, TOGETHER, TOGETHER_BYTES};
use crate::pattern::Splitter;
use crate::span::Span;
use crate::watch::Ticker;

use super::Engine;
use super::cache::{Learnt, key_of, key_of_long};
use super::encode::{Run, Sink, Wants, placed};
use super::worker::Worker;

/// Parts of a chunk.
const LENGTH: usize = 256;
/// A chunk whose pretokens took this much work to find is taken at once, so that a wish to stop is
/// heard in time.
const WORK: usize = 1 << 15;
/// Ids that may wait when others than those of an entry are put behind them.
const ROOM: usize = 256;
/// Ids that may wait for a sink: these, and an entry for each part.
const IDS: usize = LENGTH * INLINE + ROOM;

/// In the key of a segment of a long pretoken, where a pretoken with the same bytes may have other ids.
const IS_SEGMENT: Key = 0x40 << 120;
/// The key of a segment that is not kept.
const SOME_SEGMENT: Key = IS_SEGMENT;

/// Is it the key of a segment that is no pretoken?
fn is_segment(key: Key) -> bool {
    (key >> 124) == (IS_SEGMENT >> 124)
}

/// A pretoken, or a segment of one that is too long to be kept: segments repeat where whole
/// pretokens do not.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// What it is looked up by; 0 for a pretoken that is not kept.
    key: Key,
    hash: u64,
    /// It begins where the one before it ends.
    end: usize,
}

/// Parts of a text that were found, and ids that were not yet given out.
#[derive(Debug)]
pub(super) struct Chunk {
    parts: [Part; LENGTH],
    length: usize,
    /// Where the first part begins, and where the last one ends.
    start: usize,
    end: usize,
    work: usize,
    /// Of each part what is known of it; no ids for the others.
    values: [Value; LENGTH],
    others: Others,
    ids: [TokenId; IDS],
}

/// In place of a value that is not known.
const UNKNOWN: Value = Value { words: [0; INLINE], count: 0 };

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
    fn is_full(&self) -> bool {
        self.length == LENGTH
    }

    fn begin(&mut self, at: usize) {
        (self.length, self.start, self.end, self.work) = (0, at, at, 0);
    }

    /// Puts the pretokens with these ends, up to the first long one and as many as there is room for; says
    /// how many.
    #[inline]
    fn put_short(&mut self, text: &[u8], ends: &[usize], learnt: &Learnt) -> usize {
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
    fn put(&mut self, key: Key, end: usize, learnt: &Learnt) {
        let hash = short_table::hash(key);
        learnt.prefetch(hash);
        self.parts[self.length % LENGTH] = Part { key, hash, end };
        self.length += 1;
        self.end = end;
    }

    #[inline]
    fn span(&self, at: usize) -> Span {
        let start = if at == 0 { self.start } else { self.parts[at - 1].end };
        Span::new(start, self.parts[at].end)
    }
}

/// The parts of a chunk that nothing is known of, in order, and what they become.
#[derive(Debug, Default)]
struct Others {
    found: Vec<Found>,
    ids: Vec<TokenId>,
}

impl Others {
    fn clear(&mut self) {
        self.found.clear();
        self.ids.clear();
    }
}

/// The ids of one of them.
#[derive(Debug, Clone, Copy)]
struct Found {
    part: usize,
    start: usize,
    count: usize,
}

impl Found {
    fn ids(self, ids: &[TokenId]) -> &[TokenId] {
        ids.get(self.start..self.start + self.count).unwrap_or_default()
    }
}

/// Unknown parts that are to be merged side by side.
#[derive(Debug, Default)]
struct Group {
    indices: [usize; TOGETHER],
    count: usize,
}

impl Group {
    fn merge(&mut self, bpe: &Bpe, text: &[u8], chunk: &mut Chunk) {
        let indices = &self.indices[..std::mem::take(&mut self.count)];
        let mut segments: [&[u8]; TOGETHER] = [&[]; TOGETHER];
        for (segment, &index) in segments.iter_mut().zip(indices) {
            *segment = chunk.span(chunk.others.found[index].part).of(text);
        }
        let Others { found, ids } = &mut chunk.others;
        let mut start = ids.len();
        for (&index, count) in indices.iter().zip(bpe.encode_together(segments, ids)) {
            found[index] = Found { start, count, ..found[index] };
            start += count;
        }
    }
}

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
        run.worker.chunk.begin(0);
        let split = splitter.for_each_ends(piece.text, |mut ends| {
            while let Some(&next) = ends.first() {
                let chunk = &mut run.worker.chunk;
                let (start, before) = (chunk.end, chunk.length);
                let count = chunk.put_short(text, ends, &run.worker.learnt);
                chunk.work += splitter.work_of(chunk.length - before, chunk.end - start);
                ends = &ends[count..];
                if chunk.is_full() || chunk.work >= WORK {
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
        let pretoken = &text[start..end];
        worker.chunk.work += splitter.work(pretoken.len());
        let key = key_of_long(pretoken);
        let Some(bpe) = self.goes_by_segments(pretoken).filter(|_| key == 0) else {
            worker.chunk.put(key, end, &worker.learnt);
            return Ok(());
        };
        let mark = if bpe.segments_are_pretokens() { 0 } else { IS_SEGMENT };
        let mut from = 0;
        while from < pretoken.len() {
            let to = bpe.next_cut(pretoken, from);
            let worker = &mut *run.worker;
            let key = match to - from {
                length @ 0..=SHORT => short_table::key_at(text, start + from, length) | mark,
                _ => SOME_SEGMENT,
            };
            worker.chunk.put(key, start + to, &worker.learnt);
            if worker.chunk.is_full() {
                self.take_chunk(text, origins, run, sink)?;
            }
            from = to;
        }
        Ok(())
    }

    /// The model, where a pretoken is its segments joined.
    fn goes_by_segments(&self, pretoken: &[u8]) -> Option<&Bpe> {
        let bpe = self.parts.model.as_bpe().filter(|_| pretoken.len() > SHORT)?;
        bpe.goes_by_segments(pretoken, &self.parts.vocabulary).then_some(bpe)
    }

    fn take_chunk<S: Sink>(
        &self,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        run.ticker.spend(run.worker.chunk.work)?;
        let length = run.worker.chunk.length;
        let Worker { chunk, learnt, .. } = &mut *run.worker;
        let times = learnt.times_forgotten();
        chunk.others.clear();
        for (at, (part, value)) in chunk.parts[..length].iter().zip(&mut chunk.values).enumerate() {
            *value = learnt.get(part.key, part.hash).unwrap_or(UNKNOWN);
            if value.count == 0 {
                self.seed.prefetch(part.hash);
                chunk.others.found.push(Found { part: at, start: 0, count: 0 });
            }
        }
        let misses = if chunk.others.found.is_empty() { 0 } else { self.find_out(text, origins, run)? };
        let is_forgotten = run.worker.learnt.times_forgotten() != times;
        let (mut waiting, mut next) = (0, 0);
        for at in 0..length {
            let Worker { chunk, learnt, .. } = &mut *run.worker;
            let value = chunk.values[at];
            let count = value.count as usize;
            if count.wrapping_sub(1) < INLINE {
                if matches!(S::WANTS, Wants::Ids) {
                    chunk.ids[waiting..waiting + INLINE].copy_from_slice(&value.words);
                }
                waiting += count;
                continue;
            }
            let others = &chunk.others;
            let known = if count == 0 {
                next += 1;
                others.found.get(next - 1).map(|found| found.ids(&others.ids))
            } else {
                // What has been forgotten since then stands for something else now.
                learnt.ids_apart(&value, chunk.span(at).of(text)).filter(|_| !is_forgotten)
            };
            if let Some(ids) = known {
                waiting = give_out(sink, &mut chunk.ids, waiting, ids);
                continue;
            }
            let found = self.find_out_one(at, text, origins, run)?;
            let Chunk { ids, others, .. } = &mut run.worker.chunk;
            waiting = give_out(sink, ids, waiting, found.ids(&others.ids));
        }
        let Worker { chunk, learnt, .. } = &mut *run.worker;
        if matches!(S::WANTS, Wants::Ids) {
            sink.extend(&chunk.ids[..waiting]);
        } else {
            sink.count(waiting);
        }
        for found in &chunk.others.found {
            let (part, span) = (&chunk.parts[found.part], chunk.span(found.part));
            learnt.learn(part.key, part.hash, span.of(text), found.ids(&chunk.others.ids));
        }
        learnt.note(length, misses);
        chunk.begin(chunk.end);
        Ok(())
    }

    /// Finds out what those parts of the chunk become that nothing is known of; says for how many the model
    /// was asked.
    #[cold]
    fn find_out(&self, text: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<usize> {
        let together = self.parts.model.as_bpe().filter(|bpe| bpe.encodes_together() && self.seed.is_whole());
        let mut group = Group::default();
        let mut asked = 0;
        for index in 0..run.worker.chunk.others.found.len() {
            let chunk = &mut run.worker.chunk;
            let at = chunk.others.found[index].part;
            let (part, span) = (chunk.parts[at], chunk.span(at));
            let Others { found, ids } = &mut chunk.others;
            if part.key != 0
                && let Some(value) = self.seed.get(part.key, part.hash)
            {
                found[index] = Found { part: at, start: ids.len(), count: 1 };
                ids.push(value.words[0]);
                continue;
            }
            asked += 1;
            if let Some(bpe) = together.filter(|_| span.len() <= TOGETHER_BYTES) {
                group.indices[group.count % TOGETHER] = index;
                group.count += 1;
                if group.count == TOGETHER {
                    group.merge(bpe, text, chunk);
                }
            } else {
                let found = self.find_out_one(at, text, origins, run)?;
                run.worker.chunk.others.found[index] = found;
            }
        }
        if let Some(bpe) = together {
            group.merge(bpe, text, &mut run.worker.chunk);
        }
        Ok(asked)
    }

    /// Asks the model what one part becomes.
    fn find_out_one(
        &self,
        at: usize,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Found> {
        let Worker { chunk, learnt, scratch, .. } = &mut *run.worker;
        let (part, span) = (chunk.parts[at], chunk.span(at));
        let pretoken = span.of(text);
        let ids = &mut chunk.others.ids;
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
        Ok(Found { part: at, start, count: ids.len() - start })
    }
}

impl Engine {
    /// Encodes one pretoken, for a sink that asks for ids or their number alone.
    pub(super) fn encode_known<S: Sink>(
        &self,
        pretoken: Piece<'_>,
        learnt: &mut Learnt,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
        sink: &mut S,
    ) -> Result<()> {
        let give = |sink: &mut S, ids: &[TokenId]| match S::WANTS {
            Wants::Count => sink.count(ids.len()),
            _ => sink.extend(ids),
        };
        let text = pretoken.text.as_bytes();
        let key = key_of(text);
        let hash = short_table::hash(key);
        if let Some(ids) = self.known(key, hash, text, learnt, &mut [0; INLINE]) {
            give(sink, ids);
            learnt.note(1, 0);
            return Ok(());
        }
        self.spell(text, learnt, scratch, ticker).map_err(|error| placed(error, pretoken.origins))?;
        learnt.learn(key, hash, text, &scratch.ids);
        learnt.note(1, 1);
        give(sink, &scratch.ids);
        Ok(())
    }

    /// What is known of a pretoken, perhaps in `room`.
    pub(super) fn known<'a>(
        &self,
        key: Key,
        hash: u64,
        pretoken: &[u8],
        learnt: &'a Learnt,
        room: &'a mut [TokenId; INLINE],
    ) -> Option<&'a [TokenId]> {
        if key == 0 {
            return None;
        }
        let value = learnt.get(key, hash).or_else(|| self.seed.get(key, hash))?;
        if value.count as usize > INLINE {
            return learnt.ids_apart(&value, pretoken);
        }
        *room = value.words;
        room.get(..value.count as usize)
    }

    /// Spells a pretoken that is not known into `scratch.ids`, a long one by its segments.
    fn spell(
        &self,
        pretoken: &[u8],
        learnt: &mut Learnt,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let vocabulary = &self.parts.vocabulary;
        let Some(bpe) = self.goes_by_segments(pretoken) else {
            return self.parts.model.encode(pretoken, vocabulary, scratch, ticker);
        };
        let mark = if bpe.segments_are_pretokens() { 0 } else { IS_SEGMENT };
        let Scratch { ids, bpe: merging, .. } = scratch;
        ids.clear();
        let mut from = 0;
        while from < pretoken.len() {
            let to = bpe.next_cut(pretoken, from);
            let segment = &pretoken[from..to];
            if segment.len() > SHORT {
                bpe.encode_segment(segment, vocabulary, merging, ids, ticker)?;
                from = to;
                continue;
            }
            let key = short_table::key_at(pretoken, from, to - from) | mark;
            let hash = short_table::hash(key);
            from = to;
            if let Some(known) = self.known(key, hash, segment, learnt, &mut [0; INLINE]) {
                ids.extend_from_slice(known);
                continue;
            }
            let start = ids.len();
            bpe.encode_segment(segment, vocabulary, merging, ids, ticker)?;
            learnt.learn(key, hash, segment, &ids[start..]);
        }
        Ok(())
    }
}

/// Puts ids behind those that wait, or gives all of them out; how many wait then.
#[inline]
fn give_out<S: Sink>(sink: &mut S, buffer: &mut [TokenId; IDS], waiting: usize, ids: &[TokenId]) -> usize {
    let together = waiting + ids.len();
    if !matches!(S::WANTS, Wants::Ids) {
        return together;
    }
    if ids.len() <= INLINE || together <= ROOM {
        buffer[waiting..together].copy_from_slice(ids);
        return together;
    }
    sink.extend(&buffer[..waiting]);
    sink.extend(ids);
    0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compile::compile;
    use crate::description::{AddedToken, Alphabet, Bpe, Description, Merges, Split, TokenList};
    use crate::engine::{Special, Text};
    use crate::watch::Unwatched;

    /// A sink that takes pretoken by pretoken, and so never meets the cache.
    struct OneByOne(Vec<TokenId>);

    impl Sink for OneByOne {
        const WANTS_ENDS: bool = false;

        fn take(&mut self, _pretoken: &[u8], _origins: Origins<'_>, ids: &[TokenId], _ends: &[u32]) {
            self.0.extend_from_slice(ids);
        }

        fn added(&mut self, _found: Piece<'_>, id: TokenId) {
            self.0.push(id);
        }
    }

    /// Bytes, and tokens of two to twenty letters, of which some cannot be merged from others.
    fn engine(pattern: &str, cache_bytes: usize, whole_pretokens: bool) -> Engine {
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        for token in [
            "ab",
            "abc",
            "bc",
            " a",
            "abab",
            "zzzz",
            "abababab",
            "cccccccccccccccccccc",
            "  ",
            "中",
            "中文",
            "文字中文字中",
        ] {
            tokens.push(token.as_bytes().to_vec());
        }
        let tokens =
            TokenList::from_entries(tokens.into_iter().enumerate().map(|(id, t)| (id as u32, t)).collect());
        let plain = Bpe { whole_pretokens, ..Bpe::plain(Alphabet::Bytes, tokens, Merges::ById) };
        let mut description = Description::of_bpe(&Split::Pattern(pattern.to_owned()), plain);
        description.added_tokens = vec![AddedToken::special(300, "<s>")];
        compile(description).unwrap().with_cache_bytes(Some(cache_bytes))
    }

    fn agree(engine: &Engine, text: &str) {
        let (text, special) = (Text::Str(text), &Special::Parse);
        let mut want = OneByOne(vec![]);
        engine.encode_into(text, special, &Unwatched, &mut want).unwrap();
        // What was learnt the first time is looked up the second time.
        for _ in 0..2 {
            let mut ids = vec![];
            engine.encode(text, special, 1, &Unwatched, &mut ids).unwrap();
            assert_eq!(ids, want.0);
            assert_eq!(engine.count(text, special, 1, &Unwatched).unwrap(), want.0.len());
        }
    }

    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            6 => "[ab c]{1,4}",
            2 => "[abc]{1,40}",
            2 => "[ab中文字é]{1,30}",
            1 => "[a-z ]{1,6}",
            1 => prop::sample::select(vec!["<s>", "é中", "\u{1F600}", "\n", "cccccccccccccccccccc", "zzzzz"]).prop_map(str::to_owned),
            1 => (prop::sample::select(vec!["a", "ab", "c", " "]), 10..300_usize).prop_map(|(part, n)| part.repeat(n)),
        ];
        prop::collection::vec(piece, 0..600).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn a_cache_of_any_size_changes_nothing() {
        let engines: Vec<Engine> = [0, 1000, 30_000, 200_000, 32 << 20]
            .into_iter()
            .flat_map(|bytes| {
                [r"\S+|\s+", r" ?\S+|\s", "[a-z]+", r"(?=c)|\s"].map(|pattern| (pattern, bytes))
            })
            .flat_map(|(pattern, bytes)| [false, true].map(|whole| engine(pattern, bytes, whole)))
            .collect();
        let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(text in texts())| {
            for engine in &engines {
                agree(engine, &text);
            }
        });
        for engine in &engines {
            let usage = engine.memory_usage();
            assert!(usage.learnt <= usage.cache_bytes && usage.misses <= usage.lookups, "{usage:?}");
        }
    }

    #[test]
    fn pretokens_that_are_not_kept_are_asked_for_each_time() {
        // Some bytes are no tokens, so that nothing is known of cuts, and long pretokens come whole.
        let tokens = (0..250).map(|byte| (byte, vec![byte as u8])).collect();
        let plain = Bpe::plain(Alphabet::Bytes, TokenList::from_entries(tokens), Merges::ById);
        for pattern in [r"\S+|\s", r"(?=b)|\s"] {
            let split = Split::Pattern(pattern.to_owned());
            for bytes in [0, 1 << 20] {
                let once = Description::of_bpe(&split, plain.clone());
                let mut twice = once.clone();
                twice.pre_tokenizer.extend(once.pre_tokenizer.clone());
                for description in [once, twice] {
                    let engine = compile(description).unwrap().with_cache_bytes(Some(bytes));
                    agree(&engine, &format!("a {} b {} 中文", "x".repeat(200), "中".repeat(20)));
                }
            }
        }
    }

    #[test]
    fn what_is_learnt_stays_within_its_bytes_and_is_found_again() {
        let engine = engine(r"\S+|\s", 1 << 20, false);
        let words: Vec<String> = (0..200_000).map(|n| format!("{n} q{n}{}", "x".repeat(27))).collect();
        let words = words.join(" ");
        agree(&engine, &words);
        let usage = engine.memory_usage();
        assert!(usage.learnt > 500_000 && usage.learnt <= 1 << 20, "{usage:?}");
        let few = "one two three four five six seven eight nine ten eleven-twelve-thirteen ".repeat(100);
        agree(&engine, &few);
        let before = engine.memory_usage();
        agree(&engine, &few);
        let after = engine.memory_usage();
        assert!(after.lookups > before.lookups);
        assert_eq!(after.misses, before.misses);
    }

    #[test]
    fn an_error_before_a_split_fails_comes_first() {
        let byte_tokens = (0..128).map(|byte| (byte, vec![byte as u8])).collect();
        let plain = Bpe::plain(Alphabet::Bytes, TokenList::from_entries(byte_tokens), Merges::ById);
        let split = Split::Pattern(r"(?:a+)+$(?!b)|.".to_owned());
        let engine = compile(Description::of_bpe(&split, plain)).unwrap();
        let text = format!("xx\u{FF}{}c", "a".repeat(5_000));
        let error = engine.count(Text::Str(&text), &Special::Text, 1, &Unwatched).unwrap_err();
        assert!(matches!(error.kind, crate::error::Kind::UnknownToken { .. }), "{error:?}");
        // Nothing of it is left for the next text.
        assert_eq!(engine.count(Text::Str("xx"), &Special::Text, 1, &Unwatched).unwrap(), 2);
    }
}
