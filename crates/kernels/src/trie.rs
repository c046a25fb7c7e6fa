//! A read-only trie over byte strings, for the longest string that a text begins with.
//!
//! A double array with one word a node: the child of a node by a byte stands at `base ^ byte` and
//! holds that byte. No two nodes have the same base, so the byte says that it is the child. Where
//! only one string goes on, its last bytes stand together, and take one node.

use crate::double_array::{BLOCK, Bases, Branches, Places, Sorted};

/// Numbers are below this.
const NONE: u64 = (1 << 22) - 1;

/// What no byte equals: a place in no use.
const FREE: u64 = 0x1ff;

/// In place of a base: where a tail starts.
const TAIL: u64 = 1 << 9;

/// No tail starts behind this byte.
const MOST_TAILS: usize = u32::MAX as usize;

const BASE_SHIFT: u32 = 10;
const NUMBER_SHIFT: u32 = 42;

/// Strings, each with a number.
#[derive(Debug, Clone)]
pub struct Trie {
    /// Byte (9 bits), whether it has a tail (1 bit), base or start of the tail (32 bits, 0 for a node
    /// without children), number (22 bits). A multiple of [`BLOCK`]; the first place is the root, the
    /// children of bases of a block stand in it.
    nodes: Vec<u64>,
    /// The length of each tail, and its bytes.
    tails: Vec<u8>,
}

/// The base of a node, or the start of its tail.
#[inline]
fn base(node: u64) -> usize {
    (node >> BASE_SHIFT) as u32 as usize
}

impl Trie {
    /// The trie of these strings by number; of equal ones the last counts. `None` when a number is
    /// not below 2^22 - 1. Empty strings are left out. Cost: near-linear in their bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = (u32, &'a [u8])>) -> Option<Self> {
        Self::telling(keys, |_, _| {})
    }

    /// The same; `tell` gets the number of each string, and that of the longest other one that it begins with.
    pub fn telling<'a>(
        keys: impl IntoIterator<Item = (u32, &'a [u8])>,
        mut tell: impl FnMut(u32, Option<u32>),
    ) -> Option<Self> {
        let keys = Sorted::new(keys);
        keys.begun_with().for_each(|(number, other)| tell(number, other));
        if keys.numbers.iter().any(|&number| u64::from(number) >= NONE) {
            return None;
        }
        let mut places = Places::new(Bases::Distinct);
        let mut nodes = Vec::with_capacity(keys.bytes.len() / 4 + BLOCK);
        let mut tails = Vec::new();
        let free = FREE | NONE << NUMBER_SHIFT;
        nodes.resize(places.len(), free);
        let mut level = vec![(0u32, 0, keys.numbers.len())];
        let mut below = Vec::new();
        let mut depth = 0;
        let mut branches = Branches::default();
        while !level.is_empty() {
            for &(node, from, to) in &level {
                let mut from = keys.branch((from, to), depth, &mut branches);
                let Branches { labels, ends } = &branches;
                if labels.is_empty() {
                    continue;
                }
                let base = places.take(labels);
                nodes.resize(places.len(), free);
                nodes[node as usize] |= u64::from(base) << BASE_SHIFT;
                for (&label, &end) in labels.iter().zip(ends) {
                    let child = base ^ u32::from(label);
                    let ended = (from..end).take_while(|&key| keys.get(key).len() == depth + 1).last();
                    let number = ended.map_or(NONE, |key| u64::from(keys.numbers[key]));
                    nodes[child as usize] = u64::from(label) | number << NUMBER_SHIFT;
                    let tail = &keys.get(end - 1)[depth + 1..];
                    match u8::try_from(tail.len()) {
                        Ok(length @ 1..) if end - from == 1 && tails.len() < MOST_TAILS => {
                            let number = u64::from(keys.numbers[from]);
                            nodes[child as usize] = u64::from(label)
                                | TAIL
                                | (tails.len() as u64) << BASE_SHIFT
                                | number << NUMBER_SHIFT;
                            tails.push(length);
                            tails.extend_from_slice(tail);
                        }
                        _ => below.push((child, from, end)),
                    }
                    from = end;
                }
            }
            std::mem::swap(&mut level, &mut below);
            below.clear();
            depth += 1;
        }
        nodes.shrink_to_fit();
        tails.shrink_to_fit();
        Some(Self { nodes, tails })
    }

    /// The number of the longest string that the text begins with.
    #[inline]
    pub fn longest(&self, text: &[u8]) -> Option<u32> {
        let mut longest = NONE;
        let mut node = self.nodes[0];
        for (at, &byte) in text.iter().enumerate() {
            node = self.nodes[base(node) ^ usize::from(byte)];
            if node & FREE != u64::from(byte) {
                break;
            }
            let number = node >> NUMBER_SHIFT;
            if node & TAIL != 0 {
                let tail = &self.tails[base(node)..];
                if text[at + 1..].starts_with(&tail[1..=usize::from(tail[0])]) {
                    longest = number;
                }
                break;
            }
            if number != NONE {
                longest = number;
            }
            if base(node) == 0 {
                break;
            }
        }
        (longest != NONE).then_some(longest as u32)
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        8 * self.nodes.capacity() + self.tails.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(keys: &[Vec<u8>], text: &[u8]) {
        let numbered = || keys.iter().enumerate().map(|(i, key)| (i as u32, key.as_slice()));
        let mut told = Vec::new();
        let trie = Trie::telling(numbered(), |number, other| told.push((number, other))).unwrap();
        assert_eq!(told.len(), keys.iter().filter(|key| !key.is_empty()).count());
        for (number, other) in told {
            let own = &keys[number as usize];
            assert_eq!(other, trie.longest(&own[..own.len() - 1]), "{keys:?} {own:?}");
        }
        for at in 0..=text.len() {
            let want = numbered().filter(|(_, key)| !key.is_empty() && text[at..].starts_with(key));
            let want = want.max_by_key(|&(number, key)| (key.len(), number)).map(|(number, _)| number);
            assert_eq!(trie.longest(&text[at..]), want, "{keys:?} {text:?} {at}");
        }
    }

    proptest! {
        #[test]
        fn it_finds_the_longest(
            keys in prop::collection::vec(prop::collection::vec(0u8..3, 0..6), 0..12),
            text in prop::collection::vec(0u8..4, 0..40),
        ) {
            check(&keys, &text);
        }

        #[test]
        fn bytes_of_all_values_find_their_places(
            keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..4), 0..400),
            others in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            check(&keys, &[keys.concat(), others].concat());
        }
    }

    #[test]
    fn long_strings_are_found_as_short_ones_are() {
        for length in [1, 254, 255, 256, 257, 258, 600] {
            let mut key = vec![b'a'; length];
            key.push(b'b');
            check(&[key.clone(), b"a".to_vec()], &key);
            check(&[key.clone(), b"ac".to_vec()], &key[..length]);
        }
    }

    #[test]
    fn numbers_are_bounded() {
        assert!(Trie::new([(NONE as u32, &b"a"[..])]).is_none());
        assert_eq!(Trie::new([(NONE as u32 - 1, &b"a"[..])]).unwrap().longest(b"ab"), Some(NONE as u32 - 1));
        assert_eq!(Trie::new([]).unwrap().longest(b"a"), None);
    }
}
