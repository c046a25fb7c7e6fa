//! Splits that follow one another, each of which divides the pretokens of the one before.
//!
//! In: the steps, and then texts. Out: the pretokens of the last step. [`fold`](super::fold) makes one scanner of most
//! sequences; only steps that it cannot fold are run one after the other here.
use regex_syntax::hir::ClassUnicode;

use super::arm_scanner::MAX_CUT_DISTANCE;
use super::fold::class_step;
use super::syntax::{self, Node};
use super::{Engine, PATTERN_LIMIT, Plan, Splitter};
use crate::description::Split;
use crate::error::{Error, Kind, Place, Result};
use crate::span::Span;

/// One step of a sequence of splits.
#[derive(Debug, Clone)]
pub enum SplitStep {
    /// A split at the matches of a regular expression.
    Pattern(String),
    /// Each character of a class is a pretoken, or each of its runs.
    Class {
        /// The characters.
        class: ClassUnicode,
        /// Do runs of them stay together?
        in_runs: bool,
    },
}

impl SplitStep {
    fn node(&self) -> Option<Node> {
        match self {
            Self::Pattern(pattern) if pattern.len() > PATTERN_LIMIT => None,
            Self::Pattern(pattern) => syntax::parse(pattern),
            Self::Class { class, in_runs: false } => Some(Node::Set(class.clone())),
            Self::Class { class, in_runs: true } => {
                Some(Node::Repeat { node: Box::new(Node::Set(class.clone())), min: 1, max: None })
            }
        }
    }
}

/// The compiled steps: at least two.
#[derive(Debug)]
pub(super) struct Sequence(Vec<Splitter>);

impl Splitter {
    /// Compiles splits that follow one another. `None` if a class has no scanner.
    ///
    /// # Errors
    /// As [`Self::compile`], at the index of the step.
    pub fn compile_steps(steps: &[SplitStep]) -> Result<Option<Self>> {
        let nodes: Vec<Option<Node>> = steps.iter().map(SplitStep::node).collect();
        let is_class = |node: &Option<Node>| node.as_ref().is_some_and(|node| class_step(node).is_some());
        let mut splitters = Vec::new();
        let mut from = 0;
        while from < steps.len() {
            let classes = nodes[from..].iter().take_while(|node| is_class(node)).count();
            let to = steps.len().min(from + classes + 1);
            let together: Option<Vec<Node>> = nodes[from..to].iter().cloned().collect();
            match together.and_then(|nodes| Self::scanner(&nodes)) {
                Some(engine) => splitters.push(Self { engine }),
                None => {
                    for (at, step) in steps.iter().enumerate().take(to).skip(from) {
                        let Some(splitter) = Self::compile_step(step).map_err(|error| error.at_index(at))?
                        else {
                            return Ok(None);
                        };
                        splitters.push(splitter);
                    }
                }
            }
            from = to;
        }
        Ok(match splitters.len() {
            0 => Some(Self { engine: Engine::Whole }),
            1 => splitters.pop(),
            _ => Some(Self { engine: Engine::Sequence(Box::new(Sequence(splitters))) }),
        })
    }

    /// The number of passes over a text: one for each step that is not folded into the step after it.
    pub(crate) fn passes(&self) -> usize {
        match &self.engine {
            Engine::Sequence(sequence) => sequence.0.len(),
            _ => 1,
        }
    }

    /// A single split that gives the pretokens of this text and of every part of it: for a sequence the only step that
    /// finds a match, or [`Split::Whole`] if all stay whole. `None` if there is no such split, or none is known.
    pub(crate) fn only_split(&self, text: &str) -> Option<&Self> {
        static WHOLE: Splitter = Splitter { engine: Engine::Whole };
        let Engine::Sequence(sequence) = &self.engine else { return Some(self) };
        let mut finding = sequence.0.iter().filter(|step| !step.ignores(text));
        match (finding.next(), finding.next()) {
            (Some(step), None) => Some(step),
            _ => Some(&WHOLE).filter(|_| sequence.leaves_whole(text)),
        }
    }

    fn compile_step(step: &SplitStep) -> Result<Option<Self>> {
        match step {
            SplitStep::Pattern(pattern) => Self::compile(&Split::Pattern(pattern.clone())).map(Some),
            SplitStep::Class { .. } => {
                Ok(step.node().and_then(|node| Self::scanner(&[node])).map(|engine| Self { engine }))
            }
        }
    }
}

impl Sequence {
    /// The slowest plan of a step.
    pub(super) fn plan(&self) -> Plan {
        let plans = self.0.iter().map(Splitter::plan);
        plans.max().unwrap_or(Plan::Whole)
    }

    /// Is every text that has no other characters than this one certainly one pretoken?
    fn leaves_whole(&self, text: &str) -> bool {
        self.0.iter().all(|step| match &step.engine {
            Engine::Whole => true,
            Engine::Scanner(scanner) => scanner.arms.leaves_whole(text),
            Engine::CustomScanner(scanner) => scanner.arms.leaves_whole(text),
            Engine::Automaton(_) | Engine::Linear(_) | Engine::Backtracking(_) | Engine::Sequence(_) => false,
        })
    }

    /// Calls `emit` for every pretoken, in order. The position of an error of a pattern is that in the text.
    pub(super) fn for_each(&self, text: &str, emit: &mut dyn FnMut(Span) -> Result<()>) -> Result<()> {
        divide(&self.0, text, 0, emit)
    }

    pub(super) fn ignores(&self, text: &str) -> bool {
        self.0.iter().all(|step| step.ignores(text))
    }

    /// See [`Splitter::cuts_between`]. A step must cut, and the steps before it must match neither character.
    pub(super) fn cuts_between(&self, left: char, right: char) -> bool {
        let ignores = |step: &Splitter, c: char| step.ignores(c.encode_utf8(&mut [0; 4]));
        for step in &self.0 {
            if step.cuts_between(left, right) {
                return true;
            }
            if !ignores(step, left) || !ignores(step, right) {
                return false;
            }
        }
        false
    }

    /// See [`Splitter::safe_cut`].
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let start = (from.max(1)..text.len()).find(|&at| text.is_char_boundary(at))?;
        let mut left = text[..start].chars().next_back()?;
        let near = text[start..].char_indices().take_while(|(distance, _)| *distance < MAX_CUT_DISTANCE);
        for (distance, right) in near {
            if self.cuts_between(left, right) {
                return Some(start + distance);
            }
            left = right;
        }
        None
    }
}

/// Splits a text that begins at byte `base`, first by the first step, then each piece by the others.
fn divide(
    steps: &[Splitter],
    text: &str,
    base: usize,
    emit: &mut dyn FnMut(Span) -> Result<()>,
) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else { return emit(Span::new(base, base + text.len())) };
    // The position of an error of `emit` or of a later step is right already.
    let mut is_ours = true;
    let split = step.for_each(text, |span| {
        divide(rest, &text[span.start..span.end], base + span.start, emit).inspect_err(|_| is_ours = false)
    });
    split.map_err(|error| if is_ours { shifted(error, base) } else { error })
}

fn shifted(error: Error, base: usize) -> Error {
    let is_split = matches!(error.kind, Kind::Pattern { .. });
    error.placed(|place| match place {
        Place::Byte(at) if is_split => Place::Byte(base + at),
        _ => place,
    })
}
