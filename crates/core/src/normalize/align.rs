//! Alignment of a rewritten text with the text before: which characters of the old text each new
//! character stands for, if only the two texts are known.
//!
//! Both texts are compared in folded form (compatibility decomposition, lower case), so that a
//! character is recognised after a change of case, width or composition. The comparison is Myers'
//! ("An O(ND) difference algorithm and its variations", 1986), in rounds: a round ends after a
//! fixed number of differences, and the next one starts at the furthest position reached. So the
//! cost is linear for all texts.
//!
//! Unmatched characters: if their number is equal on both sides, they map one to one; else each
//! stands for the whole unmatched part of the old text; inserted characters stand for the character
//! before them. Neither starts nor ends decrease.
use std::collections::HashSet;

use foldhash::fast::FixedState;
use tokenmill_kernels::{OutOfMemory, try_alloc};
use unicode_normalization::char::decompose_compatible;

use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// Differences per round; a place with more insertions and deletions may be aligned coarsely.
const DIFFERENCES: usize = 96;

/// Returns, for each character of `new`, the bytes of `old` that it stands for.
///
/// # Errors
/// Errors of the watch; out of memory. Cost: linear, with up to a hundred steps per character if
/// nothing matches.
pub(super) fn align(old: &str, new: &str, ticker: &mut Ticker<'_>) -> Result<Vec<Span>> {
    ticker.spend(old.len() + new.len())?;
    let old_chars = characters(old)?;
    let new_chars = characters(new)?;
    let mut starts = try_alloc::vec(old_chars.len() + 1)?;
    starts.extend(old.char_indices().map(|(at, _)| at).chain([old.len()]));
    // Common prefix and suffix are aligned directly.
    let shorter = old_chars.len().min(new_chars.len());
    let alike = |(a, b): &(&char, &char)| a == b;
    let head = old_chars.iter().zip(&new_chars).take_while(alike).count();
    let tail =
        old_chars.iter().rev().zip(new_chars.iter().rev()).take(shorter - head).take_while(alike).count();
    let (old_end, new_end) = (old_chars.len() - tail, new_chars.len() - tail);

    let mut sources: Vec<Option<(usize, usize)>> = try_alloc::vec(new_chars.len())?;
    sources.extend((0..head).map(|i| Some((i, i))));
    sources.resize(new_end, None);
    sources.extend((old_end..old_chars.len()).map(|i| Some((i, i))));
    let mut a = Folded::new(&old_chars[head..old_end], head)?;
    let mut b = Folded::new(&new_chars[head..new_end], head)?;
    // Characters that occur in only one text never match and are dropped: a text in another script
    // is compared by its spaces and digits alone.
    let (in_a, in_b) = (a.set(), b.set());
    a.keep(&in_b);
    b.keep(&in_a);
    for_each_match(&a.chars, &b.chars, ticker, |in_a, in_b| {
        let from = a.owners[in_a];
        let source = &mut sources[b.owners[in_b]];
        *source = Some(source.map_or((from, from), |(first, _)| (first, from)));
    })?;
    let characters = filled(&sources, old_chars.len())?;
    let mut spans = try_alloc::vec(characters.len())?;
    spans.extend(characters.into_iter().map(|(start, end)| Span::new(starts[start], starts[end])));
    Ok(spans)
}

fn characters(text: &str) -> std::result::Result<Vec<char>, OutOfMemory> {
    let mut characters = try_alloc::vec(text.chars().count())?;
    characters.extend(text.chars());
    Ok(characters)
}

/// Characters in folded form, and the index of the source character of each.
#[derive(Default)]
struct Folded {
    chars: Vec<char>,
    owners: Vec<usize>,
}

impl Folded {
    /// Folds `chars`; `first` is the index of the first of them.
    fn new(chars: &[char], first: usize) -> std::result::Result<Self, OutOfMemory> {
        let mut folded = Self::default();
        for (owner, &c) in (first..).zip(chars) {
            if c.is_ascii() {
                try_alloc::push(&mut folded.chars, c.to_ascii_lowercase())?;
            } else {
                // Upper case first, so that `ß` folds to `ss` and both small sigmas to one character.
                let mut upper = |part: char| {
                    let mut lower = part.to_uppercase().flat_map(char::to_lowercase);
                    lower.try_for_each(|part| try_alloc::push(&mut folded.chars, part))
                };
                let mut pushed = Ok(());
                decompose_compatible(c, |part| pushed = pushed.and_then(|()| upper(part)));
                pushed?;
            }
            try_alloc::resize(&mut folded.owners, folded.chars.len(), owner)?;
        }
        Ok(folded)
    }

    fn set(&self) -> HashSet<char, FixedState> {
        self.chars.iter().copied().collect()
    }

    /// Drops characters that are not in `set`.
    fn keep(&mut self, set: &HashSet<char, FixedState>) {
        let mut kept = 0;
        for at in 0..self.chars.len() {
            if set.contains(&self.chars[at]) {
                (self.chars[kept], self.owners[kept]) = (self.chars[at], self.owners[at]);
                kept += 1;
            }
        }
        self.chars.truncate(kept);
        self.owners.truncate(kept);
    }
}

