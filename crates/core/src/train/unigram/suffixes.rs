//! The suffixes of all segments in the order of their bytes, as far as a token may reach.
//!
//! In: segments. Out: their cells, sorted by the characters that follow, of which at most as many count as the longest
//! token has. Equal suffixes come in any order. General suffix sorters cannot be interrupted and need more memory; this
//! one compares eight bytes at a time and polls the watch.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use super::segments::{END, Segments};
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::Ticker;

/// A suffix with the eight bytes that are compared next.
type Keyed = (u64, u32);

const WIDTH: usize = size_of::<u64>();

/// Sorts all suffixes by at most `longest` characters.
///
/// # Errors
/// Those of the watch.
pub(super) fn sorted(segments: &Segments, longest: usize, ticker: &mut Ticker<'_>) -> Result<Vec<u32>> {
    // A counting sort by the first two bytes, then each bucket by what follows.
    let head = |cell: u32| {
        let from = segments.from(cell);
        usize::from(from[0]) << 8 | from.get(1).map_or(0, |&byte| usize::from(byte))
    };
    let cells = to_u32(segments.cells());
    let mut starts = try_alloc::filled(0_u32, (1 << 16) + 1)?;
    for cell in 0..cells {
        ticker.spend(1)?;
        starts[head(cell) + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut sorted = try_alloc::filled(0_u32, segments.cells())?;
    let mut ends = try_alloc::copy(&starts)?;
    for cell in 0..cells {
        ticker.spend(1)?;
        let end = &mut ends[head(cell)];
        sorted[*end as usize] = cell;
        *end += 1;
    }
    let mut keyed: Vec<Keyed> = Vec::new();
    // Runs that are equal before a byte, and that byte.
    let mut open: Vec<(Range<usize>, usize)> = Vec::new();
    for bounds in starts.windows(2) {
        let bucket = &mut sorted[bounds[0] as usize..bounds[1] as usize];
        if bucket.len() < 2 {
            continue;
        }
        keyed.clear();
        try_alloc::reserve(&mut keyed, bucket.len())?;
        keyed.extend(bucket.iter().map(|&cell| (0, cell)));
        try_alloc::push(&mut open, (0..bucket.len(), 0))?;
        while let Some((range, depth)) = open.pop() {
            let mut start = range.start;
            let suffixes = &mut keyed[range];
            ticker.spend(16 * suffixes.len())?;
            for (key, cell) in &mut *suffixes {
                *key = key_at(&segments.from(*cell)[depth..]);
            }
            suffixes.sort_unstable();
            for equal in suffixes.chunk_by(|a, b| a.0 == b.0) {
                // Beyond its end a segment has no more bytes to compare; a token of `longest` characters has at
                // most four times as many bytes.
                let has_ended = equal[0].0.to_be_bytes().contains(&END);
                if equal.len() > 1 && !has_ended && depth + WIDTH < longest.saturating_mul(4) {
                    try_alloc::push(&mut open, (start..start + equal.len(), depth + WIDTH))?;
                }
                start += equal.len();
            }
        }
        bucket.iter_mut().zip(&keyed).for_each(|(to, &(_, cell))| *to = cell);
    }
    Ok(sorted)
}

/// The next eight bytes up to the end of a segment, with zeros behind it.
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
        let is_lead = right & 0xC0 != 0x80;
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
