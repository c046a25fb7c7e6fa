//! A read-only Aho-Corasick automaton for a set of byte strings, in one flat array.
//!
//! In: strings, each with a number, and then the bytes of a text. Out: for each position, the numbers of the
//! strings that end there. A text takes at most two steps per byte, whatever the strings are.
//!
//! The automaton is a trie in which every node also has a suffix link to the node of its longest proper suffix in
//! the trie (Aho and Corasick, 1975). The trie is a double array: the child of a node by a byte is at index `base
//! ^ byte`. Every node also records its parent, so a step reads 16 bytes.

use crate::double_array::{Branches, SLOT_BLOCK, SlotAllocator, SortedKeys};
use crate::image::{Array, ImageError, ImageReader, ImageWriter, InImage, Plain};

/// In place of a number: no string.
pub const NO_KEY: u32 = u32::MAX;

/// The parent of the root and of free slots.
const NO_PARENT: u32 = u32::MAX;

/// A node of the automaton. It represents the longest suffix of the bytes read so far that is a prefix of some
/// string.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct State(u32);

impl State {
    /// The state before any byte is read.
    pub const START: Self = Self(0);
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Node {
    /// The child by `byte` is at index `base ^ byte`.
    base: u32,
    parent: u32,
    /// The suffix link.
    suffix: u32,
    /// The number of the longest string that ends at this node.
    longest: u32,
}

// SAFETY: four numbers of four bytes, without padding.
unsafe impl Plain for Node {}

const FREE: Node = Node { base: 0, parent: NO_PARENT, suffix: 0, longest: NO_KEY };

/// A set of byte strings, each with a number, that can be found in texts.
#[derive(Debug)]
pub struct Automaton {
    /// The length is a multiple of [`SLOT_BLOCK`]. The first node is the root.
    nodes: Array<Node>,
    /// For the number of each string, the number of the longest other string that is a suffix of it.
    shorter: Array<u32>,
    longest_key: usize,
}

impl Automaton {
    /// Builds the automaton of these strings. Empty strings are ignored. Of equal strings the last one counts.
    ///
    /// Cost: nearly linear in the total number of bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = (u32, &'a [u8])>) -> Self {
        let keys = SortedKeys::new(keys);
        let mut builder = Builder::new(keys.bytes.len());
        let count = keys.numbers.iter().max().map_or(0, |&number| number as usize + 1);
        let (mut shorter, mut longest_key) = (vec![NO_KEY; count], 0);
        // Breadth first, because suffix links lead to nodes of smaller depth.
        let mut level = vec![(State::START.0, 0, keys.numbers.len())];
        let mut next_level = Vec::new();
        let mut depth = 0;
        let mut branches = Branches::default();
        while !level.is_empty() {
            for &(node, from, to) in &level {
                let mut from = keys.branch((from, to), depth, &mut branches);
                let Branches { labels, ends } = &branches;
                if labels.is_empty() {
                    continue;
                }
                let base = builder.add_children(labels);
                builder.nodes[node as usize].base = base;
                for (&label, &end) in labels.iter().zip(ends) {
                    let child = base ^ u32::from(label);
                    let suffix = if depth == 0 { 0 } else { builder.suffix_of_child(node, label) };
                    let mut longest = builder.nodes[suffix as usize].longest;
                    let mut last = from;
                    while last < end && keys.get(last).len() == depth + 1 {
                        last += 1;
                    }
                    if last > from {
                        let number = keys.numbers[last - 1];
                        shorter[number as usize] = longest;
                        longest = number;
                        longest_key = depth + 1;
                    }
                    builder.nodes[child as usize] = Node { base: 0, parent: node, suffix, longest };
                    next_level.push((child, from, end));
                    from = end;
                }
            }
            std::mem::swap(&mut level, &mut next_level);
            next_level.clear();
            depth += 1;
        }
        Self { nodes: builder.finish().into(), shorter: shorter.into(), longest_key }
    }

