//! The additions of a caller to a description: special tokens, roles of tokens, and whether bos and eos are put
//! around texts.
//!
//! In: a valid description, and literals. Out: the description with them, or an error that names a
//! literal. Nothing is compiled here.
use super::special_tokens::SpellsAsOne;
use super::{Description, PostProcessor, Role, Template, TemplatePiece, TemplateToken};
use crate::error::{Error, Result};
use crate::ids::TokenId;

/// The additions of a caller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Additions {
    /// Special tokens with their ids; `None` for the id that the token has, else the next free one.
    pub special_tokens: Vec<(String, Option<TokenId>)>,
    /// Literals by role, each role at most once. One that is not a token yet becomes a special token.
    pub roles: Vec<(Role, String)>,
    /// Is the bos token put before each sequence? `None` leaves this as it is.
    pub adds_bos: Option<bool>,
    /// Is the eos token put after each sequence? `None` leaves this as it is.
    pub adds_eos: Option<bool>,
}

impl Additions {
    /// Special tokens alone.
    pub fn of_special_tokens(special_tokens: Vec<(String, Option<TokenId>)>) -> Self {
        Self { special_tokens, ..Self::default() }
    }

    /// Is nothing added?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a special token, unless it is among these already.
    pub fn add(&mut self, content: &str) {
        if !self.special_tokens.iter().any(|(known, _)| known == content) {
            self.special_tokens.push((content.to_owned(), None));
        }
    }

    /// These additions overridden by `over` for tokens and roles that both name.
    #[must_use]
    pub fn overridden_by(mut self, over: &Self) -> Self {
        self.special_tokens
            .retain(|(content, _)| over.special_tokens.iter().all(|(other, _)| other != content));
        self.special_tokens.extend(over.special_tokens.iter().cloned());
        self.roles.retain(|(role, _)| over.roles.iter().all(|(other, _)| other != role));
        self.roles.extend(over.roles.iter().cloned());
        Self { adds_bos: over.adds_bos.or(self.adds_bos), adds_eos: over.adds_eos.or(self.adds_eos), ..self }
    }

    /// All special tokens, those of roles included, each once.
    pub fn all_special_tokens(&self) -> Vec<(String, Option<TokenId>)> {
        let mut all = Self::of_special_tokens(self.special_tokens.clone());
        self.roles.iter().for_each(|(_, literal)| all.add(literal));
        all.special_tokens
    }
}

impl Description {
    /// Returns the description with the additions of a caller.
    ///
    /// # Errors
    /// As [`Self::with_special_tokens`]; an argument error for bos or eos around texts without a token
    /// of that role, or with a post-processor that cannot put it there.
    pub fn with_additions(self, additions: &Additions, spells_as_one: &mut SpellsAsOne<'_>) -> Result<Self> {
        let mut description = self.with_special_tokens(&additions.all_special_tokens(), spells_as_one)?;
        for (role, literal) in &additions.roles {
            description.give_role(*role, literal);
        }
        for (role, adds) in [(Role::Bos, additions.adds_bos), (Role::Eos, additions.adds_eos)] {
            if let Some(adds) = adds {
                description.put_around(role, adds)?;
            }
        }
        Ok(description)
    }

    /// Gives a role to the added token with this content.
    fn give_role(&mut self, role: Role, content: &str) {
        let Some(token) = self.added_tokens.iter().find(|token| token.content == content) else { return };
        self.roles.set(role, token.id);
        match role {
            Role::Pad => {
                if let Some(padding) = &mut self.padding {
                    padding.id = token.id;
                    content.clone_into(&mut padding.token);
                }
            }
            Role::Unk => self.model.set_unk(token.id),
            _ => {}
        }
    }

    /// Puts the token of a role before each sequence (bos) or after it (eos), or removes it there.
    fn put_around(&mut self, role: Role, adds: bool) -> Result<()> {
        let argument = format!("add_{}_token={}", role.name(), if adds { "True" } else { "False" });
        let token = self.roles.of(role).and_then(|id| self.added_tokens.iter().find(|token| token.id == id));
        let Some((id, name)) = token.map(|token| (token.id, token.content.clone())) else {
            if !adds {
                return Ok(());
            }
            let reason = format!("{argument} needs a token with this role; give {}_token too", role.name());
            return Err(Error::argument(reason));
        };
        let is_template = |step: &PostProcessor| matches!(step, PostProcessor::Template(_));
        if !self.post_processor.iter().any(is_template) {
            if self.post_processor.iter().any(|step| !matches!(step, PostProcessor::ByteLevel { .. })) {
                let reason = format!(
                    "{argument}: this tokenizer puts its own two tokens around texts, and none can be added or removed"
                );
                return Err(Error::argument(reason));
            }
            if !adds {
                return Ok(());
            }
            self.post_processor.push(PostProcessor::Template(Template::of_sequences()));
        }
        for step in &mut self.post_processor {
            if let PostProcessor::Template(template) = step {
                template.put_around(&name, id, role == Role::Bos, adds);
            }
        }
        Ok(())
    }
}

impl Template {
    /// The template of one sequence, or of two with the types 0 and 1, without special tokens.
    fn of_sequences() -> Self {
        let first = TemplatePiece::Sequence { second: false, type_id: 0 };
        let second = TemplatePiece::Sequence { second: true, type_id: 1 };
        Self { single: vec![first.clone()], pair: vec![first, second], special_tokens: Vec::new() }
    }

