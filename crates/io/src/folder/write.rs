//! Writes the configuration that a folder needs next to its tokenizer.json.
use serde_json::{Map, Value, json};
use tokenmill_core::description::{
    CallDefaults, CallLimits, ChatTemplates, Description, ModelDescription, Roles, Side,
};
use tokenmill_core::error::{Defect, Error, Result};

use super::chat;
use super::settings::EXTRA;

/// Hint for formats that cannot hold all of a tokenizer.
pub(crate) const LOSSY: &str = "pass lossy=True to save without it";

/// `tokenizer_config.json` with everything that tokenizer.json cannot hold; `None` if it holds everything.
/// `templates` are those that cannot be saved as files of their own.
///
/// With `lists_special`, special tokens without a role are listed under [`EXTRA`], so that they are special in
/// transformers too. For the list alone the file is written only if it changes nothing else.
///
/// # Errors
/// A format error for a role whose token is not an added token, because the file would make it one; also for
/// templates, if writing the file for them would change the padding and truncation of tokenizer.json.
pub(crate) fn write(
    description: &Description,
    templates: &ChatTemplates,
    lists_special: bool,
) -> Result<Option<Vec<u8>>> {
    let Description { roles, defaults, padding, truncation, added_tokens, .. } = description;
    let pad = padding.as_ref().map(|padding| padding.id);
    let of_file = Roles { pad: roles.pad.filter(|&id| Some(id) == pad), ..Roles::default() };
    let has_role = |id| roles.named().iter().any(|(_, role)| *role == Some(id));
    let extra: Vec<&str> = added_tokens
        .iter()
        .filter(|token| lists_special && token.is_special && !has_role(token.id))
        .map(|token| token.content.as_str())
        .collect();
    if *roles == of_file && *defaults == CallDefaults::default() {
        let changes_file = padding.is_some() || truncation.is_some() || description.pad() != roles.pad;
        if templates.is_empty() && (extra.is_empty() || changes_file) {
            return Ok(None);
        }
        if changes_file {
            let reason = format!(
                "chat templates with these names, or with their line ends, need a tokenizer_config.json, beside which \
                 padding and truncation of the tokenizer.json mean something else; {LOSSY}"
            );
            return Err(Error::format(Defect::CannotHold, reason).at("chat_templates"));
        }
    }
    let mut config = Map::new();
    config.insert("tokenizer_class".to_owned(), json!("TokenizersBackend"));
    for (name, id) in roles.named() {
        let key = format!("{name}_token");
        match id {
            Some(id) => {
                let token = added_tokens.iter().find(|token| token.id == id).ok_or_else(|| {
                    let reason = format!("id {id} has a role, but is not an added token; {LOSSY}");
                    Error::format(Defect::CannotHold, reason).at(name).at("roles")
                })?;
                config.insert(key, json!(token.content));
            }
            None if name == "pad" && pad.is_some() => {
                config.insert(key, Value::Null);
            }
            None => {}
        }
    }
    if !extra.is_empty() {
        config.insert(EXTRA.to_owned(), json!(extra));
    }
    if defaults.clean_up_spaces {
        config.insert("clean_up_tokenization_spaces".to_owned(), json!(true));
        if matches!(description.model, ModelDescription::Bpe(_)) {
            let key = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output";
            config.insert(key.to_owned(), json!(true));
        }
    }
    if defaults.special_as_text {
        config.insert("split_special_tokens".to_owned(), json!(true));
    }
    if let Some(CallLimits { padding_side, truncation_side, max_length }) = defaults.limits {
        let name = |side| if side == Side::Left { "left" } else { "right" };
        config.insert("padding_side".to_owned(), json!(name(padding_side)));
        config.insert("truncation_side".to_owned(), json!(name(truncation_side)));
        if let Some(max_length) = max_length {
            config.insert("model_max_length".to_owned(), json!(max_length));
        }
    }
    if !templates.is_empty() {
        config.insert(chat::KEY.to_owned(), chat::for_config(templates));
    }
    let mut text = serde_json::to_vec_pretty(&config)
        .map_err(|error| Error::internal(format!("tokenizer_config.json: {error}")))?;
    text.push(b'\n');
    Ok(Some(text))
}
