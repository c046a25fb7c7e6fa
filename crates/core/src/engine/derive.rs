//! Tokenizers made from others: with a smaller vocabulary, more special tokens, other chat templates, or another
//! cache budget. The engine that they are made from does not change.
use std::collections::HashSet;

use super::Engine;
use super::lookup::DEFAULT_CACHE_BYTES;
use super::worker::Workers;
use crate::description::{Additions, ChatTemplates, Description, Merge, Merges};
use crate::error::{Error, Result};
use crate::ids::TokenId;

impl Engine {
    /// The same tokenizer with only as many of the first merges as leave `vocab_size` ids. The
    /// ids of the tokens that stay are the same; a prefix of the merges is what training to the
    /// smaller size would have learned.
    ///
    /// # Errors
    /// A vocabulary error when `vocab_size` is larger than the vocabulary or too small for the
    /// alphabet and the added tokens; a format error as for [`Self::merges`].
    pub fn with_vocab_size(&self, vocab_size: usize) -> Result<Description> {
        let mut merges: Vec<Merge> = self.merges()?.iter().collect();
        // A file may list several merges that make the same token.
        let results: HashSet<TokenId> = merges.iter().map(|merge| merge.result).collect();
        let size = self.vocabulary().len();
        let smallest = size - results.len();
        if vocab_size > size || vocab_size < smallest {
            let reason = format!(
                "vocab_size={vocab_size} is not between {smallest} (no merges) and {size} (all of them)"
            );
            return Err(Error::vocabulary(None, reason));
        }
        let mut made = HashSet::new();
        let mut length = 0;
        for merge in &merges {
            if !(made.contains(&merge.result) || made.len() < vocab_size - smallest) {
                break;
            }
            made.insert(merge.result);
            length += 1;
        }
        merges.truncate(length);
        let is_dropped = |id: TokenId| results.contains(&id) && !made.contains(&id);
        // Published lists have every way to build a token, also from tokens whose own merges come later.
        merges.retain(|merge| !is_dropped(merge.left) && !is_dropped(merge.right));
        let mut description = self.description.clone();
        description.model.drop_tokens(|id, _| is_dropped(id));
        if let Some(model) = description.model.as_bpe_mut()
            && matches!(model.merges, Merges::Listed(_))
        {
            model.merges = Merges::listed(merges);
        }
        Ok(description)
    }

    /// The same tokenizer with the caller's additions.
    ///
    /// # Errors
    /// As [`Description::with_additions`].
    pub fn with_additions(&self, additions: &Additions) -> Result<Description> {
        let (model, vocabulary) = (&self.stages.model, self.vocabulary());
        let spells_as_one = &mut |bytes: &[u8]| Ok(model.spells_as_one(bytes, vocabulary));
        self.description.clone().with_additions(additions, spells_as_one)
    }

    /// The same engine, whose workers may cache this many bytes together; the default is 32 MiB. Only its speed
    /// changes.
    #[must_use]
    pub fn with_cache_bytes(self, bytes: Option<usize>) -> Self {
        Self { workers: Workers::new(bytes.unwrap_or(DEFAULT_CACHE_BYTES)).into(), ..self }
    }

    /// The same tokenizer with these chat templates, and no others. Nothing is compiled: both engines share
    /// tables and caches.
    #[must_use]
    pub fn with_chat_templates(&self, chat_templates: ChatTemplates) -> Self {
        Self {
            description: Description { chat_templates, ..self.description.clone() },
            hooks: self.hooks.clone(),
            stages: self.stages.clone(),
            static_table: self.static_table.clone(),
            workers: self.workers.clone(),
            image_bytes: self.image_bytes,
            unforgeable: self.unforgeable.clone(),
            text_cuts: self.text_cuts.clone(),
            pairs: self.pairs.clone(),
            token_lengths: self.token_lengths.clone(),
        }
    }
}
