//! Text on its way through the stages, and where each byte of it came from.
//!
//! A stage that only cuts hands on [`AlignedText`]s of what it was given. One that changes text writes
//! into a [`Rewritten`], which remembers for every byte of the new text an interval of the
//! caller's; so any interval of a pretoken projects back, however many stages lie between.
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::span::Span;

/// Bytes of the caller's text, counted from where the segment starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Where the bytes of a text came from.
#[derive(Debug, Clone, Copy)]
pub enum Origins<'a> {
    /// The text stands in the caller's as it is, from this byte on.
    Same(usize),
    /// An interval for every byte, counted from byte `base` of the caller's text.
    Mapped {
        /// Where the segment starts.
        base: usize,
        /// One for each byte.
        each: &'a [Origin],
        /// How many bytes the first character of the caller's text has; 0 where the segment starts
        /// further behind.
        first: usize,
        /// Where the interval of the byte behind these begins, if there is one.
        behind: Option<u32>,
    },
    /// Nobody asked.
    Untracked,
}

impl Origins<'_> {
    /// Those of `range` of the text.
    #[must_use]
    pub fn slice(self, range: Span) -> Self {
        match self {
            Self::Same(at) => Self::Same(at + range.start),
            Self::Mapped { base, each, first, behind } => Self::Mapped {
                base,
                each: &each[range.start..range.end],
                first,
                behind: each.get(range.end).map(|origin| origin.start).or(behind),
            },
            Self::Untracked => Self::Untracked,
        }
    }

    /// The bytes of the caller's text that `range` of this text stands for: from the start of its
    /// first byte's interval to the end of its last byte's. An empty range is an empty interval
    /// where its first byte would be: behind the last one, but never behind where the next one
    /// begins, as both may stand for the same.
    #[inline]
    pub fn span(self, range: Span) -> Span {
        match self {
            Self::Same(at) => Span::new(at + range.start, at + range.end),
            Self::Untracked => Span::new(0, 0),
            Self::Mapped { base, each, behind, .. } => {
                let start = each.get(range.start).map(|origin| origin.start);
                if range.is_empty() {
                    let last = each.last().map(|origin| origin.end);
                    let end = || last.into_iter().chain(behind).min().unwrap_or_default();
                    let at = base + start.unwrap_or_else(end) as usize;
                    return Span::new(at, at);
                }
                let start = base + start.unwrap_or_default() as usize;
                Span::new(start, (base + each[range.end - 1].end as usize).max(start))
            }
        }
    }
}

/// Text, and where it came from.
#[derive(Debug, Clone, Copy)]
pub struct AlignedText<'a> {
    /// The text as the stages before left it.
    pub text: &'a str,
    /// Where it came from.
    pub origins: Origins<'a>,
}

impl<'a> AlignedText<'a> {
    /// Text of the caller's, from its byte `at` on.
    pub fn original(text: &'a str, at: usize) -> Self {
        Self { text, origins: Origins::Same(at) }
    }

    /// A part of it.
    ///
    /// # Panics
    /// When the ends of `range` are not character boundaries.
    #[must_use]
    pub fn slice(self, range: Span) -> Self {
        Self { text: &self.text[range.start..range.end], origins: self.origins.slice(range) }
    }

    /// The bytes of the caller's text that it stands for.
    pub fn span(self) -> Span {
        self.origins.span(Span::new(0, self.text.len()))
    }

    /// Does it start within the first character of the caller's text? What stands for a single byte
    /// of that character does, whichever byte it is.
    pub fn is_at_start(self) -> bool {
        let start = self.span().start;
        match self.origins {
            Origins::Mapped { first, .. } => start < first.max(1),
            Origins::Same(_) | Origins::Untracked => start == 0,
        }
    }
}

/// A text that a stage has made, kept for the next one. Where there is no memory for all of it the rest is left out, and
/// [`Rewritten::check`] says so: stages write it a character at a time.
#[derive(Debug, Default, Clone)]
pub struct Rewritten {
    text: String,
    each: Vec<Origin>,
    base: usize,
    /// As in [`Origins::Mapped`], both.
    first: usize,
    behind: Option<u32>,
    tracks: bool,
    failed: Option<OutOfMemory>,
}

