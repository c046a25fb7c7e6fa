//! What pretokens became that one worker met, looked up in place of asking the model: first here, then in the
//! [seed](super::seed), which all share. Together the workers keep to the bytes of a [`Budget`]. Neither ever changes a result.
use std::ops::Range;
use std::sync::Arc;

use tokenmill_kernels::OutOfMemory;
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT, ShortTable, Value};
use tokenmill_kernels::try_alloc;

use crate::ids::{TokenId, to_u32};

use super::budget::Budget;
use super::seen::Seen;

/// Longer pretokens hardly repeat and are not kept.
const LONGEST: usize = 128;

/// Nor do those that begin with a character of three bytes and more: most of the scripts that have
/// these write whole sentences without a space, or words of many endings.
const FEW_SPACES: u8 = 0xE0;

/// A worker starts with `2^FIRST_BITS` buckets.
const FIRST_BITS: u32 = 8;

/// It has few where they are fewer than `2^FEW_BITS`.
const FEW_BITS: u32 = 16;

/// What all workers of a tokenizer may learn, in bytes.
pub(super) const DEFAULT_CACHE_BYTES: usize = 32 << 20;

/// Does a pretoken that is longer than a key hardly repeat, as far as one can tell? One byte in front, such as that
/// of a space, tells nothing.
pub(super) fn hardly_repeats(pretoken: &[u8]) -> bool {
    pretoken.len() > LONGEST || pretoken.iter().take(2).any(|&byte| byte >= FEW_SPACES)
}

/// A pretoken that is longer than a key as it is looked up; 0 for one that is not kept.
pub(super) fn key_of_long(pretoken: &[u8]) -> Key {
    let is_kept = pretoken.len() <= LONGEST && pretoken.first().is_some_and(|&first| first < FEW_SPACES);
    if is_kept { long_key(pretoken) } else { 0 }
}

/// A pretoken of any length as it is looked up; 0 for one that is not kept.
pub(super) fn key_of(pretoken: &[u8]) -> Key {
    match pretoken.len() {
        0 => 0,
        1..=SHORT => short_table::key_at(pretoken, 0, pretoken.len()),
        _ => key_of_long(pretoken),
    }
}

/// A hash with a mark that no key of a short pretoken has. What is found by it is confirmed.
fn long_key(pretoken: &[u8]) -> Key {
    let (words, rest) = pretoken.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let (mut low, mut high) = (pretoken.len() as u64, 0x9e37_79b9_7f4a_7c15_u64);
    for &word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(word);
        low = mix(low ^ word, 0xd6e8_feb8_6659_fd93);
        high = mix(high.rotate_left(29) ^ word, 0xa076_1d64_78bd_642f);
    }
    u128::from(low) | u128::from(high) << 64 | 0xFF << 120
}

#[inline]
fn mix(word: u64, factor: u64) -> u64 {
    let wide = u128::from(word) * u128::from(factor);
    (wide >> 64) as u64 ^ wide as u64
}

/// Where the bytes of a long pretoken and its ids stand. In its value they stand neither here nor, as far as that
/// says, apart: what is found is confirmed first.
#[derive(Debug, Clone, Copy)]
struct LongPlace {
    bytes: u32,
    ids: u32,
    length: u16,
    count: u16,
}

impl LongPlace {
    fn of(value: &Value) -> Self {
        let [bytes, ids, sizes] = value.words;
        Self { bytes, ids, length: (sizes >> 16) as u16, count: sizes as u16 }
    }

    fn value(self) -> Value {
        let sizes = u32::from(self.length) << 16 | u32::from(self.count);
        Value { words: [self.bytes, self.ids, sizes], here: 0, apart: 0 }
    }

    fn ranges(self) -> (Range<usize>, Range<usize>) {
        let (bytes, ids) = (self.bytes as usize, self.ids as usize);
        (bytes..bytes + usize::from(self.length), ids..ids + usize::from(self.count))
    }
}

/// What one worker met.
#[derive(Debug)]
pub(super) struct Learnt {
    table: ShortTable,
    /// So many entries are enough for it.
    full: usize,
    /// The bytes of pretokens that are longer than a key.
    bytes: Vec<u8>,
    /// The ids of these, and of pretokens that have more of them than fit into an entry.
    ids: Vec<TokenId>,
    budget: Arc<Budget>,
    /// Bytes of the budget that this worker has.
    held: usize,
    /// Bytes that it asked for and did not get, although the budget has so many beside those that it holds.
    refused: usize,
    lookups: u64,
    misses: u64,
    /// The share of look-ups for which the model was asked, less those for which it need not be asked again, in
    /// [`ALL`]; a mean over the last [`RECENT`] or so.
    novelty: usize,
    /// Pretokens that were not kept because of it; there from `2^NOVEL_BITS` buckets on.
    passed_over: Option<Seen>,
}

