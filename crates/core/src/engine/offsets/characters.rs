//! Offsets in characters, from spans of bytes and back.
//!
//! In: a text, and spans of its bytes. Out: how many characters are before each end of a span; or the other way.
use std::cell::Cell;

use tokenmill_kernels::try_alloc;

use crate::engine::input::Text;
use crate::error::Result;
use crate::span::Span;
use crate::watch::{Ticker, Watch};

/// The work between two reports to the ticker, in bytes.
const WORK: usize = 1 << 12;

/// Character offsets of byte spans: the character that holds the first byte, and one past the character that holds
/// the last. If tokens split a character, each gets the whole of it; so does an empty span inside a character, so
/// that offsets never decrease. `text` is read at most twice if neither the starts nor the ends of the spans
/// decrease. Bytes that are not UTF-8 count as one character each.
///
/// # Errors
/// Errors of the watch; out of memory.
pub fn char_offsets(text: Text<'_>, spans: &[Span], watch: &dyn Watch) -> Result<Vec<(usize, usize)>> {
    let mut offsets = try_alloc::vec(spans.len())?;
    if text.as_bytes().is_ascii() {
        offsets.extend(spans.iter().map(|span| (span.start, span.end)));
        return Ok(offsets);
    }
    let mut ticker = Ticker::new(watch);
    each_by(text, spans.iter().copied(), &mut ticker, |start, end| offsets.push((start, end)))?;
    Ok(offsets)
}

/// As [`char_offsets`], in place.
///
/// # Errors
/// Errors of the watch.
pub fn to_characters(text: Text<'_>, spans: &mut [Span], watch: &dyn Watch) -> Result<()> {
    if text.as_bytes().is_ascii() {
        return Ok(());
    }
    let cells = Cell::from_mut(spans).as_slice_of_cells();
    let (mut ticker, mut done) = (Ticker::new(watch), cells.iter());
    each_by(text, cells.iter().map(Cell::get), &mut ticker, |start, end| {
        if let Some(cell) = done.next() {
            cell.set(Span::new(start, end));
        }
    })
}

/// Passes the character offsets of each span to `emit`.
fn each_by(
    text: Text<'_>,
    spans: impl Iterator<Item = Span>,
    ticker: &mut Ticker<'_>,
    emit: impl FnMut(usize, usize),
) -> Result<()> {
    let all = text.as_bytes();
    match text {
        Text::Str(_) => {
            let count = |from: usize, to: usize| count_starts(&all[from..to]);
            each_span((&count, Some(all)), all.len(), spans, ticker, emit)
        }
        Text::Bytes(_) => {
            let count =
                |from: usize, to: usize| (from..to).filter(|&byte| starts_character(all, byte)).count();
            each_span((&count, None), all.len(), spans, ticker, emit)
        }
    }
}

/// As [`each_by`], for a text of `length` bytes; `count` says how many characters start between two of them. `utf8` has
/// the text if it is valid UTF-8.
#[inline]
fn each_span(
    (count, utf8): (&impl Fn(usize, usize) -> usize, Option<&[u8]>),
    length: usize,
    spans: impl Iterator<Item = Span>,
    ticker: &mut Ticker<'_>,
    mut emit: impl FnMut(usize, usize),
) -> Result<()> {
    // Starts and ends each have their own place in the text, so that it need not go back if spans overlap.
    let (mut first, mut last, mut work) = (Place::default(), Place::default(), 0);
    let inside = |byte: usize| byte < length && count(byte, byte + 1) == 0;
    // From `last` up to this byte the text is ASCII, so that each character is one byte.
    let mut ascii_end = 0;
    for span in spans {
        if span.start >= last.at && span.end < ascii_end {
            work += 4;
            let wider = last.at - last.chars;
            emit(span.start - wider, span.end - wider);
            last = Place { at: span.end, chars: span.end - wider };
            continue;
        }
        // Most spans are short, and begin where the one before ends or a little later.
        if let Some((is_inside, starts)) = utf8.and_then(|text| span_beside(text, last.at, span)) {
            work += 16;
            emit(last.chars - usize::from(is_inside), last.chars + starts);
            last = Place { at: span.end, chars: last.chars + starts };
        } else if let Some((before, is_inside, starts)) = utf8.and_then(|text| span_near(text, last.at, span))
        {
            work += 32;
            let chars = last.chars + before;
            emit(chars - usize::from(is_inside), chars + starts);
            last = Place { at: span.end, chars: chars + starts };
        } else {
            if span.start.abs_diff(last.at) <= span.start.abs_diff(first.at) {
                first = last;
            }
            work += 8 + span.start.abs_diff(first.at) + span.end.abs_diff(last.at);
            let is_inside = inside(span.start);
            let start = first.advance(count, span.start) - usize::from(is_inside);
            let end = if span.is_empty() && !is_inside { start } else { last.advance(count, span.end) };
            emit(start, end);
        }
        if let Some(text) = utf8 {
            ascii_end = ascii_end_after(text, last.at);
            work += (ascii_end - last.at) / 4;
        }
        if work > WORK {
            ticker.spend(std::mem::take(&mut work))?;
        }
    }
    ticker.spend(work)
}

