//! Default tokens of roles: from the vocabulary, else from the class.
use serde_json::Value;
use tokenmill_core::sorting;

use super::classes::Recipe;
use super::settings::Settings;
use super::sources::Source;
use super::tokens::{ROLES, Token};

impl Settings {
    /// Sets the roles that the folder does not name to the tokens of its vocabulary, else to those
    /// of the class.
    pub(super) fn apply_roles(&mut self, recipe: &Recipe, source: &Source) {
        self.named = self.tokens.named.iter().map(|(name, _)| name.clone()).collect();
        let named = &mut self.tokens.named;
        for (role, token) in named.iter_mut() {
            if role == "mask_token"
                && let Some(token) = token.as_mut().filter(|token| !token.has_flags)
            {
                *token = (recipe.mask)(std::mem::take(&mut token.content));
            }
        }
        for (role, content) in &source.roles {
            if !named.iter().any(|(name, _)| name == role) {
                named.push(((*role).to_owned(), Some(Token::literal(content.clone()))));
            }
        }
        for &(role, content) in recipe.roles {
            if !named.iter().any(|(name, _)| name == role) {
                let of_class = if role == "mask_token" { recipe.mask } else { Token::literal };
                named.push((role.to_owned(), Some(of_class(content.to_owned()))));
            }
        }
        let padding =
            source.file.padding.as_ref().and_then(|padding| padding.get("pad_token")).and_then(Value::as_str);
        if let Some(pad) = padding
            && !named.iter().any(|(name, _)| name == "pad_token")
        {
            named.push(("pad_token".to_owned(), Some(Token::literal(pad))));
        }
        let place = |name: &str| ROLES.iter().position(|role| *role == name).unwrap_or(ROLES.len());
        sorting::sort_by_key(named, |(name, _)| place(name));
    }
}
