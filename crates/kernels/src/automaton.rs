//! A read-only automaton over a set of byte strings, in one flat array: reading a text byte by
//! byte it knows, at every place, which of the strings end there.
//!
//! It is a trie whose nodes also know the longest proper suffix of what they stand for that is a
//! node, too (Aho and Corasick, 1975), laid out as a double array: the child of a node by a byte
//! stands at `base ^ byte` and names its parent, so that a step is one look at 16 bytes. A text
//! costs at most two steps a byte, whatever the strings.

/// No string.
pub const NO_KEY: u32 = u32::MAX;

/// In no use, or nobody's child.
const NOBODY: u32 = u32::MAX;

/// Where children may stand: all children of a node lie in one block.
const BLOCK: usize = 256;

/// Blocks that a node with several children tries before it opens a new one.
const OPEN_BLOCKS: usize = 4;

/// A place in the automaton: what was read last, as far as any string goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State(u32);

impl State {
    /// Nothing was read.
    pub const START: Self = Self(0);
}

#[derive(Debug, Clone, Copy)]
struct Unit {
    /// Children stand at `base ^ byte`.
    base: u32,
    parent: u32,
    /// The node of the longest proper suffix that is one.
    suffix: u32,
    /// The longest string that ends here.
    longest: u32,
}

const FREE: Unit = Unit { base: 0, parent: NOBODY, suffix: 0, longest: NO_KEY };

/// A set of byte strings, each with a number, to be found in texts.
#[derive(Debug, Clone)]
pub struct Automaton {
    /// A multiple of [`BLOCK`]; the first is the root.
    units: Vec<Unit>,
    /// By number: the longest other string that is a suffix of this one.
    shorter: Vec<u32>,
    longest_key: usize,
}

impl Automaton {
    /// The automaton of these strings, by number. Empty ones are left out; of equal ones the one
    /// that comes last counts. Cost: near-linear in their bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = (u32, &'a [u8])>) -> Self {
        let keys = Sorted::new(keys);
        let mut builder = Builder::new(keys.bytes.len());
        let count = keys.numbers.iter().max().map_or(0, |&number| number as usize + 1);
        let mut automaton = Self { units: Vec::new(), shorter: vec![NO_KEY; count], longest_key: 0 };
        // Level by level: what a node needs to know of its suffixes stands on the levels above.
        let mut level = vec![(State::START.0, 0, keys.numbers.len())];
        let mut below = Vec::new();
        let mut depth = 0;
        let mut labels = Vec::new();
        let mut ends = Vec::new();
        while !level.is_empty() {
            for &(node, mut from, to) in &level {
                while from < to && keys.get(from).len() == depth {
                    from += 1;
                }
                labels.clear();
                ends.clear();
                let mut at = from;
                while at < to {
                    let label = keys.get(at)[depth];
                    while at < to && keys.get(at)[depth] == label {
                        at += 1;
                    }
                    labels.push(label);
                    ends.push(at);
                }
                if labels.is_empty() {
                    continue;
                }
                let base = builder.place(&labels);
                builder.units[node as usize].base = base;
                for (&label, &end) in labels.iter().zip(&ends) {
                    let child = base ^ u32::from(label);
                    let suffix = if depth == 0 { 0 } else { builder.suffix_of_child(node, label) };
                    let mut longest = builder.units[suffix as usize].longest;
                    let mut last = from;
                    while last < end && keys.get(last).len() == depth + 1 {
                        last += 1;
                    }
                    if last > from {
                        let number = keys.numbers[last - 1];
                        automaton.shorter[number as usize] = longest;
                        longest = number;
                        automaton.longest_key = depth + 1;
                    }
                    builder.units[child as usize] = Unit { base: 0, parent: node, suffix, longest };
                    below.push((child, from, end));
                    from = end;
                }
            }
            std::mem::swap(&mut level, &mut below);
            below.clear();
            depth += 1;
        }
        automaton.units = builder.finish();
        automaton
    }

    /// Reads one byte.
    #[inline]
    pub fn step(&self, state: State, byte: u8) -> State {
        let mut at = state.0;
        loop {
            let unit = &self.units[at as usize];
            let child = unit.base ^ u32::from(byte);
            if self.units[child as usize].parent == at {
                return State(child);
            }
            if at == State::START.0 {
                return State::START;
            }
            at = unit.suffix;
        }
    }

    /// Reads one byte that goes on with all that was read since the start, if some string does.
    #[inline]
    pub fn go_on(&self, state: State, byte: u8) -> Option<State> {
        let child = self.units[state.0 as usize].base ^ u32::from(byte);
        (self.units[child as usize].parent == state.0).then_some(State(child))
    }

    /// The number of the longest string that ends here, or [`NO_KEY`].
    #[inline]
    pub fn longest(&self, state: State) -> u32 {
        self.units[state.0 as usize].longest
    }

    /// The number of the longest other string that is a suffix of this one, or [`NO_KEY`]. With
    /// [`Self::longest`] it gives all strings that end at a place, longest first.
    #[inline]
    pub fn shorter(&self, number: u32) -> u32 {
        self.shorter.get(number as usize).copied().unwrap_or(NO_KEY)
    }

    /// Bytes of the longest string.
    pub fn longest_key(&self) -> usize {
        self.longest_key
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        size_of::<Unit>() * self.units.capacity() + 4 * self.shorter.capacity()
    }
}

