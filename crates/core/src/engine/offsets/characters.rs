//! Offsets in characters, from spans of bytes and back.
//!
//! In: a text, and spans of its bytes. Out: how many characters are before each end of a span; or the other way.
use std::cell::Cell;

use tokenmill_kernels::{CharStarts, cpu, try_alloc};

use crate::engine::input::Text;
use crate::error::Result;
use crate::span::Span;
use crate::watch::{Ticker, Watch};

/// The work between two reports to the ticker, in bytes.
const WORK: usize = 1 << 12;

/// As many spans as are worth [`WORK`] bytes.
const SPANS: usize = WORK / 8;

/// In a text of fewer bytes, or with fewer spans than one for [`BYTES_PER_SPAN`], characters are counted from one span to
/// the next. A table of where they start would take longer, or more memory than the spans.
const FEW_BYTES: usize = 16;
const BYTES_PER_SPAN: usize = 64;

/// Character offsets of byte spans: the character that holds the first byte, and one past the character that holds
/// the last. If tokens split a character, each gets the whole of it; so does an empty span inside a character, so
/// that offsets never decrease. `text` is read at most twice if neither the starts nor the ends of the spans
/// decrease, or if there are many spans. Bytes that are not UTF-8 count as one character each.
///
/// # Errors
/// Errors of the watch; out of memory.
pub fn char_offsets(text: Text<'_>, spans: &[Span], watch: &dyn Watch) -> Result<Vec<(usize, usize)>> {
    let mut offsets = try_alloc::vec(spans.len())?;
    if text.as_bytes().is_ascii() {
        offsets.extend(spans.iter().map(|span| (span.start, span.end)));
        return Ok(offsets);
    }
    let emit = |start, end| offsets.push((start, end));
    each_in_characters(text, spans, |&span| span, &mut Ticker::new(watch), emit)?;
    Ok(offsets)
}

/// As [`char_offsets`], in place.
///
/// # Errors
/// As there.
pub fn to_characters(text: Text<'_>, spans: &mut [Span], watch: &dyn Watch) -> Result<()> {
    if text.as_bytes().is_ascii() {
        return Ok(());
    }
    let cells = Cell::from_mut(spans).as_slice_of_cells();
    let mut done = cells.iter();
    each_in_characters(text, cells, Cell::get, &mut Ticker::new(watch), |start, end| {
        if let Some(cell) = done.next() {
            cell.set(Span::new(start, end));
        }
    })
}

/// Passes the start and the end of each span, in characters, to `emit`. `span_of` gives the span of an item.
#[inline]
fn each_in_characters<T>(
    text: Text<'_>,
    items: &[T],
    span_of: impl Fn(&T) -> Span,
    ticker: &mut Ticker<'_>,
    mut emit: impl FnMut(usize, usize),
) -> Result<()> {
    let bytes = text.as_bytes().len();
    if bytes < FEW_BYTES || items.len() < bytes / BYTES_PER_SPAN {
        return count_each(text, items.iter().map(span_of), ticker, emit);
    }
    let starts = char_starts(text, ticker)?;
    for items in items.chunks(SPANS) {
        let spans = items.iter().map(&span_of).map(|Span { start, end }| (start, end));
        starts.each_span(cpu::level(), spans, &mut emit);
        ticker.spend(WORK)?;
    }
    Ok(())
}

/// Where the characters of a text start.
fn char_starts(text: Text<'_>, ticker: &mut Ticker<'_>) -> Result<CharStarts> {
    let all = text.as_bytes();
    let mut starts = CharStarts::with_capacity(all.len())?;
    for at in (0..all.len()).step_by(WORK) {
        let part = &all[at..all.len().min(at + WORK)];
        match text {
            Text::Str(_) => starts.append(cpu::level(), part)?,
            Text::Bytes(_) => starts.append_where(part.len(), |byte| starts_character(all, at + byte))?,
        }
        ticker.spend(WORK / 4)?;
    }
    Ok(starts)
}

/// As [`each_in_characters`], without a table: characters are counted from one span to the next.
fn count_each(
    text: Text<'_>,
    spans: impl Iterator<Item = Span>,
    ticker: &mut Ticker<'_>,
    mut emit: impl FnMut(usize, usize),
) -> Result<()> {
    let all = text.as_bytes();
    let count = |from: usize, to: usize| match text {
        Text::Str(_) => count_starts(&all[from..to]),
        Text::Bytes(_) => (from..to).filter(|&byte| starts_character(all, byte)).count(),
    };
    // Starts and ends each have their own place in the text, so that it need not go back if spans overlap.
    let (mut first, mut last, mut work) = (Place::default(), Place::default(), 0);
    let inside = |byte: usize| byte < all.len() && count(byte, byte + 1) == 0;
    for span in spans {
        if span.start.abs_diff(last.at) <= span.start.abs_diff(first.at) {
            first = last;
        }
        work += 8 + span.start.abs_diff(first.at) + span.end.abs_diff(last.at);
        let is_inside = inside(span.start);
        let start = first.advance(&count, span.start) - usize::from(is_inside);
        let end = if span.is_empty() && !is_inside { start } else { last.advance(&count, span.end) };
        emit(start, end);
        if work > WORK {
            ticker.spend(std::mem::take(&mut work))?;
        }
    }
    ticker.spend(work)
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

    /// Goes to a byte; returns how many characters start before it. `count` counts the characters that start between two bytes.
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
    let (words, rest) = rest.as_chunks::<8>();
    let in_words = words.iter().map(|word| starts_in(u64::from_le_bytes(*word))).sum();
    let in_rest = rest.iter().filter(|&byte| byte & 0xc0 != 0x80).count();
    blocks.iter().map(starts_in_block).sum::<usize>() + sum_of_bytes(in_words) + in_rest
}

/// As [`count_starts`]. A loop of known length without an exit is vectorised.
fn starts_in_block(block: &[u8; 64]) -> usize {
    usize::from(block.iter().fold(0_u8, |count, byte| count + u8::from(byte & 0xc0 != 0x80)))
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
        fn a_table_gives_what_counting_gives(
            mut bytes in prop_oneof![
                "(\\PC|[a-zé語🦊]{0,80}){0,9}".prop_map(String::into_bytes),
                prop::collection::vec(prop_oneof![0x20..0x7F_u8, 0x80..0xC0_u8, any::<u8>()], 0..300),
            ],
            whole_blocks: bool,
            spans in prop::collection::vec((0usize..400, 0usize..100), 0..30),
        ) {
            if whole_blocks {
                bytes.truncate(bytes.len() / 64 * 64);
            }
            let text = std::str::from_utf8(&bytes).map_or(Text::Bytes(&bytes), Text::Str);
            let place = |at: usize| at.min(bytes.len());
            let spans: Vec<Span> =
                spans.iter().map(|&(start, length)| Span::new(place(start), place(start + length))).collect();
            let (mut counted, mut looked_up) = (Vec::new(), Vec::new());
            let ticker = &mut Ticker::new(&Unwatched);
            count_each(text, spans.iter().copied(), ticker, |start, end| counted.push((start, end))).unwrap();
            let pairs = spans.iter().map(|span| (span.start, span.end));
            char_starts(text, ticker).unwrap().each_span(cpu::level(), pairs, |start, end| {
                looked_up.push((start, end));
            });
            prop_assert_eq!(counted, looked_up);
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
