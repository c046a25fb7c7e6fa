//! Decides whether a pattern belongs to the family that planes can run, and which variant of the family it is.
//!
//! In: the arms of a pattern. Out: its rules and the atoms of each plane, or `None`.
//!
//! A pattern of the family has the following arms in this order. Literals may be anywhere before the white space,
//! and so may numbers, but not before a word that changes case:
//! - literals whose first character cannot be in a word and whose second one can: `'s|'t`;
//! - words: `prefix? letter+`, or the two arms of a word that changes case once, with an optional literal as above
//!   at the end;
//! - numbers: ` ?\p{N}+` or `\p{N}{1,3}`;
//! - other text: ` ?[^\s\p{L}\p{N}]+[\r\n/]*`;
//! - white space: optionally up to its last line end, then all but its last character, then a single arm for the
//!   rest.
//!
//! The extended family ([`Rules::extended`]) costs the algebra more. In addition
//! - the first arm may match prefixed words: one of some characters of other text, then some of the letters. The prefix
//!   must be there, as in `[!-/][A-Za-z]+`;
//! - there may be unmatched characters: no arm matches them, except as the prefix of a word;
//! - the characters may be in several [parts](crate::pattern::partition). Numbers may be a part of their own, and one
//!   more part may have words and other text. The characters of that other part are called foreign.
//!
//! A pattern is refused where the algebra would not be exact.
use tokenmill_kernels::planes::characters::CharacterClasses;
use tokenmill_kernels::planes::{AsciiClasses, PLANES};

use super::foreign::Foreign;
use crate::pattern::arms::{Arm, Case, Literals, Run};
use crate::pattern::atoms::{AtomSet, Atoms, MAX_ATOMS};
use crate::pattern::partition::Partition;

// The planes. A character can be in several of them. A character of both words and other text counts as part of a
// word, because the arms of words come first.

/// If case matters, the characters that a word may have before its first lower letter; otherwise all characters of
/// words.
pub(super) const UPPER: usize = 0;
/// The characters that a word may have from its first lower letter on. Empty if case does not matter. If
/// there are prefixed words, their letters.
pub(super) const LOWER: usize = 1;
/// The characters of other text.
pub(super) const OTHER: usize = 2;
/// Spaces. Foreign characters have this bit too; they are told apart by the bit of white space, which they lack.
pub(super) const SPACE: usize = 3;
pub(super) const WHITE: usize = 4;
pub(super) const NEWLINE: usize = 5;
/// The first characters of contractions, or the prefixes of prefixed words.
pub(super) const LEAD: usize = 6;
/// The characters other than line ends that may follow other text.
pub(super) const EXTRA: usize = 7;
/// In the extended family, the unmatched characters are in the place of `EXTRA`.
pub(super) const UNMATCHED: usize = EXTRA;

/// The atoms of each plane.
pub(super) type Members = [AtomSet; PLANES];

/// The class byte of every character. A character that is in no plane is a number.
#[derive(Debug)]
pub(super) struct ClassTables {
    pub(super) ascii: AsciiClasses,
    pub(super) characters: CharacterClasses,
    /// The class byte of each atom. It has an entry for every value of a byte, so lookups need no bounds check.
    pub(super) by_atom: [u8; 256],
}

impl ClassTables {
    pub(super) fn new(atoms: &impl Atoms, members: &Members) -> Self {
        let mut by_atom = [0; 256];
        for (atom, classes) in by_atom.iter_mut().enumerate().take(MAX_ATOMS) {
            let within = members.iter().enumerate().filter(|(_, set)| *set >> atom & 1 == 1);
            *classes = within.fold(0, |classes, (plane, _)| classes | 1 << plane);
        }
        let ascii = std::array::from_fn(|byte| by_atom[usize::from(atoms.ascii()[byte])]);
        let ascii = AsciiClasses::new(ascii);
        let characters = CharacterClasses::new(|code_point| by_atom[usize::from(atoms.of(code_point))]);
        Self { ascii, characters, by_atom }
    }
}

