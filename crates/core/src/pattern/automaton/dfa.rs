//! Makes an automaton deterministic.
//!
//! In: a nondeterministic automaton. Out: a table with the next state and an output for each state and symbol. A
//! symbol is the class of the next character with the look-arounds that hold before it, so that every condition is
//! decided when the symbol is known.
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::alphabet::{Alphabet, NO_CHARACTER, Set};
use super::nfa::{Condition, Nfa, Side, State};

/// The most entries of a table, and the most work of making one.
const MAX_ENTRIES: usize = 1 << 18;
const MAX_WORK: usize = 1 << 22;

/// The most sets that conditions may test the character consumed last for: the bits of a context.
const MAX_CONTEXT_SETS: usize = u64::BITS as usize;

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
pub(super) enum MatchKind {
    /// The match that backtracking would prefer, from a given position on.
    LeftmostFirst,
    /// Does any match end here, wherever it started?
    All,
}

/// A deterministic automaton. A state is the number of its first entry.
#[derive(Debug)]
pub(super) struct Dfa {
    entries: Vec<u32>,
    /// The class that stands for the end of the input in symbols.
    end_of_input: usize,
    /// The bits of a symbol that are the class.
    class_bits: u32,
    /// The entries of one state.
    stride: usize,
    /// The first state, for each class of the character consumed before, or [`NO_CHARACTER`].
    starts: Vec<u32>,
    has_long_failures: bool,
    reads_past_match: bool,
}

impl Dfa {
    /// Symbols have a bit for each of the first `look_count` look-arounds. `None` if the table would be too large.
    pub(super) fn new(
        nfa: &Nfa,
        alphabet: &Alphabet,
        look_count: usize,
        backwards: bool,
        kind: MatchKind,
    ) -> Option<Self> {
        let class_bits = (alphabet.len + 1).next_power_of_two().trailing_zeros();
        // The number of entries of a state is even, so that the lowest bit of its number is free.
        let stride = 1_usize << (class_bits as usize + look_count);
        let mut states = States::new(nfa, backwards, kind)?;
        let mut starts = vec![DEAD; NO_CHARACTER + 1];
        for class in (0..alphabet.len).chain([NO_CHARACTER]) {
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
            for looks in 0..1 << look_count {
                for class in 0..=alphabet.len {
                    let (next, is_match) =
                        states.step(state, if class < alphabet.len { class } else { NO_CHARACTER }, looks)?;
                    row[class | looks << class_bits] = (next * stride) as u32 | u32::from(is_match);
                }
            }
        }
        let end_of_input = alphabet.len;
        let mut dfa = Self {
            entries,
            end_of_input,
            class_bits,
            stride,
            starts,
            has_long_failures: true,
            reads_past_match: true,
        };
        let in_vain = dfa.read_before_match(true);
        let is_far = |entry: u32| in_vain[entry as usize / stride].is_none_or(|read| read > FEW);
        dfa.has_long_failures = dfa.starts.iter().any(|&state| is_far(state));
        dfa.reads_past_match = dfa.entries.iter().any(|&entry| entry & MATCH != 0 && is_far(entry));
        Some(dfa)
    }

    /// The first state after a character of this class was consumed. [`NO_CHARACTER`] stands for none.
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

    /// The class that stands for the end of the input in symbols.
    #[inline]
    pub(super) fn end_of_input(&self) -> usize {
        self.end_of_input
    }

    /// The state after a symbol, and [`MATCH`] if a match ends before its character.
    #[inline]
    pub(super) fn entry(&self, state: u32, class: usize, looks: u8) -> u32 {
        self.entries[state as usize + (class | usize::from(looks) << self.class_bits)]
    }

    /// May a search read more than a few characters before it finds a match, or finds that there is none?
    pub(super) fn has_long_failures(&self) -> bool {
        self.has_long_failures
    }

