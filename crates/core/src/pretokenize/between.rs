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

/// The class of a character for all steps: [`CLASS_BITS`] for each, the first step in the lowest bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CharClass(u16);

const CLASS_BITS: usize = 2;
const CLASS_MASK: u8 = (1 << CLASS_BITS) - 1;

/// The most steps that a class has bits for.
const MOST_CLASSES: usize = 8;

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
        self.first_known(|_, step| match step.class(left).zip(step.class(right)) {
            Some((left, right)) => (step.between_classes(left, right), step.changes(left | right)),
            None => (step.between_chars(left, right), false),
        })
    }

    /// The class of a character, which is all that the steps look at when they cut. `None` if one looks at more.
    pub(crate) fn class(&self, c: char) -> Option<CharClass> {
        if self.steps.len() > MOST_CLASSES {
            return None;
        }
        let mut steps = self.steps.iter().rev();
        steps.try_fold(0, |class, step| Some(class << CLASS_BITS | u16::from(step.class(c)?))).map(CharClass)
    }

    /// As [`Self::between`], for two characters of these classes.
    pub(crate) fn between_classes(&self, left: CharClass, right: CharClass) -> Between {
        self.first_known(|number, step| {
            let of = |class: CharClass| (class.0 >> (number * CLASS_BITS)) as u8 & CLASS_MASK;
            let (left, right) = (of(left), of(right));
            (step.between_classes(left, right), step.changes(left | right))
        })
    }

    /// The answer of the first step that cuts a place, or of which it is not known. For a step and its number, `of`
    /// returns the answer of that step, and whether the step rewrites a character beside the place.
    #[inline]
    fn first_known(&self, of: impl Fn(usize, &Step) -> (Between, bool)) -> Between {
        for (number, step) in self.steps.iter().enumerate() {
            match of(number, step) {
                // The steps that follow see other characters.
                (Between::Nothing, true) if number + 1 < self.steps.len() => return Between::Unknown,
                (Between::Nothing, _) => {}
                (between, _) => return between,
            }
        }
        Between::Nothing
    }
}

impl Step {
    /// The class of a character for this step, below `1 << CLASS_BITS`. `None` if it cuts by more than classes.
    fn class(&self, c: char) -> Option<u8> {
        match self {
            Self::Split(split) => match &split.pattern {
                Compiled::Regex(_) => None,
                Compiled::Char(of) => Some(u8::from(*of == c)),
                Compiled::Literal(literal) => Some(u8::from(literal.contains(c))),
            },
            Self::Characters(characters) => Some(characters.class_of(c)),
            Self::Metaspace(step) => Some(u8::from(step.marks(c))),
            Self::ByteAlphabet => Some(u8::from(!c.is_ascii_graphic())),
            Self::PrefixSpace => Some(0),
            Self::Scripts(_) | Self::FixedLength(_) | Self::Hook(_) => None,
        }
    }

    fn between_classes(&self, left: u8, right: u8) -> Between {
        match self {
            // Neither character is in the literal.
            Self::Split(_) if left | right == 0 => Between::Nothing,
            Self::Characters(characters) => characters.between(left, right),
            // A piece begins at each mark.
            Self::Metaspace(step) if step.split && right != 0 => Between::Cut,
            Self::Metaspace(_) | Self::PrefixSpace | Self::ByteAlphabet => Between::Nothing,
            Self::Split(_) | Self::Scripts(_) | Self::FixedLength(_) | Self::Hook(_) => Between::Unknown,
        }
    }

    /// As [`Self::between_classes`], where a step looks at more than classes.
    fn between_chars(&self, left: char, right: char) -> Between {
        match self {
            Self::Split(split) => split.between(left, right),
            _ => Between::Unknown,
        }
    }

    /// Does the step rewrite a character of this class? `class` may be the OR of two classes.
    fn changes(&self, class: u8) -> bool {
        matches!(self, Self::ByteAlphabet | Self::Metaspace(_)) && class != 0
    }
}

impl Split {
    fn between(&self, left: char, right: char) -> Between {
        let Compiled::Regex(splitter) = &self.pattern else { return Between::Unknown };
        let ignores = |c: char| splitter.ignores(c.encode_utf8(&mut [0; 4]));
        match self.behavior {
            Behavior::Isolated if splitter.cuts_between(left, right) => Between::Cut,
            Behavior::Isolated if ignores(left) && ignores(right) => Between::Nothing,
            // What is in no match is dropped.
            Behavior::Removed if self.invert && splitter.cuts_between(left, right) => Between::Cut,
            _ => Between::Unknown,
        }
    }
}

impl Characters {
    fn between(&self, left: u8, right: u8) -> Between {
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
