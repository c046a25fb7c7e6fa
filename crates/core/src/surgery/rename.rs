//! A special token by another name.
//!
//! In: the literal of a special token and a new one. Out: the tokenizer in which the new literal stands wherever the old
//! one stood, the id being the same. A chat template that wrote the old literal must write the new one.
use std::sync::Arc;

use super::{Condition, IdMap, Promise, Surgery};
use crate::description::{Description, Normalizer, PostProcessor, TemplatePiece, TokenList};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::TokenId;

/// The same tokenizer with another literal for a special token, in templates and chat templates too.
///
/// # Errors
/// A special-token error for a literal that is no special token, for a new one that is empty or a token already, for a
/// token that merges are listed for, and for a new literal that cannot stand in a chat template as it is.
pub fn rename_special(engine: &Engine, old: &str, new: &str) -> Result<Surgery> {
    let mut description = engine.description().clone();
    let Some(at) = description.added_tokens.iter().position(|token| token.is_special && token.content == old)
    else {
        return Err(Error::special(old, "is no special token of this tokenizer"));
    };
    let id = description.added_tokens[at].id;
    if new.is_empty() {
        return Err(Error::special("", "a special token cannot be empty"));
    }
    if description.added_tokens[at].normalized && !description.normalizer.is_empty() {
        let reason = "is searched for in normalized text, so that texts become it in which nobody wrote it; nothing can be \
                      said of those that would become the new one";
        return Err(Error::special(old, reason));
    }
    let vocabulary = engine.vocabulary();
    if new != old && (vocabulary.find(new.as_bytes()).is_some() || vocabulary.added_by_content(new).is_some())
    {
        return Err(Error::special(new, "is a token already"));
    }
    rename_in_model(&mut description, id, old, new)?;
    rename_in_chat_templates(&mut description, old, new)?;
    new.clone_into(&mut description.added_tokens[at].content);
    if let Some(padding) = description.padding.as_mut().filter(|padding| padding.token == old) {
        new.clone_into(&mut padding.token);
    }
    for step in &mut description.post_processor {
        match step {
            PostProcessor::Template(template) => {
                // Names are keys within the template; what they stand for is an id.
                let is_free = template.special_tokens.iter().all(|token| token.name != new);
                for token in &mut template.special_tokens {
                    for (written, _) in
                        token.tokens.iter_mut().zip(&token.ids).filter(|(_, other)| **other == id)
                    {
                        new.clone_into(written);
                    }
                    if token.name == old && is_free {
                        new.clone_into(&mut token.name);
                    }
                }
                for piece in template.single.iter_mut().chain(&mut template.pair) {
                    if let TemplatePiece::Special { name, .. } = piece
                        && name == old
                        && is_free
                    {
                        new.clone_into(name);
                    }
                }
                crate::description::TemplateToken::sort_by_name(&mut template.special_tokens);
            }
            PostProcessor::Bert { sep, cls } | PostProcessor::Roberta { sep, cls, .. } => {
                for (literal, _) in [sep, cls].into_iter().filter(|(_, other)| *other == id) {
                    new.clone_into(literal);
                }
            }
            PostProcessor::ByteLevel { .. } => {}
        }
    }
    for step in &mut description.normalizer {
        if let Normalizer::SentencePiece(rules) = step {
            for literal in rules.user_defined.iter_mut().filter(|literal| *literal == old) {
                new.clone_into(literal);
            }
        }
    }
    let without = vec![old.as_bytes().to_vec(), new.as_bytes().to_vec()];
    let promise = Promise::of(Condition::Without(without));
    Ok(Surgery { description, id_map: IdMap::identity(engine)?, promise })
}

/// Renames the ordinary token that some formats list under the same id.
fn rename_in_model(description: &mut Description, id: TokenId, old: &str, new: &str) -> Result<()> {
    let is_it = |other: TokenId, bytes: &[u8]| other == id && bytes == old.as_bytes();
    let tokens = description.model.tokens();
    if !tokens.iter().any(|(other, bytes)| is_it(other, bytes)) {
        return Ok(());
    }
    if let Some(crate::description::Merges::Listed(merges)) =
        description.model.as_bpe().map(|model| &model.merges)
        && merges.iter().any(|merge| [merge.left, merge.right, merge.result].contains(&id))
    {
        return Err(Error::special(old, "is a token that merges are listed for; its bytes cannot change"));
    }
    let mut renamed = TokenList::with_capacity(tokens.len(), tokens.size() + new.len());
    for (other, bytes) in tokens.iter() {
        renamed.push(other, if is_it(other, bytes) { new.as_bytes() } else { bytes });
    }
    *description.model.tokens_mut() = Arc::new(renamed);
    Ok(())
}

/// Chat templates write literals as they are.
fn rename_in_chat_templates(description: &mut Description, old: &str, new: &str) -> Result<()> {
    let templates: Vec<(String, String)> = description
        .chat_templates
        .iter()
        .filter(|(_, source)| source.contains(old))
        .map(|(name, source)| (name.to_owned(), source.replace(old, new)))
        .collect();
    let needs_quoting =
        |char: char| matches!(char, '\'' | '"' | '\\' | '{' | '}' | '%' | '#') || char.is_control();
    if !templates.is_empty() && new.contains(needs_quoting) {
        let reason = "holds a quote, brace, backslash, control character or a sign of Jinja, and a chat template writes this \
                      token; change the template by hand with with_chat_template";
        return Err(Error::special(new, reason));
    }
    for (name, source) in templates {
        description.chat_templates.set(&name, &source)?;
    }
    Ok(())
}
