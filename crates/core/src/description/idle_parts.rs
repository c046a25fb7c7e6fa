//! Parts of a description that have no effect.
use super::{Decoder, Decoding, Description, Normalizer, PostProcessor};

impl Description {
    /// The description without steps that change nothing, and with one notation for settings that mean the same. Two
    /// [canonical](crate::engine::Engine::canonical) descriptions mean the same if these are equal.
    #[must_use]
    pub fn without_idle_parts(mut self) -> Self {
        for step in &mut self.normalizer {
            if let Normalizer::Bert { strip_accents, lowercase, .. } = step {
                strip_accents.get_or_insert(*lowercase);
            }
        }
        self.normalizer.retain(|step| match step {
            Normalizer::Prepend(text) => !text.is_empty(),
            Normalizer::Strip { left, right } => *left || *right,
            _ => true,
        });
        self.post_processor
            .retain(|step| !matches!(step, PostProcessor::ByteLevel { trim_offsets: false, .. }));
        if let Decoding::Steps(steps) = &mut self.decoding {
            for step in steps {
                if let Decoder::Metaspace { split, .. } = step {
                    *split = true;
                }
            }
        }
        self
    }
}
