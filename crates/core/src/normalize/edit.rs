//! The output of a normalization step. Nothing is written until the first change.
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// Edits a text from left to right. The new text is started at the first change.
pub(super) struct Edit<'p, 't> {
    from: AlignedText<'p>,
    to: &'t mut Rewritten,
    /// Everything before this byte is in the new text.
    done: usize,
    changed: bool,
}

impl<'p, 't> Edit<'p, 't> {
    /// Starts without changes.
    pub(super) fn new(from: AlignedText<'p>, to: &'t mut Rewritten) -> Self {
        Self { from, to, done: 0, changed: false }
    }

    /// Copies the text up to `at` that is not in the new text yet.
    pub(super) fn keep_until(&mut self, at: usize) {
        if !self.changed {
            self.to.start(self.from);
            self.changed = true;
        }
        if self.done < at {
            self.to.keep(self.from, Span::new(self.done, at));
        }
        self.done = at;
    }

    /// Replaces `range` by `new`, which stands for all of it.
    pub(super) fn replace(&mut self, range: Span, new: &str) {
        self.insert(range.start, new, range);
        self.done = range.end;
    }

    /// As [`Self::replace`], by one character.
    pub(super) fn replace_by(&mut self, range: Span, new: char) {
        self.replace(range, new.encode_utf8(&mut [0; 4]));
    }

    /// Inserts `new` before `at`; it stands for `range`.
    pub(super) fn insert(&mut self, at: usize, new: &str, range: Span) {
        self.keep_until(at);
        self.to.put(new, self.from, range);
    }

    /// Removes `range`; no byte of the new text stands for it.
    pub(super) fn remove(&mut self, range: Span) {
        self.keep_until(range.start);
        self.done = range.end;
    }

    /// Copies the rest of the text.
    pub(super) fn finish(mut self) -> Outcome {
        if !self.changed {
            return Outcome::Same;
        }
        self.keep_until(self.from.text.len());
        Outcome::New
    }
}

/// The first byte at or after `at` that `is_of_interest`, or the end. The watch is polled.
pub(super) fn skip(
    bytes: &[u8],
    mut at: usize,
    ticker: &mut Ticker<'_>,
    is_of_interest: impl Fn(u8) -> bool,
) -> Result<usize> {
    /// Bytes that are searched between two calls of the ticker.
    const STRETCH: usize = 1 << 14;
    while at < bytes.len() {
        let stretch = &bytes[at..bytes.len().min(at + STRETCH)];
        if let Some(found) = stretch.iter().position(|&byte| is_of_interest(byte)) {
            ticker.spend(found)?;
            return Ok(at + found);
        }
        ticker.spend(stretch.len())?;
        at += stretch.len();
    }
    Ok(bytes.len())
}

/// Rewrites character by character: `change` is called for every character whose first byte `is_of_interest`.
pub(super) fn each_char(
    from: AlignedText<'_>,
    to: &mut Rewritten,
    ticker: &mut Ticker<'_>,
    is_of_interest: impl Fn(u8) -> bool,
    mut change: impl FnMut(&mut Edit<'_, '_>, char, Span),
) -> Result<Outcome> {
    let mut edit = Edit::new(from, to);
    let mut at = 0;
    loop {
        at = skip(from.text.as_bytes(), at, ticker, |byte| byte & 0xc0 != 0x80 && is_of_interest(byte))?;
        let Some(c) = from.text[at..].chars().next() else { return Ok(edit.finish()) };
        let range = Span::new(at, at + c.len_utf8());
        ticker.spend(8)?;
        change(&mut edit, c, range);
        at = range.end;
    }
}
