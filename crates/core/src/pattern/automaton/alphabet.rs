//! The classes of characters that an automaton tells apart.
//!
//! In: the classes that a pattern names. Out: a number for each character, the same for characters that are in the
//! same classes, and each class as a set of numbers.
use std::collections::HashMap;

use foldhash::fast::FixedState;
use regex_syntax::hir::ClassUnicode;

use crate::pattern::classes::Classes;
use crate::pattern::syntax::Node;

/// A set of numbers: bit `n` is number `n`.
pub(super) type Set = u128;

/// The number that stands in sets for the start and the end of a text, where there is no character. In symbols the end
/// of the input is [`Alphabet::len`].
pub(super) const NO_CHARACTER: usize = Set::BITS as usize - 1;

/// The most classes that a pattern may name.
const MAX_NAMED: usize = 64;

#[derive(Debug)]
pub(super) struct Alphabet {
    pub(super) classes: Classes,
    /// How many numbers there are, without [`NO_CHARACTER`].
    pub(super) len: usize,
    /// The numbers of characters beyond ASCII.
    pub(super) beyond_ascii: Set,
    named: Vec<(ClassUnicode, Set)>,
}

impl Alphabet {
    /// `None` if there are too many classes.
    ///
    /// Cost: about a millisecond.
    pub(super) fn new(node: &Node) -> Option<Self> {
        let mut named = Vec::new();
        collect(node, &mut named)?;
        // Wherever a range begins or ends, the classes that hold a character may change.
        let mut borders: Vec<(u32, u64)> = Vec::new();
        for (i, class) in named.iter().enumerate() {
            for range in class.ranges() {
                borders.push((u32::from(range.start()), 1 << i));
                borders.push((u32::from(range.end()) + 1, 1 << i));
            }
        }
        borders.sort_unstable();
        let mut numbers: HashMap<u64, u8, FixedState> = HashMap::default();
        let mut flat = vec![0; 0x11_0000];
        let (mut from, mut held, mut beyond_ascii) = (0, 0_u64, 0);
        for (at, class) in borders.into_iter().chain([(0x11_0000, 0)]) {
            if from < at {
                let next = numbers.len();
                let number = *numbers.entry(held).or_insert(next as u8);
                if numbers.len() > NO_CHARACTER {
                    return None;
                }
                flat[from as usize..at as usize].fill(number);
                beyond_ascii |= Set::from(at > 0x80) << number;
                from = at;
            }
            held ^= class;
        }
        let sets = (0..named.len()).map(|i| {
            let holding = numbers.iter().filter(|(held, _)| *held >> i & 1 == 1);
            holding.fold(0, |set, (_, &number)| set | 1 << number)
        });
        let sets: Vec<Set> = sets.collect();
        Some(Self {
            classes: Classes::of_flat(&flat),
            len: numbers.len(),
            beyond_ascii,
            named: named.into_iter().zip(sets).collect(),
        })
    }

    /// The numbers of the characters of a class that the pattern names.
    pub(super) fn set(&self, class: &ClassUnicode) -> Option<Set> {
        self.named.iter().find(|(named, _)| named == class).map(|(_, set)| *set)
    }
}

/// Collects the different classes that a pattern names. `None` if there are more than [`MAX_NAMED`].
fn collect(node: &Node, named: &mut Vec<ClassUnicode>) -> Option<()> {
    match node {
        Node::Set(class) | Node::WordBoundary { word: class, .. } => {
            if !named.contains(class) {
                named.push(class.clone());
            }
            (named.len() <= MAX_NAMED).then_some(())
        }
        Node::Concat(nodes) | Node::Alt(nodes) => nodes.iter().try_for_each(|node| collect(node, named)),
        Node::Repeat { node, .. }
        | Node::LazyRepeat { node, .. }
        | Node::Atomic(node)
        | Node::LookAhead(node)
        | Node::NegativeLookAhead(node)
        | Node::LookBehind(node)
        | Node::NegativeLookBehind(node) => collect(node, named),
        Node::Start | Node::End => Some(()),
    }
}
