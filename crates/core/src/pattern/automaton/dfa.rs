//! Makes an automaton deterministic.
//!
//! In: a nondeterministic automaton. Out: a table with the next state and an output for each state and symbol. A
//! symbol is the class of the next character with the look-arounds that hold before it, so that every condition is
//! decided when the symbol is known.
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::alphabet::{Alphabet, EDGE, Set};
use super::nfa::{Condition, Nfa, Side, State};

/// The most entries of a table, and the most work of making one.
const MAX_ENTRIES: usize = 1 << 18;
const MAX_WORK: usize = 1 << 22;

/// The most sets that conditions may ask of the character consumed last: the bits of a context.
const MAX_ASKED: usize = u64::BITS as usize;

/// The most passes over a table to see how far states read.
const MAX_PASSES: usize = 16;

/// What a search may read in vain, in characters. If it may read more, it counts as unbounded.
const FEW: usize = 16;

/// The bit of an entry that says: a match ends before the character of this symbol.
pub(super) const MATCH: u32 = 1;

/// The state from which nothing can match.
pub(super) const DEAD: u32 = 0;

/// How states are made deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The match that backtracking would prefer, from a given position on.
    Preferred,
    /// Does any match end here, wherever it started?
    Any,
}

/// A deterministic automaton. A state is the number of its first entry.
#[derive(Debug)]
pub(super) struct Dfa {
    entries: Vec<u32>,
    /// The class that stands for the edge of a text in symbols.
    edge_symbol: usize,
    /// The bits of a symbol that are the class.
    class_bits: u32,
    /// The entries of one state.
    stride: usize,
    /// The first state, for each class of the character consumed before, or [`EDGE`].
    starts: Vec<u32>,
    may_read_on: bool,
    reads_far: bool,
}

impl Dfa {
    /// Symbols have a bit for each of the first `label_count` look-arounds. `None` if the table would be too large.
    pub(super) fn new(
        nfa: &Nfa,
        alphabet: &Alphabet,
        label_count: usize,
        backwards: bool,
        kind: Kind,
    ) -> Option<Self> {
        let class_bits = (alphabet.len + 1).next_power_of_two().trailing_zeros();
        // The number of entries of a state is even, so that the lowest bit of its number is free.
        let stride = 1_usize << (class_bits as usize + label_count);
        let mut states = States::new(nfa, backwards, kind)?;
        let mut starts = vec![DEAD; EDGE + 1];
        for class in (0..alphabet.len).chain([EDGE]) {
            starts[class] = (states.number(vec![nfa.start], class) * stride) as u32;
        }
        let mut entries = vec![DEAD; stride];
        for state in 1.. {
            if state == states.all.len() {
                break;
            }
            if (state + 1) * stride > MAX_ENTRIES {
                return None;
            }
            entries.resize((state + 1) * stride, DEAD);
            let row = &mut entries[state * stride..];
            for labels in 0..1 << label_count {
                for class in 0..=alphabet.len {
                    let (next, is_match) =
                        states.step(state, if class < alphabet.len { class } else { EDGE }, labels)?;
                    row[class | labels << class_bits] = (next * stride) as u32 | u32::from(is_match);
                }
            }
        }
        let edge_symbol = alphabet.len;
        let mut dfa =
            Self { entries, edge_symbol, class_bits, stride, starts, may_read_on: true, reads_far: true };
        let in_vain = dfa.read_before_match(true);
        let is_far = |entry: u32| in_vain[entry as usize / stride].is_none_or(|read| read > FEW);
        dfa.may_read_on = dfa.starts.iter().any(|&state| is_far(state));
        dfa.reads_far = dfa.entries.iter().any(|&entry| entry & MATCH != 0 && is_far(entry));
        Some(dfa)
    }

    /// The first state after a character of this class was consumed. [`EDGE`] stands for none.
    #[inline]
    pub(super) fn start(&self, class: usize) -> u32 {
        self.starts[class]
    }

    /// May a match start with a character of this class?
    pub(super) fn may_start(&self, class: usize) -> bool {
        let symbols = (class..self.stride).step_by(1 << self.class_bits);
        let mut starts = self.starts.iter().filter(|&&start| start != DEAD);
        starts.any(|&start| symbols.clone().any(|symbol| self.entries[start as usize + symbol] != DEAD))
    }

    /// The class that stands for the edge of a text in symbols.
    #[inline]
    pub(super) fn edge_symbol(&self) -> usize {
        self.edge_symbol
    }

    /// The state after a symbol, and [`MATCH`] if a match ends before its character.
    #[inline]
    pub(super) fn entry(&self, state: u32, class: usize, labels: u8) -> u32 {
        self.entries[state as usize + (class | usize::from(labels) << self.class_bits)]
    }

    /// May a search read more than a few characters before it finds a match, or finds that there is none?
    pub(super) fn may_read_on(&self) -> bool {
        self.may_read_on
    }

    /// May a search read more than a few characters beyond the match that it finds?
    pub(super) fn reads_far(&self) -> bool {
        self.reads_far
    }

    /// The entries of all states, [`Self::stride`] for each.
    pub(super) fn rows(&self) -> &[u32] {
        &self.entries
    }

    /// The bits of a symbol that are the class.
    pub(super) fn class_bits(&self) -> u32 {
        self.class_bits
    }

