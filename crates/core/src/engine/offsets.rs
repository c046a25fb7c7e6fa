//! Ids with the part of the text that each stands for.
use std::ops::Range;

use tokenmill_kernels::{Prefetcher, try_alloc};

use crate::aligned::{AlignedText, Origins};
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::SAME_PART;
use crate::model::unigram::Unigram;
use crate::postprocess::white_space_at_ends;
use crate::span::Span;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Watch};

use super::Engine;
use super::input::Text;
use super::pipeline::ByPretoken;
use super::recognizer::Recognizer;
use super::sink::{PretokenSink, SinkResult};
use super::untrusted::UntrustedRanges;

/// Ids, and the text that each stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<TokenId>,
    /// For each id, its span in the bytes of the caller's text. The spans tile the text if the model is over bytes
    /// and nothing is normalized.
    pub byte_offsets: Vec<Span>,
    /// For each id, the number of its pretoken. Added tokens are counted, too.
    pub words: Vec<u32>,
    /// The text of each id whose text differs from its token: an added token with the white space that it takes,
    /// and text unknown to a Unigram model. By the index of the id, ascending.
    pub surfaces: Vec<(usize, String)>,
}

/// A sink that keeps ids and the part of the text that each stands for.
pub(super) struct Spans<'a> {
    pub(super) encoding: Encoding,
    words: u32,
    /// Has the caller cut the text into words? Then all ids belong to the current word.
    is_cut: bool,
    /// The vocabulary, for the written forms of tokens; set if offsets leave out white space.
    trims: Option<&'a Vocabulary>,
    in_bytes: bool,
    vocabulary: &'a Vocabulary,
    /// The unknown token, if a Unigram model has one: it stands for any text.
    unknown: Option<TokenId>,
}

impl<'a> Spans<'a> {
    pub(super) fn new(engine: &'a Engine, is_cut: bool) -> Self {
        let trims = engine.stages.post_processors.trims_offsets().then_some(&engine.stages.vocabulary);
        let in_bytes = engine.description.is_byte_level();
        let vocabulary = &engine.stages.vocabulary;
        let unknown = engine.stages.model.as_unigram().and_then(Unigram::unknown);
        Self { encoding: Encoding::default(), words: 0, is_cut, trims, in_bytes, vocabulary, unknown }
    }

    /// Notes the text of the next id, which differs from its token.
    fn spelled(&mut self, surface: &str) -> SinkResult {
        let surface = try_alloc::copy_text(surface)?;
        try_alloc::push(&mut self.encoding.surfaces, (self.encoding.ids.len(), surface))
    }

    /// Reserves capacity for `count` ids.
    fn reserve(&mut self, count: usize) -> SinkResult {
        try_alloc::reserve(&mut self.encoding.ids, count)?;
        try_alloc::reserve(&mut self.encoding.byte_offsets, count)?;
        try_alloc::reserve(&mut self.encoding.words, count)
    }

    /// Pushes an id for which capacity is reserved.
    fn push(&mut self, id: TokenId, span: Span) {
        self.encoding.ids.push(id);
        self.encoding.byte_offsets.push(span);
        self.encoding.words.push(self.words);
    }
}

impl PretokenSink for Spans<'_> {
    fn wants_ends(&self) -> bool {
        true
    }

    fn take(&mut self, pretoken: &[u8], origins: Origins<'_>, ids: &[TokenId], ends: &[u32]) -> SinkResult {
        self.reserve(ids.len())?;
        let mut start = 0;
        let mut part = Span::new(0, 0);
        for (&id, &end) in ids.iter().zip(ends) {
            if end != SAME_PART {
                part = Span::new(start, end as usize);
                start = part.end;
            }
            let mut kept = part;
            if let Some(vocabulary) = self.trims {
                let written = || vocabulary.written(id).unwrap_or_default();
                let (leading, trailing) = white_space_at_ends(part.of(pretoken), self.in_bytes, written);
                kept = Span::new(part.start + leading, part.end - trailing);
            }
            if Some(id) == self.unknown {
                self.spelled(&String::from_utf8_lossy(part.of(pretoken)))?;
            }
            self.push(id, origins.span(kept));
        }
        self.words += u32::from(!self.is_cut);
        Ok(())
    }

    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult {
        self.reserve(1)?;
        let mut part = Span::new(0, found.text.len());
        if self.trims.is_some() {
            let written = || found.text.to_owned();
            let (leading, trailing) = white_space_at_ends(found.text.as_bytes(), false, written);
            part = Span::new(leading, part.end - trailing);
        }
        if self.vocabulary.added_by_id(id).is_none_or(|token| token.content != found.text) {
            self.spelled(found.text)?;
        }
        self.push(id, found.origins.span(part));
        self.words += u32::from(!self.is_cut);
        Ok(())
    }
}

