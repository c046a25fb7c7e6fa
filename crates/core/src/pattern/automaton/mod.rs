//! A deterministic automaton over classes of characters, for patterns that no scanner can run.
//!
//! In: the tree of a pattern, and then texts. Out: the matches that backtracking would find, in one pass. Look-around
//! of one character is part of the automaton. Longer look-around is decided for all positions of a text beforehand, by
//! automata that read the text once, towards the position: from its end for look-ahead.
//!
//! A pattern is refused if it is not regular, or if its tables would be large. Searches that find nothing take linear
//! time together: if each may read more than a few characters, and they have read more than the length of the text, the
//! positions where matches start are found in one pass from its end.
mod alphabet;
mod dfa;
mod nfa;
mod split_table;

use tokenmill_kernels::try_alloc;

use self::alphabet::{Alphabet, NO_CHARACTER, Set};
use self::dfa::{DEAD, Dfa, MATCH, MatchKind};
use self::nfa::{Nfa, Side, may_be_empty};
use self::split_table::{CUT, SplitTable, UNKNOWN};
use super::classes::Classes;
use super::engines::Tiler;
use super::syntax::Node;
use crate::error::Result;
use crate::span::Span;

/// The most ends that are emitted at a time. A search adds up to two.
const ENDS_BATCH: usize = 128;
const FULL: usize = ENDS_BATCH - 2;

/// The bit of a position that says: a match starts here.
const STARTS: u8 = 1 << 7;

/// A compiled pattern. Immutable and safe to share between threads.
#[derive(Debug)]
pub(super) struct Automaton {
    classes: Classes,
    dfa: Dfa,
    /// There unless a match depends on the character before it, or may be empty.
    split_table: Option<SplitTable>,
    /// One for each look-around of more than one character, each after those that it needs.
    passes: Vec<LookAroundPass>,
    /// Finds where matches start. There if a search may read more than a few characters and find nothing.
    starts: Option<LookAroundPass>,
    /// For each first byte of a character, whether a match may start with such a character.
    may_start: [bool; 256],
    /// Does any search look at the character before it?
    looks_behind: bool,
    /// Can a match be empty?
    may_be_empty: bool,
    /// The classes of characters that a match may contain.
    matched: Set,
}

/// Decides for each position of a text whether something matches on one side of it.
#[derive(Debug)]
struct LookAroundPass {
    dfa: Dfa,
    side: Side,
    /// The bit that is set where it does.
    bit: u8,
}

/// For each byte position of a text, which look-arounds hold there.
#[derive(Debug, Default)]
struct PositionBits {
    /// For each position, the bits of the passes that match there. Empty as long as no pass was run.
    bits: Vec<u8>,
    /// Was the pass that finds where matches start run?
    has_starts: bool,
    /// The bytes that searches have read without finding a match.
    wasted: usize,
}

impl Automaton {
    /// `None` if the pattern is not regular, or too large.
    ///
    /// Cost: some milliseconds.
    pub(super) fn compile(node: &Node) -> Option<Self> {
        let alphabet = Alphabet::new(node)?;
        let mut looks = Vec::new();
        let forwards = Nfa::new(node, &alphabet, false, &mut looks)?;
        let dfa = Dfa::new(&forwards, &alphabet, looks.len(), false, MatchKind::LeftmostFirst)?;
        let pass = |nfa: &Nfa, side, look_count, bit| {
            let dfa = Dfa::new(nfa, &alphabet, look_count, side == Side::After, MatchKind::All)?;
            Some(LookAroundPass { dfa, side, bit })
        };
        let starts = if dfa.has_long_failures() {
            let backwards = Nfa::new(node, &alphabet, true, &mut looks)?;
            Some(pass(&backwards, Side::After, looks.len(), STARTS)?)
        } else {
            None
        };
        let passes =
            looks.iter().enumerate().map(|(index, look)| pass(&look.nfa, look.side, index, 1 << index));
        let passes = passes.collect::<Option<_>>()?;
        let looks_behind = (0..alphabet.len).any(|class| dfa.start(class) != dfa.start(NO_CHARACTER));
        let may_be_empty = may_be_empty(node);
        let split_table = SplitTable::new(&dfa, looks_behind, may_be_empty);
        let beyond_ascii =
            (0..alphabet.len).any(|class| alphabet.beyond_ascii >> class & 1 == 1 && dfa.may_start(class));
        let may_start = std::array::from_fn(|byte| match byte {
            _ if may_be_empty => true,
            0x80.. => beyond_ascii,
            ascii => dfa.may_start(usize::from(alphabet.classes.of(ascii as u32))),
        });
        let (classes, matched) = (alphabet.classes, forwards.consumed());
        Some(Self {
            classes,
            dfa,
            split_table,
            passes,
            starts,
            may_start,
            looks_behind,
            may_be_empty,
            matched,
        })
    }