/// Numbers with a larger limit on their length are refused.
const LONGEST_NUMBER: usize = 8;

/// The rules of a pattern, as masks for the algebra: all ones if the rule holds, otherwise 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// A word may start with a space.
    pub(super) space_before_word: u64,
    /// A word may start with a white space character that is not a line end.
    pub(super) white_before_word: u64,
    /// A word may start with a character of other text.
    pub(super) other_before_word: u64,
    pub(super) space_before_number: u64,
    pub(super) space_before_other: u64,
    /// A word ends where its case changes from lower to upper.
    pub(super) case: u64,
    /// Line ends directly after other text belong to it.
    pub(super) tail: u64,
    /// A match of white space extends to the last line end of the run.
    pub(super) through_newline: u64,
    /// A literal may be at the start of a match.
    pub(super) literal: u64,
    /// A literal may follow a word.
    pub(super) suffix: u64,
    /// [`Contractions`](super::contractions) settle the doubts of `literal` and `suffix`.
    pub(super) settled: u64,
    /// The most characters of a number; 0 for no limit.
    pub(super) longest_number: usize,
    /// Does the pattern belong to the extended family? The rules below are for that only.
    pub(super) extended: bool,
    /// There are prefixed words.
    pub(super) prefixed: u64,
    /// A word may start with an unmatched character.
    pub(super) unmatched_before_word: u64,
    /// Numbers are a part of their own.
    pub(super) numbers_apart: u64,
    /// Are there unmatched characters, so that there may be gaps between matches?
    pub(super) has_gaps: bool,
}

/// The arms of the family that come before the arms of white space.
#[derive(Default)]
struct TextArms<'a> {
    words: Option<WordArm<'a>>,
    numbers: Option<&'a Run>,
    other: Option<&'a Run>,
    literals: Vec<&'a Literals>,
}

#[derive(Clone, Copy)]
struct WordArm<'a> {
    prefix: AtomSet,
    upper: AtomSet,
    lower: AtomSet,
    suffix: Option<&'a Literals>,
}

/// All ones if `holds`, otherwise 0.
pub(super) fn mask(holds: bool) -> u64 {
    if holds { u64::MAX } else { 0 }
}

