//! Cuts after every `length` characters.
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// Emits the pieces; `length` must not be 0.
pub(super) fn for_each(
    text: &str,
    length: usize,
    ticker: &mut Ticker<'_>,
    mut emit: impl FnMut(Span, &mut Ticker<'_>) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let width = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        ticker.spend(width)?;
        emit(Span::new(start, start + width), ticker)?;
        start += width;
    }
    Ok(())
}