    /// The entries of one state.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// For each state, the most characters that are read from it before a match. With `or_ends`, also before the search
    /// ends without one; else `None` if it may end so. `None` if there is no bound, or if it takes many passes to know.
    pub(super) fn read_before_match(&self, or_ends: bool) -> Vec<Option<usize>> {
        let mut read = vec![None; self.entries.len() / self.stride];
        read[DEAD as usize] = or_ends.then_some(0);
        let of_state = |read: &[Option<usize>], state: usize| {
            let row = self.entries[state * self.stride..][..self.stride].iter().enumerate();
            let mut used =
                row.filter(|(symbol, _)| symbol & ((1 << self.class_bits) - 1) <= self.edge_symbol);
            used.try_fold(0, |most: usize, (_, &entry)| match entry & MATCH {
                0 => Some(most.max(read[entry as usize / self.stride]? + 1)),
                _ => Some(most),
            })
        };
        // Later states mostly lie behind earlier ones.
        for _ in 0..MAX_PASSES {
            let mut has_changed = false;
            for state in (1..read.len()).rev().filter(|&state| read[state].is_none()).collect::<Vec<_>>() {
                read[state] = of_state(&read, state);
                has_changed |= read[state].is_some();
            }
            if !has_changed {
                break;
            }
        }
        read
    }
}

/// The states that were found, each with the threads of the nondeterministic automaton that are alive in it.
struct States<'a> {
    nfa: &'a Nfa,
    kind: Kind,
    /// The side of the character that was consumed last.
    behind: Side,
    /// The sets that conditions ask of the character consumed last. The context of a state has a bit for each.
    asked: Vec<Set>,
    /// Does a state reach such a condition before it consumes a character?
    asks: Vec<bool>,
    /// The threads in order of preference, before any condition is tested, and the context.
    all: Vec<(Vec<usize>, u64)>,
    numbers: HashMap<(Vec<usize>, u64), usize, FixedState>,
    /// The threads that a step has followed, and those that it has found for the next state.
    seen: Vec<bool>,
    queued: Vec<bool>,
    work: usize,
}

impl<'a> States<'a> {
    /// `None` if there are too many sets to ask for.
    fn new(nfa: &'a Nfa, backwards: bool, kind: Kind) -> Option<Self> {
        let behind = if backwards { Side::After } else { Side::Before };
        let mut asked: Vec<Set> = Vec::new();
        let mut asks = vec![false; nfa.states.len()];
        // A condition may stand behind several branches, and states are in no order: repeat until nothing changes.
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for (at, state) in nfa.states.iter().enumerate().filter(|(at, _)| !asks[*at]).collect::<Vec<_>>()
            {
                asks[at] = match state {
                    State::When(Condition::Beside(side, set), _) if *side == behind => {
                        asked.extend((!asked.contains(set)).then_some(*set));
                        true
                    }
                    State::When(_, next) => asks[*next],
                    State::Branch(branches) => branches.iter().any(|next| asks[*next]),
                    State::Consume(..) | State::Match => false,
                };
                is_done &= !asks[at];
            }
        }
        if asked.len() > MAX_ASKED {
            return None;
        }
        let (seen, queued) = (vec![false; nfa.states.len()], vec![false; nfa.states.len()]);
        let (all, numbers) = (vec![(Vec::new(), 0)], HashMap::default());
        Some(Self { nfa, kind, behind, asked, asks, all, numbers, seen, queued, work: 0 })
    }

    /// The number of the state with these threads, after a character of this class.
    fn number(&mut self, threads: Vec<usize>, class: usize) -> usize {
        if threads.is_empty() {
            return DEAD as usize;
        }
        let context = if threads.iter().any(|thread| self.asks[*thread]) {
            self.asked.iter().rev().fold(0, |bits, set| bits << 1 | (set >> class & 1) as u64)
        } else {
            0
        };
        let next = self.all.len();
        *self.numbers.entry((threads, context)).or_insert_with_key(|key| {
            self.all.push(key.clone());
            next
        })
    }

    /// The next state, and whether the pattern matches before a character of this class. `None` if this takes too
    /// much work.
    fn step(&mut self, state: usize, class: usize, labels: usize) -> Option<(usize, bool)> {
        let (threads, context) = self.all[state].clone();
        self.seen.fill(false);
        self.queued.fill(false);
        self.work += threads.len();
        let (mut next, mut is_match) = (Vec::new(), false);
        let mut stack: Vec<usize> = threads.into_iter().rev().collect();
        while let Some(at) = stack.pop() {
            self.work += 1;
            if std::mem::replace(&mut self.seen[at], true) {
                continue;
            }
            match &self.nfa.states[at] {
                State::Match => {
                    is_match = true;
                    // All threads that are left are less preferred.
                    if self.kind == Kind::Preferred {
                        break;
                    }
                }
                State::Branch(branches) => stack.extend(branches.iter().rev()),
                State::When(condition, then) => {
                    if self.holds(*condition, context, class, labels) {
                        stack.push(*then);
                    }
                }
                State::Consume(set, then) => {
                    if set >> class & 1 == 1 && !std::mem::replace(&mut self.queued[*then], true) {
                        next.push(*then);
                    }
                }
            }
        }
        if self.kind == Kind::Any {
            next.push(self.nfa.start);
            next.sort_unstable();
            next.dedup();
        }
        (self.work <= MAX_WORK)
            .then(|| (if class == EDGE { DEAD as usize } else { self.number(next, class) }, is_match))
    }

    fn holds(&self, condition: Condition, context: u64, class: usize, labels: usize) -> bool {
        match condition {
            Condition::Label(label, holds) => (labels >> label & 1 == 1) == holds,
            Condition::Beside(side, set) if side != self.behind => set >> class & 1 == 1,
            Condition::Beside(_, set) => {
                let bit = self.asked.iter().position(|asked| *asked == set);
                bit.is_some_and(|bit| context >> bit & 1 == 1)
            }
        }
    }
}
