//! What the steps make of a place between two characters, whatever else is in the text.
use super::characters::Rule;
use super::split::{Compiled, Split};
use super::{Characters, PreTokenizers, Step};
use crate::description::Behavior;

/// What a step makes of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// A piece always ends there.
    Cut,
    /// Nothing: what is on the one side changes no border on the other side.
    Nothing,
    Unknown,
}

impl PreTokenizers {
    /// Is a text cut between these two characters, whatever surrounds them, and are the pretokens on either side
    /// those of that side alone? The first characters of a text may be changed, as they are if it begins there.
    pub(crate) fn cuts_between(&self, left: char, right: char) -> bool {
        self.between(left, right) == Between::Cut
    }

    /// Is every character of a text in a pretoken?
    pub(crate) fn keep_all(&self) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Split(split) => split.behavior != Behavior::Removed,
            Step::Characters(characters) => {
                matches!(characters.rule, Rule::Matches(behavior) if behavior != Behavior::Removed)
            }
            Step::FixedLength(_) | Step::PrefixSpace | Step::ByteAlphabet | Step::Metaspace(_) => true,
            Step::Scripts(_) | Step::Hook(_) => false,
        })
    }

    /// Is a text never cut between these two characters, whatever surrounds them?
    pub(crate) fn joins(&self, left: char, right: char) -> bool {
        self.between(left, right) == Between::Nothing
    }

    /// What all steps make of the place between these two characters, whatever surrounds them.
    pub(crate) fn between(&self, left: char, right: char) -> Between {
        let mut steps = self.steps.iter().enumerate().map(|(number, step)| {
            let between = step.between(left, right);
            // The steps that follow see other characters.
            let is_last = number + 1 == self.steps.len();
            if between == Between::Nothing && !is_last && step.changes(left, right) {
                Between::Unknown
            } else {
                between
            }
        });
        steps.find(|between| *between != Between::Nothing).unwrap_or(Between::Nothing)
    }
}

impl Step {
    fn between(&self, left: char, right: char) -> Between {
        match self {
            Self::Split(split) => split.between(left, right),
            Self::Characters(characters) => characters.between(left, right),
            // A piece begins at each mark.
            Self::Metaspace(step) if step.split && step.marks(right) => Between::Cut,
            Self::Metaspace(_) | Self::PrefixSpace | Self::ByteAlphabet => Between::Nothing,
            Self::Scripts(_) | Self::FixedLength(_) | Self::Hook(_) => Between::Unknown,
        }
    }

    /// Does the step make other characters of these?
    fn changes(&self, left: char, right: char) -> bool {
        match self {
            Self::ByteAlphabet => !left.is_ascii_graphic() || !right.is_ascii_graphic(),
            Self::Metaspace(step) => step.marks(left) || step.marks(right),
            _ => false,
        }
    }
}

impl Split {
    fn between(&self, left: char, right: char) -> Between {
        match &self.pattern {
            Compiled::Regex(splitter) => {
                let ignores = |c: char| splitter.ignores(c.encode_utf8(&mut [0; 4]));
                match self.behavior {
                    Behavior::Isolated if splitter.cuts_between(left, right) => Between::Cut,
                    Behavior::Isolated if ignores(left) && ignores(right) => Between::Nothing,
                    // What is in no match is dropped.
                    Behavior::Removed if self.invert && splitter.cuts_between(left, right) => Between::Cut,
                    _ => Between::Unknown,
                }
            }
            Compiled::Char(c) if *c != left && *c != right => Between::Nothing,
            Compiled::Literal(literal) if !literal.contains([left, right]) => Between::Nothing,
            Compiled::Char(_) | Compiled::Literal(_) => Between::Unknown,
        }
    }
}

impl Characters {
    fn between(&self, left: char, right: char) -> Between {
        let [left, right] = [left, right].map(|c| self.class_of(c));
        if Self::is_white(left) || Self::is_white(right) {
            return Between::Unknown;
        }
        match self.rule {
            Rule::Alone | Rule::Matches(Behavior::Isolated) if left != 0 || right != 0 => Between::Cut,
            Rule::Runs | Rule::Matches(Behavior::Contiguous) if left != right => Between::Cut,
            Rule::Alone | Rule::Runs | Rule::Matches(Behavior::Isolated | Behavior::Contiguous) => {
                Between::Nothing
            }
            Rule::Matches(_) if left == 0 && right == 0 => Between::Nothing,
            Rule::Matches(_) => Between::Unknown,
        }
    }
}
