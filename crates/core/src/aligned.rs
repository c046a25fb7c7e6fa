//! Text between two stages, and the caller's bytes that each of its bytes came from.
//!
//! In: an [`AlignedText`]. A stage that only cuts passes slices of it on. A stage that changes text
//! writes into a [`Rewritten`], which records one interval of the caller's text for every new byte.
//! So an interval of a pretoken projects back to the caller's text through any number of stages.
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::span::Span;

/// An interval of the caller's text, in bytes from the start of the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The source bytes of a text.
#[derive(Debug, Clone, Copy)]
pub enum Origins<'a> {
    /// The text is an unchanged slice of the caller's text that starts at this byte.
    Same(usize),
    /// One interval for every byte, relative to byte `base` of the caller's text.
    Mapped {
        /// Byte at which the segment starts.
        base: usize,
        /// One interval per byte.
        each: &'a [Origin],
        /// Length in bytes of the first character of the caller's text; 0 if the segment does not
        /// start at its beginning.
        first: usize,
        /// Start of the interval of the byte after these, if there is one.
        next_start: Option<u32>,
    },
    /// Offsets were not requested.
    Untracked,
}

impl Origins<'_> {
    /// The origins of `range` of the text.
    #[must_use]
    pub fn slice(self, range: Span) -> Self {
        match self {
            Self::Same(at) => Self::Same(at + range.start),
            Self::Mapped { base, each, first, next_start } => Self::Mapped {
                base,
                each: &each[range.start..range.end],
                first,
                next_start: each.get(range.end).map(|origin| origin.start).or(next_start),
            },
            Self::Untracked => Self::Untracked,
        }
    }

    /// The bytes of the caller's text that `range` of this text stands for: from the start of its
    /// first byte's interval to the end of its last byte's.
    ///
    /// An empty range maps to an empty interval: at the start of the next byte's interval or, at
    /// the end of the text, at the end of the last byte's. The latter never lies after `next_start`,
    /// because neighbouring bytes may stand for the same source bytes.
    #[inline]
    pub fn span(self, range: Span) -> Span {
        match self {
            Self::Same(at) => Span::new(at + range.start, at + range.end),
            Self::Untracked => Span::new(0, 0),
            Self::Mapped { base, each, next_start, .. } => {
                let start = each.get(range.start).map(|origin| origin.start);
                if range.is_empty() {
                    let last = each.last().map(|origin| origin.end);
                    let end = || last.into_iter().chain(next_start).min().unwrap_or_default();
                    let at = base + start.unwrap_or_else(end) as usize;
                    return Span::new(at, at);
                }
                let start = base + start.unwrap_or_default() as usize;
                Span::new(start, (base + each[range.end - 1].end as usize).max(start))
            }
        }
    }

    /// As [`Self::span`], for callers that must not miss a source byte: a byte that stands for nothing, because it
    /// is one of several that a character was rewritten to, stands for the first byte of that character.
    pub fn touched(self, range: Span) -> Span {
        let span = self.span(range);
        match self {
            Self::Mapped { base, each, .. } if !range.is_empty() => {
                let last = each[range.end - 1];
                let end = base + (last.end as usize).max(last.start as usize + 1);
                Span::new(span.start, span.end.max(end))
            }
            _ => span,
        }
    }
}

/// A text with its origins.
#[derive(Debug, Clone, Copy)]
pub struct AlignedText<'a> {
    /// The text, as the previous stages left it.
    pub text: &'a str,
    /// The source bytes of `text`.
    pub origins: Origins<'a>,
}

impl<'a> AlignedText<'a> {
    /// A slice of the caller's text that starts at its byte `at`.
    pub fn original(text: &'a str, at: usize) -> Self {
        Self { text, origins: Origins::Same(at) }
    }

    /// The part `range` of this text.
    ///
    /// # Panics
    /// When the ends of `range` are not character boundaries.
    #[must_use]
    pub fn slice(self, range: Span) -> Self {
        Self { text: &self.text[range.start..range.end], origins: self.origins.slice(range) }
    }

    /// The bytes of the caller's text that this text stands for.
    pub fn span(self) -> Span {
        self.origins.span(Span::new(0, self.text.len()))
    }

    /// Does the text start within the first character of the caller's text? Any byte of that
    /// character counts, not only the first.
    pub fn is_at_start(self) -> bool {
        let start = self.span().start;
        match self.origins {
            Origins::Mapped { first, .. } => start < first.max(1),
            Origins::Same(_) | Origins::Untracked => start == 0,
        }
    }
}

