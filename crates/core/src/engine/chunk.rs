//! Pretokens by chunks: first the split finds some hundred of them and asks for what is known of
//! each, then that is taken, when it has had time to come near.
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT};

use crate::aligned::{Origins, Piece};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::pattern::Splitter;
use crate::span::Span;
use crate::watch::Ticker;

use super::Engine;
use super::cache::{Learnt, Seed, key_at};
use super::encode::{Run, Sink, Wants, placed};

/// Pretokens of a chunk.
const LENGTH: usize = 256;
/// A chunk whose pretokens took this much work to find is taken at once, so that a wish to stop is
/// heard in time.
const WORK: usize = 1 << 15;
/// Ids that may wait when others than those of an entry are put behind them.
const ROOM: usize = 256;
/// Ids that may wait for a sink: these, and an entry for each pretoken.
const IDS: usize = LENGTH * INLINE + ROOM;

/// Pretokens that were found, and ids that were not yet given out.
#[derive(Debug)]
pub(super) struct Chunk {
    spans: [Span; LENGTH],
    keys: [Key; LENGTH],
    hashes: [u64; LENGTH],
    length: usize,
    work: usize,
    ids: [TokenId; IDS],
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            spans: [Span::new(0, 0); LENGTH],
            keys: [0; LENGTH],
            hashes: [0; LENGTH],
            length: 0,
            work: 0,
            ids: [0; IDS],
        }
    }
}

impl Chunk {
    /// Puts a pretoken of `text`. True if the chunk should be taken now.
    #[inline]
    fn push(&mut self, text: &[u8], span: Span, work: usize, (seed, learnt): (&Seed, &Learnt)) -> bool {
        let key = key_at(text, span.start, span.len());
        let hash = short_table::hash(key);
        seed.prefetch(hash);
        learnt.prefetch(hash);
        let at = self.length % LENGTH;
        self.spans[at] = span;
        self.keys[at] = key;
        self.hashes[at] = hash;
        self.length = at + 1;
        self.work += work;
        self.length == LENGTH || self.work >= WORK
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
        let split = splitter.for_each(piece.text, |span| {
            let worker = &mut *run.worker;
            let tables = (&self.seed, &worker.learnt);
            let is_full = worker.chunk.push(text, span, splitter.work(span.len()), tables);
            if is_full { self.take_chunk(text, piece.origins, run, sink) } else { Ok(()) }
        });
        // What was found before a split failed has its error first.
        self.take_chunk(text, piece.origins, run, sink)?;
        split
    }

    fn take_chunk<S: Sink>(
        &self,
        text: &[u8],
        origins: Origins<'_>,
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let worker = &mut *run.worker;
        let chunk = &mut worker.chunk;
        let length = std::mem::take(&mut chunk.length);
        run.ticker.spend(std::mem::take(&mut chunk.work))?;
        let (mut waiting, mut misses) = (0, 0);
        for at in 0..length {
            let (key, hash) = (chunk.keys[at], chunk.hashes[at]);
            if key != 0
                && let Some(value) = self.seed.get(key, hash).or_else(|| worker.learnt.get(key, hash))
            {
                let count = value.count as usize;
                if count <= INLINE {
                    if matches!(S::WANTS, Wants::Ids) {
                        chunk.ids[waiting..waiting + INLINE].copy_from_slice(&value.words);
                    }
                    waiting += count;
                    continue;
                }
                if let Some(ids) = worker.learnt.ids_of(value, chunk.spans[at].of(text)) {
                    waiting = give_out(sink, &mut chunk.ids, waiting, ids);
                    continue;
                }
            }
            misses += 1;
            let pretoken = chunk.spans[at].of(text);
            self.spell(pretoken, &mut worker.learnt, &mut worker.scratch, run.ticker)
                .map_err(|error| placed(error, origins.slice(chunk.spans[at])))?;
            worker.learnt.learn(key, hash, pretoken, &worker.scratch.ids);
            waiting = give_out(sink, &mut chunk.ids, waiting, &worker.scratch.ids);
        }
        if matches!(S::WANTS, Wants::Ids) {
            sink.extend(&chunk.ids[..waiting]);
        } else {
            sink.count(waiting);
        }
        worker.learnt.note(length, misses);
        Ok(())
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
        let key = if text.is_empty() { 0 } else { key_at(text, 0, text.len()) };
        let hash = short_table::hash(key);
        if key != 0
            && let Some(value) = self.seed.get(key, hash).or_else(|| learnt.get(key, hash))
            && let Some(ids) = learnt.ids_of(value, text)
        {
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
}

/// In the key of a segment, where a pretoken with the same bytes may have other ids.
const IS_SEGMENT: Key = 0x40 << 120;

impl Engine {
    /// Spells a pretoken that is not known into `scratch.ids`. Of a long one the segments are looked
    /// up: they repeat where whole pretokens do not.
    fn spell(
        &self,
        pretoken: &[u8],
        learnt: &mut Learnt,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let vocabulary = &self.parts.vocabulary;
        let bpe = self.parts.model.as_bpe().filter(|_| pretoken.len() > SHORT);
        let Some(bpe) = bpe.filter(|bpe| bpe.goes_by_segments(pretoken, vocabulary)) else {
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
            if let Some(value) = self.seed.get(key, hash).or_else(|| learnt.get(key, hash))
                && let Some(known) = learnt.ids_of(value, segment)
            {
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
