//! Borders of characters, graphemes, words, sentences and lines.
//!
//! In: a text. Out: its borders, from left to right, as far as they are asked for. They are those of the whole text,
//! by UAX 29 for graphemes, words and sentences. A line ends after `\n`, `\r\n` and `\r`.
use memchr::memchr2;
use unicode_segmentation::UnicodeSegmentation;

use super::border::Border;
use super::sync::place_before;

/// How far before the requested place a new window may start, in bytes.
const FAR: usize = 1 << 12;

/// All borders after `from`, in order; `None` for characters, which need no iterator.
fn ends_behind(border: Border, text: &str, from: usize) -> Option<Box<dyn Iterator<Item = usize> + '_>> {
    let part = &text[from..];
    let lengths: Box<dyn Iterator<Item = usize> + '_> = match border {
        Border::Character => return None,
        Border::Grapheme => Box::new(part.graphemes(true).map(str::len)),
        Border::Word => Box::new(part.split_word_bounds().map(str::len)),
        Border::Sentence => Box::new(part.split_sentence_bounds().map(str::len)),
        Border::Line => Box::new(lines(part)),
    };
    let mut at = from;
    Some(Box::new(lengths.map(move |length| {
        at += length;
        at
    })))
}

/// The borders of one kind in a text. The end of the text is one.
///
/// Only a window of the text is searched. A request far from the current window starts a new one.
pub(super) struct Borders<'a> {
    text: &'a str,
    border: Border,
    /// Where the borders start; itself a border.
    start: usize,
    /// The start of the window.
    from: usize,
    /// The borders found in the window, ascending and without gaps between `from` and the last one.
    found: Vec<usize>,
    /// Finds the next borders; `None` for characters.
    rest: Option<Box<dyn Iterator<Item = usize> + 'a>>,
}

impl<'a> Borders<'a> {
    /// The borders after `from`, which must be a border itself.
    pub(super) fn new(border: Border, text: &'a str, from: usize) -> Self {
        Self { text, border, start: from, from, found: Vec::new(), rest: ends_behind(border, text, from) }
    }

    /// The first border at or after `at`.
    pub(super) fn first(&mut self, at: usize) -> usize {
        if at <= self.start {
            return self.start;
        }
        if self.rest.is_none() {
            return (at..self.text.len())
                .find(|&at| self.text.is_char_boundary(at))
                .unwrap_or(self.text.len());
        }
        self.find(at);
        let number = self.found.partition_point(|&border| border < at);
        self.found.get(number).copied().unwrap_or(self.text.len())
    }

    /// The last border at or before `at` that is after `floor`.
    pub(super) fn last(&mut self, floor: usize, at: usize) -> Option<usize> {
        if self.rest.is_none() {
            let last = (floor..=at).rev().find(|&at| self.text.is_char_boundary(at));
            return last.filter(|&last| last > floor);
        }
        self.find(at);
        let mut back = self.border.reach();
        loop {
            let number = self.found.partition_point(|&border| border <= at);
            if let Some(number) = number.checked_sub(1) {
                return Some(self.found[number]).filter(|&last| last > floor);
            }
            if self.from <= floor.max(self.start) {
                return None;
            }
            back *= 4;
            self.begin(self.from.saturating_sub(back));
            self.read(at);
        }
    }

    /// Are all borders up to `at` final, whatever text follows? They are if there is another border after `at`: the
    /// rules look no farther than the next border.
    pub(super) fn are_known(&mut self, at: usize) -> bool {
        if self.rest.is_none() {
            return at < self.text.len();
        }
        self.find(at + 1);
        let number = self.found.partition_point(|&border| border <= at);
        self.found.get(number).is_some_and(|&next| next < self.text.len())
    }

    /// The last border at or before `at`, or the start.
    pub(super) fn last_before(&mut self, at: usize) -> usize {
        if self.rest.is_none() { at } else { self.last(self.start, at).unwrap_or(self.start) }
    }

    /// Extends or moves the window so that it covers `at` and the first border at or after it.
    fn find(&mut self, at: usize) {
        let known_to = self.found.last().map_or(self.from, |&last| last.max(self.from));
        let reach = self.border.reach();
        if at <= self.from && self.from > self.start {
            self.begin(at.saturating_sub(reach));
        } else if let Some(far) = at.checked_sub(2 * reach)
            && far > known_to
            && let Some((place, is_border)) =
                place_before(self.border, self.text, far.saturating_sub(FAR).max(known_to + 1), at - reach)
        {
            self.begin_at(place, is_border);
        }
        self.read(at);
    }

    /// Extends the window to the first border at or after `at`.
    fn read(&mut self, at: usize) {
        let Some(rest) = &mut self.rest else { return };
        while self.found.last().is_none_or(|&last| last < at) {
            let Some(border) = rest.next() else { break };
            self.found.push(border);
        }
    }

    /// Starts a new window at or before `at`.
    fn begin(&mut self, at: usize) {
        match place_before(self.border, self.text, self.start + 1, at) {
            Some((place, is_border)) => self.begin_at(place, is_border),
            None => self.begin_at(self.start, false),
        }
    }

