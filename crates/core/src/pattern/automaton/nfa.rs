//! The nondeterministic automaton of a pattern.
//!
//! In: a tree. Out: states that consume characters, branch in order of preference, or test a condition on the
//! characters on both sides of a position. A pattern can be read forwards or backwards. What is not regular, such as
//! an atomic group that could give something back, is refused.
use super::alphabet::{Alphabet, NO_CHARACTER, Set};
use crate::pattern::syntax::Node;

/// The most states and branches of an automaton. It bounds the work of large repetition counts.
const MAX_SIZE: usize = 1 << 13;

/// The most look-arounds that take more than one character.
const MAX_LOOKS: usize = 5;

/// The side of a position on which a condition looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// What holds at a position, without any character being consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// The class of the next character on this side is in this set. [`NO_CHARACTER`] stands for the start and the end
    /// of the text.
    Beside(Side, Set),
    /// The look-around with this index matches at the position, or does not, if `negated`.
    LookAround { index: usize, negated: bool },
}

#[derive(Debug, Clone)]
pub(super) enum State {
    /// Consumes one character of this set.
    Consume(Set, usize),
    /// Goes on at each of these states; the first is preferred.
    Branch(Vec<usize>),
    /// Goes on if the condition holds.
    When(Condition, usize),
    Match,
}

/// A look-around that takes more than one character to decide.
#[derive(Debug)]
pub(super) struct LookAround {
    /// What must match on this side of a position.
    node: Node,
    pub(super) side: Side,
    pub(super) nfa: Nfa,
}

#[derive(Debug)]
pub(super) struct Nfa {
    pub(super) states: Vec<State>,
    pub(super) start: usize,
}

impl Nfa {
    /// The automaton that reads `node` forwards, or backwards. `None` if the pattern is not regular or has too many
    /// states.
    ///
    /// Look-arounds that need more than one character are appended to `looks`, inner ones first. Their indices are
    /// those of [`Condition::LookAround`].
    pub(super) fn new(
        node: &Node,
        alphabet: &Alphabet,
        backwards: bool,
        looks: &mut Vec<LookAround>,
    ) -> Option<Self> {
        let mut builder = Builder { alphabet, backwards, looks, states: vec![State::Match], size: 1 };
        let start = builder.node(node, 0, true)?;
        Some(Self { states: builder.states, start })
    }

    /// The characters that a match may contain.
    pub(super) fn consumed(&self) -> Set {
        self.states.iter().fold(0, |consumed, state| match state {
            State::Consume(set, _) => consumed | set,
            _ => consumed,
        })
    }
}

struct Builder<'a> {
    alphabet: &'a Alphabet,
    backwards: bool,
    looks: &'a mut Vec<LookAround>,
    states: Vec<State>,
    /// The number of states and branches.
    size: usize,
}