impl Engine {
    /// Passes the pretokens of a text to a sink, on this thread. One copy of this code serves all sinks but those that
    /// the speed of encoding depends on.
    pub(crate) fn encode_pretokens(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
        sink: &mut dyn PretokenSink,
    ) -> Result<()> {
        self.encode_into(text, recognizer, untrusted, Prefetcher::default(), watch, &mut ByPretoken(sink))
    }

    fn encode_spans(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
        sink: &mut Spans<'_>,
    ) -> Result<()> {
        self.encode_into(text, recognizer, untrusted, Prefetcher::default(), watch, &mut ByPretoken(sink))
    }

    /// Encodes a text and says which bytes of it each id stands for. Untrusted ranges are as in
    /// [`Engine::encode_untrusted`].
    ///
    /// # Errors
    /// As [`Engine::encode`].
    pub fn encode_with_offsets(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
    ) -> Result<Encoding> {
        let mut sink = Spans::new(self, false);
        self.encode_spans(text, recognizer, untrusted, watch, &mut sink)?;
        Ok(sink.encoding)
    }

    /// Encodes a text that the caller has cut into words, each as a text of its own. Offsets count within the word,
    /// and [`Encoding::words`] has the number of the word.
    ///
    /// # Errors
    /// Those of a text, as [`Engine::encode`] has them, with the number of the word as the field.
    pub fn encode_words(
        &self,
        words: &[Text<'_>],
        recognizer: &Recognizer<'_>,
        watch: &dyn Watch,
    ) -> Result<Encoding> {
        let mut sink = Spans::new(self, true);
        let mut ticker = Ticker::new(watch);
        for (i, &word) in words.iter().enumerate() {
            sink.words = to_u32(i);
            self.encode_spans(word, recognizer, UntrustedRanges::none(), watch, &mut sink)
                .map_err(|error| error.at_index(i).at("words"))?;
            ticker.spend(word.as_bytes().len() + 16)?;
        }
        Ok(sink.encoding)
    }
}

/// Character offsets of byte spans: the character that holds the first byte, and one past the character that holds
/// the last. If tokens split a character, each gets the whole of it; so does an empty span inside a character, so
/// that offsets never decrease. `text` is read at most twice if neither the starts nor the ends of the spans
/// decrease. Bytes that are not UTF-8 count as one character each.
///
/// # Errors
/// Errors of the watch; out of memory.
pub fn char_offsets(text: Text<'_>, spans: &[Span], watch: &dyn Watch) -> Result<Vec<(usize, usize)>> {
    let all = text.as_bytes();
    match text {
        Text::Str(_) => offsets_by(&|bytes| count_starts(&all[bytes]), all.len(), spans, watch),
        Text::Bytes(_) => {
            let count = |bytes: Range<usize>| bytes.filter(|&byte| starts_character(all, byte)).count();
            offsets_by(&count, all.len(), spans, watch)
        }
    }
}

/// As [`char_offsets`], for a text of so many bytes; `count` says how many characters start in a range of them.
fn offsets_by(
    count: &impl Fn(Range<usize>) -> usize,
    length: usize,
    spans: &[Span],
    watch: &dyn Watch,
) -> Result<Vec<(usize, usize)>> {
    let mut offsets = try_alloc::vec(spans.len())?;
    let mut ticker = Ticker::new(watch);
    // Starts and ends each have their own place in the text, so that it need not go back if spans overlap.
    let (mut first, mut last) = (Place::default(), Place::default());
    let inside = |byte: usize| byte < length && count(byte..byte + 1) == 0;
    for span in spans {
        if span.start.abs_diff(last.at) < span.start.abs_diff(first.at) {
            first = last;
        }
        ticker.spend(8 + span.start.abs_diff(first.at) + span.end.abs_diff(last.at))?;
        let is_inside = inside(span.start);
        let start = first.advance(count, span.start) - usize::from(is_inside);
        let end = if span.is_empty() && !is_inside { start } else { last.advance(count, span.end) };
        offsets.push((start, end));
    }
    Ok(offsets)
}

/// Byte spans of character offsets, which ascend and do not overlap: the inverse of [`char_offsets`].
///
/// # Errors
/// Errors of the watch; out of memory.
pub fn byte_spans(text: &str, offsets: &[(usize, usize)], watch: &dyn Watch) -> Result<Vec<Span>> {
    let mut spans = try_alloc::vec(offsets.len())?;
    let mut ticker = Ticker::new(watch);
    let mut place = Place::default();
    for &(start, end) in offsets {
        let before = place.at;
        let start = place.skip(text.as_bytes(), start);
        spans.push(Span::new(start, place.skip(text.as_bytes(), end)));
        ticker.spend(8 + (place.at - before) / 8)?;
    }
    Ok(spans)
}

/// A place in a text: `chars` characters start before byte `at`.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    at: usize,
    chars: usize,
}

