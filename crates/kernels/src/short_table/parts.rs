//! The parts of a text, many at a time: first all of them are asked for, then all of them are looked up, when their
//! lines have had time to come near. Nothing is done for each that a call, a copy or a foreseeable branch less
//! would do without.
use super::{Bucket, INLINE, Key, SHORT, ShortTable, Words, hash, key_of, last_key};
use crate::cpu::Level;
use crate::prefetch::prefetch;

/// A part of a text as it is looked up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    /// What it is looked up by; 0 is nowhere.
    pub key: Key,
    /// Of the key.
    pub hash: u64,
    /// It begins where the one before it ends.
    pub end: usize,
}

/// What [`ShortTable::give`] gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// Parts whose ids were given.
    pub parts: usize,
    /// Ids of them.
    pub ids: usize,
    /// The part behind them has no entry. Of one whose key is 0 this is not said.
    pub is_unknown: bool,
}

/// Bytes that are read for a key.
const READ: usize = 16;

impl ShortTable {
    /// Makes the parts of a text that begin at `start` and end at `ends`, up to the first one that is too long for a
    /// key, as many as there is room for in `parts`, and asks for their buckets; says how many. All keys have the bits of `mark`, too.
    ///
    /// # Panics
    /// Where they do not end behind each other, within the text.
    #[inline]
    pub fn ask(
        &self,
        level: Level,
        text: &[u8],
        start: usize,
        ends: &[usize],
        mark: Key,
        parts: &mut [Part],
    ) -> usize {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this arm has checked the features of the level.
                unsafe { ask_x86(self, text, start, ends, mark, parts) }
            }
            _ => ask(self, text, start, ends, mark, parts),
        }
    }

    /// Puts the ids of these parts into `out`, one part behind the other, up to the first that has no entry, or whose
    /// ids stand neither there nor, as that says, in `apart`, or for which there is not enough room.
    ///
    /// # Panics
    /// Where `out` has no room for [`INLINE`] ids of each, and one more.
    #[inline]
    pub fn give(&self, level: Level, parts: &[Part], apart: &[u32], out: &mut [u32]) -> Given {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this arm has checked the features of the level.
                unsafe { give_x86(self, parts, apart, out) }
            }
            _ => give(self, parts, apart, out, entries_with),
        }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> &Bucket {
        // SAFETY: of a hash the bits are left that number the buckets, of which there are as many as such numbers.
        unsafe { self.buckets.get_unchecked(self.home(hash)) }
    }
}

/// Where a key stands in a bucket: a bit for the first entry and, two above it, one for the second.
#[inline]
fn entries_with(keys: &[Key; 2], key: &Key) -> u32 {
    u32::from(keys[0] == *key) | u32::from(keys[1] == *key) << 2
}

/// The same.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn entries_with_x86(keys: &[Key; 2], key: &Key) -> u32 {
    use std::arch::x86_64::{
        _mm_load_si128, _mm256_broadcastsi128_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64,
        _mm256_loadu_si256, _mm256_movemask_pd,
    };
    // SAFETY: reads a key, which is aligned as a vector of its size, and both keys of the array, from any alignment.
    let (key, keys) =
        unsafe { (_mm_load_si128(std::ptr::from_ref(key).cast()), _mm256_loadu_si256(keys.as_ptr().cast())) };
    let halves = _mm256_cmpeq_epi64(_mm256_broadcastsi128_si256(key), keys);
    let halves = _mm256_movemask_pd(_mm256_castsi256_pd(halves)).cast_unsigned();
    halves & halves >> 1 & 0b101
}

