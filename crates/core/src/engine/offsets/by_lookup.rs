//! Ids from the lookup, and their spans from the lengths of their tokens.
//!
//! In: text between added tokens. Out: the same ids, spans and numbers of pretokens as [`ByPretoken`] gives.
//!
//! The ids of most models tile a text: what they stand for follows one another, without gaps and overlaps. So the
//! span of an id begins where the one before it ends, and is as long as its token. `token_lengths` has the fewest
//! bytes that an id may stand for. If these add up to the length of the text, each of them is exact; if not,
//! [`ByPretoken`] spells the text.
use tokenmill_kernels::{pages, try_alloc};

use super::raw_words::encode_words;
use super::spans::{Encoding, Spans};
use super::token_lengths::{LengthTables, TokenLengths};
use crate::aligned::{AlignedText, Origins};
use crate::engine::lookup::PretokenEncoder;
use crate::engine::pipeline::{ById, ByPretoken, Run, SinkAdapter};
use crate::engine::raw::{FirstSegment, Raw};
use crate::engine::sink::{IdSink, PretokenSink, SinkResult};
use crate::engine::worker::Worker;
use crate::error::Result;
use crate::ids::TokenId;
use crate::pattern::Splitter;
use crate::span::Span;
use crate::watch::Ticker;

/// How many ids are written together, first as if their lengths were all fixed.
const GROUP: usize = 64;

/// Spells through the cache where the ids of a text tile it, and by pretokens elsewhere.
pub(super) struct SpansByLookup<'s, 'a> {
    pub(super) spans: &'s mut Spans<'a>,
    pub(super) lengths: &'a LengthTables,
}

/// A sink of ids that tile a text: it adds up the lengths of their tokens to spans.
struct LengthSink<'t> {
    encoding: &'t mut Encoding,
    lengths: &'t TokenLengths,
    origins: Origins<'t>,
    /// Where the next id begins, and where the last one must end: in the caller's text, if the text is a part of it,
    /// else in the text.
    at: usize,
    end: usize,
    /// The character that byte tokens spell.
    char: SpelledChar,
    /// Was there an id whose length is not known?
    failed: bool,
    /// `None` if the caller needs no numbers of pretokens, or adds them afterwards.
    numbering: Option<Numbering<'t>>,
}

/// A character of which each byte has an id of its own.
#[derive(Clone, Copy, Default)]
struct SpelledChar {
    /// Its length in bytes.
    length: usize,
    /// How many of its bytes are still to come: 0 between characters.
    left: usize,
}

/// Numbers the pretokens of a text that is split, as its ids come.
struct Numbering<'t> {
    /// The number of the next pretoken, or of all of them if `is_pretokenized`.
    word: &'t mut u32,
    is_pretokenized: bool,
    /// Where pretokens end in the text; the ids of those from `next` on are still to come.
    ends: &'t mut Vec<usize>,
    next: usize,
    /// Where the next id begins in the text.
    at: usize,
}

impl Numbering<'_> {
    fn push(&mut self, ids: &[TokenId], lengths: &TokenLengths, words: &mut Vec<u32>) -> SinkResult {
        pages::reserve(words, ids.len())?;
        words.extend(ids.iter().map(|&id| {
            let word = *self.word;
            self.at += lengths.get(id).length();
            while self.ends.get(self.next).is_some_and(|&end| self.at >= end) {
                *self.word += u32::from(!self.is_pretokenized);
                self.next += 1;
            }
            word
        }));
        if self.next == self.ends.len() {
            self.ends.clear();
            self.next = 0;
        }
        Ok(())
    }
}

impl<'t> LengthSink<'t> {
    fn new(encoding: &'t mut Encoding, lengths: &'t TokenLengths, text: AlignedText<'t>) -> Self {
        let (origins, at) = (text.origins, start_of(text.origins));
        let end = at + text.text.len();
        Self {
            encoding,
            lengths,
            origins,
            at,
            end,
            char: SpelledChar::default(),
            failed: false,
            numbering: None,
        }
    }

    /// Do the ids tile the text?
    fn tiles(&self) -> bool {
        !self.failed && self.char.left == 0 && self.at == self.end
    }

    /// Appends the spans of some ids, for which there is capacity. Returns false if one of them has no fixed length:
    /// the spans have no meaning then.
    #[inline]
    fn push_fixed(&mut self, ids: &[TokenId]) -> bool {
        let (mut at, mut all_fixed, lengths) = (self.at, self.char.left == 0, self.lengths);
        self.encoding.byte_offsets.extend(ids.iter().map(|&id| {
            let length = lengths.get(id);
            all_fixed &= length.has_fixed_length();
            let start = at;
            at += length.length();
            length.trimmed(start, at)
        }));
        if all_fixed {
            self.at = at;
        }
        all_fixed
    }

