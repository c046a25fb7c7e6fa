//! A witness made as short as it can be. In: a row of items for which something holds. Out: a row for which it still
//! holds, and no longer does if any one item is left out.
use crate::error::Result;

/// Leaves out as many items as it can while `holds` is true of the rest. First halves are left out, then smaller
/// parts, so that a short witness in a long text is found in few steps.
///
/// # Errors
/// Those of `holds`.
pub(super) fn shrink<T: Clone>(
    mut items: Vec<T>,
    mut holds: impl FnMut(&[T]) -> Result<bool>,
) -> Result<Vec<T>> {
    let mut size = items.len().div_ceil(2).max(1);
    loop {
        let (mut at, mut left_out) = (0, false);
        while at < items.len() {
            let end = (at + size).min(items.len());
            let rest = [&items[..at], &items[end..]].concat();
            if holds(&rest)? {
                items = rest;
                left_out = true;
            } else {
                at = end;
            }
        }
        // A pass over single items that leaves none out is the proof that none can go.
        if size == 1 && !left_out {
            return Ok(items);
        }
        size = size.div_ceil(2).min(items.len().max(1));
    }
}

/// As [`shrink`], by the characters of a text.
///
/// # Errors
/// Those of `holds`.
pub(super) fn shrink_text(text: &str, mut holds: impl FnMut(&str) -> Result<bool>) -> Result<String> {
    let kept = shrink(text.chars().collect(), |chars: &[char]| {
        let text: String = chars.iter().collect();
        holds(&text)
    })?;
    Ok(kept.into_iter().collect())
}