/// The strings in order, their bytes side by side.
struct Sorted {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
    numbers: Vec<u32>,
}

impl Sorted {
    fn new<'a>(keys: impl IntoIterator<Item = (u32, &'a [u8])>) -> Self {
        // Most comparisons are settled by the first bytes, without a look at the string.
        let head = |key: &[u8]| {
            let mut head = [0; 16];
            let length = key.len().min(16);
            head[..length].copy_from_slice(&key[..length]);
            u128::from_be_bytes(head)
        };
        let keys = keys.into_iter().filter(|(_, key)| !key.is_empty());
        let mut keys: Vec<(u128, &[u8], u32)> = keys.map(|(number, key)| (head(key), key, number)).collect();
        // Stable, so that equal strings stay in order.
        keys.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)));
        let mut sorted = Self {
            bytes: Vec::with_capacity(keys.iter().map(|(_, key, _)| key.len()).sum()),
            offsets: Vec::with_capacity(keys.len() + 1),
            numbers: keys.iter().map(|&(_, _, number)| number).collect(),
        };
        sorted.offsets.push(0);
        for (_, key, _) in keys {
            sorted.bytes.extend_from_slice(key);
            sorted.offsets.push(sorted.bytes.len());
        }
        sorted
    }

    fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.offsets[index]..self.offsets[index + 1]]
    }
}

struct Builder {
    units: Vec<Unit>,
    /// A bit for each place of a block: is it free?
    free: Vec<[u64; 4]>,
    /// The first block that may have a free place.
    first_free: usize,
}

impl Builder {
    fn new(bytes: usize) -> Self {
        // About half of the bytes of a vocabulary are nodes of their own.
        let mut builder =
            Self { units: Vec::with_capacity(bytes / 2 + BLOCK), free: Vec::new(), first_free: 0 };
        builder.open_block();
        builder.free[0][0] &= !1;
        builder
    }

    fn open_block(&mut self) {
        self.units.resize(self.units.len() + BLOCK, FREE);
        self.free.push([u64::MAX; 4]);
    }

    /// Takes places for the children of a node; the result is the node's base.
    fn place(&mut self, labels: &[u8]) -> u32 {
        let place = if let &[label] = labels {
            // One child fills the first gap there is.
            while self.first_free < self.free.len() && self.free[self.first_free] == [0; 4] {
                self.first_free += 1;
            }
            let block = self.first_free;
            self.free.get(block).and_then(first_bit).map(|bit| (block, bit ^ label))
        } else {
            let from = self.free.len().saturating_sub(OPEN_BLOCKS);
            (from..self.free.len()).find_map(|block| {
                let mut bases = [u64::MAX; 4];
                for &label in labels {
                    let moved = moved_by(&self.free[block], label);
                    for (base, moved) in bases.iter_mut().zip(moved) {
                        *base &= moved;
                    }
                    if bases == [0; 4] {
                        return None;
                    }
                }
                Some((block, first_bit(&bases)?))
            })
        };
        let (block, base) = place.unwrap_or_else(|| {
            self.open_block();
            (self.free.len() - 1, 0)
        });
        for label in labels {
            let at = base ^ label;
            self.free[block][usize::from(at >> 6)] &= !(1 << (at & 63));
        }
        (block * BLOCK) as u32 | u32::from(base)
    }