/// The rules, the planes and the characters of words, for the arms of the part of white space and the others. `None` if
/// the arms do not belong to the family.
pub(super) fn of(
    atoms: &impl Atoms,
    own: &[Arm],
    others: &[Arm],
    parts: &Partition,
) -> Option<(Rules, Members, AtomSet)> {
    let sets = atoms.sets();
    let is_white = |arm: &Arm| match arm {
        Arm::ThroughNewline | Arm::BeforeText | Arm::AtEnd => true,
        Arm::Run(run) => run.body == sets.white,
        _ => false,
    };
    let (text, white) = own.split_at(own.iter().position(is_white)?);
    let through_newline = white_rules(white)?;
    let at_end_first = white.first() == Some(&Arm::AtEnd) && through_newline;
    let (prefixed, text) = prefixed_words(text);
    let arms = text_arms(text)?;
    let (words, other) = (arms.words?, arms.other?);
    let body = words.upper | words.lower;
    let mut foreign = Foreign::new(atoms, others, parts)?;
    let is_apart = arms.numbers.is_none() && foreign.numbers.is_some();
    let none = Run { prefix: 0, needs_prefix: false, body: 0, max: usize::MAX, tail: 0, suffix: None };
    let numbers = match (arms.numbers, foreign.numbers.take()) {
        (Some(_), Some(_)) => return None,
        (numbers, apart) => numbers.or(apart).unwrap_or(&none),
    };

    // A number must be matched by no other arm, because numbers are the characters without a plane. A character of
    // both words and other text counts as part of a word. The algebra marks a doubt where other text could continue
    // with it.
    let own_other = other.body & !body;
    let unmatched = sets.all & !(sets.white | body | numbers.body | other.body | foreign.all);
    if numbers.body & (body | other.body) != 0 || own_other == 0 {
        return None;
    }
    // Numbers and other text may start with a space or with no prefix. Words have more choice.
    let only_space = |prefix: AtomSet| prefix == 0 || prefix == sets.space;
    if !only_space(numbers.prefix) || !only_space(other.prefix) {
        return None;
    }
    // A prefix that is itself a letter of words makes no difference, unless it could hide a change of case.
    let before_word = words.prefix & !body;
    if words.lower != 0 && words.prefix & (words.upper ^ words.lower) & body != 0 {
        return None;
    }
    let unmatched_before = before_word & unmatched;
    let (white_before, other_before) = (before_word & sets.white, before_word & !(sets.white | unmatched));
    let all_white = white_before == sets.white & !sets.newlines;
    if !(only_space(white_before) || all_white) || !(other_before == 0 || other_before == own_other) {
        return None;
    }
    if !(unmatched_before == 0 || unmatched_before == unmatched) {
        return None;
    }
    // The algebra gives a space before a character of both words and other text to the word, so words must accept
    // it.
    if other.prefix != 0 && other.body & body != 0 && white_before == 0 {
        return None;
    }
    let extra = other.tail & !sets.newlines;
    let tail = other.tail != 0;
    if tail && other.tail & sets.newlines != sets.newlines || extra & !own_other != 0 {
        return None;
    }
    let longest_number = if numbers.max == usize::MAX { 0 } else { numbers.max };
    if longest_number > LONGEST_NUMBER || longest_number > 0 && numbers.prefix != 0 {
        return None;
    }
    let mut lead = leads(atoms, &arms.literals, words.suffix, body)?;
    let case = words.lower != 0;
    let has_literals = !arms.literals.is_empty() || words.suffix.is_some();
    let is_extended = prefixed.is_some() || unmatched != 0 || foreign.all != 0 || is_apart;
    // White space before a foreign character ends as at the end of a text. `\s+$` then matches all of it, where the
    // algebra would stop after the last line end.
    if is_extended && extra != 0 || at_end_first && (foreign.all != 0 || is_apart) {
        return None;
    }
    if let Some(run) = prefixed {
        // Prefixed words use the planes of contractions and of case, so the pattern may have neither.
        let is_plain = !case && !has_literals && other_before == 0;
        if !is_plain || run.prefix & !own_other != 0 || run.body & !body != 0 {
            return None;
        }
        lead = run.prefix;
    }
    let unmatched_before_word =
        match (unmatched, foreign.unmatched, unmatched_before != 0, foreign.unmatched_before_word) {
            (_, 0, before, _) | (0, _, _, before) => before,
            (_, _, before, theirs) if before == theirs => before,
            _ => return None,
        };
    if foreign.other_before_word.is_some_and(|before| before != (other_before != 0)) {
        return None;
    }
    let rules = Rules {
        space_before_word: mask(white_before != 0),
        white_before_word: mask(all_white),
        other_before_word: mask(other_before != 0),
        space_before_number: mask(numbers.prefix != 0),
        space_before_other: mask(other.prefix != 0),
        case: mask(case),
        tail: mask(tail),
        through_newline: mask(through_newline),
        literal: mask(!arms.literals.is_empty()),
        suffix: mask(words.suffix.is_some()),
        settled: 0,
        longest_number,
        extended: is_extended,
        prefixed: mask(prefixed.is_some()),
        unmatched_before_word: mask(unmatched_before_word),
        numbers_apart: mask(is_apart),
        has_gaps: unmatched | foreign.unmatched != 0,
    };
    let mut members = Members::default();
    members[UPPER] = words.upper | foreign.words;
    members[LOWER] = prefixed.map_or(words.lower, |run| run.body);
    members[OTHER] = other.body | foreign.other;
    members[SPACE] = sets.space | foreign.all;
    members[WHITE] = sets.white;
    members[NEWLINE] = sets.newlines;
    members[LEAD] = lead;
    members[EXTRA] = extra | if is_extended { unmatched | foreign.unmatched } else { 0 };
    Some((rules, members, body))
}

