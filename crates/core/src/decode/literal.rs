//! Finds a literal in an element that arrives in parts.
//!
//! Matches are leftmost and do not overlap, as those of `str::replace` in the whole element. The
//! search is Knuth-Morris-Pratt: the text held back between parts is a prefix of the literal, and
//! time is linear for every literal.
use std::sync::Arc;

use crate::error::Result;

/// A literal, and the length of its longest prefix that the text so far ends with.
#[derive(Debug, Clone)]
pub(super) struct Literal {
    table: Arc<Table>,
    matched: usize,
}

#[derive(Debug)]
struct Table {
    literal: Box<str>,
    /// The failure function: for each prefix (by its length minus one), the length of its longest
    /// proper suffix that is also a prefix.
    borders: Vec<u32>,
}

/// Text outside any match, or a match.
pub(super) enum Found<'a> {
    Text(&'a str),
    Match,
}

impl Literal {
    /// `literal` must not be empty.
    pub(super) fn new(literal: &str) -> Self {
        let bytes = literal.as_bytes();
        let mut borders = vec![0_u32; bytes.len()];
        let mut border = 0;
        for i in 1..bytes.len() {
            while border > 0 && bytes[i] != bytes[border] {
                border = borders[border - 1] as usize;
            }
            border += usize::from(bytes[i] == bytes[border]);
            borders[i] = border as u32;
        }
        Self { table: Arc::new(Table { literal: literal.into(), borders }), matched: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.table.literal.len()
    }

    /// Searches the next part of the text.
    ///
    /// Cuts are at character boundaries: a match, and the text held back, start with the first byte
    /// of the literal, which is the first byte of a character.
    #[inline]
    pub(super) fn part(&mut self, text: &str, mut emit: impl FnMut(Found<'_>) -> Result<()>) -> Result<()> {
        let Self { table, matched } = self;
        let (literal, bytes) = (&*table.literal, text.as_bytes());
        // Positions count from the start of `literal[..held]` followed by `text`.
        let held = *matched;
        let mut done = 0;
        let emit_text = |from: usize, to: usize, emit: &mut dyn FnMut(Found<'_>) -> Result<()>| {
            if from < held.min(to) {
                emit(Found::Text(&literal[from..held.min(to)]))?;
            }
            if from.max(held) < to {
                emit(Found::Text(&text[from.max(held) - held..to - held]))?;
            }
            Ok(())
        };
        let mut now = held;
        let mut at = 0;
        while at < bytes.len() {
            if now == 0 {
                // No partial match: skip to the next occurrence of the first byte.
                let first = literal.as_bytes()[0];
                match bytes[at..].iter().position(|&byte| byte == first) {
                    Some(skip) => at += skip,
                    None => break,
                }
            }
            while now > 0 && bytes[at] != literal.as_bytes()[now] {
                now = table.borders[now - 1] as usize;
            }
            now += usize::from(bytes[at] == literal.as_bytes()[now]);
            at += 1;
            if now == literal.len() {
                let end = held + at;
                emit_text(done, end - literal.len(), &mut emit)?;
                emit(Found::Match)?;
                (done, now) = (end, 0);
            }
        }
        *matched = now;
        emit_text(done, held + bytes.len() - now, &mut emit)
    }

    /// Ends the element and returns the text held back, which is not a match.
    pub(super) fn end(&mut self) -> &str {
        &self.table.literal[..std::mem::take(&mut self.matched)]
    }
}