/// The work for a run of ASCII is bounded by its length, since spans may go backwards.
const ASCII_RUN: usize = 512;

/// Up to where a text is ASCII from byte `at` on, in whole words and for at most [`ASCII_RUN`] bytes.
#[inline]
fn ascii_end_after(text: &[u8], at: usize) -> usize {
    let (words, _) = text[at..text.len().min(at + ASCII_RUN)].as_chunks::<8>();
    let is_ascii = |word: &&[u8; 8]| u64::from_le_bytes(**word) & (EACH_BYTE << 7) == 0;
    at + 8 * words.iter().take_while(is_ascii).count()
}

/// Does a short span of valid UTF-8 that begins at `at` begin inside a character, and how many characters start in it?
/// `None` for other spans.
#[inline]
fn span_beside(text: &[u8], at: usize, span: Span) -> Option<(bool, usize)> {
    let length = span.len();
    if span.start != at || length == 0 || length > 8 {
        return None;
    }
    let word = text.get(at..)?.first_chunk::<8>()?;
    let starts = starts_in(u64::from_le_bytes(*word));
    Some((starts & 1 == 0, sum_of_bytes(starts & first_bytes(length))))
}

/// As [`span_beside`], for a span that begins at or after `at` and ends up to 16 bytes after it; before that, how many
/// characters start between `at` and the span.
#[inline]
fn span_near(text: &[u8], at: usize, span: Span) -> Option<(usize, bool, usize)> {
    let (start, end) = (span.start.wrapping_sub(at), span.end.wrapping_sub(at));
    if end > 16 || start >= end {
        return None;
    }
    let window = text.get(at..)?.first_chunk::<16>()?.as_chunks::<8>().0;
    let [low, high] = [0, 1].map(|half| starts_in(u64::from_le_bytes(window[half])));
    let up_to = |bytes: usize| {
        sum_of_bytes(low & first_bytes(bytes.min(8)))
            + sum_of_bytes(high & first_bytes(bytes.saturating_sub(8)))
    };
    let from_start = if start < 8 { low >> (8 * start) } else { high >> (8 * (start - 8)) };
    let before = up_to(start);
    Some((before, from_start & 1 == 0, up_to(end) - before))
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

    /// Goes to a byte; returns how many characters start before it. `count` is that of [`each_span`].
    #[inline]
    fn advance(&mut self, count: &impl Fn(usize, usize) -> usize, to: usize) -> usize {
        if to >= self.at {
            self.chars += count(self.at, to);
        } else {
            self.chars -= count(to, self.at);
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

/// A mask of the first bytes of a word, at most eight.
fn first_bytes(bytes: usize) -> u64 {
    if bytes == 0 { 0 } else { u64::MAX >> (64 - 8 * bytes) }
}

/// The sum of the bytes of a word, if it is below 256.
fn sum_of_bytes(word: u64) -> usize {
    (word.wrapping_mul(EACH_BYTE) >> 56) as usize
}

/// A word with 1 in each byte that starts a character: every byte of valid UTF-8 but those of the form 10xxxxxx.
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
        fn short_spans_and_gaps_have_the_characters_of_their_bytes(
            text in "(\\PC|[a-zé語🦊]{0,40}){1,9}",
            steps in prop::collection::vec((0usize..10, 0usize..12), 0..40),
        ) {
            let (mut at, mut spans) = (0, Vec::new());
            for (gap, length) in steps {
                let start = (at + gap).min(text.len());
                at = (start + length).min(text.len());
                spans.push(Span::new(start, at));
            }
            let counted = char_offsets(Text::Str(&text), &spans, &Unwatched).unwrap();
            prop_assert_eq!(counted, char_offsets(Text::Bytes(text.as_bytes()), &spans, &Unwatched).unwrap());
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