    /// As [`Self::push_fixed`], for any ids.
    #[cold]
    fn push_any(&mut self, ids: &[TokenId]) {
        for &id in ids {
            let (length, start) = (self.lengths.get(id), self.at);
            let span = if let Some(byte) = length.byte() {
                self.byte_of_char(byte)
            } else {
                self.failed |= !length.has_fixed_length() || self.char.left > 0;
                self.at += if length.has_fixed_length() { length.length() } else { 0 };
                if self.failed { Span::new(start, start) } else { length.trimmed(start, self.at) }
            };
            self.encoding.byte_offsets.push(span);
        }
    }

    /// The span of a byte of a character: its last byte stands for all of it, the others for nothing.
    fn byte_of_char(&mut self, byte: u8) -> Span {
        let (start, SpelledChar { length, left }) = (self.at, self.char);
        let length = match byte {
            0x80..=0xBF => length,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
            _ => 1,
        };
        let is_first = byte & 0xC0 != 0x80;
        self.failed |= is_first != (left == 0);
        self.char = SpelledChar { length, left: if is_first { length } else { left }.saturating_sub(1) };
        self.at += if self.char.left == 0 { length } else { 0 };
        Span::new(start, self.at)
    }
}

/// Where a text begins in the caller's text if it is a part of it, else 0.
fn start_of(origins: Origins<'_>) -> usize {
    if let Origins::Same(at) = origins { at } else { 0 }
}

impl IdSink for LengthSink<'_> {
    fn push_ids(&mut self, ids: &[TokenId]) -> SinkResult {
        pages::extend(&mut self.encoding.ids, ids)?;
        pages::reserve(&mut self.encoding.byte_offsets, ids.len())?;
        let before = self.encoding.byte_offsets.len();
        for group in ids.chunks(GROUP) {
            let start = self.encoding.byte_offsets.len();
            if !self.push_fixed(group) {
                self.encoding.byte_offsets.truncate(start);
                self.push_any(group);
            }
        }
        if let Some(numbering) = &mut self.numbering {
            numbering.push(ids, self.lengths, &mut self.encoding.words)?;
        }
        self.failed |= self.at > self.end;
        if !matches!(self.origins, Origins::Same(_)) && !self.failed {
            for span in &mut self.encoding.byte_offsets[before..] {
                // An empty span maps to another place at the end of its pretoken than elsewhere.
                self.failed |= span.is_empty();
                *span = self.origins.span(*span);
            }
        }
        Ok(())
    }

    fn take_ends(&mut self, ends: &[usize]) -> SinkResult {
        match &mut self.numbering {
            Some(numbering) => try_alloc::extend(numbering.ends, ends),
            None => Ok(()),
        }
    }
}

impl SpansByLookup<'_, '_> {
    /// Runs `encode` with a sink of ids that should tile `piece`; it numbers their pretokens if `numbers` is set.
    /// Returns how many ids there were before. If the ids do not tile the piece, they are dropped, and `None` is
    /// returned.
    fn tile(
        &mut self,
        (lengths, piece): (&TokenLengths, AlignedText<'_>),
        numbers: bool,
        run: &mut Run<'_, '_>,
        encode: impl FnOnce(&mut ById<'_, LengthSink<'_>>, &mut Run<'_, '_>) -> Result<()>,
    ) -> Result<Option<usize>> {
        let (before, word_before) = (self.spans.encoding.ids.len(), self.spans.word);
        let Spans { encoding, word, is_pretokenized, keeps_words, ends, .. } = &mut *self.spans;
        let mut sink = LengthSink::new(encoding, lengths, piece);
        ends.clear();
        sink.numbering = (*keeps_words && numbers).then_some(Numbering {
            word,
            is_pretokenized: *is_pretokenized,
            ends,
            next: 0,
            at: 0,
        });
        // The model is asked for ids alone.
        run.worker.scratch.wants_ends = false;
        let done = encode(&mut ById(&mut sink), run);
        run.worker.scratch.wants_ends = true;
        done?;
        if sink.tiles() {
            return Ok(Some(before));
        }
        self.spans.truncate(before);
        self.spans.word = word_before;
        Ok(None)
    }

    /// Numbers the pretokens of the ids from `before` on, which came from raw segments. `is_first` says whether they
    /// are the first ids of their text.
    fn number_segments(&mut self, before: usize, is_first: bool, lengths: &TokenLengths) -> SinkResult {
        let Spans { encoding: Encoding { ids, words, .. }, word, is_pretokenized, keeps_words, .. } =
            &mut *self.spans;
        let ids = ids.get(before..).unwrap_or_default();
        if !*keeps_words || ids.is_empty() {
            return Ok(());
        }
        try_alloc::reserve(words, ids.len())?;
        if *is_pretokenized {
            words.extend(ids.iter().map(|_| *word));
            return Ok(());
        }
        // They go on with the last pretoken of the text before them.
        let mut number = *word - u32::from(!is_first);
        for (i, &id) in ids.iter().enumerate() {
            number += u32::from(lengths.get(id).begins_word() && !(is_first && i == 0));
            words.push(number);
        }
        *word = number + 1;
        Ok(())
    }

    /// The lengths, if no part of the text is untrusted: there each pretoken is checked for forged tokens, so that ids
    /// must not come from the lookup.
    fn lengths_if_trusted<'l>(
        lengths: Option<&'l TokenLengths>,
        run: &Run<'_, '_>,
    ) -> Option<&'l TokenLengths> {
        lengths.filter(|_| run.untrusted.is_empty())
    }
}

