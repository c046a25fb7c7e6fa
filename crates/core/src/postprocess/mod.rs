//! Post-processing: what stands around the ids of a text, and which of them are kept.
//!
//! In come the lengths of one or two encoded sequences; out go [`OutputPart`]s in order: pieces of the
//! sequences, special tokens, padding. Nothing here looks at an id of the text or moves one, so
//! that a window of a long text costs a few parts and not a copy.
//!
//! All that post-processors do to ids is known before any text is there: it is a row of slots for
//! one sequence and one for two ([`PostProcessors::slots`]).
mod bert;
mod byte_level;
mod pad;
mod roberta;
mod template;
#[cfg(test)]
mod tests;
mod truncate;

use std::collections::HashMap;

pub use byte_level::white_space_at_ends;
pub use pad::{Pad, padded_length};
pub use truncate::{Windows, windows};

use crate::description::PostProcessor;
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::span::Span;

/// A place in what is made of one or two sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The ids of the first sequence, or the second.
    Sequence {
        /// The second one.
        second: bool,
        /// The type of its ids.
        type_id: u32,
    },
    /// A special token.
    Special {
        /// Its id.
        id: TokenId,
        /// Its type.
        type_id: u32,
    },
}

/// A piece of what comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPart {
    /// Ids of a sequence.
    Tokens {
        /// Of the second one.
        second: bool,
        /// Which, by their number in it.
        range: Span,
        /// Their type.
        type_id: u32,
    },
    /// A special token.
    Special {
        /// Its id.
        id: TokenId,
        /// Its type.
        type_id: u32,
    },
    /// Padding.
    Padding {
        /// How often.
        count: usize,
        /// The id.
        id: TokenId,
        /// Its type.
        type_id: u32,
    },
}

impl OutputPart {
    /// How many ids.
    pub fn len(&self) -> usize {
        match self {
            Self::Tokens { range, .. } => range.len(),
            Self::Special { .. } => 1,
            Self::Padding { count, .. } => *count,
        }
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Post-processors, ready to run. Immutable.
#[derive(Debug, Default)]
pub struct PostProcessors {
    /// By: are there two sequences?, are special tokens added?
    slots: [[Vec<Slot>; 2]; 2],
    trims_offsets: bool,
    /// How special tokens are written.
    written: HashMap<TokenId, String>,
}

/// Encodings on their way through the processors: each is a row of slots.
type Rows = Vec<Vec<Slot>>;

impl PostProcessors {
    /// Makes the processors of a description ready.
    ///
    /// # Errors
    /// A format error naming the processor, its number first: a template names a special token
    /// or a sequence that is not there, or comes when there are more than two encodings.
    pub fn compile(processors: &[PostProcessor]) -> Result<Self> {
        let mut compiled = Self::default();
        for is_pair in [false, true] {
            for adds_special in [false, true] {
                let mut rows: Rows = vec![vec![Slot::Sequence { second: false, type_id: 0 }]];
                if is_pair {
                    rows.push(vec![Slot::Sequence { second: true, type_id: 1 }]);
                }
                for (i, processor) in processors.iter().enumerate() {
                    rows = apply(processor, rows, adds_special).map_err(|e| e.at_index(i))?;
                }
                compiled.slots[usize::from(is_pair)][usize::from(adds_special)] = rows.concat();
            }
        }
        for processor in processors {
            match processor {
                PostProcessor::Template(template) => {
                    for token in &template.special_tokens {
                        let named = token.ids.iter().copied().zip(token.tokens.iter().cloned());
                        compiled.written.extend(named);
                    }
                }
                PostProcessor::Bert { sep, cls } => compiled.name(&[sep, cls]),
                PostProcessor::Roberta { sep, cls, trim_offsets, .. } => {
                    compiled.trims_offsets |= trim_offsets;
                    compiled.name(&[sep, cls]);
                }
                PostProcessor::ByteLevel { trim_offsets, .. } => compiled.trims_offsets |= trim_offsets,
            }
        }
        Ok(compiled)
    }

    fn name(&mut self, tokens: &[&(String, TokenId)]) {
        self.written.extend(tokens.iter().map(|(token, id)| (*id, token.clone())));
    }

    /// What is made of one sequence, or of two.
    pub fn slots(&self, is_pair: bool, adds_special: bool) -> &[Slot] {
        &self.slots[usize::from(is_pair)][usize::from(adds_special)]
    }

    /// How many special tokens are added.
    pub fn added(&self, is_pair: bool) -> usize {
        self.slots(is_pair, true).iter().filter(|slot| matches!(slot, Slot::Special { .. })).count()
    }

    /// Do offsets leave out white space at the ends of tokens?
    pub fn trims_offsets(&self) -> bool {
        self.trims_offsets
    }

    /// How an added special token is written.
    pub fn written(&self, id: TokenId) -> Option<&str> {
        self.written.get(&id).map(String::as_str)
    }
}

fn apply(processor: &PostProcessor, rows: Rows, adds_special: bool) -> Result<Rows> {
    match processor {
        PostProcessor::Template(template) => template::apply(template, &rows, adds_special),
        PostProcessor::Bert { sep, cls } if adds_special => Ok(bert::apply(sep.1, cls.1, rows)),
        PostProcessor::Roberta { sep, cls, .. } => Ok(roberta::apply(sep.1, cls.1, rows, adds_special)),
        PostProcessor::Bert { .. } | PostProcessor::ByteLevel { .. } => Ok(rows),
    }
}

/// The same slots, all of one type.
fn of_type(row: &[Slot], of: u32) -> Vec<Slot> {
    let typed = |slot: &Slot| match *slot {
        Slot::Sequence { second, .. } => Slot::Sequence { second, type_id: of },
        Slot::Special { id, .. } => Slot::Special { id, type_id: of },
    };
    row.iter().map(typed).collect()
}

/// A length or stride that cannot be.
fn refused(reason: String) -> Error {
    Error::argument(reason)
}
