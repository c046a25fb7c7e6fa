//! Distinct pretokens with their counts, sorted by their bytes: what every model learns from.
//!
//! In: what was counted here, or columns from elsewhere. Out: the same as columns, in the layout of Arrow. The order
//! in which texts were read, and the parts in which they were counted, leave no trace.
use std::cmp::Ordering;

use tokenmill_kernels::try_alloc;

use super::table::{passes, too_long};
use super::types::Types;
use crate::error::{Error, Result};
use crate::watch::{Ticker, Watch};

/// Distinct pretokens, sorted by their bytes, each with how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PretokenCounts {
    /// All pretokens, one after the other. Each is UTF-8 and not empty.
    bytes: Vec<u8>,
    /// Where each begins in `bytes`, and the end of the last one.
    offsets: Vec<u64>,
    /// Parallel to the pretokens; none is 0.
    counts: Vec<u64>,
}

/// What was read to count pretokens. A number that would pass 2^64 - 1 stays there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CorpusFigures {
    /// Documents counted.
    pub documents: u64,
    /// Bytes of these documents, special tokens included.
    pub bytes: u64,
    /// Documents left out because they are not UTF-8.
    pub skipped_documents: u64,
    /// Documents in which U+FFFD replaces invalid UTF-8.
    pub replaced_documents: u64,
    /// Pretokens counted, each as often as it occurs.
    pub pretokens: u64,
}

/// No pretokens.
impl Default for PretokenCounts {
    fn default() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0], counts: Vec::new() }
    }
}

impl PretokenCounts {
    /// Counts from columns: all pretokens one after the other, where each begins and the last one ends, and how often
    /// each occurs. They need not be sorted; the counts of equal ones are summed.
    ///
    /// # Errors
    /// A training error, which names the pretoken by its number, for columns that do not fit together, for a pretoken
    /// that is empty, longer than 4 GiB or not UTF-8, for a count of 0, and for a sum above 64 bits. Errors of the watch.
    pub fn from_columns(
        bytes: Vec<u8>,
        offsets: Vec<u64>,
        counts: Vec<u64>,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let mut ticker = Ticker::new(watch);
        let (counts, is_sorted) = Self::checked(bytes, offsets, counts, &mut ticker)?;
        if is_sorted { Ok(counts) } else { counts.sorted(&mut ticker) }
    }

    /// As [`Self::from_columns`], for columns that were sorted and distinct when they were written.
    ///
    /// # Errors
    /// As there, and a training error where they are not.
    pub fn from_sorted_columns(
        bytes: Vec<u8>,
        offsets: Vec<u64>,
        counts: Vec<u64>,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let (counts, is_sorted) = Self::checked(bytes, offsets, counts, &mut Ticker::new(watch))?;
        if is_sorted { Ok(counts) } else { Err(Error::training("the pretokens are not in order")) }
    }

    /// The counts as they stand, and whether they are sorted and distinct.
    fn checked(
        bytes: Vec<u8>,
        offsets: Vec<u64>,
        counts: Vec<u64>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(Self, bool)> {
        let fits = offsets.first() == Some(&0)
            && offsets.last() == Some(&(bytes.len() as u64))
            && offsets.len() == counts.len() + 1;
        if !fits {
            return Err(Error::training("the bytes, the offsets and the counts of the pretokens do not fit"));
        }
        let counts = Self { bytes, offsets, counts };
        let mut is_sorted = true;
        let mut before: &[u8] = &[];
        for (number, &count) in counts.counts.iter().enumerate() {
            let (start, end) = (counts.offsets[number], counts.offsets[number + 1]);
            let wrong = |reason: &str| Err(Error::training(reason).at_index(number).at("pretoken"));
            // All offsets up to here are at most the length, for the last one is if they ascend.
            let Some(pretoken) = counts.bytes.get(start as usize..end as usize) else {
                return wrong("ends before it begins, or after the bytes of all");
            };
            ticker.spend(16 + pretoken.len())?;
            if pretoken.is_empty() {
                return wrong("is empty");
            }
            if u32::try_from(pretoken.len()).is_err() {
                return Err(too_long());
            }
            if std::str::from_utf8(pretoken).is_err() {
                return wrong("is not UTF-8");
            }
            if count == 0 {
                return wrong("has a count of 0");
            }
            is_sorted &= before < pretoken;
            before = pretoken;
        }
        Ok((counts, is_sorted))
    }

    /// The same in order, with one sum for equal pretokens.
    fn sorted(&self, ticker: &mut Ticker<'_>) -> Result<Self> {
        Self::from_types(&self.to_types(ticker)?.into_sorted(ticker)?, ticker)
    }

    /// The same as what is learned from.
    pub(super) fn to_types(&self, ticker: &mut Ticker<'_>) -> Result<Types> {
        Types::from_columns(&self.bytes, &self.offsets, &self.counts, ticker)
    }

    /// From pretokens in the order of their bytes, in which equal ones may stand beside each other.
    pub(super) fn from_types(types: &Types, ticker: &mut Ticker<'_>) -> Result<Self> {
        let mut all = Self::with_capacity(types.len(), types.bytes())?;
        for (pretoken, count) in types.iter() {
            all.push(pretoken, count, ticker)?;
        }
        Ok(all)
    }

    fn with_capacity(pretokens: usize, bytes: usize) -> Result<Self> {
        let mut offsets = try_alloc::vec(pretokens + 1)?;
        offsets.push(0);
        Ok(Self { bytes: try_alloc::vec(bytes)?, offsets, counts: try_alloc::vec(pretokens)? })
    }

    /// Adds a pretoken that is not before the last one.
    fn push(&mut self, pretoken: &[u8], count: u64, ticker: &mut Ticker<'_>) -> Result<()> {
        ticker.spend(8 + pretoken.len() / 4)?;
        if let Some(last) = self.counts.len().checked_sub(1)
            && self.pretoken(last) == pretoken
        {
            self.counts[last] = self.counts[last].checked_add(count).ok_or_else(|| passes(pretoken))?;
            return Ok(());
        }
        try_alloc::extend(&mut self.bytes, pretoken)?;
        try_alloc::push(&mut self.offsets, self.bytes.len() as u64)?;
        Ok(try_alloc::push(&mut self.counts, count)?)
    }

    /// Number of distinct pretokens.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// All pretokens, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where each pretoken begins in [`Self::bytes`], and the end of the last one.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// How often each pretoken occurs.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The sum of all counts.
    pub fn total(&self) -> u128 {
        self.counts.iter().map(|&count| u128::from(count)).sum()
    }

    /// The bytes of a pretoken, by its number.
    ///
    /// # Panics
    /// If there are not that many pretokens.
    pub fn pretoken(&self, number: usize) -> &[u8] {
        &self.bytes[self.offsets[number] as usize..self.offsets[number + 1] as usize]
    }

    /// Each pretoken with its count, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.counts.iter().enumerate().map(|(number, &count)| (self.pretoken(number), count))
    }