/// The text that a stage writes, reused from call to call. If memory runs out, the rest of the text
/// is dropped and [`Rewritten::check`] reports it, so that stages can write a character at a time
/// without a check after each.
#[derive(Debug, Default, Clone)]
pub struct Rewritten {
    text: String,
    each: Vec<Origin>,
    base: usize,
    /// `first` and `after` become `first` and `next_start` of [`Origins::Mapped`].
    first: usize,
    after: Option<u32>,
    tracks: bool,
    failed: Option<OutOfMemory>,
}

impl Rewritten {
    /// Reserves space for `more` bytes. Returns false if there is no memory.
    #[inline]
    fn reserve(&mut self, more: usize) -> bool {
        let has_capacity = self.text.capacity() - self.text.len() >= more
            && (!self.tracks || self.each.capacity() - self.each.len() >= more);
        has_capacity || self.grow(more)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> bool {
        // After a failure the allocation is not tried again.
        if self.failed.is_some() {
            return false;
        }
        let reserved = try_alloc::reserve_text(&mut self.text, more)
            .and_then(|()| if self.tracks { try_alloc::reserve(&mut self.each, more) } else { Ok(()) });
        self.failed = reserved.err();
        self.failed.is_none()
    }

    /// Is the text complete?
    ///
    /// # Errors
    /// Out of memory in an earlier write.
    pub fn check(&self) -> Result<(), OutOfMemory> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Starts a new text that is made from `from`. The previous text is cleared, its memory kept.
    pub fn start(&mut self, from: AlignedText<'_>) {
        self.text.clear();
        self.each.clear();
        self.failed = None;
        (self.base, self.first, self.after, self.tracks) = match from.origins {
            // The segment starts at the beginning of the caller's text.
            Origins::Same(0) => (0, from.text.chars().next().map_or(0, char::len_utf8), None, true),
            Origins::Same(at) => (at, 0, None, true),
            Origins::Mapped { base, first, next_start, .. } => (base, first, next_start, true),
            Origins::Untracked => (0, 0, None, false),
        };
        self.reserve(from.text.len());
    }

    /// Copies `range` of `from`, each byte with its origin.
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
                // `start` set `base` to the `at` of the text that it was given.
                let shift = at - self.base;
                let origin =
                    |byte: usize| Origin { start: (shift + byte) as u32, end: (shift + byte + 1) as u32 };
                self.each.extend((range.start..range.end).map(origin));
            }
            Origins::Mapped { each, .. } => self.each.extend_from_slice(&each[range.start..range.end]),
            Origins::Untracked => {}
        }
    }

    /// Appends `new`. Each of its bytes stands for all source bytes of `range` of `from`.
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

    /// As [`Self::put`], for one character.
    pub fn put_char(&mut self, new: char, from: AlignedText<'_>, range: Span) {
        self.put(new.encode_utf8(&mut [0; 4]), from, range);
    }

    /// Appends `new`: its last byte stands for all of `range` of `from`, the bytes before it for
    /// nothing at the start of `range`. SentencePiece reports offsets this way.
    pub fn put_at_end(&mut self, new: &str, from: AlignedText<'_>, range: Span) {
        let before = self.each.len();
        self.put(new, from, range);
        if let Some((_, empty)) = self.each[before..].split_last_mut() {
            for origin in empty {
                origin.end = origin.start;
            }
        }
    }

    /// Extends the origin of the last byte, if there is one, to the end of `range` of `from`.
    pub fn stretch(&mut self, from: AlignedText<'_>, range: Span) {
        if let Some(last) = self.each.last_mut() {
            last.end = last.end.max((from.origins.span(range).end - self.base) as u32);
        }
    }

    /// Drops everything after the first `length` bytes.
    ///
    /// # Panics
    /// When `length` is not a character boundary.
    pub fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
        self.each.truncate(length);
    }

    /// The text written so far.
    pub fn piece(&self) -> AlignedText<'_> {
        let origins = if self.tracks {
            Origins::Mapped { base: self.base, each: &self.each, first: self.first, next_start: self.after }
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
        // An empty range lies after what precedes it, and never after the start of what follows.
        let empty_at = |end: usize| piece.slice(Span::new(0, end)).origins.span(Span::new(end, end));
        assert_eq!([1, 2, 4, 5].map(empty_at), [11, 11, 13, 14].map(|at| Span::new(at, at)));
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
