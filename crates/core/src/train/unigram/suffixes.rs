//! The suffixes of all segments in the order of their bytes, as far as a token may reach.
//!
//! In: segments. Out: the positions of their suffixes, sorted by as many characters as the longest token has. Suffixes
//! that are equal up to there come in any order. General suffix sorters cannot be interrupted and need more memory.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use super::segments::{END, Segments};
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::Ticker;

/// More suffixes than this are divided by one byte, which can be interrupted; fewer are sorted by eight bytes at a time.
const LARGE: usize = 1 << 16;

/// A suffix with the eight bytes that are compared next.
type Keyed = (u64, u32);

const WIDTH: usize = size_of::<u64>();

/// Suffixes that are equal in their first bytes and still have to be sorted.
struct Run {
    range: Range<usize>,
    /// How many bytes are equal.
    depth: usize,
    /// How many characters begin in these bytes.
    begun: usize,
}

/// Sorts all suffixes by at most `longest` characters.
///
/// # Errors
/// Those of the watch.
pub(super) fn sorted(segments: &Segments, longest: usize, ticker: &mut Ticker<'_>) -> Result<Vec<u32>> {
    sorted_by(segments, longest, LARGE, ticker)
}

/// As [`sorted`], with another value in place of [`LARGE`].
pub(super) fn sorted_by(
    segments: &Segments,
    longest: usize,
    large: usize,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<u32>> {
    let count = segments.positions();
    let mut sorted: Vec<u32> = try_alloc::vec(count)?;
    sorted.extend(0..to_u32(count));
    let mut divided = try_alloc::filled(0, if count > large { count } else { 0 })?;
    let mut keyed: Vec<Keyed> = Vec::new();
    let mut open = Vec::new();
    try_alloc::push(&mut open, Run { range: 0..count, depth: 0, begun: 0 })?;
    while let Some(run) = open.pop() {
        // If more characters have begun, that many are equal as count.
        if run.range.len() < 2 || run.begun > longest {
            continue;
        }
        let suffixes = &mut sorted[run.range.clone()];
        if suffixes.len() > large {
            divide(segments, suffixes, &mut divided, &run, &mut open, ticker)?;
        } else {
            sort(segments, suffixes, &mut keyed, &run, &mut open, ticker)?;
        }
    }
    Ok(sorted)
}

/// Divides suffixes by their next byte.
fn divide(
    segments: &Segments,
    suffixes: &mut [u32],
    divided: &mut [u32],
    run: &Run,
    open: &mut Vec<Run>,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let next = |suffix: u32| usize::from(segments.from(suffix)[run.depth]);
    let mut ends = [0; 256];
    for &suffix in &*suffixes {
        ticker.spend(1)?;
        ends[next(suffix)] += 1;
    }
    let mut start = 0;
    for (byte, end) in (0..=u8::MAX).zip(&mut ends) {
        let length = std::mem::replace(end, start);
        // Beyond its end a segment has no more bytes to compare.
        if length > 1 && byte != END {
            let first = run.range.start + start;
            let begun = run.begun + usize::from(is_lead(byte));
            try_alloc::push(open, Run { range: first..first + length, depth: run.depth + 1, begun })?;
        }
        start += length;
    }
    let divided = &mut divided[..suffixes.len()];
    for &suffix in &*suffixes {
        ticker.spend(1)?;
        let end = &mut ends[next(suffix)];
        divided[*end] = suffix;
        *end += 1;
    }
    suffixes.copy_from_slice(divided);
    Ok(())
}

/// Sorts suffixes by their next eight bytes.
fn sort(
    segments: &Segments,
    suffixes: &mut [u32],
    keyed: &mut Vec<Keyed>,
    run: &Run,
    open: &mut Vec<Run>,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    ticker.spend(16 * suffixes.len())?;
    keyed.clear();
    try_alloc::reserve(keyed, suffixes.len())?;
    keyed.extend(suffixes.iter().map(|&suffix| (key_at(&segments.from(suffix)[run.depth..]), suffix)));
    keyed.sort_unstable();
    let mut start = run.range.start;
    for equal in keyed.chunk_by(|a, b| a.0 == b.0) {
        let bytes = equal[0].0.to_be_bytes();
        if equal.len() > 1 && !bytes.contains(&END) {
            let begun = run.begun + bytes.iter().filter(|&&byte| is_lead(byte)).count();
            let range = start..start + equal.len();
            try_alloc::push(open, Run { range, depth: run.depth + WIDTH, begun })?;
        }
        start += equal.len();
    }
    for (to, &(_, suffix)) in suffixes.iter_mut().zip(&*keyed) {
        *to = suffix;
    }
    Ok(())
}

/// Does a character begin with this byte?
fn is_lead(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// The next eight bytes up to the end of a segment, with zeros after it.
fn key_at(bytes: &[u8]) -> u64 {
    let mut key = [0; WIDTH];
    let length = bytes.len().min(WIDTH);
    key[..length].copy_from_slice(&bytes[..length]);
    let word = u64::from_be_bytes(key);
    match key.iter().position(|&byte| byte == END) {
        Some(end) if end + 1 < WIDTH => word & !(u64::MAX >> (8 * (end + 1))),
        _ => word,
    }
}

/// How many characters two suffixes have in common, at most `longest`.
pub(super) fn common(segments: &Segments, a: u32, b: u32, longest: usize) -> usize {
    let (a, b) = (segments.from(a), segments.from(b));
    let mut begun = 0;
    for (&left, &right) in a.iter().zip(b) {
        let is_lead = is_lead(right);
        if is_lead && begun == longest {
            return begun;
        }
        if left != right {
            // A character of which only the first bytes are equal does not count.
            return if is_lead { begun } else { begun - 1 };
        }
        if right == END {
            return begun;
        }
        begun += usize::from(is_lead);
    }
    begun
}
