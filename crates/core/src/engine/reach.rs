//! Which entries of the vocabulary no text can reach.
//!
//! In: an engine. Out: tokens, and merges, of which the model alone decides that no text gives them, whatever the
//! other stages do to it. What the split keeps apart is not asked here: texts show that.
use super::Engine;
use crate::byte_alphabet::byte_token;
use crate::description::{ModelDescription, PieceKind};
use crate::error::Result;
use crate::model::bpe::Unbuilt;
use crate::model::{Model, Scratch};
use crate::watch::{Ticker, Watch};

impl Engine {
    /// The ordinary tokens that the model never gives, and those that it gives only for a pretoken that has exactly
    /// their bytes. Known for byte-pair encoding and Unigram; for other models there are none.
    ///
    /// # Errors
    /// Cancellation.
    pub fn never_built(&self, watch: &dyn Watch) -> Result<Unbuilt> {
        let mut ticker = Ticker::new(watch);
        match (&self.stages.model, &self.description.model) {
            (Model::Bpe(model), ModelDescription::Bpe(description)) => {
                model.unbuilt(description, self.vocabulary(), &mut ticker)
            }
            // A piece whose text has a better path is on no best path: the better one would take its place.
            (model @ Model::Unigram(_), ModelDescription::Unigram(description)) => {
                let mut scratch = Scratch::default();
                let mut found = Unbuilt::default();
                for (index, (id, bytes)) in self.vocabulary().tokens().iter().enumerate() {
                    let kind = description.kinds.get(index).copied().unwrap_or_default();
                    // Tokens that the search for the best path never gives.
                    let bypasses_search = self.vocabulary().added_by_id(id).is_some()
                        || description.unk == Some(id)
                        || !matches!(kind, PieceKind::Normal | PieceKind::Unused)
                        || (description.byte_fallback && byte_token(bytes).is_some());
                    if bypasses_search {
                        continue;
                    }
                    let spelled = model.encode(bytes, self.vocabulary(), &mut scratch, &mut ticker);
                    if let Err(error) = spelled {
                        if matches!(error.kind, crate::error::Kind::Cancelled) {
                            return Err(error);
                        }
                        found.never.push(id);
                    } else if scratch.ids != [id] {
                        found.never.push(id);
                    }
                }
                Ok(found)
            }
            _ => Ok(Unbuilt::default()),
        }
    }

    /// The ranks of the listed merges that no text makes, ascending. Empty for a model without a list of merges.
    ///
    /// # Errors
    /// Cancellation.
    pub fn unused_merges(&self, watch: &dyn Watch) -> Result<Vec<u32>> {
        match (&self.stages.model, &self.description.model) {
            (Model::Bpe(model), ModelDescription::Bpe(description)) => {
                model.unused_merges(description, self.vocabulary(), &mut Ticker::new(watch))
            }
            _ => Ok(Vec::new()),
        }
    }
}
