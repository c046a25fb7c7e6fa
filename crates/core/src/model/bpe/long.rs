//! Merging the bytes of a long pretoken in linear time.
//!
//! The symbols that are left are the only row in which every two neighbours stay apart when they are
//! merged alone. It is searched from the left, the longest symbol first; a place from which it does
//! not go on is never come back to. `docs/merging.md` has the proof.
use tokenmill_kernels::{NO_MERGE, Trie, end_of_repeat};

use crate::error::Result;
use crate::watch::Ticker;

use super::Scratch;
use super::canonical::{BYTES, Canonical};

/// Look-ups for each byte before the search is given up. Texts take two or three; vocabularies
/// can be made for which it is as many as the longest token has prefixes and parts.
const WORK: usize = 128;

/// Work between two looks at the watch.
const SLICE: usize = 4096;

/// Bytes of a repeat that are taken at once, and bytes that are compared in the time of a look-up.
const REPEAT: usize = 1 << 20;
const COMPARED: usize = 64;

/// Finds what is left of a pretoken and puts it into `scratch.symbols`; false where that would take
/// more than so much work for each byte.
pub(super) fn backtrack(
    merges: &Canonical,
    pretoken: &[u8],
    scratch: &mut Scratch,
    ticker: &mut Ticker<'_>,
) -> Result<bool> {
    let Scratch { symbols, dead, .. } = scratch;
    symbols.clear();
    dead.clear();
    dead.resize(pretoken.len() / 64 + 1, 0);
    let mut at = 0;
    let mut work = 0;
    let mut told = 0;
    let limit = pretoken.len().saturating_mul(WORK);
    let mut last = NO_MERGE;
    // What starts with a symbol that was the longest does not merge with it.
    let mut was_longest = true;
    let mut is_longest = true;
    let Some(search) = &merges.search else { return Ok(false) };
    let mut next = search.longest(pretoken);
    // Up to here it is known whether the text repeats what is before it; no place behind `died` is dead.
    let (mut seen, mut died) = (0, 0);
    loop {
        if work >= told + SLICE {
            ticker.spend(work - told)?;
            told = work;
            if work > limit {
                return Ok(false);
            }
        }
        // The longest symbol that may stand here.
        while next != NO_MERGE {
            let end = at + merges.lengths[next as usize] as usize;
            work += 1;
            let is_dead = dead[end / 64] >> (end % 64) & 1 == 1;
            if !is_dead && (at == 0 || merges.stay_apart(last, next, was_longest, &mut work)) {
                break;
            }
            next = search.shorter[next as usize];
            is_longest = false;
        }
        if next != NO_MERGE {
            symbols.push(next);
            let length = merges.lengths[next as usize] as usize;
            at += length;
            if next == last && is_longest && was_longest && at >= seen.max(died) {
                // The same decision again, as long as the text repeats far enough ahead. Not all of it at
                // once, so that a wish to stop is heard.
                let end = pretoken.len().min(at + REPEAT);
                seen = end_of_repeat(&pretoken[..end], at, length);
                let times = (seen + length).saturating_sub(at + search.longest_symbol) / length;
                symbols.extend(std::iter::repeat_n(next, times));
                work += times + (seen - at) / COMPARED;
                at += times * length;
            }
            if at == pretoken.len() {
                ticker.spend(work - told)?;
                return Ok(true);
            }
            last = next;
            was_longest = is_longest;
            is_longest = true;
            next = search.longest(&pretoken[at..]);
            continue;
        }
        // Nothing goes on from here.
        dead[at / 64] |= 1 << (at % 64);
        died = died.max(at);
        let Some(gone) = symbols.pop() else { return Ok(false) };
        at -= merges.lengths[gone as usize] as usize;
        last = symbols.last().copied().unwrap_or(NO_MERGE);
        was_longest = false;
        is_longest = false;
        next = search.shorter[gone as usize];
    }
}

/// What the search asks for.
#[derive(Debug)]
pub(super) struct Search {
    /// The longest symbol that a text begins with.
    trie: Trie,
    /// The longest other symbol that each begins with, [`NO_MERGE`] where there is none.
    shorter: Vec<u32>,
    /// The length of the longest of all.
    longest_symbol: usize,
}

impl Search {
    /// Of symbols by their numbers: the parts of products, and how many bytes each has. `None` where these are more than a
    /// trie can hold.
    pub(super) fn new(parts: &[(u32, u32)], lengths: &[u32]) -> Option<Self> {
        // The bytes of all, one symbol after the other. The parts of each are before it.
        let all_lengths = || lengths.iter().map(|&length| length as usize);
        let mut bytes: Vec<u8> = (0..=u8::MAX).collect();
        bytes.reserve_exact(all_lengths().sum::<usize>() - bytes.len());
        let mut starts: Vec<usize> = (0..bytes.len()).collect();
        for (&(left, right), length) in parts.iter().zip(all_lengths().skip(starts.len())) {
            let start = bytes.len();
            // What is not built has no bytes.
            for part in [left as usize, right as usize].into_iter().filter(|_| length > 0) {
                bytes.extend_from_within(starts[part]..starts[part] + lengths[part] as usize);
            }
            starts.push(start);
        }
        let spans = (0..).zip(&starts).zip(all_lengths()).filter(|&(_, length)| length > 0);
        let symbols = spans.map(|((number, &start), length)| (number, &bytes[start..start + length]));
        let mut shorter = vec![NO_MERGE; starts.len()];
        let trie = Trie::telling(symbols, |number, other| {
            shorter[number as usize] = other.unwrap_or(NO_MERGE);
        })?;
        Some(Self { trie, shorter, longest_symbol: all_lengths().max().unwrap_or(1) })
    }

    #[inline]
    fn longest(&self, text: &[u8]) -> u32 {
        self.trie.longest(text).unwrap_or(NO_MERGE)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.trie.memory() + 4 * self.shorter.capacity()
    }
}

impl Canonical {
    /// Does merging the bytes of both leave these two symbols?
    ///
    /// Both are taken apart from the last merge on: as long as two symbols stood at the border, what
    /// they merge to must rank behind the merge that ended that. `are_known` says that the two
    /// themselves do not merge.
    #[inline]
    fn stay_apart(&self, mut left: u32, mut right: u32, are_known: bool, work: &mut usize) -> bool {
        let mut bound = NO_MERGE;
        let mut is_known = are_known;
        loop {
            *work += 1;
            if !is_known && self.table.get_rare(left, right) < bound {
                return false;
            }
            is_known = false;
            // Of equal merges the left one came first.
            if left > right {
                let Some((_, part)) = self.parts(left) else { return true };
                (bound, left) = (left, part);
            } else {
                let Some((part, _)) = self.parts(right) else { return true };
                (bound, right) = (right + 1, part);
            }
        }
    }
}

const _: () = assert!(BYTES == 256);
