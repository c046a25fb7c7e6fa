//! Re-encoding a text after a range of it was replaced.
//!
//! In: a text, its encoding, and the replacement of a range. Out: the encoding of the changed text, which must equal
//! encoding it from scratch, and the ids that changed.
//!
//! The text is cut before and after the replaced range, where both the old and the new text may be cut. Only the part
//! between these cuts is encoded; ids outside it are kept, and offsets after it are shifted.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use crate::engine::{
    Cut, Cuts, Encoding, Engine, Recognizer, Sequence, Special, Text, UntrustedRanges, char_offsets,
};
use crate::error::{Error, Place, Result};
use crate::span::Span;
use crate::watch::{Ticker, Watch};

use super::parts::PartEncoder;

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// Its encoding.
    pub sequence: Sequence,
    /// The first id that changed.
    pub start: usize,
    /// The end of the changed ids in the old encoding.
    pub old_stop: usize,
    /// The end of the changed ids in the new encoding.
    pub new_stop: usize,
}

/// An edit of a text.
struct Change<'a> {
    old: &'a str,
    new: &'a str,
    /// The replaced range, in bytes of the old text.
    range: Range<usize>,
    /// The end of the replacement in the new text.
    end: usize,
    sequence: &'a Sequence,
}

/// The part of the text that is encoded again.
struct Window {
    /// Its start, the same in both texts.
    from: Cut,
    /// Its end in the old text and in the new one.
    old_end: usize,
    new_end: usize,
    /// Its ids in the old encoding.
    ids: Range<usize>,
}

impl Engine {
    /// Replaces a byte range of a text, given the encoding of the text under the same policy.
    ///
    /// # Errors
    /// As [`Engine::encode`] for the changed text; a budget error if the encoding does not match the text near the
    /// edit.
    pub fn edit(
        &self,
        (text, sequence): (&str, &Sequence),
        range: Range<usize>,
        replacement: &str,
        special: &Special,
        watch: &dyn Watch,
    ) -> Result<Edited> {
        let recognizer = &self.recognizer(special)?;
        let mut new = String::new();
        try_alloc::reserve_text(&mut new, text.len() - range.len() + replacement.len())?;
        new.push_str(&text[..range.start]);
        new.push_str(replacement);
        new.push_str(&text[range.end..]);
        recognizer.check(new.as_bytes(), watch)?;
        let end = range.start + replacement.len();
        let change = Change { old: text, new: &new, range, end, sequence };
        change.check(&mut Ticker::new(watch))?;
        let cuts = self.cuts(special);
        let window = change.window(cuts);
        let encoder = PartEncoder { engine: self, recognizer, watch };
        // Encode the old part, too, to check that the encoding belongs to the text.
        let mut was = Vec::new();
        encoder.append(Text::Str(text), cut_of(cuts, window.from), window.old_end, &mut was)?;
        if was != sequence.encoding.ids[window.ids.clone()] {
            return Err(foreign("its ids there are others"));
        }
        let part = self.part(&change, &window, cuts, recognizer, watch)?;
        if let Some(sequence) = change.join(&window, part, watch)? {
            return Ok(change.compared(sequence, window.ids));
        }
        let none = UntrustedRanges::none();
        let encoding = self.encode_with_offsets(Text::Str(&new), recognizer, none, watch)?;
        let offsets = char_offsets(Text::Str(&new), &encoding.byte_offsets, watch)?;
        Ok(change.compared(Sequence { encoding, offsets }, 0..sequence.encoding.ids.len()))
    }

    /// The encoding of the window in the new text, with offsets into the whole text. Word numbers are those of the
    /// window alone.
    fn part(
        &self,
        change: &Change<'_>,
        window: &Window,
        cuts: Cuts<'_>,
        recognizer: &Recognizer<'_>,
        watch: &dyn Watch,
    ) -> Result<Part> {
        let from = cut_of(cuts, window.from);
        let text = Text::Str(&change.new[from.before..window.new_end]);
        let moved = |error: Error| {
            error.placed(|place| match place {
                Place::Byte(at) => Place::Byte(at + from.before),
                Place::Character(_) => place,
            })
        };
        let none = UntrustedRanges::none();
        let mut encoding = self.encode_with_offsets(text, recognizer, none, watch).map_err(moved)?;
        let mut offsets = char_offsets(text, &encoding.byte_offsets, watch)?;
        let mut step = 1;
        if from.before < from.at {
            let left = Text::Str(&change.new[from.before..from.at]);
            let dropped = self.encode_with_offsets(left, recognizer, none, watch)?.ids.len();
            if let (Some(last), Some(first)) = (dropped.checked_sub(1), encoding.words.get(dropped)) {
                step = first - encoding.words[last];
            }
            encoding.ids.drain(..dropped);
            encoding.byte_offsets.drain(..dropped);
            encoding.words.drain(..dropped);
            encoding.surfaces.retain(|(index, _)| *index >= dropped);
            encoding.surfaces.iter_mut().for_each(|(index, _)| *index -= dropped);
            offsets.drain(..dropped);
        }
        let characters = change.new[..from.before].chars().count();
        for span in &mut encoding.byte_offsets {
            *span = Span::new(span.start + from.before, span.end + from.before);
        }
        for (start, end) in &mut offsets {
            *start += characters;
            *end += characters;
        }
        Ok(Part { sequence: Sequence { encoding, offsets }, step })
    }
}