    fn begin_at(&mut self, place: usize, is_border: bool) {
        self.from = if is_border { place - 1 } else { place };
        self.found.clear();
        self.found.extend(Some(place).filter(|_| is_border));
        self.rest = ends_behind(self.border, self.text, place);
    }

    /// Drops borders before `at`, which will not be requested again.
    pub(super) fn forget(&mut self, at: usize) {
        let number = self.found.partition_point(|&border| border < at).saturating_sub(1);
        // Draining moves what is left, so not on every call.
        if 2 * number > self.found.len() + 32 {
            self.from = self.found[number - 1];
            self.found.drain(..number);
        }
    }
}

/// The lengths of the lines of a text, with their ends.
fn lines(text: &str) -> impl Iterator<Item = usize> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let end = match memchr2(b'\n', b'\r', rest) {
            Some(at) if rest[at..].starts_with(b"\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        rest = &rest[end..];
        Some(end).filter(|&end| end > 0)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(border: Border, text: &str, from: usize) -> Vec<usize> {
        let mut borders = Borders::new(border, text, from);
        let mut found = vec![from];
        while found.last() < Some(&text.len()) {
            found.push(borders.first(found[found.len() - 1] + 1));
        }
        found
    }

    #[test]
    fn lines_end_behind_their_ends() {
        assert_eq!(all(Border::Line, "a\nb\r\n\r\rc", 0), [0, 2, 5, 6, 7, 8]);
        assert_eq!(all(Border::Line, "\n", 0), [0, 1]);
        assert_eq!(all(Border::Line, "", 0), [0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// Requests far apart and in any order.
        #[test]
        fn windows_have_the_borders_of_the_whole(
            pieces in prop::collection::vec(
                ("[a-z]{1,9} |[a-z]|\\. |[.!?]|[A-Z]|\"|\\)| |\n|\r|[0-9]|'|\u{301}|\u{e9}|\u{1F1E6}|\u{200d}|\u{1F468}|\u{5d0}|\u{915}|\u{94d}|\u{e01}|[\u{4e00}-\u{4e20}]|\u{3002}|[\u{3041}-\u{3096}]|[\u{430}-\u{44f}]|\u{41f}|\u{30fc}|\u{2029}|\u{ad}|_|,|:|\\PC", 1..60_usize),
                0..60,
            ),
            asked in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3_u8), 1..12),
        ) {
            let text: String = pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect();
            for (border, _) in Border::ALL {
                let ends = ends_behind(border, &text, 0);
                let whole: Vec<usize> = ends.map_or_else(
                    || text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]).collect(),
                    Iterator::collect,
                );
                let mut borders = Borders::new(border, &text, 0);
                for (at, floor, kind) in &asked {
                    let at = at.index(text.len() + 1);
                    match kind {
                        0 => {
                            let floor = floor.index(at + 1);
                            let want = whole.iter().copied().rfind(|&border| border <= at && border > floor);
                            prop_assert_eq!(borders.last(floor, at), want);
                        }
                        1 => {
                            let want = whole.iter().copied().find(|&border| border >= at.max(1));
                            prop_assert_eq!(borders.first(at.max(1)), want.unwrap_or(text.len()));
                        }
                        _ => borders.forget(at),
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// A file is read in parts, each from a border on.
        #[test]
        fn borders_behind_a_border_are_those_of_the_whole(
            text in "([a-zA-Z .,!?()0-9\n\r'\u{301}\u{e9}\u{1F1E6}\u{1F1E7}\u{200d}\u{1F468}\u{5d0}\u{915}\u{94d}\u{e01}\u{4e2d}\u{3002}\u{2029}]|\\PC){0,40}",
            pick in any::<prop::sample::Index>(),
            end in any::<prop::sample::Index>(),
        ) {
            for (border, _) in Border::ALL {
                let whole = all(border, &text, 0);
                let at = pick.index(whole.len());
                prop_assert_eq!(&all(border, &text, whole[at])[..], &whole[at..]);
                // With more text the known ones stay.
                let cut = (0..=end.index(text.len() + 1)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
                for end in [cut, text.len()] {
                    let mut part = Borders::new(border, &text[..end], 0);
                    let known = (0..end).filter(|&place| part.are_known(place)).last();
                    let upto = |all: &[usize]| -> Vec<usize> {
                        all.iter().copied().filter(|&border| Some(border) <= known).collect()
                    };
                    prop_assert_eq!(upto(&all(border, &text[..end], 0)), upto(&whole));
                }
                let mut borders = Borders::new(border, &text, 0);
                for place in 0..=text.len() {
                    let want = whole.iter().copied().rfind(|&border| border <= place && border > 0);
                    prop_assert_eq!(borders.last(0, place), want);
                    let want = whole.iter().copied().find(|&border| border >= place.max(1));
                    if place > 0 {
                        prop_assert_eq!(Some(borders.first(place)), want);
                    }
                }
            }
        }
    }
}
