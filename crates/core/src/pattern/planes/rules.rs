//! Is a pattern of the family, and which of its rules does it have?
//!
//! The family is, in this order but for numbers and literals, which may stand anywhere before the
//! white space:
//! - literals that begin outside words and go on with a character of one: `'s|'t`;
//! - words: `prefix? letter+`, or the two arms of a word that changes case once; a literal as
//!   above may follow;
//! - numbers: ` ?\p{N}+` or `\p{N}{1,3}`;
//! - other text: ` ?[^\s\p{L}\p{N}]+[\r\n/]*`;
//! - white space: perhaps through its last line end, then without its last character, then any.
//!
//! Each refusal below is a form for which the algebra would not be exact.
use tokenmill_kernels::planes::PLANES;

use super::contractions::Contractions;
use super::plane;
use crate::pattern::arms::{Arm, Case, Literals, Run};
use crate::pattern::atoms::{AtomSet, Atoms};

/// The most characters that a number of limited length may have.
const LONGEST_NUMBER: usize = 8;

/// What the algebra does, as masks: all ones where the rule holds, else 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// A word takes a space before it.
    pub(super) space_before_word: u64,
    /// A word takes white space before it that is no line end.
    pub(super) white_before_word: u64,
    /// A word takes a character of other text before it.
    pub(super) other_before_word: u64,
    pub(super) space_before_number: u64,
    pub(super) space_before_other: u64,
    /// Case is told apart.
    pub(super) case: u64,
    /// Line ends go with other text before them.
    pub(super) tail: u64,
    /// White space goes to its last line end first.
    pub(super) through_newline: u64,
    /// There are literals at the start of a match.
    pub(super) literal: u64,
    /// A literal may follow a word.
    pub(super) suffix: u64,
    /// A look at the text settles both.
    pub(super) settled: u64,
    /// The most characters of a number; 0 for any.
    pub(super) longest_number: usize,
}

/// The members of the planes.
pub(super) type Members = [AtomSet; PLANES];

/// The parts that were found.
#[derive(Default)]
struct Parts<'a> {
    words: Option<Words<'a>>,
    numbers: Option<&'a Run>,
    other: Option<&'a Run>,
    literals: Vec<&'a Literals>,
}

#[derive(Clone, Copy)]
struct Words<'a> {
    prefix: AtomSet,
    upper: AtomSet,
    lower: AtomSet,
    suffix: Option<&'a Literals>,
}

pub(super) fn mask(holds: bool) -> u64 {
    if holds { u64::MAX } else { 0 }
}

pub(super) fn of(atoms: &impl Atoms, arms: &[Arm]) -> Option<(Rules, Members)> {
    let sets = atoms.sets();
    let is_white = |arm: &Arm| match arm {
        Arm::ThroughNewline | Arm::BeforeText | Arm::AtEnd => true,
        Arm::Run(run) => run.body == sets.white,
        _ => false,
    };
    let (text, white) = arms.split_at(arms.iter().position(is_white)?);
    let through_newline = white_rules(white)?;
    let parts = parts(text)?;
    let (words, numbers, other) = (parts.words?, parts.numbers?, parts.other?);
    let body = words.upper | words.lower;

    // Every character but white space is in a class, and numbers are in no other one: they are
    // what no plane holds. A character of words and of other text is one of words, and a doubt
    // where other text may go on with it.
    let own_other = other.body & !body;
    let covered = (body | numbers.body | other.body) == sets.all & !sets.white;
    if !covered || numbers.body & (body | other.body) != 0 || own_other == 0 {
        return None;
    }
    // What stands before a run is a space, or nothing; before a word it may be more.
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
    // A space before a character of both is a word's.
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
    let lead = leads(atoms, &parts.literals, words.suffix, body)?;
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
        literal: mask(!parts.literals.is_empty()),
        suffix: mask(words.suffix.is_some()),
        settled: 0,
        longest_number,
    };
    let mut members = Members::default();
    members[plane::UPPER] = words.upper;
    members[plane::LOWER] = words.lower;
    members[plane::OTHER] = other.body;
    members[plane::SPACE] = sets.space;
    members[plane::WHITE] = sets.white;
    members[plane::NEWLINE] = sets.newlines;
    members[plane::LEAD] = lead;
    members[plane::EXTRA] = extra;
    Some((rules, members))
}