impl SinkAdapter for SpansByLookup<'_, '_> {
    const WANTS_ORIGINS: bool = true;
    const LOOKS_UP: bool = true;

    fn wants_ends(&self) -> bool {
        true
    }

    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult {
        self.spans.added(found, id)
    }

    fn encode_split(
        &mut self,
        splitter: &Splitter,
        piece: AlignedText<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        if let Some(lengths) = Self::lengths_if_trusted(self.lengths.in_pretokens(), run) {
            let encode = |ids: &mut ById<'_, LengthSink<'_>>, run: &mut Run<'_, '_>| {
                ids.encode_split(splitter, piece, run)
            };
            if self.tile((lengths, piece), true, run, encode)?.is_some() {
                return Ok(());
            }
        }
        ByPretoken(&mut *self.spans).encode_split(splitter, piece, run)
    }

    fn encode_pretokenized(&mut self, piece: AlignedText<'_>, run: &mut Run<'_, '_>) -> Result<()> {
        let Some(lengths) = Self::lengths_if_trusted(self.lengths.in_pretokens(), run) else {
            return ByPretoken(&mut *self.spans).encode_pretokenized(piece, run);
        };
        let Run { engine, worker, ticker, .. } = run;
        let Worker { scratch, cache, batch, pretokenized, word_scratch, .. } = &mut **worker;
        let emit = &mut |pretoken: AlignedText<'_>, ticker: &mut Ticker<'_>| {
            ticker.spend(pretoken.text.len())?;
            let before = self.spans.encoding.ids.len();
            let mut sink = LengthSink::new(&mut self.spans.encoding, lengths, pretoken);
            let speller = engine.speller();
            scratch.wants_ends = false;
            let mut encoder = PretokenEncoder { speller, batch, cache, scratch, word_scratch, ticker };
            let done = encoder.encode_one(pretoken, &mut sink);
            scratch.wants_ends = true;
            done?;
            if sink.tiles() {
                return Ok(self.spans.number_pretoken(before)?);
            }
            self.spans.truncate(before);
            self.spans.spell_one(pretoken, &engine.stages, (scratch, ticker))
        };
        engine.stages.pre_tokenizers.for_each(piece, pretokenized, ticker, emit)
    }

    fn encode_raw(
        &mut self,
        raw: &Raw,
        first: FirstSegment,
        piece: AlignedText<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        if let Raw::Words(words) = raw
            && !words.are_summed()
            && run.untrusted.is_empty()
        {
            return encode_words(self.spans, words, piece, run);
        }
        let lengths = Self::lengths_if_trusted(self.lengths.in_segments(), run);
        let (Raw::Segments(_), Some(lengths)) = (raw, lengths) else {
            return run.encode_by_stages(piece, self);
        };
        let (before, word) = (self.spans.encoding.ids.len(), self.spans.word);
        let first = match first {
            FirstSegment::Plain => 0,
            FirstSegment::Spaced(end) | FirstSegment::Staged(end) => end,
        };
        if first > 0 {
            run.encode_by_stages(piece.slice(Span::new(0, first)), self)?;
        }
        let rest = piece.slice(Span::new(first, piece.text.len()));
        let tiled = self.tile((lengths, rest), false, run, |ids, run| {
            ids.encode_raw(raw, FirstSegment::Plain, rest, run)
        })?;
        if let Some(from) = tiled {
            return Ok(self.number_segments(from, first == 0, lengths)?);
        }
        self.spans.truncate(before);
        self.spans.word = word;
        run.encode_by_stages(piece, self)
    }

    fn encode_bytes(&mut self, bytes: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<()> {
        ByPretoken(&mut *self.spans).encode_bytes(bytes, origins, run)
    }
}
