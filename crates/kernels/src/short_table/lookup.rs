//! Batched lookups: the buckets of all keys are prefetched first, and looked up once they have had time to arrive.
//!
//! In: the ends of pretokens. Out: their keys, and then the ids of the keys up to the first miss. A pretoken
//! costs well under a hundred instructions, so the loops have no calls, no copies of variable length and no branch
//! that can be avoided.
use super::table::{Bucket, INLINE, Key, SHORT, ShortTable, Words, hash, key_of, last_key};
use crate::cpu::Level;
use crate::prefetch::prefetch;

/// A pretoken to look up. It begins where the previous one ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct LookupKey {
    /// The key of the pretoken. The key 0 is in no table.
    pub key: Key,
    /// The hash of the key.
    pub hash: u64,
    /// Where the pretoken ends in the text.
    pub end: usize,
}

/// What [`ShortTable::emit_hits`] wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmittedHits {
    /// The number of keys whose ids were written.
    pub keys: usize,
    /// The number of ids that were written.
    pub ids: usize,
    /// Is the next key a miss, that is, has it no entry? Unspecified if that key is 0.
    pub is_miss: bool,
}

/// The number of bytes that are read to make a key.
const KEY_READ: usize = 16;

impl ShortTable {
    /// Computes the keys of the pretokens that begin at `start` and end at `ends`, and prefetches their buckets.
    /// Stops at the first pretoken that is too long for a key, or at the end of `keys`. `mark` is set in every
    /// key. Returns the number of keys.
    ///
    /// # Panics
    /// If the ends do not ascend, or are beyond the text.
    #[inline]
    pub fn prefetch_keys(
        &self,
        level: Level,
        text: &[u8],
        start: usize,
        ends: &[usize],
        mark: Key,
        keys: &mut [LookupKey],
    ) -> usize {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
                // These include all that the function enables.
                unsafe { prefetch_keys_x86(self, text, start, ends, mark, keys) }
            }
            _ => prefetch_keys(self, text, start, ends, mark, keys),
        }
    }

    /// As [`Self::prefetch_keys`], for pretokens that begin at `starts`, so that there may be gaps between them.
    ///
    /// # Panics
    /// If an end comes before its start, or is beyond the text.
    #[inline]
    pub fn prefetch_spans(
        &self,
        level: Level,
        text: &[u8],
        (starts, ends): (&[usize], &[usize]),
        mark: Key,
        keys: &mut [LookupKey],
    ) -> usize {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
                // These include all that the function enables.
                unsafe { prefetch_spans_x86(self, text, starts, ends, mark, keys) }
            }
            _ => prefetch_spans(self, text, starts, ends, mark, keys),
        }
    }

    /// Writes the ids of these keys to `out`, one key after the other. Stops at the first key that has no entry,
    /// that has neither inline ids nor valid spilled ids, or whose ids do not fit into `out`.
    ///
    /// # Panics
    /// If `out` is not longer than [`INLINE`] ids for each key.
    #[inline]
    pub fn emit_hits(
        &self,
        level: Level,
        keys: &[LookupKey],
        spilled: &[u32],
        out: &mut [u32],
    ) -> EmittedHits {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
                // These include all that the function enables.
                unsafe { emit_hits_x86(self, keys, spilled, out) }
            }
            _ => emit_hits(self, keys, spilled, out, matching_entries),
        }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> &Bucket {
        // SAFETY: the table has `2^bits` buckets, and `home` keeps the upper `bits` bits of the hash, so the index
        // is below the number of buckets.
        unsafe { self.buckets.get_unchecked(self.home(hash)) }
    }
}

/// The entries of a bucket that have this key: bit 0 for the first entry, bit 2 for the second.
#[inline]
fn matching_entries(keys: &[Key; 2], key: &Key) -> u32 {
    u32::from(keys[0] == *key) | u32::from(keys[1] == *key) << 2
}