    /// May a search read more than a few characters beyond the match that it finds?
    pub(super) fn reads_past_match(&self) -> bool {
        self.reads_past_match
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
                row.filter(|(symbol, _)| symbol & ((1 << self.class_bits) - 1) <= self.end_of_input);
            used.try_fold(0, |most: usize, (_, &entry)| match entry & MATCH {
                0 => Some(most.max(read[entry as usize / self.stride]? + 1)),
                _ => Some(most),
            })
        };
        // Most edges lead from earlier states to later ones.
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
    kind: MatchKind,
    /// The side of a position on which the character lies that was consumed last.
    consumed_side: Side,
    /// The sets that conditions test the character consumed last for. The context of a state has a bit for each.
    context_sets: Vec<Set>,
    /// For each state of the nondeterministic automaton: does it reach such a condition without consuming a character?
    needs_context: Vec<bool>,
    /// The threads in order of preference, before any condition is tested, and the context.
    all: Vec<(Vec<usize>, u64)>,
    numbers: HashMap<(Vec<usize>, u64), usize, FixedState>,
    /// The threads that a step has followed, and those that it has found for the next state.
    seen: Vec<bool>,
    queued: Vec<bool>,
    work: usize,
}

impl<'a> States<'a> {
    /// `None` if conditions test for too many sets.
    fn new(nfa: &'a Nfa, backwards: bool, kind: MatchKind) -> Option<Self> {
        let consumed_side = if backwards { Side::After } else { Side::Before };
        let mut context_sets: Vec<Set> = Vec::new();
        let mut needs_context = vec![false; nfa.states.len()];
        // Several branches may lead to a condition, and states are in no order: repeat until nothing changes.
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for (at, state) in
                nfa.states.iter().enumerate().filter(|(at, _)| !needs_context[*at]).collect::<Vec<_>>()
            {
                needs_context[at] = match state {
                    State::When(Condition::Beside(side, set), _) if *side == consumed_side => {
                        context_sets.extend((!context_sets.contains(set)).then_some(*set));
                        true
                    }
                    State::When(_, next) => needs_context[*next],
                    State::Branch(branches) => branches.iter().any(|next| needs_context[*next]),
                    State::Consume(..) | State::Match => false,
                };
                is_done &= !needs_context[at];
            }
        }
        if context_sets.len() > MAX_CONTEXT_SETS {
            return None;
        }
        let (seen, queued) = (vec![false; nfa.states.len()], vec![false; nfa.states.len()]);
        let (all, numbers) = (vec![(Vec::new(), 0)], HashMap::default());
        Some(Self {
            nfa,
            kind,
            consumed_side,
            context_sets,
            needs_context,
            all,
            numbers,
            seen,
            queued,
            work: 0,
        })
    }

    /// The number of the state with these threads, after a character of this class.
    fn number(&mut self, threads: Vec<usize>, class: usize) -> usize {
        if threads.is_empty() {
            return DEAD as usize;
        }
        let context = if threads.iter().any(|thread| self.needs_context[*thread]) {
            self.context_sets.iter().rev().fold(0, |bits, set| bits << 1 | (set >> class & 1) as u64)
        } else {
            0
        };
        let next = self.all.len();
        *self.numbers.entry((threads, context)).or_insert_with_key(|key| {
            self.all.push(key.clone());
            next
        })
    }

    /// The next state, and whether the pattern matches before a character of this class where these look-arounds hold.
    /// `None` if this takes too much work.
    fn step(&mut self, state: usize, class: usize, looks: usize) -> Option<(usize, bool)> {
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
                    if self.kind == MatchKind::LeftmostFirst {
                        break;
                    }
                }
                State::Branch(branches) => stack.extend(branches.iter().rev()),
                State::When(condition, then) => {
                    if self.holds(*condition, context, class, looks) {
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
        if self.kind == MatchKind::All {
            next.push(self.nfa.start);
            next.sort_unstable();
            next.dedup();
        }
        (self.work <= MAX_WORK)
            .then(|| (if class == NO_CHARACTER { DEAD as usize } else { self.number(next, class) }, is_match))
    }

    fn holds(&self, condition: Condition, context: u64, class: usize, looks: usize) -> bool {
        match condition {
            Condition::LookAround { index, negated } => (looks >> index & 1 == 1) != negated,
            Condition::Beside(side, set) if side != self.consumed_side => set >> class & 1 == 1,
            Condition::Beside(_, set) => {
                let bit = self.context_sets.iter().position(|tested| *tested == set);
                bit.is_some_and(|bit| context >> bit & 1 == 1)
            }
        }
    }
}
