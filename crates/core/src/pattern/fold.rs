//! Folds the steps of a sequence of splits into the arms of one scanner.
//!
//! In: the syntax trees of the steps, each of which splits the pretokens of the step before. Out: the arms that find
//! the pretokens of all steps in one pass, and the partition of the characters; or the obstacle that prevents folding.
//!
//! Every step but the last must be a class step: its matches are runs of one class of characters, perhaps with a limit
//! on their length, as in `\p{N}{1,3}`. The last step is then changed as follows:
//! - A class without a limit cuts the text where a run of it begins or ends. So each arm of the last step becomes two:
//!   one for text of the class, one for other text.
//! - A class with a limit is matched by an arm of its own, and all other arms lose its characters. This is done only if
//!   the last step would not split such a match again.
//!
//! The class of a class step becomes a part of the [partition](super::partition), because the text is always cut
//! where it begins or ends. The only arms that look beyond their match are those of white space. To them a character
//! of another part is like the end of the text.
use regex_syntax::hir::ClassUnicode;

use super::arms::{Arm, Case, Literals, Run, starts};
use super::atoms::{AtomSet, Atoms};
use super::lower::{MAX_ARMS, Obstacle, lower};
use super::partition::Partition;
use super::syntax::Node;

/// The class of a class step, and the most characters that one match may have. `None` for other steps: only class
/// steps can be folded into the step after them.
pub(super) fn class_step(node: &Node) -> Option<(&ClassUnicode, usize)> {
    match node {
        Node::Concat(nodes) | Node::Alt(nodes) if nodes.len() == 1 => class_step(&nodes[0]),
        Node::Atomic(node) => class_step(node),
        Node::Repeat { node, min: 1, max } => match class_step(node)? {
            (class, 1) => Some((class, max.map_or(usize::MAX, |max| max as usize))),
            _ => None,
        },
        Node::Set(class) => Some((class, 1)),
        _ => None,
    }
}

/// Lowers the last step over these atoms and folds the others into it.
pub(super) fn lower_and_fold(nodes: &[Node], atoms: &dyn Atoms) -> Result<(Vec<Arm>, Partition), Obstacle> {
    let Some((last, others)) = nodes.split_last() else { return Err(Obstacle::Form) };
    let (mut steps, mut classes) = (Vec::new(), Vec::new());
    for node in others {
        let Some((class, max)) = class_step(node) else { return Err(Obstacle::Form) };
        match atoms.set_of(class) {
            Some(set) => steps.push((set, max)),
            None => classes.push(class.clone()),
        }
    }
    let arms = match lower(last, atoms) {
        Ok(arms) => arms,
        Err(Obstacle::Classes(more)) => {
            classes.extend(more);
            Vec::new()
        }
        Err(Obstacle::Form) => return Err(Obstacle::Form),
    };
    if !classes.is_empty() {
        return Err(Obstacle::Classes(classes));
    }
    fold(&steps, arms, atoms).ok_or(Obstacle::Form)
}

/// Folds class steps into the arms of the step after them, from right to left. `None` if the result would not be exact.
fn fold(steps: &[(AtomSet, usize)], mut arms: Vec<Arm>, atoms: &dyn Atoms) -> Option<(Vec<Arm>, Partition)> {
    let mut parts = Partition::ONE;
    if let [Arm::Run(Run { prefix: 0, needs_prefix: false, body, tail: 0, suffix: None, .. })] = arms[..] {
        parts.refine(body);
    }
    for &(body, max) in steps.iter().rev() {
        let others = restricted(&arms, atoms, atoms.sets().all & !body)?;
        if max == usize::MAX {
            arms = restricted(&arms, atoms, body)?;
        } else if max == 1 || leaves_whole(&arms, &parts, atoms, body, max) {
            let run = Run { prefix: 0, needs_prefix: false, body, max, tail: 0, suffix: None };
            arms = vec![Arm::Run(run)];
        } else {
            return None;
        }
        arms.extend(others);
        parts.refine(body);
    }
    (arms.len() <= MAX_ARMS).then_some((arms, parts))
}

/// Do the arms certainly leave every text whole that has at most `max` characters, all from this set?
pub(super) fn leaves_whole(
    arms: &[Arm],
    parts: &Partition,
    atoms: &dyn Atoms,
    set: AtomSet,
    max: usize,
) -> bool {
    // Without an arm the text is a gap. Otherwise the first arm must match all of it, wherever it begins.
    let is_whole = restricted(arms, atoms, set).is_some_and(|arms| match &arms[..] {
        [] => true,
        [first @ Arm::Run(run), ..] => {
            starts(atoms, first) == set && run.body == set && !run.needs_prefix && run.max >= max
        }
        _ => false,
    });
    is_whole && parts.in_one_part(set)
}

/// The arms restricted to these characters: in a text that has no others they match the same. `None` if there is an
/// arm for white space, and some white space is in the set and some is not.
fn restricted(arms: &[Arm], atoms: &dyn Atoms, set: AtomSet) -> Option<Vec<Arm>> {
    let mut restricted = Vec::new();
    for arm in arms {
        match arm {
            Arm::Literal(literals) => restricted.extend(literals_of(literals, atoms, set).map(Arm::Literal)),
            Arm::Run(run) => restricted.extend(run_of(run, atoms, set).map(Arm::Run)),
            Arm::Case(case) => restricted.extend(case_of(case, atoms, set)),
            Arm::Sequence(sets) => {
                let sets: Vec<AtomSet> = sets.iter().map(|one| one & set).collect();
                restricted.extend((!sets.contains(&0)).then_some(Arm::Sequence(sets)));
            }
            Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => {
                let white = atoms.sets().white;
                if white & set == white {
                    restricted.push(arm.clone());
                } else if white & set != 0 {
                    return None;
                }
            }
        }
    }
    Some(restricted)
}

fn run_of(run: &Run, atoms: &dyn Atoms, set: AtomSet) -> Option<Run> {
    let (prefix, body) = (run.prefix & set, run.body & set);
    let suffix = run.suffix.as_ref().and_then(|suffix| literals_of(suffix, atoms, set));
    let matches = body != 0 && (prefix != 0 || !run.needs_prefix);
    matches.then_some(Run { prefix, body, tail: run.tail & set, suffix, ..*run })
}

fn case_of(case: &Case, atoms: &dyn Atoms, set: AtomSet) -> Option<Arm> {
    let suffix = case.suffix.as_ref().and_then(|suffix| literals_of(suffix, atoms, set));
    let (prefix, upper, lower) = (case.prefix & set, case.upper & set, case.lower & set);
    match (upper, lower) {
        (_, 0) => None,
        (0, body) => {
            Some(Arm::Run(Run { prefix, needs_prefix: false, body, max: usize::MAX, tail: 0, suffix }))
        }
        _ => Some(Arm::Case(Case { prefix, upper, lower, suffix })),
    }
}

fn literals_of(literals: &Literals, atoms: &dyn Atoms, set: AtomSet) -> Option<Literals> {
    let choices = |choices: &Vec<char>| -> Option<Vec<char>> {
        let within = choices.iter().copied().filter(|&c| set >> atoms.of(u32::from(c)) & 1 == 1);
        let within: Vec<char> = within.collect();
        (!within.is_empty()).then_some(within)
    };
    let texts = literals.texts.iter().filter_map(|text| text.iter().map(choices).collect());
    let texts: Vec<Vec<Vec<char>>> = texts.collect();
    (!texts.is_empty()).then(|| Literals::new(texts))
}
