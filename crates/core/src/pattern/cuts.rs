//! Safe cuts: the positions at which a text may be cut before it is split, so that splitting the pieces gives the
//! same pretokens as splitting the whole text.
//!
//! In come the arms of a pattern; out go pairs of atoms between whose characters a cut is safe. An uncertain pair
//! is left out, because a text that is cut at a wrong position gets other ids.
use super::arms::Arm;
use super::atoms::{AtomSet, Atoms, MAX_ATOMS};

/// For each atom, the atoms before which a text may be cut after it.
///
/// A cut between the characters `x` and `y` is safe, whatever surrounds them, if
/// - no arm can match both in a row, so that no match contains both;
/// - a match starts at every `y` that the scan reaches, so that no gap between two matches contains both. The scan
///   reaches this `y`, as no match runs across the cut;
/// - the arms decide the same before the cut if the text ends there. An arm looks beyond its match in two cases
///   only: after white space, but `x` is not white space, and for a character that could continue the match after
///   `x`, but `y` cannot.
///
/// The text before the cut cannot influence the matches after it, as no arm looks back.
pub(super) fn cuts(atoms: &impl Atoms, arms: &[Arm]) -> [AtomSet; MAX_ATOMS] {
    let white = atoms.sets().white;
    let mut joined = [0; MAX_ATOMS];
    let mut join = |left: AtomSet, right: AtomSet| {
        for (atom, followers) in joined.iter_mut().enumerate() {
            if left >> atom & 1 == 1 {
                *followers |= right;
            }
        }
    };
    // The atoms at which some arm matches, whatever follows.
    let mut sure = 0;
    for arm in arms {
        let (left, suffix) = match arm {
            Arm::Literal(literals) => (0, Some(literals)),
            Arm::Run(run) => {
                sure |= if run.needs_prefix { 0 } else { run.body };
                join(run.prefix, run.body);
                if run.max > 1 {
                    join(run.body, run.body);
                }
                join(run.body | run.tail, run.tail);
                (run.body | run.tail, run.suffix.as_ref())
            }
            Arm::Case(case) => {
                sure |= case.lower;
                join(case.prefix | case.upper | case.lower, case.upper | case.lower);
                (case.upper | case.lower, case.suffix.as_ref())
            }
            Arm::Sequence(sets) => {
                sets.windows(2).for_each(|pair| join(pair[0], pair[1]));
                (0, None)
            }
            Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => {
                join(white, white);
                (0, None)
            }
        };
        if let Some(literals) = suffix {
            join(left, literals.atoms(atoms, 0));
            for text in &literals.texts {
                for pair in text.windows(2) {
                    join(atoms.of_chars(&pair[0]), atoms.of_chars(&pair[1]));
                }
            }
        }
    }
    let mut cuts = [0; MAX_ATOMS];
    for (atom, (cut, joined)) in cuts.iter_mut().zip(joined).enumerate() {
        if white >> atom & 1 == 0 {
            *cut = sure & !joined;
        }
    }
    cuts
}
