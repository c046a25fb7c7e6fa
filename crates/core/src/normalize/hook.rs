//! Normalization by a function of the caller.
use super::align::align;
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::error::Result;
use crate::hooks::{NormalizeHook, Normalized, Places};
use crate::span::Span;
use crate::watch::Ticker;

/// A hook with its display name.
#[derive(Debug)]
pub(super) struct Hook {
    function: NormalizeHook,
    pub(super) label: String,
}

impl Hook {
    pub(super) fn new(function: NormalizeHook) -> Self {
        Self { label: function.name().to_string(), function }
    }

    pub(super) fn apply(
        &self,
        from: AlignedText<'_>,
        to: &mut Rewritten,
        ticker: &mut Ticker<'_>,
    ) -> Result<Outcome> {
        if from.text.is_empty() {
            return Ok(Outcome::Same);
        }
        let made = self.function.call(from)?;
        // The function may have taken any time.
        ticker.watch().poll()?;
        match made {
            Normalized::Text(new) if new == from.text => Ok(Outcome::Same),
            Normalized::Text(new) => {
                to.start(from);
                write_aligned(&new, from, to, ticker)?;
                Ok(Outcome::New)
            }
            Normalized::Pieces(pieces) => {
                to.start(from);
                self.write_pieces(&pieces, from, to, ticker)?;
                Ok(Outcome::New)
            }
        }
    }

    fn write_pieces(
        &self,
        pieces: &[(String, usize, usize)],
        from: AlignedText<'_>,
        to: &mut Rewritten,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let mut starts = Places::new(from.text);
        let mut ends = Places::new(from.text);
        let mut before = (0, 0);
        let mut at = 0;
        for (i, (new, start, end)) in pieces.iter().enumerate() {
            let wrong = |what: String| {
                let shown = format!("piece {i}, which stands for ({start}, {end}), {what}");
                self.function.fault(from, at, shown + "; give (text, start, end) in the order of the text")
            };
            if start > end {
                return Err(wrong("ends before it starts".to_owned()));
            }
            if *start < before.0 || *end < before.1 {
                return Err(wrong(format!(
                    "goes back before the previous piece, which stands for {before:?}"
                )));
            }
            let beyond =
                |characters| wrong(format!("goes beyond the text, which has {characters} characters"));
            let range = Span::new(starts.byte(*start).map_err(beyond)?, ends.byte(*end).map_err(beyond)?);
            ticker.spend(new.len() + range.len() + 8)?;
            if *new == from.text[range.start..range.end] {
                to.keep(from, range);
            } else {
                to.put(new, from, range);
            }
            (before, at) = ((*start, *end), range.start);
        }
        Ok(())
    }
}

/// Writes a new text without known ranges: it is aligned with the old text.
fn write_aligned(
    new: &str,
    from: AlignedText<'_>,
    to: &mut Rewritten,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let spans = align(from.text, new, ticker)?;
    // Consecutive unchanged characters are copied together.
    let mut kept = Span::new(0, 0);
    for ((at, c), span) in new.char_indices().zip(spans) {
        let written = &new[at..at + c.len_utf8()];
        if *written == from.text[span.start..span.end] {
            if kept.end == span.start {
                kept.end = span.end;
            } else {
                to.keep(from, kept);
                kept = span;
            }
        } else {
            to.keep(from, kept);
            to.put(written, from, span);
            kept = Span::new(span.end, span.end);
        }
    }
    to.keep(from, kept);
    Ok(())
}
