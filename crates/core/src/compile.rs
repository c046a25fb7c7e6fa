//! From a description to an engine: the only room that chooses between plans.
use crate::description::Description;
use crate::engine::{Engine, Parts};
use crate::error::Result;
use crate::model::bpe::Bpe;
use crate::pattern::Splitter;
use crate::special::LiteralMatcher;
use crate::vocabulary::Vocabulary;

/// Checks a description and makes it ready to run.
///
/// # Errors
/// A format error naming the field of the description that is wrong; a pattern error for a
/// split that is invalid. Cost: proportional to the vocabulary.
pub fn compile(description: Description) -> Result<Engine> {
    description.validate()?;
    let splitter = Splitter::compile(&description.split)?;
    let vocabulary = Vocabulary::new(&description);
    let model = Bpe::new(&description.model, &vocabulary)?;
    let added = &description.added_tokens;
    let contents = |keep: fn(bool) -> bool| {
        added.iter().filter(move |token| keep(token.is_special)).map(|token| token.content.as_str())
    };
    let parts = Parts {
        splitter,
        model,
        all_added: LiteralMatcher::new(contents(|_| true))?,
        special: LiteralMatcher::new(contents(|is_special| is_special))?,
        ordinary_added: LiteralMatcher::new(contents(|is_special| !is_special))?,
        vocabulary,
    };
    Ok(Engine::new(description, parts))
}