    /// The node of the longest proper suffix of `node` followed by `label`.
    fn suffix_of_child(&self, node: u32, label: u8) -> u32 {
        let mut at = self.units[node as usize].suffix;
        loop {
            let child = self.units[at as usize].base ^ u32::from(label);
            if self.units[child as usize].parent == at {
                return child;
            }
            if at == State::START.0 {
                return at;
            }
            at = self.units[at as usize].suffix;
        }
    }

    fn finish(mut self) -> Vec<Unit> {
        self.units.shrink_to_fit();
        self.units
    }
}

fn first_bit(bits: &[u64; 4]) -> Option<u8> {
    let word = bits.iter().position(|&word| word != 0)?;
    Some((word as u32 * 64 + bits[word].trailing_zeros()) as u8)
}

/// The set {x ^ label} of a set of bytes.
fn moved_by(bits: &[u64; 4], label: u8) -> [u64; 4] {
    const SWAPS: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff,
    ];
    std::array::from_fn(|word| {
        let mut word = bits[word ^ usize::from(label >> 6)];
        for (bit, mask) in SWAPS.into_iter().enumerate() {
            if label >> bit & 1 == 1 {
                let by = 1 << bit;
                word = (word & mask) << by | word >> by & mask;
            }
        }
        word
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ending(automaton: &Automaton, state: State) -> Vec<u32> {
        let mut found = Vec::new();
        let mut number = automaton.longest(state);
        while number != NO_KEY {
            found.push(number);
            number = automaton.shorter(number);
        }
        found
    }

    fn check(keys: &[Vec<u8>], text: &[u8]) {
        let numbered = || keys.iter().enumerate().map(|(i, key)| (i as u32, key.as_slice()));
        let automaton = Automaton::new(numbered());
        let mut state = State::START;
        let mut whole = Some(State::START);
        for (i, &byte) in text.iter().enumerate() {
            state = automaton.step(state, byte);
            let mut want: Vec<(u32, &[u8])> =
                numbered().filter(|(_, key)| text[..=i].ends_with(key)).collect();
            want.retain(|&(number, key)| {
                !key.is_empty() && !numbered().any(|(other, same)| other > number && same == key)
            });
            want.sort_by_key(|(_, key)| std::cmp::Reverse(key.len()));
            let want: Vec<u32> = want.into_iter().map(|(number, _)| number).collect();
            assert_eq!(ending(&automaton, state), want, "{keys:?} {:?}", &text[..=i]);
            whole = whole.and_then(|at| automaton.go_on(at, byte));
            let goes_on = keys.iter().any(|key| key.starts_with(&text[..=i]));
            assert_eq!(whole.is_some(), goes_on);
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_ends_at_every_place(
            keys in prop::collection::vec(prop::collection::vec(0u8..3, 0..6), 0..12),
            text in prop::collection::vec(0u8..4, 0..40),
        ) {
            check(&keys, &text);
        }

        #[test]
        fn bytes_of_all_values_find_their_places(
            keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3), 0..300),
        ) {
            let text: Vec<u8> = keys.concat();
            check(&keys, &text[..text.len().min(40)]);
        }

        #[test]
        fn moving_a_set_moves_its_members(bits: [u64; 4], label: u8) {
            let moved = moved_by(&bits, label);
            for x in 0..=255u8 {
                let y = x ^ label;
                prop_assert_eq!(bits[usize::from(x >> 6)] >> (x & 63) & 1, moved[usize::from(y >> 6)] >> (y & 63) & 1);
            }
        }
    }
}
