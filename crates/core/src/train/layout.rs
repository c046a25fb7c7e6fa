//! The ids of what was learned, and the description of the tokenizer.
use std::sync::Arc;

use super::learn::Learned;
use super::options::{BertTemplate, BpeOptions, SpecialIds, TrainAlphabet, TrainOptions, WordPieceOptions};
use crate::description::{
    AddedToken, Alphabet, BpeDescription, CallDefaults, ChatTemplates, Decoder, Decoding, Description, Merge,
    Merges, ModelDescription, PostProcessor, Roles, Split, TokenList, WordPieceDescription,
};
use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId, to_u32};

/// Which ids the special tokens have, and which the learned ones.
pub(super) struct Layout {
    literals: Vec<String>,
    /// The id of the first symbol of the alphabet.
    pub(super) first_id: TokenId,
    special: SpecialIds,
}

impl Layout {
    pub(super) fn new(options: &TrainOptions) -> Self {
        let literals: Vec<String> = options.literals().into_iter().map(str::to_owned).collect();
        let first_id = match options.special_ids {
            SpecialIds::First => to_u32(literals.len()),
            SpecialIds::Last => 0,
        };
        Self { literals, first_id, special: options.special_ids }
    }

    /// The special tokens, before or after the `learned` other tokens.
    fn added_tokens(&self, learned: usize) -> Result<Vec<AddedToken>> {
        if learned + self.literals.len() > NO_ID as usize {
            return Err(Error::training("more than 2^32 - 1 tokens"));
        }
        let first = match self.special {
            SpecialIds::First => 0,
            SpecialIds::Last => to_u32(learned),
        };
        Ok((first..)
            .zip(&self.literals)
            .map(|(id, content)| AddedToken::special(id, content.clone()))
            .collect())
    }

    /// A tokenizer of byte-pair encoding.
    pub(super) fn describe(
        self,
        options: TrainOptions,
        model: BpeOptions,
        alphabet: usize,
        tokens: TokenList,
        merges: &[Learned],
    ) -> Result<Description> {
        let added_tokens = self.added_tokens(tokens.len())?;
        let unk = model
            .unk_token
            .and_then(|unk| added_tokens.iter().find(|token| token.content == unk).map(|token| token.id));
        let merges = (to_u32(alphabet)..)
            .zip(merges)
            .map(|(result, merge)| Merge {
                left: self.first_id + merge.left,
                right: self.first_id + merge.right,
                result: self.first_id + result,
            })
            .collect();
        let alphabet = match model.alphabet {
            TrainAlphabet::Bytes => Alphabet::Bytes,
            TrainAlphabet::Chars => Alphabet::Chars { end_of_word: model.end_of_word },
        };
        let model = BpeDescription { unk, ..BpeDescription::plain(alphabet, tokens, Merges::Listed(merges)) };
        let TrainOptions { normalizer, pre_tokenizer, .. } = options;
        Ok(Description {
            added_tokens,
            normalizer,
            pre_tokenizer,
            ..Description::of_bpe(&Split::Whole, model)
        })
    }

    /// A tokenizer of WordPiece.
    pub(super) fn describe_wordpiece(
        self,
        options: TrainOptions,
        model: WordPieceOptions,
        written: &[String],
    ) -> Result<Description> {
        let added_tokens = self.added_tokens(written.len())?;
        let id_of =
            |literal: &str| added_tokens.iter().find(|token| token.content == literal).map(|token| token.id);
        // The model must not contain special tokens, since text would become one.
        let mut tokens = TokenList::default();
        for (id, piece) in (self.first_id..).zip(written) {
            tokens.push(id, piece.as_bytes());
        }
        let WordPieceOptions { unk_token, continuing_prefix, max_chars, template, .. } = model;
        let mut post_processor = Vec::new();
        if let Some(BertTemplate { cls, sep }) = template {
            let named = |literal: String| id_of(&literal).map(|id| (literal, id));
            let (Some(cls), Some(sep)) = (named(cls), named(sep)) else {
                return Err(Error::internal("a template of tokens that do not exist"));
            };
            post_processor.push(PostProcessor::Bert { sep, cls });
        }
        let unk = id_of(&unk_token);
        let prefix = continuing_prefix.clone();
        let model = WordPieceDescription { tokens: Arc::new(tokens), unk, continuing_prefix, max_chars };
        Ok(Description {
            added_tokens,
            normalizer: options.normalizer,
            pre_tokenizer: options.pre_tokenizer,
            model: ModelDescription::WordPiece(model),
            post_processor,
            decoding: Decoding::Steps(vec![Decoder::WordPiece { prefix, cleanup: true }]),
            truncation: None,
            padding: None,
            roles: Roles::default(),
            defaults: CallDefaults::default(),
            chat_templates: ChatTemplates::default(),
        })
    }
}