    /// Both together: the counts of pretokens that both have are summed. In whatever order many are put together, the
    /// result is the same.
    ///
    /// # Errors
    /// A training error that names the pretoken for a sum above 64 bits; errors of the watch.
    pub fn merged(&self, other: &Self, watch: &dyn Watch) -> Result<Self> {
        let mut ticker = Ticker::new(watch);
        let mut all =
            Self::with_capacity(self.len().max(other.len()), self.bytes.len().max(other.bytes.len()))?;
        let (mut own, mut others) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let order = match (own.peek(), others.peek()) {
                (Some((left, _)), Some((right, _))) => left.cmp(right),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(all),
            };
            // Of two equal ones the second is added to the first in the next round.
            let next = if order == Ordering::Greater { others.next() } else { own.next() };
            if let Some((pretoken, count)) = next {
                all.push(pretoken, count, &mut ticker)?;
            }
        }
    }

    /// `parts` counts, which together are these: each pretoken is in the one that its bytes say, in every process.
    ///
    /// # Errors
    /// Errors of the watch.
    pub fn shares(&self, parts: usize, watch: &dyn Watch) -> Result<Vec<Self>> {
        let mut ticker = Ticker::new(watch);
        let mut shares = try_alloc::filled(Self::default(), parts.max(1))?;
        for (pretoken, count) in self.iter() {
            // FNV-1a: a hash that is written down is the same in all versions.
            let hash = pretoken.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            let share = (hash % shares.len() as u64) as usize;
            shares[share].push(pretoken, count, &mut ticker)?;
        }
        Ok(shares)
    }

    /// The pretokens that occur so often at least.
    ///
    /// # Errors
    /// Errors of the watch.
    pub fn at_least(&self, count: u64, watch: &dyn Watch) -> Result<Self> {
        let mut ticker = Ticker::new(watch);
        let mut frequent = Self::default();
        for (pretoken, own) in self.iter() {
            ticker.spend(8)?;
            if own >= count {
                frequent.push(pretoken, own, &mut ticker)?;
            }
        }
        Ok(frequent)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::error::Kind;
    use crate::watch::Unwatched;

    type Map = BTreeMap<String, u64>;

    fn columns(pairs: &[(&str, u64)]) -> Result<PretokenCounts> {
        let mut offsets = vec![0];
        offsets.extend(pairs.iter().scan(0, |end, (pretoken, _)| {
            *end += pretoken.len() as u64;
            Some(*end)
        }));
        let bytes = pairs.iter().flat_map(|(pretoken, _)| pretoken.bytes()).collect();
        PretokenCounts::from_columns(
            bytes,
            offsets,
            pairs.iter().map(|(_, count)| *count).collect(),
            &Unwatched,
        )
    }

    fn map_of(counts: &PretokenCounts) -> Map {
        counts.iter().map(|(bytes, count)| (String::from_utf8(bytes.to_vec()).unwrap(), count)).collect()
    }

    /// The counts, which are sorted and distinct if a map of them is as long.
    fn check(counts: &PretokenCounts, map: &Map) {
        assert_eq!(&map_of(counts), map);
        assert_eq!(counts.len(), map.len());
        assert!(counts.iter().map(|(bytes, _)| bytes).eq(map.keys().map(String::as_bytes)));
        assert_eq!(counts.total(), map.values().map(|&count| u128::from(count)).sum());
    }

    proptest! {
        #[test]
        fn counts_merge_like_a_map(
            parts in prop::collection::vec(prop::collection::vec(("[ab\u{e9}]{1,12}", 1u64..u64::MAX >> 12), 0..60), 1..9),
            turn in 0usize..9,
        ) {
            let mut map = Map::new();
            let mut counted = Vec::new();
            for part in &parts {
                let pairs: Vec<(&str, u64)> = part.iter().map(|(text, count)| (text.as_str(), *count)).collect();
                for (pretoken, count) in &pairs {
                    *map.entry((*pretoken).to_owned()).or_default() += count;
                }
                counted.push(columns(&pairs).unwrap());
            }
            let in_order = |counted: &[PretokenCounts]| {
                counted.iter().fold(PretokenCounts::default(), |all, part| all.merged(part, &Unwatched).unwrap())
            };
            let all = in_order(&counted);
            check(&all, &map);
            let turn = turn % counted.len();
            counted.rotate_left(turn);
            prop_assert_eq!(&in_order(&counted), &all);
            counted.reverse();
            prop_assert_eq!(&in_order(&counted), &all);
            let least = 1u64 << 51;
            map.retain(|_, count| *count >= least);
            check(&all.at_least(least, &Unwatched).unwrap(), &map);
        }
    }

    #[test]
    fn many_pretokens_are_sorted_by_all_of_their_bytes() {
        let texts: Vec<String> =
            (0..30_000u32).map(|i| format!("abcdefgh{:05}", i * 7919 % 20_011)).collect();
        let counts = columns(&texts.iter().map(|text| (text.as_str(), 2)).collect::<Vec<_>>()).unwrap();
        let mut map = Map::new();
        for text in texts {
            *map.entry(text).or_default() += 2;
        }
        check(&counts, &map);
    }

    #[test]
    fn a_sum_past_64_bits_names_the_pretoken_and_one_below_is_exact() {
        let half = 1 << 63;
        let (one, other) = (columns(&[("a", half), ("b", 1)]).unwrap(), columns(&[("a", half - 1)]).unwrap());
        assert_eq!(one.merged(&other, &Unwatched).unwrap().counts(), [u64::MAX, 1]);
        for error in
            [one.merged(&one, &Unwatched).unwrap_err(), columns(&[("a", half), ("a", half)]).unwrap_err()]
        {
            assert!(matches!(error.kind, Kind::Training { .. }), "{error}");
            assert!(
                error.to_string().contains("the pretoken \"a\" occurs more than 2^64 - 1 times"),
                "{error}"
            );
        }
        assert_eq!(columns(&[("a", half), ("b", half)]).unwrap().total(), 1 << 64);
    }

    #[test]
    fn columns_that_are_no_counts_are_refused() {
        let refused = |bytes: &[u8], offsets: &[u64], counts: &[u64]| {
            let error = PretokenCounts::from_columns(bytes.into(), offsets.into(), counts.into(), &Unwatched)
                .unwrap_err();
            assert!(matches!(error.kind, Kind::Training { .. }), "{error}");
            error.to_string()
        };
        for (offsets, counts) in
            [(&[][..], &[][..]), (&[0, 3], &[1]), (&[1, 2], &[1]), (&[0, 2], &[]), (&[0, 2], &[1, 1])]
        {
            assert!(refused(b"ab", offsets, counts).contains("do not fit"));
        }
        assert!(refused(b"ab", &[0, 3, 2], &[1, 1]).contains("pretoken[0]"));
        assert!(refused(b"ab", &[0, 2, 1, 2], &[1, 1, 1]).contains("pretoken[1]: ends before it begins"));
        assert!(refused(b"ab", &[0, u64::MAX, 2], &[1, 1]).contains("pretoken[0]"));
        assert!(refused(b"ab", &[0, 2, 2], &[1, 1]).contains("pretoken[1]: is empty"));
        assert!(refused(b"a\xff", &[0, 1, 2], &[1, 1]).contains("pretoken[1]: is not UTF-8"));
        assert!(refused("é".as_bytes(), &[0, 1, 2], &[1, 1]).contains("pretoken[0]: is not UTF-8"));
        assert!(refused(b"ab", &[0, 1, 2], &[1, 0]).contains("pretoken[1]: has a count of 0"));
        assert_eq!(columns(&[]).unwrap(), PretokenCounts::default());
        for (bytes, is_sorted) in [(b"abb", true), (b"aab", true), (b"bab", false), (b"baa", false)] {
            // The last two are one pretoken.
            let found =
                PretokenCounts::from_sorted_columns(bytes.to_vec(), vec![0, 1, 3], vec![1, 1], &Unwatched);
            assert_eq!(found.is_ok(), is_sorted, "{bytes:?}");
        }
        assert!(
            PretokenCounts::from_sorted_columns(b"aa".to_vec(), vec![0, 1, 2], vec![1, 1], &Unwatched)
                .is_err()
        );
    }
}
