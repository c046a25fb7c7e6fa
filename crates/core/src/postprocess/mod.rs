//! Post-processing: the tokens around the ids of a text, truncation and padding.
//!
//! In: the lengths of one or two encoded sequences. Out: [`OutputPart`]s in order: ranges of the
//! sequences, special tokens, padding. No id of the text is read or moved, so a window of a long
//! text costs a few parts, not a copy.
//!
//! The layout does not depend on the text: it is a row of slots for one sequence and one for two
//! ([`PostProcessors::slots`]).
mod bert;
mod byte_level;
mod cells;
mod pad;
mod roberta;
mod template;
#[cfg(test)]
mod tests;
mod truncate;

use std::collections::HashMap;

pub use byte_level::white_space_at_ends;
pub use cells::{Column, Number, PartsOfRow, RowPadding, pad_mask, pad_positions, pad_values};
pub use pad::{Pad, padded_length};
pub use truncate::{Windows, windows};

use crate::description::PostProcessor;
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::span::Span;

/// A slot in the layout of one or two sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The ids of a sequence.
    Sequence {
        /// The second sequence, not the first.
        second: bool,
        /// The type id of its ids.
        type_id: u32,
    },
    /// A special token.
    Special {
        /// Its id.
        id: TokenId,
        /// Its type id.
        type_id: u32,
    },
}

/// A part of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPart {
    /// A range of a sequence.
    Tokens {
        /// The second sequence, not the first.
        second: bool,
        /// The range, in ids of the sequence.
        range: Span,
        /// Their type id.
        type_id: u32,
    },
    /// A special token.
    Special {
        /// Its id.
        id: TokenId,
        /// Its type id.
        type_id: u32,
    },
    /// Padding.
    Padding {
        /// Number of ids.
        count: usize,
        /// The padding id.
        id: TokenId,
        /// Its type id.
        type_id: u32,
    },
}

impl OutputPart {
    /// Number of ids.
    pub fn len(&self) -> usize {
        match self {
            Self::Tokens { range, .. } => range.len(),
            Self::Special { .. } => 1,
            Self::Padding { count, .. } => *count,
        }
    }

    /// Is the part empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The compiled post-processors. Immutable.
#[derive(Debug, Default)]
pub struct PostProcessors {
    /// Indexed by whether there are two sequences, then by whether special tokens are added.
    slots: [[Vec<Slot>; 2]; 2],
    trims_offsets: bool,
    /// The written forms of special tokens.
    written: HashMap<TokenId, String>,
}

/// Encodings in the middle of post-processing, each as a row of slots.
type Rows = Vec<Vec<Slot>>;

impl PostProcessors {
    /// Compiles the post-processors of a description.
    ///
    /// # Errors
    /// A format error that names the processor by its index: a template names a missing special
    /// token or sequence, or there are more than two encodings before it.
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

    /// The layout of one sequence, or of two.
    pub fn slots(&self, is_pair: bool, adds_special: bool) -> &[Slot] {
        &self.slots[usize::from(is_pair)][usize::from(adds_special)]
    }

    /// Number of special tokens added.
    pub fn added(&self, is_pair: bool) -> usize {
        self.slots(is_pair, true).iter().filter(|slot| matches!(slot, Slot::Special { .. })).count()
    }

    /// Do both give the same for all sequences: layouts, written forms of the special tokens in them, and offsets?
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let forms = |of: &Self| -> Vec<Option<String>> {
            let slots = self.slots.iter().flatten().flatten();
            slots
                .filter_map(|slot| match slot {
                    Slot::Special { id, .. } => Some(of.written(*id).map(str::to_owned)),
                    Slot::Sequence { .. } => None,
                })
                .collect()
        };
        self.slots == other.slots && self.trims_offsets == other.trims_offsets && forms(self) == forms(other)
    }

    /// Do offsets exclude white space at the ends of tokens?
    pub fn trims_offsets(&self) -> bool {
        self.trims_offsets
    }

    /// The written form of an added special token.
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

/// The same slots with one type id.
fn of_type(row: &[Slot], of: u32) -> Vec<Slot> {
    let typed = |slot: &Slot| match *slot {
        Slot::Sequence { second, .. } => Slot::Sequence { second, type_id: of },
        Slot::Special { id, .. } => Slot::Special { id, type_id: of },
    };
    row.iter().map(typed).collect()
}

/// The error for an impossible length or stride.
fn refused(reason: String) -> Error {
    Error::argument(reason)
}