/// Calls `matched` for the matching characters in order, with their indices in `a` and `b`.
fn for_each_match(
    a: &[char],
    b: &[char],
    ticker: &mut Ticker<'_>,
    mut matched: impl FnMut(usize, usize),
) -> Result<()> {
    let (mut in_a, mut in_b) = (0, 0);
    let mut round = Round::default();
    while in_a < a.len() && in_b < b.len() {
        let (x, y) = round.run(&a[in_a..], &b[in_b..], ticker)?;
        for &(start_a, start_b, length) in round.runs.iter().rev() {
            (0..length).for_each(|i| matched(in_a + start_a + i, in_b + start_b + i));
        }
        in_a += x;
        in_b += y;
    }
    Ok(())
}

/// One round of the comparison. Diagonal `k` holds the positions `x` in `a` and `y` in `b` with `x - y = k`.
#[derive(Default)]
struct Round {
    /// For each number `d` of differences, how far the diagonals from `-d` to `d` reach in `a`. The
    /// row of `d` starts at `d * d`.
    reached: Vec<Option<usize>>,
    /// The matching runs on the path, last first: start in `a`, start in `b`, length.
    runs: Vec<(usize, usize, usize)>,
}

impl Round {
    /// Compares until both ends, or until the differences are used up; returns the positions
    /// reached in `a` and `b`.
    fn run(&mut self, a: &[char], b: &[char], ticker: &mut Ticker<'_>) -> Result<(usize, usize)> {
        self.reached.clear();
        let mut work = 0;
        for differences in 0..=DIFFERENCES {
            let half = differences as isize;
            self.reached.resize((differences + 1) * (differences + 1), None);
            for k in (-half..=half).step_by(2) {
                let Some((start, _)) = self.entry(k, differences, a.len(), b.len()) else { continue };
                let same = |(left, right): &(&char, &char)| left == right;
                let y = start.wrapping_add_signed(-k);
                let length = a[start..].iter().zip(&b[y..]).take_while(same).count();
                work += length + 4;
                let place = differences.saturating_add_signed(k);
                self.reached[differences * differences + place] = Some(start + length);
            }
            // Both ends are reached.
            if self.at(differences, a.len() as isize - b.len() as isize) == Some(a.len()) {
                break;
            }
        }
        ticker.spend(work)?;
        Ok(self.follow(a.len(), b.len()))
    }

    /// How far diagonal `k` reaches with this number of differences.
    fn at(&self, differences: usize, k: isize) -> Option<usize> {
        let place =
            usize::try_from(k + differences as isize).ok().filter(|&place| place <= 2 * differences)?;
        self.reached.get(differences * differences + place).copied().flatten()
    }

    /// The start on diagonal `k` with this number of differences, and the diagonal that it is
    /// entered from; `None` beyond the ends.
    fn entry(&self, k: isize, differences: usize, a: usize, b: usize) -> Option<(usize, Option<isize>)> {
        let Some(before) = differences.checked_sub(1) else { return Some((0, None)) };
        let removed = self.at(before, k - 1).map(|x| x + 1).filter(|&x| x <= a);
        let inserted = self.at(before, k + 1).filter(|&x| x.wrapping_add_signed(-k) <= b);
        match (removed, inserted) {
            (Some(x), Some(other)) if x > other => Some((x, Some(k - 1))),
            (_, Some(x)) => Some((x, Some(k + 1))),
            (Some(x), None) => Some((x, Some(k - 1))),
            (None, None) => None,
        }
    }

    /// Traces the path back, collects its runs, and returns the position reached.
    fn follow(&mut self, a: usize, b: usize) -> (usize, usize) {
        self.runs.clear();
        let last = self.reached.len().isqrt().saturating_sub(1);
        let places = (-(last as isize)..=last as isize).filter_map(|k| Some((self.at(last, k)?, k)));
        // The furthest position; among equal ones the diagonal closest to the middle.
        let (mut x, mut k) =
            places.max_by_key(|&(x, k)| (2 * x as isize - k, -k.abs(), -k)).unwrap_or_default();
        let end = (x, x.wrapping_add_signed(-k));
        for differences in (0..=last).rev() {
            let Some((start, from)) = self.entry(k, differences, a, b) else { break };
            if x > start {
                self.runs.push((start, start.wrapping_add_signed(-k), x - start));
            }
            let Some(from) = from else { break };
            let Some(reached) = self.at(differences - 1, from) else { break };
            (x, k) = (reached, from);
        }
        end
    }
}

/// A half-open range of characters for every new character: `sources` has the first and last
/// matching character of the old text, if known; the old text has `count` characters.
fn filled(
    sources: &[Option<(usize, usize)>],
    count: usize,
) -> std::result::Result<Vec<(usize, usize)>, OutOfMemory> {
    let mut spans = try_alloc::vec(sources.len())?;
    let mut at = 0;
    // One past the last matched character of the old text.
    let mut done = 0;
    while at < sources.len() {
        if let Some((first, last)) = sources[at] {
            spans.push((first, last + 1));
            done = last + 1;
            at += 1;
            continue;
        }
        let unknown = sources[at..].iter().take_while(|source| source.is_none()).count();
        let next = sources.get(at + unknown).copied().flatten().map_or(count, |(first, _)| first);
        if next > done && next - done == unknown {
            spans.extend((done..next).map(|i| (i, i + 1)));
        } else {
            let whole =
                if next > done { (done, next) } else { (done.saturating_sub(1), done.max(1).min(count)) };
            spans.extend(std::iter::repeat_n(whole, unknown));
        }
        at += unknown;
    }
    Ok(spans)
}
