//! Tokenizers with another vocabulary, and the texts whose ids they keep: tokens are removed, added, renumbered and
//! renamed.
//!
//! In: an engine, and what is to change. Out: a [`Surgery`]: the new description, a map from old ids to new ones, and a
//! [`Promise`] that says for which texts the new tokenizer gives the old ids, mapped. `docs/surgery.md` has the proofs.
//! A change for which nothing could be promised is refused.
mod extend;
mod join;
mod merger;
mod promise;
mod remap;
mod rename;
#[cfg(test)]
mod tests;
mod trim;

pub use extend::extend;
pub use join::join;
pub use promise::{Condition, Promise};
pub use remap::{IdMap, remap};
pub use rename::rename_special;
pub use trim::trim;

use crate::description::Description;

/// A changed tokenizer.
#[derive(Debug)]
pub struct Surgery {
    /// The new tokenizer.
    pub description: Description,
    /// The new id of every old one.
    pub id_map: IdMap,
    /// The texts whose ids are the old ones, mapped.
    pub promise: Promise,
}