/// Look-ups that novelty goes back to.
const RECENT: usize = 1 << 12;
const ALL: usize = 1 << 16;

/// Where that is more than a fifth, and there are `2^NOVEL_BITS` buckets, a pretoken is kept when it comes a second time: a
/// text of random letters never comes back, and writing it down takes as long as spelling it. Those of up to [`FEW`] bytes
/// are kept at once: there are not so many of them.
const NOVEL: usize = ALL / 5;
const NOVEL_BITS: u32 = 13;
const FEW: usize = 3;

/// Entries for eight buckets, of sixteen places: where they are more, some stand behind their own buckets and are found
/// late; where they are many more, look-ups take long to end.
const ROOMY: usize = 10;
const FULL: usize = 14;

/// Bytes and ids that may be kept apart for each bucket of the table.
const BYTES: usize = 16;
const IDS: usize = 4;

/// The items, with room for so many. To grow where they are would be to copy all of the room, in which there are few.
fn copied<T: Copy>(items: &[T], room: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut copied = try_alloc::vec(room)?;
    copied.extend_from_slice(items);
    Ok(copied)
}

/// The bytes of a worker whose table has `2^bits` buckets.
const fn room(bits: u32) -> usize {
    let seen = if bits >= NOVEL_BITS { Seen::MEMORY } else { 0 };
    ShortTable::memory_of(bits) + ((BYTES + IDS * size_of::<TokenId>()) << bits) + seen
}