    /// Puts a token next to each sequence, unless it is there already; or removes it there.
    fn put_around(&mut self, name: &str, id: TokenId, is_before: bool, adds: bool) {
        let known = self.special_tokens.iter().find(|token| token.ids == [id]);
        let name = known.map_or(name, |token| &token.name).to_owned();
        let is_it = |piece: &TemplatePiece| matches!(piece, TemplatePiece::Special { name: other, .. } if *other == name);
        for pieces in [&mut self.single, &mut self.pair] {
            let mut new: Vec<TemplatePiece> = Vec::with_capacity(pieces.len() + 2);
            let mut given = std::mem::take(pieces).into_iter().peekable();
            while let Some(piece) = given.next() {
                let TemplatePiece::Sequence { type_id, .. } = piece else {
                    new.push(piece);
                    continue;
                };
                let token = TemplatePiece::Special { name: name.clone(), type_id };
                if is_before {
                    let is_there = new.last().is_some_and(is_it);
                    if is_there && !adds {
                        new.pop();
                    } else if !is_there && adds {
                        new.push(token);
                    }
                    new.push(piece);
                } else {
                    new.push(piece);
                    let there = given.next_if(is_it);
                    if adds {
                        new.push(there.unwrap_or(token));
                    }
                }
            }
            *pieces = new;
        }
        let is_used = |name: &str| {
            let pieces = self.single.iter().chain(&self.pair);
            pieces
                .into_iter()
                .any(|piece| matches!(piece, TemplatePiece::Special { name: other, .. } if other == name))
        };
        if adds && !self.special_tokens.iter().any(|token| token.name == name) {
            self.special_tokens.push(TemplateToken { name: name.clone(), ids: vec![id], tokens: vec![name] });
            TemplateToken::sort_by_name(&mut self.special_tokens);
        } else if !adds && !is_used(&name) {
            self.special_tokens.retain(|token| token.name != name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{
        Alphabet, BpeDescription, Merges, Padding, PaddingLength, Side, Split, TokenList,
    };

    fn described() -> Description {
        let tokens = TokenList::from_entries((0..=255).map(|byte: u8| (byte.into(), vec![byte])).collect());
        let model = BpeDescription::plain(Alphabet::Bytes, tokens, Merges::listed(Vec::new()));
        Description::of_bpe(&Split::Whole, model)
    }

    fn add(description: Description, additions: &Additions) -> Result<Description> {
        description.with_additions(additions, &mut |_| Ok(None))
    }

    fn words(pieces: &[TemplatePiece]) -> Vec<String> {
        let word = |piece: &TemplatePiece| match piece {
            TemplatePiece::Sequence { second, type_id } => {
                format!("{}:{type_id}", if *second { "B" } else { "A" })
            }
            TemplatePiece::Special { name, type_id } => format!("{name}:{type_id}"),
        };
        pieces.iter().map(word).collect()
    }

    fn around() -> Additions {
        let roles = vec![(Role::Bos, "<s>".to_owned()), (Role::Eos, "</s>".to_owned())];
        Additions { roles, adds_bos: Some(true), adds_eos: Some(true), ..Additions::default() }
    }

    #[test]
    fn roles_become_special_tokens_once() {
        let mut additions = around();
        additions.special_tokens = vec![("</s>".to_owned(), None)];
        additions.roles.push((Role::Pad, "</s>".to_owned()));
        let description = add(described(), &additions).unwrap();
        let contents: Vec<&str> = description.added_tokens.iter().map(|t| t.content.as_str()).collect();
        assert_eq!(contents, ["</s>", "<s>"]);
        assert_eq!(description.roles.eos, description.roles.pad);
        assert_eq!(description.roles.bos, Some(257));
    }

    #[test]
    fn a_role_of_padding_renames_the_padding() {
        let padding = Padding {
            length: PaddingLength::Longest,
            direction: Side::Left,
            multiple_of: None,
            id: 3,
            type_id: 2,
            token: "x".to_owned(),
        };
        let described = Description { padding: Some(padding), ..described() };
        let roles = vec![(Role::Pad, "<pad>".to_owned())];
        let padding = add(described, &Additions { roles, ..Additions::default() }).unwrap().padding.unwrap();
        assert_eq!((padding.id, padding.token.as_str(), padding.direction), (256, "<pad>", Side::Left));
    }

    #[test]
    fn bos_and_eos_come_and_go() {
        let with = add(described(), &around()).unwrap();
        let [PostProcessor::Template(template)] = with.post_processor.as_slice() else { panic!() };
        assert_eq!(words(&template.single), ["<s>:0", "A:0", "</s>:0"]);
        assert_eq!(words(&template.pair), ["<s>:0", "A:0", "</s>:0", "<s>:1", "B:1", "</s>:1"]);
        // Adding the same tokens again changes nothing.
        assert_eq!(add(with.clone(), &around()).unwrap(), with);
        let without = Additions { adds_bos: Some(false), ..Additions::default() };
        let without = add(with, &without).unwrap();
        let [PostProcessor::Template(template)] = without.post_processor.as_slice() else { panic!() };
        assert_eq!(words(&template.single), ["A:0", "</s>:0"]);
        assert_eq!(template.special_tokens.len(), 1);
        without.validate().unwrap();
    }

    #[test]
    fn a_token_around_texts_needs_its_role_and_a_template() {
        let additions = Additions { adds_eos: Some(true), ..Additions::default() };
        let error = add(described(), &additions).unwrap_err().to_string();
        assert!(error.contains("give eos_token too"), "{error}");
        let bert = PostProcessor::Bert { sep: ("a".to_owned(), 1), cls: ("b".to_owned(), 2) };
        let described = Description { post_processor: vec![bert], ..described() };
        let error = add(described, &around()).unwrap_err().to_string();
        assert!(error.contains("its own two tokens"), "{error}");
    }
}
