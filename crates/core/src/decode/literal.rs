//! Occurrences of a literal in an element that comes in parts.
//!
//! Leftmost, not overlapping: what `str::replace` finds in the whole. The search is that of Knuth,
//! Morris and Pratt, so that what is held back between parts is a prefix of the literal and time is
//! linear whatever the literal is.
use std::sync::Arc;

use crate::error::Result;

/// A literal and how much of it the text so far ends with.
#[derive(Debug, Clone)]
pub(super) struct Literal {
    table: Arc<Table>,
    matched: usize,
}

#[derive(Debug)]
struct Table {
    literal: Box<str>,
    /// For every prefix, by its length less one: the length of its longest proper suffix that is a
    /// prefix, too.
    borders: Vec<u32>,
}

/// What was found: text that belongs to no occurrence, or an occurrence.
pub(super) enum Found<'a> {
    Text(&'a str),
    Match,
}

impl Literal {
    /// A literal that is not empty.
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

    /// Takes the next part of the text.
    ///
    /// All boundaries are those of characters: a match starts where the first byte of the literal
    /// stands, which is the first of a character, and so does what is held back.
    #[inline]
    pub(super) fn part(&mut self, text: &str, mut emit: impl FnMut(Found<'_>) -> Result<()>) -> Result<()> {
        let Self { table, matched } = self;
        let (literal, bytes) = (&*table.literal, text.as_bytes());
        // Places are counted from the start of `literal[..held]` followed by `text`.
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
                // Nothing is under way: on to the next first byte.
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

    /// The element ends: what is held back is no occurrence.
    pub(super) fn end(&mut self) -> &str {
        &self.table.literal[..std::mem::take(&mut self.matched)]
    }
}