impl Learnt {
    /// Without room in the budget nothing is ever learnt.
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        let mut learnt = Self {
            table: ShortTable::new(0),
            bytes: Vec::new(),
            ids: Vec::new(),
            budget: Arc::clone(budget),
            held: 0,
            refused: 0,
            full: 0,
            lookups: 0,
            misses: 0,
            novelty: 0,
            passed_over: None,
        };
        learnt.begin();
        learnt
    }

    /// Asks for the smallest table.
    fn begin(&mut self) {
        if self.take(room(FIRST_BITS)) && self.grow(FIRST_BITS).is_err() {
            self.give_back(room(FIRST_BITS));
        }
    }

    /// Makes the tables so large. The budget allows it; where the memory is not there they stay as they are.
    fn grow(&mut self, bits: u32) -> Result<(), OutOfMemory> {
        let (bytes, ids) = (copied(&self.bytes, BYTES << bits)?, copied(&self.ids, IDS << bits)?);
        if bits >= NOVEL_BITS && self.passed_over.is_none() {
            self.passed_over = Some(Seen::new()?);
        }
        self.table = self.table.grown(bits)?;
        (self.bytes, self.ids) = (bytes, ids);
        self.full = ROOMY << bits >> 3;
        Ok(())
    }

    fn give_back(&mut self, bytes: usize) {
        self.budget.give_back(bytes);
        self.held -= bytes;
    }

    fn take(&mut self, bytes: usize) -> bool {
        let taken = self.budget.take(bytes);
        self.held += if taken { bytes } else { 0 };
        let is_others = !taken && self.held.saturating_add(bytes) <= self.budget.bytes().0;
        self.refused = if is_others { bytes } else { 0 };
        taken
    }

    /// Bytes of the budget that it has.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Do others hold what it asked for?
    #[inline]
    pub(super) fn was_refused(&self) -> bool {
        self.refused > 0
    }

    /// Asks again for what it was refused; false where others hold it still. A larger table is made as soon as something is
    /// learnt for which the one that there is would have grown.
    pub(super) fn ask_again(&mut self) -> bool {
        if self.was_refused() && self.held == 0 {
            self.begin();
        } else if self.was_refused() && self.budget.has(self.refused) {
            self.give_up();
        }
        !self.was_refused()
    }

    /// Asks no more until something is learnt for which it should grow, if it has a table.
    pub(super) fn give_up(&mut self) {
        if self.held > 0 {
            self.refused = 0;
            self.full = ROOMY << self.table.bits() >> 3;
        }
    }

    #[inline]
    pub(super) fn get(&self, key: Key, hash: u64) -> Option<Value> {
        self.table.get(key, hash)
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.table.prefetch(hash);
    }

    /// Where many pretokens are looked up together.
    #[inline]
    pub(super) fn table(&self) -> &ShortTable {
        &self.table
    }

    /// The ids that stand apart from the table.
    #[inline]
    pub(super) fn apart(&self) -> &[TokenId] {
        &self.ids
    }

    /// The ids of a value, `None` where it is another pretoken's or that of an empty place.
    #[inline]
    pub(super) fn ids_of<'a>(&'a self, value: &'a Value, pretoken: &[u8]) -> Option<&'a [TokenId]> {
        if value.here == 0 { self.ids_apart(value, pretoken) } else { Some(value.ids()) }
    }

    /// Those of a value in which none stand.
    pub(super) fn ids_apart(&self, value: &Value, pretoken: &[u8]) -> Option<&[TokenId]> {
        let count = usize::from(value.apart);
        if count > 0 {
            let start = value.words[0] as usize;
            return self.ids.get(start..start + count);
        }
        let (start, ids) = LongPlace::of(value).ranges();
        let is_same = !pretoken.is_empty() && self.bytes.get(start) == Some(pretoken);
        if is_same { self.ids.get(ids) } else { None }
    }

    /// Keeps what a pretoken became that was not found.
    pub(super) fn learn(&mut self, key: Key, hash: u64, pretoken: &[u8], ids: &[TokenId]) {
        let Ok(count) = u16::try_from(ids.len()) else { return };
        if self.held == 0 || key == 0 || count == 0 {
            return;
        }
        let is_passed_over = self.novelty > NOVEL && self.table.bits() >= NOVEL_BITS && pretoken.len() > FEW;
        if is_passed_over && self.passed_over.as_mut().is_some_and(|seen| !seen.put(hash)) {
            return;
        }
        let is_long = pretoken.len() > SHORT;
        let apart = is_long || ids.len() > INLINE;
        // It may have come twice in a chunk.
        if apart && !is_long && self.get(key, hash).is_some() {
            return;
        }
        let bytes = if is_long { pretoken } else { &[] };
        let is_full = |learnt: &Self| {
            let buckets = 1 << learnt.table.bits();
            learnt.table.len() >= learnt.full
                || learnt.bytes.len() + bytes.len() > buckets * BYTES
                || (apart && learnt.ids.len() + ids.len() > buckets * IDS)
        };
        if is_full(self) {
            self.make_room();
            if is_full(self) {
                return;
            }
        }
        let value = if apart {
            let place = to_u32(self.ids.len());
            self.ids.extend_from_slice(ids);
            let start = to_u32(self.bytes.len());
            self.bytes.extend_from_slice(bytes);
            if is_long {
                LongPlace { bytes: start, ids: place, length: pretoken.len() as u16, count }.value()
            } else {
                Value { words: [place, 0, 0], here: 0, apart: count }
            }
        } else {
            Value::of(ids)
        };
        // A long one with the same hash gives way.
        if !self.table.insert(key, hash, value) {
            self.table.replace(key, hash, value);
        }
    }

    /// As [`Self::learn`], of what is soon spelled again: where there are many, the second time that it comes.
    pub(super) fn learn_again(&mut self, key: Key, hash: u64, pretoken: &[u8], ids: &[TokenId]) {
        if self.passed_over.as_mut().is_none_or(|seen| seen.put(hash)) {
            self.learn(key, hash, pretoken, ids);
        }
    }

    /// By how many bits a table may grow, from the most on. Small ones grow fast: what is in them is moved each time, and to
    /// bring the pages of many tables that are soon given up took 2 to 10 % of a first pass over ten megabytes. Fastest while
    /// half of the budget is left, for other workers grow as well, and where much comes back: what does not is hardly kept.
    fn steps(&self) -> &'static [u32] {
        let (bits, (limit, taken)) = (self.table.bits(), self.budget.bytes());
        let leap = || room(bits + 4) - room(bits);
        match FEW_BITS.saturating_sub(bits) {
            0 => &[1],
            4.. if self.novelty <= NOVEL && taken.saturating_add(leap()) <= limit / 2 => &[4, 2, 1],
            _ => &[2, 1],
        }
    }

    /// Makes the tables larger. Where the budget or the memory does not allow that, they become fuller than is good for
    /// them, and in the end what is in them is forgotten: what is met often is soon learnt again.
    #[cold]
    fn make_room(&mut self) {
        let bits = self.table.bits();
        let mut sizes = self.steps().iter().map(|step| bits + step);
        let grown = sizes.find(|&grown| self.take(room(grown) - room(bits)));
        if let Some(grown) = grown {
            if self.grow(grown).is_ok() {
                return;
            }
            self.give_back(room(grown) - room(bits));
        }
        if self.table.len() >= self.full && self.full < FULL << bits >> 3 {
            self.full = FULL << bits >> 3;
        } else {
            self.table.clear();
            self.bytes.clear();
            self.ids.clear();
        }
    }

    /// So many pretokens were looked up. For so many of them the model was asked, and for so many it was not, as what it
    /// said was known.
    #[inline]
    pub(super) fn note(&mut self, lookups: usize, misses: usize, saved: usize) {
        self.lookups += lookups as u64;
        self.misses += misses as u64;
        self.novelty -= self.novelty * lookups.min(RECENT) / RECENT;
        let weight = |lookups: usize| lookups.min(RECENT) * (ALL / RECENT);
        self.novelty = (self.novelty + weight(misses)).saturating_sub(weight(saved));
    }

    /// Tells the others what was noted.
    pub(super) fn report(&mut self) {
        self.budget.report(std::mem::take(&mut self.lookups), std::mem::take(&mut self.misses));
    }
}

