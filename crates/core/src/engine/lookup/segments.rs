//! Segments of a long pretoken: parts that merge on their own, wherever they occur.
//!
//! In: a pretoken that the model encodes by segments. Out: where each segment ends, and the key under which it is cached.
use tokenmill_kernels::short_table::{self, Key, SHORT};

use super::keys::SEGMENT;
use crate::model::bpe::Bpe;
use crate::span::Span;

/// The segments of a pretoken that are still to come.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    bpe: &'a Bpe,
    /// The text up to the end of the pretoken.
    pretokens: &'a [u8],
    /// The whole text: a key is read faster where bytes follow it.
    text: &'a [u8],
    mark: Key,
    from: usize,
}

impl<'a> Segments<'a> {
    pub(super) fn new(bpe: &'a Bpe, text: &'a [u8], pretoken: Span) -> Self {
        let mark = if bpe.segments_encode_as_pretokens() { 0 } else { SEGMENT };
        Self { bpe, pretokens: &text[..pretoken.end], text, mark, from: pretoken.start }
    }

    /// The bits that are set in the keys of these segments.
    pub(super) fn mark(&self) -> Key {
        self.mark
    }

    /// Where the next segments end, as many as `ends` holds. They are passed over.
    #[inline]
    pub(super) fn next_ends<'e>(&mut self, ends: &'e mut [usize]) -> &'e [usize] {
        let count = self.bpe.next_cuts(self.pretokens, self.from, ends);
        self.from = if count > 0 { ends[count - 1] } else { self.from };
        &ends[..count]
    }
}

/// The key of each segment, and where it is in the text. One that is too long for a key is not cached.
impl Iterator for Segments<'_> {
    type Item = (Key, Span);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let from = self.from;
        if from >= self.pretokens.len() {
            return None;
        }
        self.from = self.bpe.next_cut(self.pretokens, from);
        let key = match self.from - from {
            length @ 0..=SHORT => short_table::key_at(self.text, from, length) | self.mark,
            _ => SEGMENT,
        };
        Some((key, Span::new(from, self.from)))
    }
}
