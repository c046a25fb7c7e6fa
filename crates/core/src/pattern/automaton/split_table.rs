//! A DFA whose accepting edges restart at the start state, so that a split needs no search for each match.
//!
//! In: the table of a DFA. Out: a table with two more states, and whether a pretoken ends before a character. Where the
//! table alone cannot know, such as where a match ended some characters ago, it says so, and a search has to find out.
use super::dfa::{DEAD, Dfa, MATCH};

/// The bit of an entry that says: a pretoken ends before this character. It is the bit of [`MATCH`] in a [`Dfa`].
pub(super) const CUT: u32 = 1;

/// The state in which a search has to find out what comes next. The table of a [`Dfa`] leads here when a match cannot
/// go on and did not end just now.
pub(super) const UNKNOWN: u32 = DEAD;

#[derive(Debug)]
pub(super) struct SplitTable {
    entries: Vec<u32>,
    class_bits: u32,
    /// The state at the start of a text and after a search, before the next character says whether a match or a gap
    /// follows.
    pub(super) begin: u32,
}

impl SplitTable {
    /// `None` if a match depends on the character before it, or may be empty.
    pub(super) fn new(dfa: &Dfa, looks_behind: bool, may_be_empty: bool) -> Option<Self> {
        if looks_behind || may_be_empty {
            return None;
        }
        let (rows, class_bits, stride) = (dfa.rows(), dfa.class_bits(), dfa.stride());
        let read_before_match = dfa.read_before_match(false);
        let start = &rows[dfa.start(super::NO_CHARACTER) as usize..][..stride];
        let (gap, begin) = (rows.len() as u32, (rows.len() + stride) as u32);
        let mut entries: Vec<u32> = rows.to_vec();
        for (entry, &next) in entries.iter_mut().zip(start.iter().cycle()) {
            *entry = match (*entry & MATCH, *entry & !MATCH) {
                (MATCH, DEAD) if next == DEAD => gap | CUT,
                (MATCH, DEAD) => next | CUT,
                (_, state) => state,
            };
        }
        // Between matches. A match that is not certain may turn out to be part of the gap.
        entries.extend(start.iter().map(|&next| match next {
            DEAD => gap,
            next if read_before_match[next as usize / stride].is_some() => next | CUT,
            _ => UNKNOWN,
        }));
        entries.extend(start.iter().map(|&next| if next == DEAD { gap } else { next }));
        Some(Self { entries, class_bits, begin })
    }

    /// The state after a symbol, and [`CUT`] if a pretoken ends before that character.
    #[inline]
    pub(super) fn entry(&self, state: u32, class: usize, looks: u8) -> u32 {
        self.entries[state as usize + (class | usize::from(looks) << self.class_bits)]
    }
}