impl Builder<'_> {
    fn push(&mut self, state: State) -> Option<usize> {
        self.size += 1 + if let State::Branch(branches) = &state { branches.len() } else { 0 };
        self.states.push(state);
        (self.size <= MAX_SIZE).then(|| self.states.len() - 1)
    }

    /// The state that reads `node` and goes on at `next`. `is_last` says that nothing of the pattern follows that could
    /// fail.
    fn node(&mut self, node: &Node, next: usize, is_last: bool) -> Option<usize> {
        match node {
            Node::Set(class) => self.push(State::Consume(self.alphabet.set(class)?, next)),
            Node::Concat(nodes) => self.concat(nodes.iter().collect(), next, is_last),
            Node::Alt(nodes) => {
                let branches = nodes.iter().map(|node| self.node(node, next, is_last));
                let mut branches = branches.collect::<Option<Vec<_>>>()?;
                // Several empty branches lead to the same state.
                branches.dedup();
                self.push(State::Branch(branches))
            }
            Node::Repeat { node, min, max } => self.repeat(node, (*min, *max), true, next),
            Node::LazyRepeat { node, min, max } => self.repeat(node, (*min, *max), false, next),
            // What follows cannot fail, so that nothing would be given back.
            Node::Atomic(node) if is_last => self.node(node, next, true),
            Node::Atomic(node) => self.possessive(alone(node), next),
            Node::LookAhead(node) => self.look_around(node, Side::After, false, next),
            Node::NegativeLookAhead(node) => self.look_around(node, Side::After, true, next),
            Node::LookBehind(node) => self.look_around(node, Side::Before, false, next),
            Node::NegativeLookBehind(node) => self.look_around(node, Side::Before, true, next),
            Node::Start => self.push(State::When(Condition::Beside(Side::Before, 1 << NO_CHARACTER), next)),
            Node::End => self.push(State::When(Condition::Beside(Side::After, 1 << NO_CHARACTER), next)),
            Node::WordBoundary { word, negated } => {
                let word = self.alphabet.set(word)?;
                let after = |set| State::When(Condition::Beside(Side::After, set), next);
                let (inside, outside) = (self.push(after(word))?, self.push(after(!word))?);
                let before = |set, then| State::When(Condition::Beside(Side::Before, set), then);
                let (to_outside, to_inside) = if *negated { (inside, outside) } else { (outside, inside) };
                let from_word = self.push(before(word, to_outside))?;
                let from_other = self.push(before(!word, to_inside))?;
                self.push(State::Branch(vec![from_word, from_other]))
            }
        }
    }

    fn concat(&mut self, mut nodes: Vec<&Node>, next: usize, is_last: bool) -> Option<usize> {
        // States are made from the end of what is read to its beginning.
        if !self.backwards {
            nodes.reverse();
        }
        // The index of the node that stands last in the pattern.
        let last = if self.backwards { nodes.len().wrapping_sub(1) } else { 0 };
        let mut at = next;
        for (i, node) in nodes.into_iter().enumerate() {
            at = self.node(node, at, is_last && i == last)?;
        }
        Some(at)
    }

    fn repeat(
        &mut self,
        node: &Node,
        (min, max): (u32, Option<u32>),
        greedy: bool,
        next: usize,
    ) -> Option<usize> {
        // fancy-regex refuses to repeat an assertion alone. Engines differ in what they do with an endless repetition of
        // nothing.
        if !consumes(node) || (max.is_none() && may_be_empty(node)) {
            return None;
        }
        self.times((min, max), greedy, next, &mut |builder, next| builder.node(node, next, false))
    }

    /// Repeats what `one` builds at least `min` and at most `max` times; the last repetition goes on at `next`. `one`
    /// gets the state at which a repetition goes on. Both return the first state of what they build.
    fn times(
        &mut self,
        (min, max): (u32, Option<u32>),
        greedy: bool,
        next: usize,
        one: &mut dyn FnMut(&mut Self, usize) -> Option<usize>,
    ) -> Option<usize> {
        let ordered = |again| State::Branch(if greedy { vec![again, next] } else { vec![next, again] });
        let mut at = next;
        match max {
            None => {
                at = self.push(State::Branch(Vec::new()))?;
                let again = one(self, at)?;
                self.states[at] = ordered(again);
            }
            Some(max) => {
                for _ in min..max {
                    let again = one(self, at)?;
                    at = self.push(ordered(again))?;
                }
            }
        }
        for _ in 0..min {
            at = one(self, at)?;
        }
        Some(at)
    }

    /// A repetition of one character that gives nothing back: it ends where the next character is another one, or at
    /// its limit.
    fn possessive(&mut self, node: &Node, next: usize) -> Option<usize> {
        let (repeated, min, max) = match node {
            Node::Atomic(node) => return self.possessive(alone(node), next),
            Node::Repeat { node, min, max } => (&**node, *min, *max),
            // A single character has nothing to give back.
            node => (node, 1, Some(1)),
        };
        let set = self.one_character(repeated)?;
        let mut one = |builder: &mut Self, next| builder.push(State::Consume(set, next));
        let ended = |next| State::When(Condition::Beside(Side::After, !set), next);
        let fewer = match max {
            None => None,
            Some(max) if min < max => Some(max - 1),
            Some(max) => return self.times((max, Some(max)), true, next, &mut one),
        };
        let until_ended = if self.backwards {
            let run = self.times((min, fewer), true, next, &mut one)?;
            self.push(ended(run))?
        } else {
            let end = self.push(ended(next))?;
            self.times((min, fewer), true, end, &mut one)?
        };
        let Some(max) = max else { return Some(until_ended) };
        let all = self.times((max, Some(max)), true, next, &mut one)?;
        self.push(State::Branch(vec![all, until_ended]))
    }

    fn look_around(&mut self, node: &Node, side: Side, negated: bool, next: usize) -> Option<usize> {
        let condition = match self.beside(node, side) {
            Some(set) => Condition::Beside(side, if negated { !set } else { set }),
            // fancy-regex refuses some of the others, and gets some of them wrong.
            None if side == Side::Before && !has_fixed_length(node) => return None,
            None => Condition::LookAround { index: self.look_index(node, side)?, negated },
        };
        self.push(State::When(condition, next))
    }

    /// The index of a look-around.
    fn look_index(&mut self, node: &Node, side: Side) -> Option<usize> {
        let known = self.looks.iter().position(|look| look.side == side && look.node == *node);
        known.or_else(|| {
            // What stands after a position is read towards it, from the end of the text.
            let nfa = Nfa::new(node, self.alphabet, side == Side::After, self.looks)?;
            self.looks.push(LookAround { node: node.clone(), side, nfa });
            (self.looks.len() <= MAX_LOOKS).then(|| self.looks.len() - 1)
        })
    }

    /// The characters that decide a look-around, if a single one does.
    fn beside(&self, node: &Node, side: Side) -> Option<Set> {
        match node {
            Node::Set(class) => self.alphabet.set(class),
            Node::Start if side == Side::Before => Some(1 << NO_CHARACTER),
            Node::End if side == Side::After => Some(1 << NO_CHARACTER),
            Node::Alt(nodes) => nodes.iter().try_fold(0, |set, node| Some(set | self.beside(node, side)?)),
            Node::Concat(nodes) if nodes.len() == 1 => self.beside(&nodes[0], side),
            _ => None,
        }
    }

    /// The characters of which `node` matches exactly one.
    fn one_character(&self, node: &Node) -> Option<Set> {
        match node {
            Node::Set(class) => self.alphabet.set(class),
            Node::Concat(nodes) if nodes.len() == 1 => self.one_character(&nodes[0]),
            Node::Alt(nodes) => nodes.iter().try_fold(0, |set, node| Some(set | self.one_character(node)?)),
            _ => None,
        }
    }
}

