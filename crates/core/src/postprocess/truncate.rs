//! Which ids of one or two sequences are kept, and in which windows the rest comes.
//!
//! The lengths are those of the tokenizers library, in every strategy; `longest_first` is computed,
//! not taken away id by id: the shorter sequence keeps what it has while there is room.
use super::{OutputPart, Slot, refused};
use crate::description::{Side, Truncation, TruncationStrategy};
use crate::error::{Error, Result};
use crate::span::Span;
use crate::watch::Ticker;

/// What a call makes: the first window, and those that overflow.
pub type Windows = Vec<Vec<OutputPart>>;

/// Parts of all windows together: two sequences make as many windows as the product of theirs.
const PARTS_LIMIT: usize = 1 << 22;

/// The windows of sequences with these lengths, the first of which is what fits.
///
/// Windows of two sequences are each of the first one's with each of the second one's: those that
/// overflow come first, each with every one of the second, then the first with the rest.
///
/// # Errors
/// A wrong argument: no room for the special tokens, a stride that is not below the length of a
/// window, a sequence that cannot be shortened so far, too many windows.
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
        for ((spans, &length), &kept) in spans.iter_mut().zip(lengths).zip(&kept) {
            *spans = cut(length, kept, truncation)?;
        }
    }
    merge(slots, &spans, ticker)
}

/// How many ids of each sequence a window has.
fn kept_lengths(lengths: &[usize], added: usize, truncation: &Truncation) -> Result<Vec<usize>> {
    let Some(room) = truncation.max_length.checked_sub(added) else {
        return Err(refused(format!(
            "max_length={} has no room for the {added} special tokens; raise it, or pass add_special_tokens=False",
            truncation.max_length
        )));
    };
    if room > 0 && truncation.stride >= room {
        return Err(stride_error(truncation.stride, room));
    }
    if room == 0 {
        return Ok(vec![0; lengths.len()]);
    }
    let total: usize = lengths.iter().sum();
    if total <= room {
        return Ok(lengths.to_vec());
    }
    let mut kept = lengths.to_vec();
    let chosen = match truncation.strategy {
        TruncationStrategy::LongestFirst => {
            match kept.as_mut_slice() {
                [first, second] => {
                    let (short, long) = if first <= second { (first, second) } else { (second, first) };
                    *long = if *short > room { *short } else { (*short).max(room - *short) };
                    if *short + *long > room {
                        *short = room / 2;
                        *long = *short + room % 2;
                    }
                }
                _ => kept[0] = room,
            }
            return Ok(kept);
        }
        TruncationStrategy::OnlyFirst => 0,
        TruncationStrategy::OnlySecond => 1,
    };
    let over = total - room;
    match kept.get_mut(chosen) {
        None => Err(refused("truncation=\"only_second\" needs a pair".to_owned())),
        Some(length) if *length <= over => {
            let which = ["first", "second"][chosen];
            Err(refused(format!(
                "the {which} sequence has {length} ids, and cutting it alone would need {over} fewer; use \
                 truncation=\"longest_first\" or raise max_length"
            )))
        }
        Some(length) => {
            *length -= over;
            Ok(kept)
        }
    }
}

fn stride_error(stride: usize, room: usize) -> Error {
    refused(format!("stride={stride} is not below {room}, the ids of the text that a window has"))
}

/// The windows of one sequence.
fn cut(length: usize, kept: usize, truncation: &Truncation) -> Result<Vec<Span>> {
    if kept >= length {
        return Ok(vec![Span::new(0, length)]);
    }
    if kept == 0 {
        // Nothing fits: all of it is in the overflow.
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

/// Windows of the slots in order: all windows so far with all those of the next slot.
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
            return Err(too_many(count));
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