impl Drop for Learnt {
    fn drop(&mut self) {
        self.report();
        self.budget.give_back(self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Meets a pretoken of several ids; was it known?
    fn meet(learnt: &mut Learnt, number: u32) -> bool {
        let pretoken = number.to_le_bytes();
        let key = key_of(&pretoken);
        let hash = short_table::hash(key);
        let is_known = learnt.get(key, hash).is_some();
        if !is_known {
            learnt.learn(key, hash, &pretoken, &[7, 8]);
        }
        learnt.note(1, usize::from(!is_known), usize::from(is_known));
        is_known
    }

    #[test]
    fn what_is_held_is_what_the_budget_says() {
        for limit in [room(FIRST_BITS), room(FIRST_BITS + 2) - 1, 1 << 20] {
            let budget = Arc::new(Budget::new(limit));
            let mut learnt = Learnt::new(&budget);
            for number in 0..20_000_u32 {
                let pretoken = format!("a pretoken of {number:9}");
                let key = key_of(pretoken.as_bytes());
                learnt.learn(key, short_table::hash(key), pretoken.as_bytes(), &[number; 5]);
                let apart = learnt.bytes.capacity() + size_of::<TokenId>() * learnt.ids.capacity();
                let seen = learnt.passed_over.as_ref().map_or(0, |_| Seen::MEMORY);
                assert_eq!(learnt.table.memory() + apart + seen, learnt.held, "{number}");
                assert_eq!(budget.bytes(), (limit, learnt.held));
            }
        }
    }

    #[test]
    fn what_stays_new_takes_little_room_and_what_comes_back_is_kept() {
        let budget = Arc::new(Budget::new(DEFAULT_CACHE_BYTES));
        let mut learnt = Learnt::new(&budget);
        assert!((0..200_000).all(|number| !meet(&mut learnt, number)));
        // All of them would need eight times as many buckets.
        assert_eq!(learnt.table.bits(), 14);
        let mut known = 0;
        for _ in 0..3 {
            known = (200_000..205_000).filter(|&number| meet(&mut learnt, number)).count();
        }
        assert!(known > 4_800, "{known}");
    }

    #[test]
    fn tables_leap_while_half_of_the_budget_is_left() {
        let leap = room(FEW_BITS);
        for (limit, bits) in [(2 * leap, FEW_BITS), (2 * leap - 1, FEW_BITS - 2)] {
            let mut learnt = Learnt::new(&Arc::new(Budget::new(limit)));
            // Nine in ten have come before.
            for number in 0..6_000 {
                for earlier in 1..=10 {
                    meet(&mut learnt, number / earlier);
                }
            }
            assert_eq!(learnt.table.bits(), bits, "{limit}");
        }
    }

    #[test]
    fn what_mostly_comes_back_is_kept_at_once() {
        let budget = Arc::new(Budget::new(DEFAULT_CACHE_BYTES));
        let mut learnt = Learnt::new(&budget);
        // Three in four have come before.
        for number in 0..100_000 {
            for earlier in [1, 2, 3, 4] {
                meet(&mut learnt, number / earlier);
            }
        }
        // But for those that gave way to others in full buckets.
        let known = (0..100_000).filter(|&number| meet(&mut learnt, number)).count();
        assert!(known > 85_000, "{known}");
    }
}
