//! Truncation: which ids of one or two sequences are kept, and the windows of the others.
//!
//! In: the lengths of the sequences. Out: windows as parts; no id is read. The lengths are those of
//! the tokenizers library in every strategy. `longest_first` is computed, not removed id by id: the
//! shorter sequence stays whole while it fits.
use super::{OutputPart, Slot, refused};
use crate::description::{Side, Truncation, TruncationStrategy};
use crate::error::{Error, Result};
use crate::span::Span;
use crate::watch::Ticker;

/// The windows of a call: the kept one, then the overflowing ones.
pub type Windows = Vec<Vec<OutputPart>>;

/// Maximum number of parts of all windows together: for two sequences the numbers of windows multiply.
const PARTS_LIMIT: usize = 1 << 22;

/// The windows of sequences with these lengths; the first one is the truncated text.
///
/// For two sequences, each window of the first is combined with each of the second. The overflowing
/// windows of the first come first, each with all of the second, then the first window with the
/// rest of the second.
///
/// # Errors
/// An argument error: too short for the special tokens, a stride that is not below the length of a
/// A wrong argument: a length too short for the special tokens, a stride that is not below the length of a window,
/// a sequence that cannot be shortened enough, or too many windows. If a sequence is the cause, its index is the
/// field.
pub fn windows(
    slots: &[Slot],
    lengths: &[usize],
    truncation: Option<&Truncation>,
    ticker: &mut Ticker<'_>,
) -> Result<Windows> {
    let whole = |length: &usize| vec![Span::new(0, *length)];
    let mut spans: Vec<Vec<Span>> = lengths.iter().map(whole).collect();
    if let Some(truncation) = truncation {
        let added = slots.iter().filter(|slot| matches!(slot, Slot::Special { .. })).count();
        let kept = kept_lengths(lengths, added, truncation)?;
        for (i, ((spans, &length), &kept)) in spans.iter_mut().zip(lengths).zip(&kept).enumerate() {
            *spans = cut(length, kept, truncation).map_err(|error| error.at_index(i))?;
        }
    }
    merge(slots, &spans, ticker)
}

/// Number of ids of each sequence in a window.
fn kept_lengths(lengths: &[usize], added: usize, truncation: &Truncation) -> Result<Vec<usize>> {
    let Some(capacity) = truncation.max_length.checked_sub(added) else {
        return Err(refused(format!(
            "max_length={} has no room for the {added} special tokens; raise it, or pass add_special_tokens=False",
            truncation.max_length
        )));
    };
    if capacity > 0 && truncation.stride >= capacity {
        return Err(stride_error(truncation.stride, capacity));
    }
    if capacity == 0 {
        return Ok(vec![0; lengths.len()]);
    }
    let total: usize = lengths.iter().sum();
    if total <= capacity {
        return Ok(lengths.to_vec());
    }
    let mut kept = lengths.to_vec();
    let chosen = match truncation.strategy {
        TruncationStrategy::LongestFirst => {
            match kept.as_mut_slice() {
                [first, second] => {
                    let (short, long) = if first <= second { (first, second) } else { (second, first) };
                    *long = if *short > capacity { *short } else { (*short).max(capacity - *short) };
                    if *short + *long > capacity {
                        *short = capacity / 2;
                        *long = *short + capacity % 2;
                    }
                }
                _ => kept[0] = capacity,
            }
            return Ok(kept);
        }
        TruncationStrategy::OnlyFirst => 0,
        TruncationStrategy::OnlySecond => 1,
    };
    let over = total - capacity;
    match kept.get_mut(chosen) {
        None => Err(refused("truncation=\"only_second\" needs a pair".to_owned())),
        Some(length) if *length <= over => {
            let which = ["first", "second"][chosen];
            Err(refused(format!(
                "the {which} sequence has {length} ids, and cutting it alone would need {over} fewer; use \
                 truncation=\"longest_first\" or raise max_length"
            ))
            .at_index(chosen))
        }
        Some(length) => {
            *length -= over;
            Ok(kept)
        }
    }
}

fn stride_error(stride: usize, capacity: usize) -> Error {
    refused(format!("stride={stride} is not below {capacity}, the ids of the text that a window has"))
}

/// The windows of one sequence.
fn cut(length: usize, kept: usize, truncation: &Truncation) -> Result<Vec<Span>> {
    if kept >= length {
        return Ok(vec![Span::new(0, length)]);
    }
    if kept == 0 {
        // Nothing fits, so the overflow has the whole sequence.
        return Ok(vec![Span::new(0, 0), Span::new(0, length)]);
    }
    if truncation.stride >= kept {
        return Err(stride_error(truncation.stride, kept));
    }
    let step = kept - truncation.stride;
    let count = 1 + (length - kept).div_ceil(step);
    if count > PARTS_LIMIT {
        return Err(too_many(count));
    }
    let window = |i: usize| match truncation.direction {
        Side::Right => Span::new(i * step, (i * step + kept).min(length)),
        Side::Left => Span::new((length - i * step).saturating_sub(kept), length - i * step),
    };
    Ok((0..count).map(window).collect())
}

fn too_many(count: usize) -> Error {
    refused(format!("{count} windows are too many; raise max_length or lower stride"))
}

/// Combines the windows of all slots in order: all windows so far with those of the next slot.
fn merge(slots: &[Slot], spans: &[Vec<Span>], ticker: &mut Ticker<'_>) -> Result<Windows> {
    let mut windows: Windows = vec![Vec::with_capacity(slots.len())];
    for slot in slots {
        let parts: Vec<OutputPart> = match *slot {
            Slot::Special { id, type_id } => vec![OutputPart::Special { id, type_id }],
            Slot::Sequence { second, type_id } => spans[usize::from(second)]
                .iter()
                .map(|&range| OutputPart::Tokens { second, range, type_id })
                .collect(),
        };
        let count = windows.len().saturating_mul(parts.len());
        if count.saturating_mul(slots.len()) > PARTS_LIMIT {
            let sequence = match *slot {
                Slot::Sequence { second, .. } => usize::from(second),
                Slot::Special { .. } => 0,
            };
            return Err(too_many(count).at_index(sequence));
        }
        ticker.spend(count * slots.len())?;
        let Some((first, more)) = parts.split_first() else { continue };
        if more.is_empty() {
            for window in &mut windows {
                window.push(*first);
            }
            continue;
        }
        let with = |window: &Vec<OutputPart>, part: OutputPart| {
            let mut window = window.clone();
            window.push(part);
            window
        };
        let mut merged = Vec::with_capacity(count);
        merged.push(with(&windows[0], *first));
        for window in &windows[1..] {
            merged.extend(parts.iter().map(|&part| with(window, part)));
        }
        merged.extend(more.iter().map(|&part| with(&windows[0], part)));
        windows = merged;
    }
    Ok(windows)
}