// The same lines for both, with instructions that shift and compare without copies for the one.

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn ask_x86(
    table: &ShortTable,
    text: &[u8],
    start: usize,
    ends: &[usize],
    mark: Key,
    parts: &mut [Part],
) -> usize {
    ask(table, text, start, ends, mark, parts)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn give_x86(table: &ShortTable, parts: &[Part], apart: &[u32], out: &mut [u32]) -> Given {
    give(table, parts, apart, out, |keys, key| entries_with_x86(keys, key))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the features of the caller are for these lines")]
fn ask(
    table: &ShortTable,
    text: &[u8],
    mut start: usize,
    ends: &[usize],
    mark: Key,
    parts: &mut [Part],
) -> usize {
    // So many places of the text are followed by enough bytes.
    let places = (text.len() + 1).saturating_sub(READ);
    for (count, (part, &end)) in parts.iter_mut().zip(ends).enumerate() {
        let length = end.wrapping_sub(start);
        if length > SHORT {
            assert!(start <= end, "parts end behind each other");
            return count;
        }
        let key = if start < places {
            // SAFETY: `READ` bytes of the text begin here, and bytes may stand anywhere.
            let bytes = unsafe { text.as_ptr().add(start).cast::<[u8; READ]>().read() };
            key_of(u128::from_le_bytes(bytes), length)
        } else {
            assert!(end <= text.len(), "parts end within the text");
            last_key(text, start, length)
        };
        let key = key | mark;
        let hash = hash(key);
        prefetch(std::slice::from_ref(table.bucket(hash)), 0);
        *part = Part { key, hash, end };
        start = end;
    }
    parts.len().min(ends.len())
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the features of the caller are for these lines")]
fn give(
    table: &ShortTable,
    parts: &[Part],
    apart: &[u32],
    out: &mut [u32],
    entries_with: impl Fn(&[Key; 2], &Key) -> u32,
) -> Given {
    assert!(out.len() > parts.len() * INLINE);
    let mut ids = 0;
    for (count, part) in parts.iter().enumerate() {
        let bucket = table.bucket(part.hash);
        let entries = entries_with(&bucket.keys, &part.key);
        // Which of the two it is cannot be foretold, so there is no branch for it.
        let mut words = &bucket.values[(entries >> 2) as usize];
        if entries == 0 {
            let Some(behind) = table.words_behind(part.key, part.hash) else {
                return Given { parts: count, ids, is_unknown: true };
            };
            words = behind;
        }
        let here = usize::from(words[INLINE] as u8);
        if here == 0 {
            let room = out.len() - (parts.len() - count) * INLINE;
            let put = put_apart(words, apart, &mut out[ids..room]);
            if put == 0 {
                return Given { parts: count, ids, is_unknown: false };
            }
            ids += put;
            continue;
        }
        // All words, whether they are ids or not: the next part's stand over those that are not.
        // SAFETY: after the parts before this one there is room for `INLINE` ids of each that is left and one more: no
        // part has more than those here, and one whose ids are apart takes only room beyond.
        unsafe { words.as_ptr().copy_to_nonoverlapping(out.as_mut_ptr().add(ids), INLINE + 1) };
        ids += here;
    }
    Given { parts: parts.len(), ids, is_unknown: false }
}

/// Ids that are copied whether there are so many or not.
const TOGETHER: usize = 16;

/// Puts the ids that stand apart into `room`; says how many they are. There are none where they have no room.
#[inline]
fn put_apart(words: &Words, apart: &[u32], room: &mut [u32]) -> usize {
    let count = (words[INLINE] >> 16) as usize;
    let Some(ids) = apart.get(words[0] as usize..) else { return 0 };
    if count <= TOGETHER
        && let (Some(ids), Some(room)) = (ids.first_chunk::<TOGETHER>(), room.first_chunk_mut())
    {
        *room = *ids;
        return count;
    }
    let (Some(ids), Some(room)) = (ids.get(..count), room.get_mut(..count)) else { return 0 };
    room.copy_from_slice(ids);
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
        fn parts_are_looked_up_as_one_by_one(
            lengths in prop::collection::vec(prop_oneof![20 => 1..=3_usize, 5 => 1..=SHORT, 1 => 16..20_usize], 0..60),
            letters in prop::collection::vec(0..2_u8, 300),
            behind in 0..20_usize,
            bits in 1..6_u32,
            known in prop::collection::vec(prop_oneof![4 => 0..=3_u16, 1 => 4..20_u16], 60),
            room in 0..70_usize,
            more in 0..100_usize,
            mark in prop::sample::select(&[0, 0x40_u128 << 120][..]),
        ) {
            let ends: Vec<usize> = lengths.iter().scan(0, |end, length| { *end += length; Some(*end) }).collect();
            let text: Vec<u8> = letters.into_iter().cycle().take(ends.last().unwrap_or(&0) + behind).collect();
            let keys: Vec<Key> = keys_of(&text, &ends).into_iter().map(|key| key | mark).collect();
            let mut table = ShortTable::new(bits);
            let mut apart = vec![];
            for (number, (&key, &count)) in (0..).zip(keys.iter().zip(&known)) {
                let ids: Vec<u32> = (0..u32::from(count)).map(|id| 100 * number + id).collect();
                let value = if ids.len() > INLINE {
                    apart.extend_from_slice(&ids);
                    Value { words: [(apart.len() - ids.len()) as u32, 0, 0], here: 0, apart: count }
                } else {
                    Value::of(&ids)
                };
                if table.get(key, hash(key)).is_none() && !table.insert(key, hash(key), value) {
                    table.replace(key, hash(key), value);
                }
            }
            let ids_of = |key| {
                let value = table.get(key, hash(key))?;
                let (place, count) = (value.words[0] as usize, usize::from(value.apart));
                Some(if count > 0 { apart[place..place + count].to_vec() } else { value.ids().to_vec() })
            };
            for level in cpu::available() {
                let mut parts = vec![Part::default(); room];
                let count = table.ask(level, &text, 0, &ends, mark, &mut parts);
                prop_assert_eq!(count, keys.len().min(room), "{}", level);
                for (part, (&key, &end)) in parts[..count].iter().zip(keys.iter().zip(&ends)) {
                    prop_assert_eq!((part.key, part.hash, part.end), (key, hash(key), end));
                }
                let mut out = vec![7; count * INLINE + 1 + more];
                let given = table.give(level, &parts[..count], &apart, &mut out);
                let mut want = vec![];
                for (number, &key) in keys[..count].iter().enumerate() {
                    let ids = ids_of(key).unwrap_or_default();
                    if number == given.parts {
                        let room = out.len() - want.len() - (count - number) * INLINE;
                        prop_assert!(ids.is_empty() || ids.len() > INLINE.max(room));
                        break;
                    }
                    want.extend_from_slice(&ids);
                }
                prop_assert_eq!(&out[..given.ids], &want, "{}", level);
                let next = keys[..count].get(given.parts);
                prop_assert_eq!(given.is_unknown, next.is_some_and(|&key| ids_of(key).is_none()), "{}", level);
            }
        }
    }

    #[test]
    #[should_panic(expected = "behind each other")]
    fn parts_that_go_back_are_none() {
        ShortTable::new(1).ask(Level::Portable, &[0; 40], 8, &[10, 9], 0, &mut [Part::default(); 2]);
    }

    #[test]
    #[should_panic(expected = "within the text")]
    fn parts_beyond_the_text_are_none() {
        ShortTable::new(1).ask(Level::Portable, &[0; 9], 0, &[4, 10], 0, &mut [Part::default(); 2]);
    }

    #[test]
    #[should_panic(expected = "out.len()")]
    fn ids_have_room() {
        ShortTable::new(1).give(Level::Portable, &[Part::default(); 2], &[], &mut [0; 6]);
    }
}