    /// Reads one byte.
    #[inline]
    pub fn step(&self, state: State, byte: u8) -> State {
        let mut at = state.0;
        loop {
            let node = &self.nodes[at as usize];
            let child = node.base ^ u32::from(byte);
            if self.nodes[child as usize].parent == at {
                return State(child);
            }
            if at == State::START.0 {
                return State::START;
            }
            at = node.suffix;
        }
    }

    /// Reads one byte without following suffix links. `None` if no string begins with all the bytes read so far.
    #[inline]
    pub fn child(&self, state: State, byte: u8) -> Option<State> {
        let child = self.nodes[state.0 as usize].base ^ u32::from(byte);
        (self.nodes[child as usize].parent == state.0).then_some(State(child))
    }

    /// The number of the longest string that ends in this state, or [`NO_KEY`].
    #[inline]
    pub fn longest(&self, state: State) -> u32 {
        self.nodes[state.0 as usize].longest
    }

    /// The number of the longest other string that is a suffix of this string, or [`NO_KEY`]. Together with
    /// [`Self::longest`] it gives all strings that end at a position, the longest first.
    #[inline]
    pub fn shorter(&self, number: u32) -> u32 {
        self.shorter.get(number as usize).copied().unwrap_or(NO_KEY)
    }

    /// The length of the longest string, in bytes.
    pub fn longest_key(&self) -> usize {
        self.longest_key
    }

    /// The heap bytes of this automaton.
    pub fn memory(&self) -> usize {
        self.nodes.memory() + self.shorter.memory()
    }
}

impl InImage for Automaton {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.nodes);
        image.array(&self.shorter);
        image.number(self.longest_key as u64);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        let nodes: Array<Node> = image.array()?;
        if nodes.is_empty() || !nodes.len().is_multiple_of(SLOT_BLOCK) {
            return Err(ImageError::Inconsistent("an automaton has another length"));
        }
        Ok(Self { nodes, shorter: image.array()?, longest_key: image.number()? as usize })
    }
}

struct Builder {
    nodes: Vec<Node>,
    slots: SlotAllocator,
}

impl Builder {
    fn new(bytes: usize) -> Self {
        // The trie of a vocabulary has about half as many nodes as the vocabulary has bytes.
        let mut nodes = Vec::with_capacity(bytes / 2 + SLOT_BLOCK);
        nodes.resize(SLOT_BLOCK, FREE);
        Self { nodes, slots: SlotAllocator::default() }
    }

    /// Takes slots for the children of a node, and returns the node's base.
    fn add_children(&mut self, labels: &[u8]) -> u32 {
        let base = self.slots.take(labels);
        self.nodes.resize(self.slots.len(), FREE);
        base
    }

    /// The node of the longest proper suffix of the string of `node` followed by `label`.
    fn suffix_of_child(&self, node: u32, label: u8) -> u32 {
        let mut at = self.nodes[node as usize].suffix;
        loop {
            let child = self.nodes[at as usize].base ^ u32::from(label);
            if self.nodes[child as usize].parent == at {
                return child;
            }
            if at == State::START.0 {
                return at;
            }
            at = self.nodes[at as usize].suffix;
        }
    }

    fn finish(mut self) -> Vec<Node> {
        self.nodes.shrink_to_fit();
        self.nodes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            crate::sorting::sort_by_key(&mut want, |(_, key)| std::cmp::Reverse(key.len()));
            let want: Vec<u32> = want.into_iter().map(|(number, _)| number).collect();
            assert_eq!(ending(&automaton, state), want, "{keys:?} {:?}", &text[..=i]);
            whole = whole.and_then(|at| automaton.child(at, byte));
            let is_prefix = keys.iter().any(|key| key.starts_with(&text[..=i]));
            assert_eq!(whole.is_some(), is_prefix);
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_ends_at_every_position(
            keys in prop::collection::vec(prop::collection::vec(0u8..3, 0..6), 0..12),
            text in prop::collection::vec(0u8..4, 0..40),
        ) {
            check(&keys, &text);
        }

        #[test]
        fn strings_of_all_byte_values_are_found(
            keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3), 0..300),
        ) {
            let text: Vec<u8> = keys.concat();
            check(&keys, &text[..text.len().min(40)]);
        }
    }
}
