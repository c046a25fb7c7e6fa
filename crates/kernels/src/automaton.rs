//! A read-only automaton over a set of byte strings, in one flat array: reading a text byte by
//! byte it knows, at every place, which of the strings end there.
//!
//! It is a trie whose nodes also know the longest proper suffix of what they stand for that is a
//! node, too (Aho and Corasick, 1975), laid out as a double array: the child of a node by a byte
//! stands at `base ^ byte` and names its parent, so that a step is one look at 16 bytes. A text
//! costs at most two steps a byte, whatever the strings.

use crate::double_array::{BLOCK, Branches, Places, Sorted};

/// No string.
pub const NO_KEY: u32 = u32::MAX;

/// In no use, or nobody's child.
const NOBODY: u32 = u32::MAX;

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
        let mut branches = Branches::default();
        while !level.is_empty() {
            for &(node, from, to) in &level {
                let mut from = keys.branch((from, to), depth, &mut branches);
                let Branches { labels, ends } = &branches;
                if labels.is_empty() {
                    continue;
                }
                let base = builder.place(labels);
                builder.units[node as usize].base = base;
                for (&label, &end) in labels.iter().zip(ends) {
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

struct Builder {
    units: Vec<Unit>,
    places: Places,
}

impl Builder {
    fn new(bytes: usize) -> Self {
        // About half of the bytes of a vocabulary are nodes of their own.
        let mut units = Vec::with_capacity(bytes / 2 + BLOCK);
        units.resize(BLOCK, FREE);
        Self { units, places: Places::default() }
    }

    /// Takes places for the children of a node; the result is the node's base.
    fn place(&mut self, labels: &[u8]) -> u32 {
        let base = self.places.take(labels);
        self.units.resize(self.places.len(), FREE);
        base
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
    }
}
