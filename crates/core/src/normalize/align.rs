//! What the characters of a text come from, where only the text before is known.
//!
//! Both texts are compared in folded form (decomposed, compatible characters plain, upper case as
//! lower case), so that a character that has changed its case, its width or its composition is
//! known again. The comparison is that of Myers ("An O(ND) difference algorithm and its
//! variations", 1986), in rounds: each ends after so many differences and goes on from the furthest
//! place reached, so that the cost is linear whatever the texts.
//!
//! Of what is not known again: as many characters as there were stand for one each; others stand
//! for all that was there; what was put between characters stands for the one before it. Neither
//! starts nor ends go back.
use std::collections::HashSet;

use foldhash::fast::FixedState;
use tokenmill_kernels::{OutOfMemory, try_alloc};
use unicode_normalization::char::decompose_compatible;

use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// Differences of a round: more that are inserted or removed at one place may be aligned coarsely.
const DIFFERENCES: usize = 96;

/// For each character of `new` the bytes of `old` that it stands for.
///
/// # Errors
/// Those of the watch, and memory that cannot be had. Cost: linear; a hundred steps a character where nothing is known again.
pub(super) fn align(old: &str, new: &str, ticker: &mut Ticker<'_>) -> Result<Vec<Span>> {
    ticker.spend(old.len() + new.len())?;
    let old_chars = characters(old)?;
    let new_chars = characters(new)?;
    let mut starts = try_alloc::vec(old_chars.len() + 1)?;
    starts.extend(old.char_indices().map(|(at, _)| at).chain([old.len()]));
    // What is the same at both ends is the same place.
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
    // What only one of them has is never the same: a text in another script is compared by its
    // spaces and digits alone.
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

/// The characters of a text.
fn characters(text: &str) -> std::result::Result<Vec<char>, OutOfMemory> {
    let mut characters = try_alloc::vec(text.chars().count())?;
    characters.extend(text.chars());
    Ok(characters)
}

/// Characters in folded form, and which of the text's each belongs to.
#[derive(Default)]
struct Folded {
    chars: Vec<char>,
    owners: Vec<usize>,
}

impl Folded {
    /// Those of `chars`, of which the first is number `first`.
    fn new(chars: &[char], first: usize) -> std::result::Result<Self, OutOfMemory> {
        let mut folded = Self::default();
        for (owner, &c) in (first..).zip(chars) {
            if c.is_ascii() {
                try_alloc::push(&mut folded.chars, c.to_ascii_lowercase())?;
            } else {
                // By way of upper case, so that `ß` is `ss` and both small sigmas are one.
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

    /// The characters that occur.
    fn set(&self) -> HashSet<char, FixedState> {
        self.chars.iter().copied().collect()
    }

    /// Drops characters that are not among these.
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

/// Calls `matched` for the characters that are the same, in order: number in `a`, number in `b`.
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

/// One round of comparison. Diagonal `k` holds the places with `k` characters more behind them in
/// `a` than in `b`.
#[derive(Default)]
struct Round {
    /// After each number `d` of differences: how far the diagonals from `-d` to `d` reach in `a`. The
    /// row of `d` starts at `d * d`.
    reached: Vec<Option<usize>>,
    /// What is the same on the way, the last first: start in `a`, start in `b`, length.
    runs: Vec<(usize, usize, usize)>,
}

impl Round {
    /// How far it came in `a` and `b`: to the ends, or to the furthest place within its differences.
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
            // The last diagonal, at its end.
            if self.at(differences, a.len() as isize - b.len() as isize) == Some(a.len()) {
                break;
            }
        }
        ticker.spend(work)?;
        Ok(self.follow(a.len(), b.len()))
    }

    /// How far a diagonal reaches after so many differences.
    fn at(&self, differences: usize, k: isize) -> Option<usize> {
        let place =
            usize::try_from(k + differences as isize).ok().filter(|&place| place <= 2 * differences)?;
        self.reached.get(differences * differences + place).copied().flatten()
    }

    /// Where a diagonal is entered with so many differences, and the diagonal that it is entered
    /// from; `None` where that is beyond the ends.
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

    /// The place reached, and what is the same on the way there.
    fn follow(&mut self, a: usize, b: usize) -> (usize, usize) {
        self.runs.clear();
        let last = self.reached.len().isqrt().saturating_sub(1);
        let places = (-(last as isize)..=last as isize).filter_map(|k| Some((self.at(last, k)?, k)));
        // The most of both; of these the one that has left the least of them out of step.
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

/// Half-open intervals of characters for all of them: `sources` has the first and last character
/// that each is known to come from, if it is; the old text has `count`.
fn filled(
    sources: &[Option<(usize, usize)>],
    count: usize,
) -> std::result::Result<Vec<(usize, usize)>, OutOfMemory> {
    let mut spans = try_alloc::vec(sources.len())?;
    let mut at = 0;
    // One past the last character that something before is known to come from.
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