/// As [`matching_entries`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn matching_entries_x86(keys: &[Key; 2], key: &Key) -> u32 {
    use std::arch::x86_64::{
        _mm_load_si128, _mm256_broadcastsi128_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64,
        _mm256_loadu_si256, _mm256_movemask_pd,
    };
    // SAFETY: the first load reads one key, and a `u128` is aligned to 16 bytes on x86-64. The second reads the 32
    // bytes of the array and needs no alignment.
    let (key, keys) =
        unsafe { (_mm_load_si128(std::ptr::from_ref(key).cast()), _mm256_loadu_si256(keys.as_ptr().cast())) };
    let halves = _mm256_cmpeq_epi64(_mm256_broadcastsi128_si256(key), keys);
    let halves = _mm256_movemask_pd(_mm256_castsi256_pd(halves)).cast_unsigned();
    halves & halves >> 1 & 0b101
}

// The same loops compiled with other features, which let them shift and compare 16 bytes without copies.

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn prefetch_keys_x86(
    table: &ShortTable,
    text: &[u8],
    start: usize,
    ends: &[usize],
    mark: Key,
    keys: &mut [LookupKey],
) -> usize {
    prefetch_keys(table, text, start, ends, mark, keys)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn prefetch_spans_x86(
    table: &ShortTable,
    text: &[u8],
    starts: &[usize],
    ends: &[usize],
    mark: Key,
    keys: &mut [LookupKey],
) -> usize {
    prefetch_spans(table, text, starts, ends, mark, keys)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn emit_hits_x86(table: &ShortTable, keys: &[LookupKey], spilled: &[u32], out: &mut [u32]) -> EmittedHits {
    emit_hits(table, keys, spilled, out, |keys, key| matching_entries_x86(keys, key))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of the caller")]
fn prefetch_keys(
    table: &ShortTable,
    text: &[u8],
    mut start: usize,
    ends: &[usize],
    mark: Key,
    keys: &mut [LookupKey],
) -> usize {
    for (count, (out, &end)) in keys.iter_mut().zip(ends).enumerate() {
        let Some(lookup) = prefetch_key(table, text, start, end, mark) else { return count };
        *out = lookup;
        start = end;
    }
    keys.len().min(ends.len())
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of the caller")]
fn prefetch_spans(
    table: &ShortTable,
    text: &[u8],
    starts: &[usize],
    ends: &[usize],
    mark: Key,
    keys: &mut [LookupKey],
) -> usize {
    for (count, (out, (&start, &end))) in keys.iter_mut().zip(starts.iter().zip(ends)).enumerate() {
        let Some(lookup) = prefetch_key(table, text, start, end, mark) else { return count };
        *out = lookup;
    }
    keys.len().min(ends.len()).min(starts.len())
}

/// Computes the key of a pretoken, and prefetches its bucket. `None` if it is too long for a key.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of the caller")]
fn prefetch_key(table: &ShortTable, text: &[u8], start: usize, end: usize, mark: Key) -> Option<LookupKey> {
    // `KEY_READ` bytes of the text can be read at every offset below this.
    let limit = (text.len() + 1).saturating_sub(KEY_READ);
    let length = end.wrapping_sub(start);
    if length > SHORT {
        assert!(start <= end, "the ends ascend");
        return None;
    }
    let key = if start < limit {
        // SAFETY: `start < limit`, so at least `KEY_READ` bytes of the text follow `start`. A byte array needs no
        // alignment.
        let bytes = unsafe { text.as_ptr().add(start).cast::<[u8; KEY_READ]>().read() };
        key_of(u128::from_le_bytes(bytes), length)
    } else {
        assert!(end <= text.len(), "the ends are within the text");
        last_key(text, start, length)
    };
    let key = key | mark;
    let hash = hash(key);
    prefetch(std::slice::from_ref(table.bucket(hash)), 0);
    Some(LookupKey { key, hash, end })
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of the caller")]
fn emit_hits(
    table: &ShortTable,
    keys: &[LookupKey],
    spilled: &[u32],
    out: &mut [u32],
    matching_entries: impl Fn(&[Key; 2], &Key) -> u32,
) -> EmittedHits {
    assert!(out.len() > keys.len() * INLINE);
    let mut ids = 0;
    for (count, lookup) in keys.iter().enumerate() {
        let bucket = table.bucket(lookup.hash);
        let entries = matching_entries(&bucket.keys, &lookup.key);
        // Which of the two entries matches cannot be predicted, so the code does not branch on it.
        let mut words = &bucket.values[(entries >> 2) as usize];
        if entries == 0 {
            let Some(found) = table.probe_next(lookup.key, lookup.hash) else {
                return EmittedHits { keys: count, ids, is_miss: true };
            };
            words = found;
        }
        let inline_len = usize::from(words[INLINE] as u8);
        if inline_len == 0 {
            let limit = out.len() - (keys.len() - count) * INLINE;
            let copied = copy_spilled(words, spilled, &mut out[ids..limit]);
            if copied == 0 {
                return EmittedHits { keys: count, ids, is_miss: false };
            }
            ids += copied;
            continue;
        }
        // Copies all words, whether or not they are ids. The ids of the next key overwrite the words that are not.
        // SAFETY: the value has `INLINE + 1` words. At least `INLINE` words for this and each following key, and
        // one more, remain in `out` from `ids` on: `out` was longer than that at the start, a key with inline ids
        // uses at most `INLINE` words, and spilled ids end at `limit`. The table and `out` do not overlap, as
        // `out` is borrowed exclusively.
        unsafe { words.as_ptr().copy_to_nonoverlapping(out.as_mut_ptr().add(ids), INLINE + 1) };
        ids += inline_len;
    }
    EmittedHits { keys: keys.len(), ids, is_miss: false }
}

/// Up to this many spilled ids are copied by one copy of fixed length.
const FIXED_COPY: usize = 16;

/// Copies the spilled ids of an entry to the front of `out` and returns their number. Returns 0 if there are none,
/// if they are not in `spilled`, or if they do not fit.
#[inline]
fn copy_spilled(words: &Words, spilled: &[u32], out: &mut [u32]) -> usize {
    let count = (words[INLINE] >> 16) as usize;
    let Some(ids) = spilled.get(words[0] as usize..) else { return 0 };
    if count <= FIXED_COPY
        && let (Some(ids), Some(out)) = (ids.first_chunk::<FIXED_COPY>(), out.first_chunk_mut())
    {
        *out = *ids;
        return count;
    }
    let (Some(ids), Some(out)) = (ids.get(..count), out.get_mut(..count)) else { return 0 };
    out.copy_from_slice(ids);
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;
    use crate::short_table::{Value, key_at};

    fn keys_of(text: &[u8], ends: &[usize]) -> Vec<Key> {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let spans = starts.zip(ends).take_while(|&(start, &end)| end - start <= SHORT);
        spans.map(|(start, &end)| key_at(text, start, end - start)).collect()
    }

    proptest! {
        #[test]
        fn batches_are_looked_up_as_one_by_one(
            lengths in prop::collection::vec(prop_oneof![20 => 1..=3_usize, 5 => 1..=SHORT, 1 => 16..20_usize], 0..60),
            letters in prop::collection::vec(0..2_u8, 300),
            rest in 0..20_usize,
            bits in 1..6_u32,
            known in prop::collection::vec(prop_oneof![4 => 0..=3_u16, 1 => 4..20_u16], 60),
            capacity in 0..70_usize,
            more in 0..100_usize,
            mark in prop::sample::select(&[0, 0x40_u128 << 120][..]),
        ) {
            let ends: Vec<usize> = lengths.iter().scan(0, |end, length| { *end += length; Some(*end) }).collect();
            let text: Vec<u8> = letters.into_iter().cycle().take(ends.last().unwrap_or(&0) + rest).collect();
            let keys: Vec<Key> = keys_of(&text, &ends).into_iter().map(|key| key | mark).collect();
            let mut table = ShortTable::new(bits);
            let mut spilled = vec![];
            for (number, (&key, &count)) in (0..).zip(keys.iter().zip(&known)) {
                let ids: Vec<u32> = (0..u32::from(count)).map(|id| 100 * number + id).collect();
                let value = if ids.len() > INLINE {
                    spilled.extend_from_slice(&ids);
                    let start = (spilled.len() - ids.len()) as u32;
                    Value { words: [start, 0, 0], inline_len: 0, spilled_len: count }
                } else {
                    Value::of(&ids)
                };
                if table.get(key, hash(key)).is_none() && !table.insert(key, hash(key), value) {
                    table.replace(key, hash(key), value);
                }
            }
            let ids_of = |key| {
                let value = table.get(key, hash(key))?;
                let (start, count) = (value.words[0] as usize, usize::from(value.spilled_len));
                Some(if count > 0 { spilled[start..start + count].to_vec() } else { value.ids().to_vec() })
            };
            for level in cpu::available() {
                let mut lookups = vec![LookupKey::default(); capacity];
                let count = table.prefetch_keys(level, &text, 0, &ends, mark, &mut lookups);
                prop_assert_eq!(count, keys.len().min(capacity), "{}", level);
                for (lookup, (&key, &end)) in lookups[..count].iter().zip(keys.iter().zip(&ends)) {
                    prop_assert_eq!((lookup.key, lookup.hash, lookup.end), (key, hash(key), end));
                }
                // The same pretokens without their first bytes, so that there are gaps.
                let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).map(|end| end + 1).collect();
                let mut gapped = vec![LookupKey::default(); capacity];
                let spans = (&starts[..ends.len()], &ends[..]);
                let found = table.prefetch_spans(level, &text, spans, mark, &mut gapped);
                let fits = starts.iter().zip(&ends).take_while(|&(start, end)| end - start <= SHORT).count();
                prop_assert_eq!(found, fits.min(capacity), "{}", level);
                for (lookup, (&start, &end)) in gapped[..found].iter().zip(starts.iter().zip(&ends)) {
                    let key = key_at(&text, start, end - start) | mark;
                    prop_assert_eq!((lookup.key, lookup.hash, lookup.end), (key, hash(key), end));
                }
                let mut out = vec![7; count * INLINE + 1 + more];
                let hits = table.emit_hits(level, &lookups[..count], &spilled, &mut out);
                let mut want = vec![];
                for (number, &key) in keys[..count].iter().enumerate() {
                    let ids = ids_of(key).unwrap_or_default();
                    if number == hits.keys {
                        let free = out.len() - want.len() - (count - number) * INLINE;
                        prop_assert!(ids.is_empty() || ids.len() > INLINE.max(free));
                        break;
                    }
                    want.extend_from_slice(&ids);
                }
                prop_assert_eq!(&out[..hits.ids], &want, "{}", level);
                let next = keys[..count].get(hits.keys);
                prop_assert_eq!(hits.is_miss, next.is_some_and(|&key| ids_of(key).is_none()), "{}", level);
            }
        }
    }

    #[test]
    #[should_panic(expected = "ascend")]
    fn ends_that_go_back_panic() {
        let keys = &mut [LookupKey::default(); 2];
        ShortTable::new(1).prefetch_keys(Level::Portable, &[0; 40], 8, &[10, 9], 0, keys);
    }

    #[test]
    #[should_panic(expected = "within the text")]
    fn ends_beyond_the_text_panic() {
        let keys = &mut [LookupKey::default(); 2];
        ShortTable::new(1).prefetch_keys(Level::Portable, &[0; 9], 0, &[4, 10], 0, keys);
    }

    #[test]
    #[should_panic(expected = "out.len()")]
    fn an_output_that_is_too_short_panics() {
        ShortTable::new(1).emit_hits(Level::Portable, &[LookupKey::default(); 2], &[], &mut [0; 6]);
    }
}