    /// Is no character of this text ever in a match, and is it never cut?
    pub(super) fn ignores(&self, text: &str) -> bool {
        let is_matched = |c| self.matched >> self.classes.of(u32::from(c)) & 1 == 1;
        // An empty match may stand between any two characters.
        !self.may_be_empty && !text.chars().any(is_matched)
    }

    /// May a search read more than a few characters beyond the match that it finds?
    pub(super) fn reads_past_match(&self) -> bool {
        self.dfa.reads_past_match()
    }

    pub(super) fn for_each_match<F>(&self, text: &str, emit: &mut F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        let mut position_bits = self.position_bits(text)?;
        let mut tiler = Tiler::new(emit);
        let mut at = 0;
        // The end of the last match; an empty one directly after it does not count.
        let mut last_end = None;
        while let Some((start, end)) = self.find(text, at, &mut position_bits)? {
            if start < end || last_end != Some(end) {
                tiler.matched(start, end)?;
                last_end = Some(end);
            }
            at = end;
            if start == end {
                let Some(next) = text[end..].chars().next() else { break };
                at += next.len_utf8();
            }
        }
        tiler.gap(text.len())
    }

    /// Calls `emit` for the ends of several pretokens at a time, in order. `None` if [`Self::for_each_match`] has to
    /// find them.
    pub(super) fn for_each_ends<F>(&self, text: &str, emit: &mut F) -> Option<Result<()>>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        let table = self.split_table.as_ref()?;
        Some(self.position_bits(text).and_then(|position_bits| {
            if position_bits.bits.is_empty() {
                self.split_by_table::<false, _>(table, text, position_bits, emit)
            } else {
                self.split_by_table::<true, _>(table, text, position_bits, emit)
            }
        }))
    }

    fn split_by_table<const HAS_LOOKS: bool, F>(
        &self,
        table: &SplitTable,
        text: &str,
        mut position_bits: PositionBits,
        emit: &mut F,
    ) -> Result<()>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        let bytes = text.as_bytes();
        let (mut ends, mut count) = ([0; ENDS_BATCH], 0);
        // The end of the last pretoken.
        let mut done = 0;
        while done < bytes.len() {
            // Where matches start is only looked up if most searches would find nothing.
            let (mut at, mut state) = (done, if position_bits.has_starts { UNKNOWN } else { table.begin });
            while state != UNKNOWN && at < bytes.len() && count < FULL {
                let (class, width) = self.classes.at(bytes, at);
                let looks = if HAS_LOOKS { position_bits.bits[at] } else { 0 };
                let entry = table.entry(state, usize::from(class), looks);
                ends[count] = at;
                count += (entry & CUT) as usize;
                state = entry & !CUT;
                at += width;
            }
            done = ends[..count].last().copied().unwrap_or(done);
            if count < FULL {
                let (start, end) =
                    self.find(text, done, &mut position_bits)?.unwrap_or((text.len(), text.len()));
                for end in [start, end] {
                    ends[count] = end;
                    count += usize::from(end > done);
                    done = end;
                }
            }
            if count >= FULL {
                emit(&ends[..count])?;
                count = 0;
            }
        }
        emit(&ends[..count])
    }

    /// Runs the passes that decide look-arounds over a text.
    fn position_bits(&self, text: &str) -> Result<PositionBits> {
        let mut position_bits = PositionBits::default();
        for pass in &self.passes {
            position_bits.add(pass, &self.classes, text)?;
        }
        Ok(position_bits)
    }

    /// The first match that starts at `at` or later.
    fn find(
        &self,
        text: &str,
        mut at: usize,
        position_bits: &mut PositionBits,
    ) -> Result<Option<(usize, usize)>> {
        while at < text.len() || (at == text.len() && self.may_be_empty) {
            if position_bits.has_starts {
                match position_bits.bits[at..].iter().position(|bits| bits & STARTS != 0) {
                    Some(distance) => at += distance,
                    None => break,
                }
            }
            let is_skipped = |byte: &u8| !self.may_start[usize::from(*byte)];
            let skipped = text.as_bytes()[at..].iter().take_while(|byte| is_skipped(byte)).count();
            if skipped > 0 {
                at += skipped;
                continue;
            }
            let found = if self.passes.is_empty() {
                self.search::<false>(text, at, &[])
            } else {
                self.search::<true>(text, at, &position_bits.bits)
            };
            let read_to = match found {
                Found::Match(end) => return Ok(Some((at, end))),
                Found::Nothing { read_to } => read_to,
            };
            position_bits.wasted += read_to - at;
            if let Some(starts) = &self.starts
                && position_bits.wasted > text.len()
                && !position_bits.has_starts
            {
                position_bits.add(starts, &self.classes, text)?;
                position_bits.has_starts = true;
            }
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        Ok(None)
    }

    /// The match that starts at `at`.
    #[inline]
    fn search<const HAS_LOOKS: bool>(&self, text: &str, at: usize, position_bits: &[u8]) -> Found {
        let bytes = text.as_bytes();
        let before = if self.looks_behind { self.class_before(text, at) } else { NO_CHARACTER };
        let mut state = self.dfa.start(before);
        let (mut position, mut end) = (at, None);
        loop {
            let (class, width) = if position < bytes.len() {
                self.classes.at(bytes, position)
            } else {
                (self.dfa.end_of_input() as u8, 0)
            };
            let looks = if HAS_LOOKS { position_bits[position] & !STARTS } else { 0 };
            let entry = self.dfa.entry(state, usize::from(class), looks);
            if entry & MATCH != 0 {
                end = Some(position);
            }
            state = entry & !MATCH;
            if state == DEAD {
                break;
            }
            position += width;
        }
        match end {
            Some(end) => Found::Match(end),
            None => Found::Nothing { read_to: position },
        }
    }

    fn class_before(&self, text: &str, at: usize) -> usize {
        let before = text[..at].chars().next_back();
        before.map_or(NO_CHARACTER, |c| usize::from(self.classes.of(u32::from(c))))
    }
}

