//! Is a pattern of the family, and which of its rules does it have?
//!
//! In come the arms of a pattern; out go its rules and the atoms of each plane, or `None`.
//!
//! The family is the following, in this order but for numbers and literals, which may be anywhere before the
//! white space:
//! - literals that begin with no character of words and continue with one: `'s|'t`;
//! - words: `prefix? letter+`, or the two arms of a word that changes case once; a literal as
//!   above may follow;
//! - numbers: ` ?\p{N}+` or `\p{N}{1,3}`;
//! - other text: ` ?[^\s\p{L}\p{N}]+[\r\n/]*`;
//! - white space: perhaps through its last line end, then without its last character, then any.
//!
//! Each refusal below is a form for which the algebra would not be exact.
use super::classes::{EXTRA, LEAD, LOWER, Members, NEWLINE, OTHER, SPACE, UPPER, WHITE};
use crate::pattern::arms::{Arm, Case, Literals, Run};
use crate::pattern::atoms::{AtomSet, Atoms};

/// The largest limit on the length of a number.
const LONGEST_NUMBER: usize = 8;

/// What the algebra does, as masks: all ones where the rule holds, else 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// A word takes a space before it.
    pub(super) space_before_word: u64,
    /// A word takes white space before it, except line ends.
    pub(super) white_before_word: u64,
    /// A word takes a character of other text before it.
    pub(super) other_before_word: u64,
    pub(super) space_before_number: u64,
    pub(super) space_before_other: u64,
    /// Words end at a change of case.
    pub(super) case: u64,
    /// Line ends go with other text before them.
    pub(super) tail: u64,
    /// White space goes to its last line end first.
    pub(super) through_newline: u64,
    /// There are literals at the start of a match.
    pub(super) literal: u64,
    /// A literal may follow a word.
    pub(super) suffix: u64,
    /// [Contractions](super::contractions) settle both.
    pub(super) settled: u64,
    /// The most characters of a number; 0 for any.
    pub(super) longest_number: usize,
}

/// The arms of the family that come before white space.
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

/// All ones, or 0.
pub(super) fn mask(holds: bool) -> u64 {
    if holds { u64::MAX } else { 0 }
}

/// `None` if the arms are not of the family.
pub(super) fn of(atoms: &impl Atoms, arms: &[Arm]) -> Option<(Rules, Members)> {
    let sets = atoms.sets();
    let is_white = |arm: &Arm| match arm {
        Arm::ThroughNewline | Arm::BeforeText | Arm::AtEnd => true,
        Arm::Run(run) => run.body == sets.white,
        _ => false,
    };
    let (text, white) = arms.split_at(arms.iter().position(is_white)?);
    let through_newline = white_rules(white)?;
    let arms = text_arms(text)?;
    let (words, numbers, other) = (arms.words?, arms.numbers?, arms.other?);
    let body = words.upper | words.lower;

    // Every character but white space is matched by some arm, and numbers by no other one: they are
    // what no plane holds. A character of both words and other text counts as one of words, and is a doubt
    // where other text may continue with it.
    let own_other = other.body & !body;
    let covered = (body | numbers.body | other.body) == sets.all & !sets.white;
    if !covered || numbers.body & (body | other.body) != 0 || own_other == 0 {
        return None;
    }
    // A run may take a space before it, or nothing; a word may take more.
    let only_space = |prefix: AtomSet| prefix == 0 || prefix == sets.space;
    if !only_space(numbers.prefix) || !only_space(other.prefix) {
        return None;
    }
    // A letter before a word makes no difference, unless it would hide a change of case.
    let before_word = words.prefix & !body;
    if words.lower != 0 && words.prefix & (words.upper ^ words.lower) & body != 0 {
        return None;
    }
    let (white_before, other_before) = (before_word & sets.white, before_word & !sets.white);
    let all_white = white_before == sets.white & !sets.newlines;
    if !(only_space(white_before) || all_white) || !(other_before == 0 || other_before == own_other) {
        return None;
    }
    // A space before a character of both belongs to the word.
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
    let lead = leads(atoms, &arms.literals, words.suffix, body)?;
    let case = words.lower != 0;
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
    };
    let mut members = Members::default();
    members[UPPER] = words.upper;
    members[LOWER] = words.lower;
    members[OTHER] = other.body;
    members[SPACE] = sets.space;
    members[WHITE] = sets.white;
    members[NEWLINE] = sets.newlines;
    members[LEAD] = lead;
    members[EXTRA] = extra;
    Some((rules, members))
}

/// Does white space go through its last line end? `None` if its rules are others.
fn white_rules(arms: &[Arm]) -> Option<bool> {
    // At the end of the text the arms decide.
    let mut arms: Vec<&Arm> = arms.iter().filter(|arm| **arm != Arm::AtEnd).collect();
    let through_newline = arms.first() == Some(&&Arm::ThroughNewline);
    if through_newline {
        arms.remove(0);
    }
    match arms[..] {
        // `\s` or `\s+`: only one character is left here.
        [Arm::BeforeText, Arm::Run(Run { prefix: 0, needs_prefix: false, tail: 0, suffix: None, .. })] => {
            Some(through_newline)
        }
        _ => None,
    }
}

/// Sorts the arms before white space. Numbers are told from words by what they lack: a prefix other than
/// a space, and a suffix. Which of two such arms is called words makes no difference to the algebra.
fn text_arms(arms: &[Arm]) -> Option<TextArms<'_>> {
    let mut sorted = TextArms::default();
    let mut arms = arms.iter().peekable();
    let mut runs: Vec<&Run> = Vec::new();
    let mut before_words = 0;
    while let Some(arm) = arms.next() {
        match arm {
            Arm::Literal(literals) => sorted.literals.push(literals),
            // The next arm is its partner, as lowering guarantees.
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
    let [first, second] = runs[..] else { return None };
    let is_other = first.max == usize::MAX && first.tail != 0;
    let (numbers, other) = if is_other { (second, first) } else { (first, second) };
    // Other text comes after words: what could begin either begins a word.
    if before_words > usize::from(!is_other) {
        return None;
    }
    if numbers.tail != 0 || numbers.suffix.is_some() || other.suffix.is_some() || other.max != usize::MAX {
        return None;
    }
    (sorted.numbers, sorted.other) = (Some(numbers), Some(other));
    Some(sorted)
}

/// What literals begin with: a doubt is marked there. `None` if that could be in words, or if a literal continues
/// with what is not.
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