/// The contractions of a pattern of the family, with these words: literals before everything else or, where there are none,
/// behind words.
pub(super) fn contractions(atoms: &impl Atoms, arms: &[Arm], body: AtomSet) -> Option<Contractions> {
    let mut literals = arms.iter().filter_map(|arm| match arm {
        Arm::Literal(literals) => Some(literals),
        _ => None,
    });
    let suffix = arms.iter().find_map(|arm| match arm {
        Arm::Run(Run { suffix, .. }) | Arm::Case(Case { suffix, .. }) => suffix.as_ref(),
        _ => None,
    });
    let first = literals.next();
    let is_first = matches!(arms.first(), Some(Arm::Literal(_)));
    let (literals, is_suffix) = match (first, literals.next(), suffix) {
        (Some(first), None, None) if is_first => (first, false),
        (None, None, Some(suffix)) => (suffix, true),
        _ => return None,
    };
    Contractions::new(atoms, literals.clone(), is_suffix, body)
}

/// Does white space go through its last line end? `None` where its rules are others.
fn white_rules(arms: &[Arm]) -> Option<bool> {
    // The first and the last of these are the end of the text, and the arms decide there.
    let mut arms: Vec<&Arm> = arms.iter().filter(|arm| **arm != Arm::AtEnd).collect();
    let through_newline = arms.first() == Some(&&Arm::ThroughNewline);
    if through_newline {
        arms.remove(0);
    }
    match arms[..] {
        // One or any number: where it comes to this there is one left.
        [Arm::BeforeText, Arm::Run(Run { prefix: 0, needs_prefix: false, tail: 0, suffix: None, .. })] => {
            Some(through_newline)
        }
        _ => None,
    }
}

/// Sorts the arms before white space. Numbers are told from words by what they lack, a prefix other than
/// a space and a suffix; which of two such arms is called words makes no difference to the algebra.
fn parts(arms: &[Arm]) -> Option<Parts<'_>> {
    let mut parts = Parts::default();
    let mut arms = arms.iter().peekable();
    let mut runs: Vec<&Run> = Vec::new();
    let mut before_words = 0;
    while let Some(arm) = arms.next() {
        match arm {
            Arm::Literal(literals) => parts.literals.push(literals),
            // The arm behind it is its partner, as the arms promise.
            Arm::Case(Case { prefix, upper, lower, suffix }) if parts.words.is_none() && runs.is_empty() => {
                let suffix = suffix.as_ref();
                parts.words = Some(Words { prefix: *prefix, upper: *upper, lower: *lower, suffix });
                arms.next();
            }
            Arm::Run(run) if !run.needs_prefix => runs.push(run),
            _ => return None,
        }
    }
    if parts.words.is_none() {
        before_words = runs.iter().position(|run| run.max == usize::MAX && run.tail == 0)?;
        let run = runs.remove(before_words);
        let suffix = run.suffix.as_ref();
        parts.words = Some(Words { prefix: run.prefix, upper: run.body, lower: 0, suffix });
    }
    let [first, second] = runs[..] else { return None };
    let is_other = first.max == usize::MAX && first.tail != 0;
    let (numbers, other) = if is_other { (second, first) } else { (first, second) };
    // Other text comes behind words: what could begin either is a word's.
    if before_words > usize::from(!is_other) {
        return None;
    }
    if numbers.tail != 0 || numbers.suffix.is_some() || other.suffix.is_some() || other.max != usize::MAX {
        return None;
    }
    (parts.numbers, parts.other) = (Some(numbers), Some(other));
    Some(parts)
}

/// What the literals begin with, and perhaps more: there the arms are asked. `None` where that would be
/// in words, or where literals go on with what is not.
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
