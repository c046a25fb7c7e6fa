//! What the steps make of a place between two characters, whatever else is in the text.
use super::characters::Rule;
use super::split::{Compiled, Split};
use super::{Characters, PreTokenizers, Step};
use crate::description::Behavior;

/// What a step makes of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
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
        let mut steps = self.steps.iter().map(|step| step.between(left, right));
        steps.find(|between| *between != Between::Nothing) == Some(Between::Cut)
    }
}

impl Step {
    fn between(&self, left: char, right: char) -> Between {
        match self {
            Self::Split(split) => split.between(left, right),
            Self::Characters(characters) => characters.between(left, right),
            Self::PrefixSpace => Between::Nothing,
            // The steps that follow see other characters.
            Self::ByteAlphabet if left.is_ascii_graphic() && right.is_ascii_graphic() => Between::Nothing,
            Self::Metaspace(step) if ![left, right].iter().any(|&c| c == ' ' || c == step.replacement) => {
                Between::Nothing
            }
            Self::ByteAlphabet
            | Self::Metaspace(_)
            | Self::Scripts(_)
            | Self::FixedLength(_)
            | Self::Hook(_) => Between::Unknown,
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
            Compiled::Char(sought) if *sought != left && *sought != right => Between::Nothing,
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