/// What a search found.
enum Found {
    /// A match that ends here.
    Match(usize),
    /// Nothing, which was clear when all before this position had been read.
    Nothing { read_to: usize },
}

impl PositionBits {
    /// Sets the bit of a pass wherever it matches.
    fn add(&mut self, pass: &LookAroundPass, classes: &Classes, text: &str) -> Result<()> {
        if self.bits.is_empty() {
            self.bits = try_alloc::filled(0, text.len() + 1)?;
        }
        let bytes = text.as_bytes();
        let mut state = pass.dfa.start(NO_CHARACTER);
        let mut step = |at: usize, class: usize| {
            let bits = &mut self.bits[at];
            let entry = pass.dfa.entry(state, class, *bits & !STARTS & (pass.bit - 1));
            *bits |= if entry & MATCH != 0 { pass.bit } else { 0 };
            state = entry & !MATCH;
        };
        match pass.side {
            Side::Before => {
                let mut at = 0;
                while at < bytes.len() {
                    let (class, width) = classes.at(bytes, at);
                    step(at, usize::from(class));
                    at += width;
                }
                step(at, pass.dfa.end_of_input());
            }
            Side::After => {
                let mut at = bytes.len();
                while at > 0 {
                    let mut start = at - 1;
                    while !text.is_char_boundary(start) {
                        start -= 1;
                    }
                    step(at, usize::from(classes.at(bytes, start).0));
                    at = start;
                }
                step(at, pass.dfa.end_of_input());
            }
        }
        Ok(())
    }
}
