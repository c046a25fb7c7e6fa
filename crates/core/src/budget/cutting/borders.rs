//! Borders of characters, graphemes, words, sentences and lines.
//!
//! In: a text. Out: its borders, from left to right, as far as they are asked for. They are those of the whole text,
//! by UAX 29 for graphemes, words and sentences. A line ends behind `\n`, `\r\n` and `\r`.
use unicode_segmentation::UnicodeSegmentation;

/// Where a text may be cut by choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// Between two characters.
    Character,
    /// Between two characters as a reader sees them.
    Grapheme,
    /// Between words, spaces and marks.
    Word,
    /// Between sentences.
    Sentence,
    /// Behind a line end.
    Line,
}

impl Border {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Character, "character"),
        (Self::Grapheme, "grapheme"),
        (Self::Word, "word"),
        (Self::Sentence, "sentence"),
        (Self::Line, "line"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(border, _)| *border == self).map_or("", |(_, name)| name)
    }

    /// The next kind that cuts a text into smaller parts.
    pub(super) fn finer(self) -> Option<Self> {
        match self {
            Self::Character => None,
            Self::Grapheme => Some(Self::Character),
            Self::Word => Some(Self::Grapheme),
            Self::Sentence => Some(Self::Word),
            Self::Line => Some(Self::Sentence),
        }
    }
}

/// The borders of one kind in a text. The end of the text is one.
pub(super) struct Borders<'a> {
    text: &'a str,
    /// The border that the others are behind.
    start: usize,
    /// Borders that were found, ascending.
    found: Vec<usize>,
    /// The following ones; `None` where each character has a border.
    rest: Option<Box<dyn Iterator<Item = usize> + 'a>>,
}

impl<'a> Borders<'a> {
    /// Those behind a place that is a border itself.
    pub(super) fn new(border: Border, text: &'a str, from: usize) -> Self {
        let part = &text[from..];
        let ends: Option<Box<dyn Iterator<Item = usize> + 'a>> = match border {
            Border::Character => None,
            Border::Grapheme => Some(Box::new(part.graphemes(true).map(str::len))),
            Border::Word => Some(Box::new(part.split_word_bounds().map(str::len))),
            Border::Sentence => Some(Box::new(part.split_sentence_bounds().map(str::len))),
            Border::Line => Some(Box::new(lines(part))),
        };
        let ends = ends.map(|lengths| {
            let mut at = from;
            Box::new(lengths.map(move |length| {
                at += length;
                at
            })) as Box<dyn Iterator<Item = usize> + 'a>
        });
        Self { text, start: from, found: Vec::new(), rest: ends }
    }

    /// The first one at a place or behind it.
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

    /// The last one at a place or before it, and behind another place.
    pub(super) fn last(&mut self, behind: usize, at: usize) -> Option<usize> {
        let last = if self.rest.is_none() {
            (behind..=at).rev().find(|&at| self.text.is_char_boundary(at))
        } else {
            self.find(at);
            let number = self.found.partition_point(|&border| border <= at);
            number.checked_sub(1).map(|number| self.found[number])
        };
        last.filter(|&last| last > behind)
    }

    /// Are all borders up to a place known, whatever follows the text? Only if there is another one behind it: what
    /// decides about a border is found before the next one.
    pub(super) fn are_known(&mut self, at: usize) -> bool {
        if self.rest.is_none() {
            return at < self.text.len();
        }
        self.find(at + 1);
        let number = self.found.partition_point(|&border| border <= at);
        self.found.get(number).is_some_and(|&next| next < self.text.len())
    }

    /// The last one of those that were found and not forgotten, at a place or before it; else where they begin.
    pub(super) fn last_found(&self, at: usize) -> usize {
        if self.rest.is_none() {
            return at;
        }
        let number = self.found.partition_point(|&border| border <= at);
        number.checked_sub(1).map_or(self.start, |number| self.found[number])
    }

    /// Finds all up to a place.
    fn find(&mut self, at: usize) {
        let Some(rest) = &mut self.rest else { return };
        while self.found.last().is_none_or(|&last| last < at) {
            let Some(border) = rest.next() else { break };
            self.found.push(border);
        }
    }

    /// Forgets those before a place.
    pub(super) fn forget(&mut self, before: usize) {
        // The one before it stays: a text that is read in parts is kept from there on.
        let number = self.found.partition_point(|&border| border < before).saturating_sub(1);
        // Not each time: the rest is moved.
        if 2 * number > self.found.len() + 32 {
            self.found.drain(..number);
        }
    }
}

/// The lengths of the lines of a text, with their ends.
fn lines(text: &str) -> impl Iterator<Item = usize> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let end = match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
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
