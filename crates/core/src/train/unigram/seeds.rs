//! The first vocabulary: all characters, and the substrings of segments with the highest weights.
//!
//! In: segments. Out: at most a million pieces of several characters. The weight of a substring is how often it occurs,
//! counted with the counts of the segments, times its length. A substring that is always followed by the same character
//! is left out in favour of the longer one.
use tokenmill_kernels::try_alloc;

use super::pieces::{NONE, Piece, Pieces};
use super::segments::Segments;
use super::suffixes::{common, sorted};
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::Ticker;

/// The most substrings of several characters that are kept.
const MAX_SEEDS: usize = 1_000_000;

/// A substring that begins a run of sorted suffixes.
#[derive(Debug, Clone, Copy)]
struct Substring {
    /// The place of the first suffix of the run.
    rank: u32,
    /// Its length in characters.
    length: u32,
    /// How often it occurs.
    count: u64,
}

impl Substring {
    fn weight(&self) -> u128 {
        u128::from(self.count) * u128::from(self.length)
    }
}

/// The pieces that training starts from.
///
/// # Errors
/// Those of the watch.
pub(super) fn seeds(segments: &Segments, longest: usize, ticker: &mut Ticker<'_>) -> Result<Pieces> {
    let suffixes = sorted(segments, longest, ticker)?;
    let mut found = substrings(segments, &suffixes, longest, ticker)?;
    keep_the_best(&mut found);
    // The order of the pieces' bytes: a substring comes before those that begin with it.
    found.sort_unstable_by_key(|substring| (substring.rank, substring.length));

    let mut all: Vec<Piece> = try_alloc::vec(found.len())?;
    let mut positions = try_alloc::vec(found.len())?;
    let mut longest_at = try_alloc::filled(NONE, segments.positions())?;
    let mut weights: Vec<f64> = try_alloc::vec(found.len())?;
    let mut open: Vec<u32> = Vec::new();
    let mut next = found.iter().peekable();
    for (rank, &position) in (0..).zip(&suffixes) {
        ticker.spend(8)?;
        let shared = match (rank as usize).checked_sub(1) {
            Some(before) => common(segments, suffixes[before], position, longest),
            None => 0,
        };
        while open.last().is_some_and(|&top| all[top as usize].length as usize > shared) {
            open.pop();
        }
        while let Some(substring) = next.next_if(|substring| substring.rank == rank) {
            let prefix = open.last().copied().unwrap_or(NONE);
            open.push(to_u32(all.len()));
            try_alloc::push(&mut all, Piece { probability: 0.0, prefix, length: substring.length })?;
            try_alloc::push(&mut positions, position)?;
            // A million times 2^64 is a number of double precision like any other.
            try_alloc::push(&mut weights, substring.count as f64 * f64::from(substring.length))?;
        }
        longest_at[position as usize] = open.last().copied().unwrap_or(NONE);
    }
    let total = libm::log(weights.iter().sum());
    let mut pieces = Pieces::new(all, positions, longest_at)?;
    pieces.set_scores(weights.iter().map(|&weight| libm::log(weight) - total));
    Ok(pieces)
}

/// All characters, and all substrings that occur twice and are not always followed by the same character.
fn substrings(
    segments: &Segments,
    suffixes: &[u32],
    longest: usize,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<Substring>> {
    let segment_of = segments.segment_of_positions()?;
    let mut found = Vec::new();
    // Substrings of the latest suffix, each longer than the one before.
    let mut open: Vec<Substring> = Vec::new();
    let mut close = |open: &mut Vec<Substring>, shared: usize| -> Result<()> {
        while let Some(top) = open.pop_if(|top| top.length as usize > shared) {
            // What the suffixes have in common with those that follow is a substring too.
            let below = open.last().map_or(0, |below| below.length as usize);
            if below < shared {
                open.push(Substring { length: to_u32(shared), ..top });
            } else if let Some(below) = open.last_mut() {
                below.count += top.count;
            }
            if top.length == 1 || top.count > 1 {
                try_alloc::push(&mut found, top)?;
            }
        }
        Ok(())
    };
    let mut before = None;
    for (rank, &position) in (0..).zip(suffixes) {
        ticker.spend(16)?;
        let segment = segment_of[position as usize] as usize;
        let (positions, count) = (segments.positions_of(segment), segments.count(segment));
        let shared = before.map_or(0, |before| common(segments, before, position, longest));
        close(&mut open, shared)?;
        // A character is a piece, whatever follows it.
        if open.is_empty() {
            open.push(Substring { rank, length: 1, count: 0 });
        }
        let length = to_u32(longest.min(positions.end - position as usize));
        match open.last_mut() {
            Some(top) if top.length == length => top.count += count,
            _ => open.push(Substring { rank, length, count }),
        }
        before = Some(position);
    }
    close(&mut open, 0)?;
    Ok(found)
}

/// Keeps characters, and the [`MAX_SEEDS`] other substrings with the highest weights; of equal ones those that come first.
fn keep_the_best(found: &mut Vec<Substring>) {
    let longer = found.iter().filter(|substring| substring.length > 1).count();
    let order = |substring: &Substring| {
        (substring.length > 1, std::cmp::Reverse(substring.weight()), substring.rank, substring.length)
    };
    if longer > MAX_SEEDS {
        let kept = found.len() - longer + MAX_SEEDS;
        found.select_nth_unstable_by_key(kept, order);
        found.truncate(kept);
    }
}
