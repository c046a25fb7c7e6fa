//! Folds the steps of a sequence of splits into the arms of one scanner.
//!
//! In: the trees of the steps; each divides the pretokens of the one before. Out: arms that find the pretokens of all
//! steps in one pass, and the parts of the characters; or the obstacle that prevents it.
//!
//! All steps but the last must be made of classes: each match is a run of characters of one class, of at most some
//! length. Then what the last step gets is known from the characters alone:
//! - A class without a limit on its runs divides the text where it begins and ends, so every arm of the last step is
//!   divided in two: one with the characters of the class, one with the others. No match has both.
//! - A class with a limit gives short pretokens. If the last step certainly leaves each of them whole, they become an
//!   arm, and the other arms lose the characters of the class.
//!
//! No match of a class has other characters, so a last step that is made of one is divided there too.
//!
//! The last step looks beyond its matches only after white space, and there a character of another
//! [part](super::parts) is like the end of the text.
use super::arms::{Arm, Case, Literals, Run, starts};
use super::atoms::{AtomSet, Atoms};
use super::lower::{MAX_ARMS, Obstacle, lower};
use super::parts::Parts;
use super::syntax::Node;

/// Is a step made of runs of one class? Only such a step may be followed by another one.
pub(super) fn is_class_step(node: &Node) -> bool {
    match node {
        Node::Concat(nodes) | Node::Alt(nodes) => nodes.len() == 1 && is_class_step(&nodes[0]),
        Node::Atomic(node) | Node::Repeat { node, min: 1, .. } => is_class_step(node),
        Node::Set(_) => true,
        _ => false,
    }
}

/// Lowers the steps over these atoms and folds them.
pub(super) fn lower_and_fold(nodes: &[Node], atoms: &dyn Atoms) -> Result<(Vec<Arm>, Parts), Obstacle> {
    let (mut steps, mut classes) = (Vec::new(), Vec::new());
    for node in nodes {
        match lower(node, atoms) {
            Ok(arms) => steps.push(arms),
            Err(Obstacle::Classes(more)) => classes.extend(more),
            Err(Obstacle::Form) => return Err(Obstacle::Form),
        }
    }
    if !classes.is_empty() {
        return Err(Obstacle::Classes(classes));
    }
    fold(steps, atoms).ok_or(Obstacle::Form)
}

/// Folds the steps, the last one first. `None` if that is not exact.
fn fold(mut steps: Vec<Vec<Arm>>, atoms: &dyn Atoms) -> Option<(Vec<Arm>, Parts)> {
    let (mut arms, mut parts) = (steps.pop()?, Parts::ONE);
    if let Some((body, _)) = class_of(&arms) {
        parts.divide(body);
    }
    for step in steps.iter().rev() {
        let (body, max) = class_of(step)?;
        let others = restricted(&arms, atoms, atoms.sets().all & !body)?;
        if max == usize::MAX {
            arms = restricted(&arms, atoms, body)?;
        } else if leaves_whole(&arms, &parts, atoms, body, max)? {
            let run = Run { prefix: 0, needs_prefix: false, body, max, tail: 0, suffix: None };
            arms = vec![Arm::Run(run)];
        } else {
            return None;
        }
        arms.extend(others);
        parts.divide(body);
    }
    (arms.len() <= MAX_ARMS).then_some((arms, parts))
}

/// The class of a step that is made of its runs, and the most characters of a run.
fn class_of(arms: &[Arm]) -> Option<(AtomSet, usize)> {
    match arms {
        [Arm::Run(Run { prefix: 0, needs_prefix: false, body, max, tail: 0, suffix: None })] => {
            Some((*body, *max))
        }
        _ => None,
    }
}

/// Is every text of at most `max` characters from this set certainly one match of the arms, or one gap?
fn leaves_whole(arms: &[Arm], parts: &Parts, atoms: &dyn Atoms, set: AtomSet, max: usize) -> Option<bool> {
    if max == 1 {
        return Some(true);
    }
    let arms = restricted(arms, atoms, set)?;
    // The first of them matches from every character on, as far as it can.
    let is_whole = match arms.first() {
        None => true,
        Some(Arm::Run(run)) => {
            starts(atoms, &arms[0]) == set && run.body == set && !run.needs_prefix && run.max >= max
        }
        Some(_) => false,
    };
    Some(is_whole && parts.hold_together(set))
}

/// The arms that match the same in a text of these characters alone. `None` if that cannot be said: if some white
/// space is among them and some is not, and an arm has a rule for white space.
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
