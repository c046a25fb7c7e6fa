//! The tokens that end or begin at a place of a text, and whether two of them may be neighbours.
//!
//! In: the bytes of a pretoken, or two tokens. Out: the tokens that are in it; whether two tokens stay apart. Only
//! tokens that their own bytes merge to are ever given.
//!
//! Two tokens *stay apart* if merging the bytes of both alone leaves these two. A row of tokens is what merging
//! leaves exactly if every two neighbours stay apart (`docs/merging.md`), so the encodings of all prefixes of a text
//! can be told by pairs of tokens alone (`crate::budget`).
use tokenmill_kernels::{Automaton, MergeTable, NO_KEY, NO_MERGE, State};

use super::table::{BYTES, NOT_BUILT, SymbolTable};
use crate::ids::{TokenId, to_u32};
use crate::model::bpe::token_cuts::TokenCuts;
use crate::vocabulary::Vocabulary;

/// The tables of a [`Matcher`], made when they are first needed.
#[derive(Debug)]
pub(super) struct MatcherTables {
    /// All symbols that are built, by their bytes.
    automaton: Automaton,
    /// By product: the two symbols that it is merged from.
    parts: Vec<(u32, u32)>,
    /// By symbol: the longest other symbol that it begins with; [`NO_KEY`] for bytes.
    shorter: Vec<u32>,
}

impl MatcherTables {
    /// Cost: nearly linear in the bytes of all tokens.
    pub(super) fn new(table: &SymbolTable, vocabulary: &Vocabulary) -> Self {
        let tokens = vocabulary.tokens();
        let bytes = |symbol: u32| {
            let index = tokens.index_of(table.ids[symbol as usize]);
            index.map_or(&[][..], |index| tokens.bytes(index))
        };
        let built: Vec<u32> =
            (0..to_u32(table.ids.len())).filter(|&symbol| table.length(symbol) > 0).collect();
        let automaton = Automaton::new(built.iter().map(|&symbol| (symbol, bytes(symbol))));
        let mut parts = vec![NOT_BUILT; table.ids.len() - BYTES as usize];
        for (pair, product) in table.merges.entries() {
            parts[(product - BYTES) as usize] = pair;
        }
        let mut shorter = vec![NO_KEY; table.ids.len()];
        for &symbol in &built {
            let (mut state, mut last) = (State::START, NO_KEY);
            let whole = bytes(symbol);
            for (depth, &byte) in (1..whole.len()).zip(whole) {
                let Some(child) = automaton.child(state, byte) else { break };
                state = child;
                last = symbol_of(&automaton, table, state, depth).unwrap_or(last);
            }
            shorter[symbol as usize] = last;
        }
        Self { automaton, parts, shorter }
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.automaton.memory() + 8 * self.parts.capacity() + 4 * self.shorter.capacity()
    }
}

/// The symbol that is all of the bytes that led to a node at this depth.
#[inline]
fn symbol_of(automaton: &Automaton, table: &SymbolTable, state: State, depth: usize) -> Option<u32> {
    let longest = automaton.longest(state);
    (longest != NO_KEY && table.length(longest) == depth).then_some(longest)
}

/// Finds the tokens in a text. Tokens are symbols of the canonical merges here, of which bytes come first.
#[derive(Debug, Clone, Copy)]
pub struct Matcher<'a> {
    pub(super) table: &'a SymbolTable,
    pub(super) cuts: &'a TokenCuts,
    pub(super) tables: &'a MatcherTables,
}

impl Matcher<'_> {
    /// The id of a symbol.
    #[inline]
    pub fn id(&self, symbol: u32) -> TokenId {
        self.table.ids[symbol as usize]
    }

    /// All symbols that their own bytes merge to.
    pub fn symbols(&self) -> impl Iterator<Item = u32> {
        (0..to_u32(self.table.ids.len())).filter(|&symbol| self.length(symbol) > 0)
    }

    /// The length of a symbol in bytes; 0 for one that is never built.
    #[inline]
    pub fn length(&self, symbol: u32) -> usize {
        self.table.length(symbol)
    }

    /// The length of the longest symbol in bytes.
    pub fn longest_length(&self) -> usize {
        self.tables.automaton.longest_key()
    }

    /// The longest symbol that a text begins with. `None` only for an empty text.
    #[inline]
    pub fn longest_at_start(&self, text: &[u8]) -> Option<u32> {
        let automaton = &self.tables.automaton;
        let (mut state, mut last) = (State::START, None);
        for (depth, &byte) in (1..).zip(text) {
            let Some(child) = automaton.child(state, byte) else { break };
            state = child;
            last = symbol_of(automaton, self.table, state, depth).or(last);
        }
        last
    }

    /// The longest other symbol that a symbol begins with.
    #[inline]
    pub fn shorter_at_start(&self, symbol: u32) -> Option<u32> {
        Some(self.tables.shorter[symbol as usize]).filter(|&shorter| shorter != NO_KEY)
    }

    /// Reads the next byte of a text.
    #[inline]
    pub fn step(&self, state: State, byte: u8) -> State {
        self.tables.automaton.step(state, byte)
    }

    /// The symbols that end where the text was read up to, the longest first.
    #[inline]
    pub fn endings(&self, state: State) -> impl Iterator<Item = u32> {
        let known = |symbol: u32| (symbol != NO_KEY).then_some(symbol);
        let automaton = &self.tables.automaton;
        std::iter::successors(known(automaton.longest(state)), move |&symbol| {
            known(automaton.shorter(symbol))
        })
    }

    /// Does any symbol that ends with `before` stay apart from any that begins with `after`? `false` also if that
    /// depends on the symbols.
    #[inline]
    pub fn bytes_stay_apart(&self, before: u8, after: u8) -> bool {
        self.cuts.between_ascii(before, after)
    }

    /// Do two symbols stay apart, so that the one may follow the other in what merging leaves?
    #[inline]
    pub fn stays_apart(&self, left: u32, right: u32) -> bool {
        stays_apart(&self.table.merges, &self.tables.parts, left, right)
    }
}

/// Replays the merges at the border between two symbols, backwards.
///
/// Alone, the bytes of both merge as they do in each symbol alone, until something merges across the border. On the
/// left of it stand, one after the other, the symbols on the right edge of `left`, from a byte up to `left` itself;
/// on the right those on the left edge of `right`. Merges come in the order of their products, those with equal
/// products from left to right. So two of these symbols merge with one another if their product comes before what
/// each of them becomes next. On the left an equal product comes before it, on the right after it.
#[inline]
fn stays_apart(merges: &MergeTable, parts: &[(u32, u32)], left: u32, right: u32) -> bool {
    let (mut left, mut right) = (left, right);
    // What the symbol on the left becomes next, and what the one on the right does.
    let (mut left_next, mut right_next) = (NO_MERGE, NO_MERGE);
    loop {
        let product = merges.get(left, right);
        if product < left_next && product <= right_next {
            return false;
        }
        // Back to before the later of the two was made.
        if right >= left && right >= BYTES {
            right_next = right;
            right = parts[(right - BYTES) as usize].0;
        } else if left >= BYTES {
            left_next = left;
            left = parts[(left - BYTES) as usize].1;
        } else {
            return true;
        }
    }
}