/// The only member of a group, without the group.
fn alone(node: &Node) -> &Node {
    match node {
        Node::Concat(nodes) if nodes.len() == 1 => alone(&nodes[0]),
        node => node,
    }
}

/// Does it match a fixed number of characters, without alternatives and assertions?
fn has_fixed_length(node: &Node) -> bool {
    match node {
        Node::Set(_) => true,
        Node::Concat(nodes) => nodes.iter().all(has_fixed_length),
        Node::Repeat { node, min, max } => *max == Some(*min) && has_fixed_length(node),
        _ => false,
    }
}

/// Can a match contain any character?
fn consumes(node: &Node) -> bool {
    match node {
        Node::Set(_) => true,
        Node::Concat(nodes) | Node::Alt(nodes) => nodes.iter().any(consumes),
        Node::Repeat { node, .. } | Node::LazyRepeat { node, .. } | Node::Atomic(node) => consumes(node),
        _ => false,
    }
}

/// Can a match be empty?
pub(super) fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Set(_) => false,
        Node::Concat(nodes) => nodes.iter().all(may_be_empty),
        Node::Alt(nodes) => nodes.iter().any(may_be_empty),
        Node::Repeat { node, min, .. } | Node::LazyRepeat { node, min, .. } => {
            *min == 0 || may_be_empty(node)
        }
        Node::Atomic(node) => may_be_empty(node),
        _ => true,
    }
}
