//! Pre-tokenization by a function of the caller.
use tokenmill_kernels::try_alloc;

use crate::aligned::AlignedText;
use crate::error::Result;
use crate::hooks::{Cuts, Places, SplitHook};
use crate::span::Span;
use crate::watch::Ticker;

pub(super) fn apply(
    hook: &SplitHook,
    piece: AlignedText<'_>,
    ticker: &mut Ticker<'_>,
    emit: &mut super::Emit<'_>,
) -> Result<()> {
    let cuts = hook.call(piece)?;
    // The function may have taken any time.
    ticker.watch().poll()?;
    let spans = match cuts {
        Cuts::Spans(spans) => of_characters(hook, piece, &spans)?,
        Cuts::Pieces(pieces) => of_pieces(hook, piece, &pieces)?,
    };
    for span in spans {
        if !span.is_empty() {
            ticker.spend(span.len())?;
            emit(piece.slice(span), ticker)?;
        }
    }
    Ok(())
}

fn of_characters(hook: &SplitHook, piece: AlignedText<'_>, spans: &[(usize, usize)]) -> Result<Vec<Span>> {
    let mut places = Places::new(piece.text);
    let mut before = 0;
    let mut at = 0;
    let mut found = try_alloc::vec(spans.len())?;
    for (i, &(start, end)) in spans.iter().enumerate() {
        let wrong = |what: String| {
            let reason = format!("span {i}, ({start}, {end}), {what}; give (start, end) in ascending order");
            hook.fault(piece, at, reason)
        };
        if start > end {
            return Err(wrong("ends before it starts".to_owned()));
        }
        if start < before {
            return Err(wrong(format!("starts before the end of the one before it, {before}")));
        }
        let beyond = |characters| wrong(format!("goes beyond the text, which has {characters} characters"));
        let span = Span::new(places.byte(start).map_err(beyond)?, places.byte(end).map_err(beyond)?);
        (before, at) = (end, span.end);
        found.push(span);
    }
    Ok(found)
}

fn of_pieces(hook: &SplitHook, piece: AlignedText<'_>, pieces: &[String]) -> Result<Vec<Span>> {
    let mut at = 0;
    let mut found = try_alloc::vec(pieces.len())?;
    for (i, part) in pieces.iter().enumerate() {
        let Some(start) = piece.text[at..].find(part.as_str()) else {
            let reason = format!(
                "piece {i}, {part:?}, does not stand in the text after the pieces before it; give pieces as \
                 they stand there, or (start, end) of each"
            );
            return Err(hook.fault(piece, at, reason));
        };
        let span = Span::new(at + start, at + start + part.len());
        at = span.end;
        found.push(span);
    }
    Ok(found)
}
