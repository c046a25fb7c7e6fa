//! The compiled tokenizer: immutable tables, and the only room that knows the order of the
//! stages.
//!
//! An [`Engine`] may be shared between threads and forked. What changes while it runs is a
//! worker (see `worker`), which one call holds alone.
mod batch;
mod decode;
mod derive;
mod encode;
mod offsets;
mod worker;

pub use decode::{DecodeOptions, Undefined};
pub use encode::{Special, Text};
pub use offsets::{Encoding, char_offsets};

use crate::description::{Description, Merge, Merges, Split};
use crate::error::{Defect, Error, Result};
use crate::model::bpe::{self, Bpe};
use crate::pattern::{Splitter, from_portable, portable};
use crate::special::LiteralMatcher;
use crate::vocabulary::Vocabulary;
use worker::Workers;

/// A tokenizer, ready to run.
#[derive(Debug)]
pub struct Engine {
    description: Description,
    parts: Parts,
    workers: Workers,
}

/// The compiled stages.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) splitter: Splitter,
    pub(crate) model: Bpe,
    /// Every added token, in the order of the vocabulary's list.
    pub(crate) all_added: LiteralMatcher,
    /// The special ones among them, in that order.
    pub(crate) special: LiteralMatcher,
    /// The others, in that order.
    pub(crate) ordinary_added: LiteralMatcher,
    pub(crate) vocabulary: Vocabulary,
}

impl Engine {
    pub(crate) fn new(description: Description, parts: Parts) -> Self {
        Self { description, parts, workers: Workers::default() }
    }

    /// What this tokenizer is.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Ids and bytes.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.parts.vocabulary
    }

    /// The split, compiled.
    pub fn splitter(&self) -> &Splitter {
        &self.parts.splitter
    }

    /// Can every text be spelled without an unknown token?
    pub fn is_byte_complete(&self) -> bool {
        self.parts.model.is_byte_complete()
    }

    /// The merges in rank order. For an id-ordered vocabulary: for every token the two it is
    /// made of, in order of ids.
    ///
    /// # Errors
    /// A format error when an id-ordered vocabulary means something that no list of merges says.
    pub fn merges(&self) -> Result<Vec<Merge>> {
        match &self.description.model.merges {
            Merges::Listed(merges) => Ok(merges.clone()),
            Merges::ById => bpe::listed_merges(&self.parts.vocabulary).map_err(|id| {
                let reason = format!(
                    "token {id} is not built by merging two tokens with lower ids, so that no list of merges \
                     means the same"
                );
                Error::format(Defect::CannotHold, reason).at("merges").at("model")
            }),
        }
    }

    /// The one description among all that mean the same: merges as a list where a list can say
    /// it, and no rule for whole pretokens where merging gives the same. Two tokenizers are equal
    /// when their canonical descriptions are.
    pub fn canonical(&self) -> Description {
        let mut description = self.description.clone();
        // Files in another dialect give a pattern back as that dialect spells it.
        if let Split::Pattern(pattern) = &description.split
            && let Ok(again) = portable(pattern).and_then(|portable| from_portable(&portable))
        {
            description.split = Split::Pattern(again);
        }
        if let Ok(merges) = self.merges() {
            description.model.merges = Merges::Listed(merges);
        }
        if description.model.whole_pretokens && self.parts.model.builds_every_token(self.vocabulary()) {
            description.model.whole_pretokens = false;
        }
        description
    }
}