impl Rewritten {
    /// Makes room for so many more bytes. False where there is none.
    #[inline]
    fn reserve(&mut self, more: usize) -> bool {
        let has_room = self.text.capacity() - self.text.len() >= more
            && (!self.tracks || self.each.capacity() - self.each.len() >= more);
        has_room || self.grow(more)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> bool {
        // It is not asked for again and again.
        if self.failed.is_some() {
            return false;
        }
        let reserved = try_alloc::reserve_text(&mut self.text, more)
            .and_then(|()| if self.tracks { try_alloc::reserve(&mut self.each, more) } else { Ok(()) });
        self.failed = reserved.err();
        self.failed.is_none()
    }

    /// Is all of the text there?
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn check(&self) -> Result<(), OutOfMemory> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Starts a new text made from `from`. What was there is forgotten, its memory kept.
    pub fn start(&mut self, from: AlignedText<'_>) {
        self.text.clear();
        self.each.clear();
        self.failed = None;
        (self.base, self.first, self.behind, self.tracks) = match from.origins {
            // This is the caller's text itself.
            Origins::Same(0) => (0, from.text.chars().next().map_or(0, char::len_utf8), None, true),
            Origins::Same(at) => (at, 0, None, true),
            Origins::Mapped { base, first, behind, .. } => (base, first, behind, true),
            Origins::Untracked => (0, 0, None, false),
        };
        self.reserve(from.text.len());
    }

    /// Takes over `range` of the text that this one is made from, each byte with its origin.
    pub fn keep(&mut self, from: AlignedText<'_>, range: Span) {
        if !self.reserve(range.len()) {
            return;
        }
        self.text.push_str(&from.text[range.start..range.end]);
        if !self.tracks {
            return;
        }
        match from.origins {
            Origins::Same(at) => {
                // `at` is the base while the text is the caller's own.
                let shift = at - self.base;
                let origin =
                    |byte: usize| Origin { start: (shift + byte) as u32, end: (shift + byte + 1) as u32 };
                self.each.extend((range.start..range.end).map(origin));
            }
            Origins::Mapped { each, .. } => self.each.extend_from_slice(&each[range.start..range.end]),
            Origins::Untracked => {}
        }
    }

    /// Puts new text there that stands for `range` of the text that this one is made from: for all
    /// of the bytes that the range stands for.
    pub fn put(&mut self, new: &str, from: AlignedText<'_>, range: Span) {
        if !self.reserve(new.len()) {
            return;
        }
        self.text.push_str(new);
        if self.tracks {
            let span = from.origins.span(range);
            let origin =
                Origin { start: (span.start - self.base) as u32, end: (span.end - self.base) as u32 };
            self.each.extend(std::iter::repeat_n(origin, new.len()));
        }
    }

    /// As [`Self::put`], one character.
    pub fn put_char(&mut self, new: char, from: AlignedText<'_>, range: Span) {
        self.put(new.encode_utf8(&mut [0; 4]), from, range);
    }

    /// Puts new text there of which the last byte stands for all of `range`, and the bytes before
    /// it for nothing at its start: as SentencePiece tells where its pieces come from.
    pub fn put_at_end(&mut self, new: &str, from: AlignedText<'_>, range: Span) {
        let before = self.each.len();
        self.put(new, from, range);
        if let Some((_, empty)) = self.each[before..].split_last_mut() {
            for origin in empty {
                origin.end = origin.start;
            }
        }
    }

    /// What `range` of the text that this one is made from stands for is added to what its last
    /// byte stands for, if it has one.
    pub fn stretch(&mut self, from: AlignedText<'_>, range: Span) {
        if let Some(last) = self.each.last_mut() {
            last.end = last.end.max((from.origins.span(range).end - self.base) as u32);
        }
    }

    /// Drops what is behind the first `length` bytes.
    ///
    /// # Panics
    /// When it is no character boundary.
    pub fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
        self.each.truncate(length);
    }

    /// What was made.
    pub fn piece(&self) -> AlignedText<'_> {
        let origins = if self.tracks {
            Origins::Mapped { base: self.base, each: &self.each, first: self.first, behind: self.behind }
        } else {
            Origins::Untracked
        };
        AlignedText { text: &self.text, origins }
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.text.capacity() + 8 * self.each.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_and_what_is_put_project_back_through_two_stages() {
        let original = AlignedText::original("aéb", 10);
        let mut first = Rewritten::default();
        first.start(original);
        first.keep(original, Span::new(0, 1));
        first.put("e\u{301}", original, Span::new(1, 3));
        first.keep(original, Span::new(3, 4));
        let piece = first.piece();
        assert_eq!(piece.text, "ae\u{301}b");
        assert_eq!(piece.slice(Span::new(1, 2)).span(), Span::new(11, 13));
        assert_eq!(piece.slice(Span::new(2, 4)).span(), Span::new(11, 13));
        assert_eq!(piece.slice(Span::new(4, 5)).span(), Span::new(13, 14));
        // What stands for nothing goes behind what is before it, and never behind what comes next.
        let behind = |end: usize| piece.slice(Span::new(0, end)).origins.span(Span::new(end, end));
        assert_eq!([1, 2, 4, 5].map(behind), [11, 11, 13, 14].map(|at| Span::new(at, at)));
        let mut second = Rewritten::default();
        second.start(piece);
        second.put_char('X', piece, Span::new(0, 4));
        second.keep(piece, Span::new(4, 5));
        let piece = second.piece();
        assert_eq!(piece.slice(Span::new(0, 1)).span(), Span::new(10, 13));
        assert_eq!(piece.slice(Span::new(1, 2)).span(), Span::new(13, 14));
        assert_eq!(piece.origins.span(Span::new(2, 2)), Span::new(14, 14));
    }

    #[test]
    fn all_that_stands_for_the_first_character_is_at_the_start() {
        let starts = |at| {
            let original = AlignedText::original("éb", at);
            let (mut first, mut second) = (Rewritten::default(), Rewritten::default());
            first.start(original);
            first.put_char('Ã', original, Span::new(0, 1));
            first.put_char('©', original, Span::new(1, 2));
            first.put_char('b', original, Span::new(2, 3));
            second.start(first.piece());
            second.keep(first.piece(), Span::new(0, 5));
            let found = |made: &Rewritten| {
                [0, 2, 4].map(|start| made.piece().slice(Span::new(start, 5)).is_at_start())
            };
            assert_eq!(found(&first), found(&second));
            found(&second)
        };
        assert_eq!(starts(0), [true, true, false]);
        assert_eq!(starts(1), [false, false, false]);
    }
}