impl Place {
    /// Goes forward in UTF-8 until `chars` characters start before the place; returns its byte.
    fn skip(&mut self, text: &[u8], chars: usize) -> usize {
        self.skip_blocks(text, chars);
        while let Some(word) = text.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            // For each byte, how many characters start in the word up to it.
            let sums = starts_in(u64::from_le_bytes(*word)).wrapping_mul(EACH_BYTE);
            let after = self.chars + usize::from(sums.to_le_bytes()[7]);
            if after > chars {
                // The character starts at the first byte whose sum exceeds the number of characters left. Sums are
                // at most 8.
                let left = (chars - self.chars) as u64;
                let above = (sums + (127 - left) * EACH_BYTE) & (EACH_BYTE << 7);
                (self.at, self.chars) = (self.at + above.trailing_zeros() as usize / 8, chars);
                return self.at;
            }
            (self.at, self.chars) = (self.at + 8, after);
        }
        while let Some(byte) = text.get(self.at)
            && (self.chars < chars || byte & 0xc0 == 0x80)
        {
            self.chars += usize::from(byte & 0xc0 != 0x80);
            self.at += 1;
        }
        self.at
    }

    /// Goes forward by whole blocks, as long as no more than `chars` characters start before the place.
    fn skip_blocks(&mut self, text: &[u8], chars: usize) {
        while let Some(block) = text.get(self.at..).and_then(<[u8]>::first_chunk::<64>) {
            let after = self.chars + starts_in_block(block);
            if after > chars {
                return;
            }
            (self.at, self.chars) = (self.at + block.len(), after);
        }
    }

    /// Goes to a byte; returns how many characters start before it. `count` is that of [`offsets_by`].
    fn advance(&mut self, count: &impl Fn(Range<usize>) -> usize, to: usize) -> usize {
        if to >= self.at {
            self.chars += count(self.at..to);
        } else {
            self.chars -= count(to..self.at);
        }
        self.at = to;
        self.chars
    }
}

/// The number 1 in each byte.
const EACH_BYTE: u64 = u64::MAX / 255;

/// How many characters start in these bytes of valid UTF-8.
fn count_starts(bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks::<64>();
    let in_rest = rest.iter().filter(|&byte| byte & 0xc0 != 0x80).count();
    blocks.iter().map(starts_in_block).sum::<usize>() + in_rest
}

/// As [`count_starts`]. A loop of known length without an exit is vectorised.
fn starts_in_block(block: &[u8; 64]) -> usize {
    usize::from(block.iter().fold(0_u8, |count, byte| count + u8::from(byte & 0xc0 != 0x80)))
}

/// 1 in each byte of valid UTF-8 that starts a character: whose highest bits are not 10.
fn starts_in(word: u64) -> u64 {
    ((!word >> 7) | (word >> 6)) & EACH_BYTE
}

/// Is this byte the first of a character? So is a continuation byte that no lead byte reaches.
fn starts_character(text: &[u8], at: usize) -> bool {
    if text[at] & 0xc0 != 0x80 {
        return true;
    }
    // A valid sequence is at most four bytes: look for one that covers this byte.
    !(1..=3.min(at)).any(|back| {
        let lead = at - back;
        let length = match text[lead] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return false,
        };
        back < length
            && text.get(lead..lead + length).is_some_and(|sequence| std::str::from_utf8(sequence).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn byte_spans_are_the_way_back_of_character_offsets(
            text in "(\\PC|[a-zé語🦊]{0,40}){0,9}",
            cuts in prop::collection::vec(0usize..400, 0..12),
        ) {
            let length = text.chars().count();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(length)).collect();
            cuts.sort_unstable();
            let offsets: Vec<(usize, usize)> = cuts.chunks_exact(2).map(|two| (two[0], two[1])).collect();
            let spans = byte_spans(&text, &offsets, &Unwatched).unwrap();
            let byte = |char: usize| text.char_indices().nth(char).map_or(text.len(), |(at, _)| at);
            let want: Vec<Span> = offsets.iter().map(|&(a, b)| Span::new(byte(a), byte(b))).collect();
            prop_assert_eq!(&spans, &want);
            prop_assert_eq!(char_offsets(Text::Str(&text), &spans, &Unwatched).unwrap(), offsets);
        }

        #[test]
        fn characters_of_text_are_those_of_its_bytes(
            text in "(\\PC|[a-zé語🦊]{0,80}){0,9}",
            spans in prop::collection::vec((0usize..400, 0usize..100), 0..30),
        ) {
            // Anywhere: within characters, over each other, backwards, empty.
            let span = |(start, length): (usize, usize)| {
                let start = start.min(text.len());
                Span::new(start, (start + length).min(text.len()))
            };
            let spans: Vec<Span> = spans.into_iter().map(span).collect();
            let counted = char_offsets(Text::Str(&text), &spans, &Unwatched).unwrap();
            prop_assert_eq!(counted, char_offsets(Text::Bytes(text.as_bytes()), &spans, &Unwatched).unwrap());
        }
    }
}