/// Splits off the first arm if it matches prefixed words.
fn prefixed_words(arms: &[Arm]) -> (Option<&Run>, &[Arm]) {
    match arms {
        [Arm::Run(run), rest @ ..]
            if run.needs_prefix && run.max == usize::MAX && run.tail == 0 && run.suffix.is_none() =>
        {
            (Some(run), rest)
        }
        _ => (None, arms),
    }
}

/// Does the pattern match white space up to its last line end? `None` if its arms for white space do not fit.
fn white_rules(arms: &[Arm]) -> Option<bool> {
    // At the end of a text the arms decide, so `\s+$` makes no difference to the algebra where there is one part.
    let mut arms: Vec<&Arm> = arms.iter().filter(|arm| **arm != Arm::AtEnd).collect();
    let through_newline = arms.first() == Some(&&Arm::ThroughNewline);
    if through_newline {
        arms.remove(0);
    }
    match arms[..] {
        // One character is left after `BeforeText`, so `\s` and `\s+` match the same.
        [Arm::BeforeText, Arm::Run(Run { prefix: 0, needs_prefix: false, tail: 0, suffix: None, .. })] => {
            Some(through_newline)
        }
        _ => None,
    }
}

/// Assigns the arms before white space to words, numbers and other text. The first run without a limit and without
/// a tail is taken for the words. If it is really the numbers, then either the two arms have the same form, and
/// the algebra is the same with the names exchanged, or the checks that follow refuse the pattern.
fn text_arms(arms: &[Arm]) -> Option<TextArms<'_>> {
    let mut sorted = TextArms::default();
    let mut arms = arms.iter().peekable();
    let mut runs: Vec<&Run> = Vec::new();
    let mut before_words = 0;
    while let Some(arm) = arms.next() {
        match arm {
            Arm::Literal(literals) => sorted.literals.push(literals),
            // Lowering guarantees that the next arm is the partner.
            Arm::Case(Case { prefix, upper, lower, suffix }) if sorted.words.is_none() && runs.is_empty() => {
                let suffix = suffix.as_ref();
                sorted.words = Some(WordArm { prefix: *prefix, upper: *upper, lower: *lower, suffix });
                arms.next();
            }
            Arm::Run(run) if !run.needs_prefix => runs.push(run),
            _ => return None,
        }
    }
    if sorted.words.is_none() {
        before_words = runs.iter().position(|run| run.max == usize::MAX && run.tail == 0)?;
        let run = runs.remove(before_words);
        let suffix = run.suffix.as_ref();
        sorted.words = Some(WordArm { prefix: run.prefix, upper: run.body, lower: 0, suffix });
    }
    let (numbers, other) = match runs[..] {
        [other] => (None, other),
        [other, numbers] if other.max == usize::MAX && other.tail != 0 => (Some(numbers), other),
        [numbers, other] => (Some(numbers), other),
        _ => return None,
    };
    // Words must come before other text, so that a character which could begin either one begins a word.
    let numbers_are_first = numbers.is_some_and(|numbers| std::ptr::eq(numbers, runs[0]));
    if before_words > usize::from(numbers_are_first) {
        return None;
    }
    if numbers.is_some_and(|numbers| numbers.tail != 0 || numbers.suffix.is_some()) {
        return None;
    }
    if other.suffix.is_some() || other.max != usize::MAX {
        return None;
    }
    (sorted.numbers, sorted.other) = (numbers, Some(other));
    Some(sorted)
}

/// The atoms of the first characters of all literals. The algebra marks a doubt there. `None` if one of these
/// atoms is in words, or if the second character of a literal is not.
fn leads(
    atoms: &impl Atoms,
    literals: &[&Literals],
    suffix: Option<&Literals>,
    body: AtomSet,
) -> Option<AtomSet> {
    let mut leads = 0;
    for text in literals.iter().copied().chain(suffix).flat_map(|literals| &literals.texts) {
        let [first, second, ..] = &text[..] else { return None };
        leads |= atoms.of_chars(first);
        if atoms.of_chars(second) & !body != 0 {
            return None;
        }
    }
    (leads & body == 0).then_some(leads)
}