/// The window's new encoding.
struct Part {
    sequence: Sequence,
    /// The difference between its first word number and the last one before it: 0 or 1.
    step: u32,
}

fn foreign(reason: &str) -> Error {
    let reason = format!(
        "the encoding is not that of the text: {reason}; give what encode_with_offsets gave for this text, with the \
         same arguments"
    );
    Error::budget(None, None, reason)
}

/// The context that a part after this cut needs: none where parts are texts of their own.
fn cut_of(cuts: Cuts<'_>, cut: Cut) -> Cut {
    if cuts.parts_are_texts() { Cut { before: cut.at, ..cut } } else { cut }
}

/// The number of ids before a byte; `None` if an id spans it, or is empty there.
fn ids_before(spans: &[Span], at: usize) -> Option<usize> {
    let count = spans.partition_point(|span| span.start < at);
    let ends = count.checked_sub(1).is_none_or(|last| spans[last].end <= at);
    let begins = spans.get(count).is_none_or(|next| next.start > at || !next.is_empty());
    (ends && begins).then_some(count)
}

impl Change<'_> {
    /// Checks that the encoding could be that of the text.
    fn check(&self, ticker: &mut Ticker<'_>) -> Result<()> {
        let Encoding { ids, byte_offsets, words, .. } = &self.sequence.encoding;
        let is_whole = [byte_offsets.len(), words.len(), self.sequence.offsets.len()] == [ids.len(); 3];
        ticker.spend(ids.len())?;
        if !is_whole {
            return Err(foreign("it has no offsets"));
        }
        if byte_offsets.iter().any(|span| span.end > self.old.len()) {
            return Err(foreign("its offsets end after the text"));
        }
        Ok(())
    }

    /// The part to encode again: from the last usable cut before the edit to the first one after it.
    fn window(&self, cuts: Cuts<'_>) -> Window {
        let spans = &self.sequence.encoding.byte_offsets;
        let (mut from, mut first) = (Cut::default(), 0);
        if !spans.is_sorted_by_key(|span| span.start) {
            // Offsets from a normalizer hook may go back; then the whole text is the window.
            let (old_end, new_end) = (self.old.len(), self.new.len());
            return Window { from, old_end, new_end, ids: 0..spans.len() };
        }
        let mut end = self.range.start;
        while let Some(cut) = cuts.last(self.new, 0..end) {
            // The cut must hold in both texts, and there must be ids before it.
            let count = ids_before(spans, cut.at).filter(|&count| count > 0 && cut.seen <= self.range.start);
            if let Some(count) = count {
                (from, first) = (cut, count);
                break;
            }
            end = cut.at;
        }
        let (mut old_end, mut new_end, mut last) = (self.old.len(), self.new.len(), spans.len());
        let mut start = self.end;
        while let Some(cut) = cuts.next(self.new, start..self.new.len()) {
            let at = self.range.end + (cut.at - self.end);
            let count = ids_before(spans, at).filter(|_| cut.before >= self.end);
            if let Some(count) = count.filter(|&count| count > 0 && count >= first) {
                (old_end, new_end, last) = (at, cut.at, count);
                break;
            }
            start = cut.at + 1;
        }
        Window { from, old_end, new_end, ids: first..last }
    }

    /// The encoding of the new text; `None` if the numbers of its words cannot be derived.
    fn join(&self, window: &Window, part: Part, watch: &dyn Watch) -> Result<Option<Sequence>> {
        let (old, offsets) = (&self.sequence.encoding, &self.sequence.offsets);
        let (first, last) = (window.ids.start, window.ids.end);
        Ticker::new(watch).spend(old.ids.len())?;
        let Part { sequence: Sequence { encoding: mut middle, offsets: mut middle_offsets }, step } = part;
        if let (Some(before), Some(&word)) = (first.checked_sub(1), middle.words.first()) {
            let base = old.words[before] + step;
            middle.words.iter_mut().for_each(|other| *other = *other - word + base);
        }
        let before = middle.words.last().or(old.words[..first].last()).copied();
        let mut joined = Sequence::default();
        let Encoding { ids, byte_offsets, words, surfaces } = &mut joined.encoding;
        let count = first + middle.ids.len() + old.ids.len() - last;
        try_alloc::reserve(ids, count)?;
        try_alloc::reserve(byte_offsets, count)?;
        try_alloc::reserve(words, count)?;
        try_alloc::reserve(&mut joined.offsets, count)?;
        ids.extend_from_slice(&old.ids[..first]);
        byte_offsets.extend_from_slice(&old.byte_offsets[..first]);
        words.extend_from_slice(&old.words[..first]);
        joined.offsets.extend_from_slice(&offsets[..first]);
        for (index, surface) in old.surfaces.iter().take_while(|(index, _)| *index < first) {
            try_alloc::push(surfaces, (*index, try_alloc::copy_text(surface)?))?;
        }
        for (index, surface) in middle.surfaces {
            try_alloc::push(surfaces, (first + index, surface))?;
        }
        ids.append(&mut middle.ids);
        byte_offsets.append(&mut middle.byte_offsets);
        words.append(&mut middle.words);
        joined.offsets.append(&mut middle_offsets);
        if last < old.ids.len() {
            let (Some(before), Some(old_before)) = (before, last.checked_sub(1)) else { return Ok(None) };
            let word = before + (old.words[last] - old.words[old_before]);
            let shift = ids.len();
            ids.extend_from_slice(&old.ids[last..]);
            words.extend(old.words[last..].iter().map(|other| other - old.words[last] + word));
            let byte = |at: usize| at - self.range.end + self.end;
            let spans = old.byte_offsets[last..].iter();
            byte_offsets.extend(spans.map(|span| Span::new(byte(span.start), byte(span.end))));
            let (removed, put) = [&self.old[self.range.clone()], &self.new[self.range.start..self.end]]
                .map(|t| t.chars().count())
                .into();
            let character = |at: usize| at - removed + put;
            let after = offsets[last..].iter().map(|&(start, end)| (character(start), character(end)));
            joined.offsets.extend(after);
            for (index, surface) in old.surfaces.iter().skip_while(|(index, _)| *index < last) {
                try_alloc::push(surfaces, (index - last + shift, try_alloc::copy_text(surface)?))?;
            }
        }
        Ok(Some(joined))
    }

    /// The ids that changed: those of the window, without equal ids with equal (or shifted) offsets at its ends.
    fn compared(&self, sequence: Sequence, window: Range<usize>) -> Edited {
        let (old, new) = (self.sequence, &sequence);
        let new_stop = window.end + new.encoding.ids.len() - old.encoding.ids.len();
        let place = |of: &Sequence, index: usize| {
            let (span, (start, end)) = (of.encoding.byte_offsets[index], of.offsets[index]);
            (of.encoding.ids[index], [span.start, span.end], [start, end])
        };
        let is_same = |was: usize, is: usize| place(old, was) == place(new, is);
        let removed = self.old[self.range.clone()].chars().count();
        let put = self.new[self.range.start..self.end].chars().count();
        let is_moved = |was: usize, is: usize| {
            let (old_id, old_bytes, old_characters) = place(old, was);
            let (new_id, new_bytes, new_characters) = place(new, is);
            old_id == new_id
                && old_bytes.map(|at| at + self.end) == new_bytes.map(|at| at + self.range.end)
                && old_characters.map(|at| at + put) == new_characters.map(|at| at + removed)
        };
        let most = window.end.min(new_stop);
        let start = (window.start..most).find(|&index| !is_same(index, index)).unwrap_or(most);
        let most = most - start;
        let after = (1..=most).find(|&back| !is_moved(window.end - back, new_stop - back));
        let after = after.map_or(most, |back| back - 1);
        Edited { sequence, start, old_stop: window.end - after, new_stop: new_stop - after }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::tests::engine;
    use crate::watch::Unwatched;

    fn encoded(engine: &Engine, text: &str) -> Sequence {
        let recognizer = engine.recognizer(&Special::Text).unwrap();
        let none = UntrustedRanges::none();
        let encoding = engine.encode_with_offsets(Text::Str(text), &recognizer, none, &Unwatched).unwrap();
        let offsets = char_offsets(Text::Str(text), &encoding.byte_offsets, &Unwatched).unwrap();
        Sequence { encoding, offsets }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn a_changed_text_has_its_own_encoding(
            split in prop::sample::select(vec!["gpt2", "cl100k", "o200k", "none", "whitespace", r"\p{Lu}+"]),
            pieces in prop::collection::vec("the|'s|  |\\n|[0-9]{1,4}|\u{e9}|\u{8a9e}|ab|!!|a|b|A", 0..40),
            replacement in prop::collection::vec("the|'s| |\\n|1|\u{8a9e}|ab|B", 0..4),
            (start, length) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let engine = engine(split, false, false);
            let (text, replacement) = (pieces.concat(), replacement.concat());
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let first = start.index(places.len());
            let last = first + length.index((places.len() - first).min(9));
            let range = places[first]..places[last];
            let was = encoded(&engine, &text);
            let edited = engine.edit((&text, &was), range.clone(), &replacement, &Special::Text, &Unwatched).unwrap();
            let mut new = text.clone();
            new.replace_range(range, &replacement);
            prop_assert_eq!(&edited.sequence, &encoded(&engine, &new));
            let (old_ids, new_ids) = (&was.encoding.ids, &edited.sequence.encoding.ids);
            prop_assert_eq!(&old_ids[..edited.start], &new_ids[..edited.start]);
            prop_assert_eq!(&old_ids[edited.old_stop..], &new_ids[edited.new_stop..]);
        }
    }
}
