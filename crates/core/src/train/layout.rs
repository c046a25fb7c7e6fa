//! The ids of what was learned, and the description of the tokenizer.
use std::collections::HashSet;
use std::sync::Arc;
use tokenmill_kernels::sorting;

use super::learn::Learned;
use super::options::{
    BertTemplate, BpeOptions, Dialect, SpecialIds, TrainAlphabet, TrainOptions, UnigramOptions,
    WordPieceOptions,
};
use super::unigram::byte_token;
use crate::description::{
    AddedToken, Alphabet, BpeDescription, Decoder, Decoding, Description, Merge, MergeList, Merges,
    ModelDescription, Normalizer, PieceKind, PostProcessor, PreTokenizer, Roles, Split, TokenList,
    UnigramDescription, WordPieceDescription,
};
use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId, to_u32};

/// Makes the number of ids a multiple by special tokens at the end, which no text becomes.
///
/// # Errors
/// A training error if there are too many ids.
pub(super) fn pad(description: &mut Description, multiple: usize) -> Result<()> {
    let tokens = description.model.tokens();
    let of_model = tokens.iter().map(|(id, _)| id);
    let last = of_model.chain(description.added_tokens.iter().map(|token| token.id)).max();
    let size = last.map_or(0, |last| last as usize + 1);
    let padded = size.next_multiple_of(multiple);
    if padded > NO_ID as usize {
        return Err(Error::training("more than 2^32 - 1 tokens").at("pad_vocab_to_multiple_of"));
    }
    let mut names: HashSet<Vec<u8>> = tokens.iter().map(|(_, bytes)| bytes.to_vec()).collect();
    names.extend(description.added_tokens.iter().map(|token| token.content.clone().into_bytes()));
    let free = (0..).map(reserved_token).filter(|name| !names.contains(name.as_bytes()));
    let new: Vec<AddedToken> =
        (to_u32(size)..to_u32(padded)).zip(free).map(|(id, name)| AddedToken::special(id, name)).collect();
    // A model of SentencePiece has control pieces among its own.
    if let ModelDescription::Unigram(model) = &mut description.model
        && !model.kinds.is_empty()
    {
        let mut tokens = TokenList::clone(&model.tokens);
        for token in &new {
            tokens.push(token.id, token.content.as_bytes());
            model.scores.push(0.0);
            model.kinds.push(PieceKind::Control);
        }
        model.tokens = Arc::new(tokens);
    }
    description.added_tokens.extend(new);
    Ok(())
}

/// The name of a token that is kept for later use.
pub fn reserved_token(number: usize) -> String {
    format!("<|reserved_{number}|>")
}

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

    /// The id of a special token by its number, with `learned` other tokens.
    pub(super) fn special_id(&self, number: usize, learned: usize) -> TokenId {
        match self.special {
            SpecialIds::First => to_u32(number),
            SpecialIds::Last => to_u32(learned + number),
        }
    }

    /// The special tokens, before or after the `learned` other tokens.
    fn added_tokens(&self, learned: usize) -> Result<Vec<AddedToken>> {
        if learned + self.literals.len() > NO_ID as usize {
            return Err(Error::training("more than 2^32 - 1 tokens"));
        }
        Ok((self.special_id(0, learned)..)
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
            .collect::<MergeList>();
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

    /// A tokenizer of Unigram.
    pub(super) fn describe_unigram(
        self,
        options: TrainOptions,
        model: &UnigramOptions,
        pieces: &[(String, f32)],
    ) -> Result<Description> {
        let bytes = || (0..=u8::MAX).filter(|_| model.byte_fallback).map(byte_token);
        let lowest = pieces.iter().map(|(_, score)| *score).fold(0.0, f32::min);
        if let Dialect::SentencePiece { .. } = model.dialect {
            return self.describe_sentencepiece(options, model, pieces, bytes());
        }
        let symbols = &model.user_defined_symbols;
        let mut added_tokens = self.added_tokens(symbols.len() + bytes().count() + pieces.len())?;
        let unk = model.unk_token.as_deref();
        let unk = added_tokens.iter().find(|token| Some(token.content.as_str()) == unk).map(|token| token.id);
        added_tokens.extend((self.first_id..).zip(symbols).map(|(id, symbol)| AddedToken {
            id,
            content: symbol.clone(),
            ..AddedToken::default()
        }));
        AddedToken::sort_by_id(&mut added_tokens);
        // Text never becomes the token of a byte: it costs more than any spelling.
        let of_byte = -1e6;
        let (mut tokens, mut scores) = (TokenList::default(), Vec::new());
        let learned = pieces.iter().map(|(piece, score)| (piece.clone(), f64::from(*score)));
        // A file gives a token that is matched first the id of the model's token.
        let symbols = symbols.iter().map(|symbol| (symbol.clone(), 0.0));
        let ordinary = symbols.chain(bytes().map(|byte| (byte, of_byte))).chain(learned);
        for (id, (piece, score)) in (self.first_id..).zip(ordinary) {
            tokens.push(id, piece.as_bytes());
            scores.push(score);
        }
        let lowest = if model.byte_fallback { of_byte } else { f64::from(lowest) };
        let metaspace = options.pre_tokenizer.iter().find_map(|step| match *step {
            PreTokenizer::Metaspace { replacement, prepend, split } => {
                Some(Decoder::Metaspace { replacement, prepend, split })
            }
            _ => None,
        });
        let of_bytes = model.byte_fallback.then_some(Decoder::ByteFallback);
        let steps = of_bytes.into_iter().chain([metaspace.unwrap_or(Decoder::Fuse)]).collect();
        let model = UnigramDescription {
            tokens: Arc::new(tokens),
            scores,
            kinds: Vec::new(),
            unk,
            unk_score: lowest - f64::from(UnigramDescription::UNK_PENALTY),
            byte_fallback: model.byte_fallback,
            single_precision: false,
        };
        Ok(Description {
            added_tokens,
            normalizer: options.normalizer,
            pre_tokenizer: options.pre_tokenizer,
            decoding: Decoding::Steps(steps),
            ..Description::of_model(ModelDescription::Unigram(model))
        })
    }

    /// A tokenizer that SentencePiece can load.
    fn describe_sentencepiece(
        self,
        options: TrainOptions,
        model: &UnigramOptions,
        pieces: &[(String, f32)],
        bytes: impl Iterator<Item = String>,
    ) -> Result<Description> {
        let symbols =
            model.user_defined_symbols.iter().map(|symbol| (symbol.clone(), 0.0, PieceKind::UserDefined));
        let bytes = bytes.map(|byte| (byte, 0.0, PieceKind::Byte));
        let learned = pieces.iter().map(|(piece, score)| (piece.clone(), *score, PieceKind::Normal));
        let ordinary: Vec<(String, f32, PieceKind)> = symbols.chain(bytes).chain(learned).collect();
        // Without ordinary pieces the format has the largest number here.
        let lowest = pieces.iter().map(|(_, score)| *score).fold(f32::MAX, f32::min);
        let mut added_tokens = self.added_tokens(ordinary.len())?;
        let special = added_tokens.iter().map(|token| {
            let is_unk = Some(token.content.as_str()) == model.unk_token.as_deref();
            let kind = if is_unk { PieceKind::Unknown } else { PieceKind::Control };
            (token.id, (token.content.clone(), 0.0, kind))
        });
        let mut all: Vec<_> = special.chain((self.first_id..).zip(ordinary)).collect();
        sorting::sort_by_key(&mut all, |(id, _)| *id);
        let (mut tokens, mut scores, mut kinds) = (TokenList::default(), Vec::new(), Vec::new());
        for (id, (piece, score, kind)) in &all {
            tokens.push(*id, piece.as_bytes());
            scores.push(f64::from(*score));
            kinds.push(*kind);
        }
        let unk = all.iter().find(|(_, (.., kind))| *kind == PieceKind::Unknown).map(|(id, _)| *id);
        // The unknown piece is no control piece.
        added_tokens.retain(|token| Some(token.id) != unk);
        let [Normalizer::SentencePiece(rules)] = options.normalizer.as_slice() else {
            return Err(Error::training("SentencePiece has a normalization of its own").at("normalizer"));
        };
        // A model file tells these by their names, unless it says otherwise.
        let named =
            |name: &str| added_tokens.iter().find(|token| token.content == name).map(|token| token.id);
        let roles = Roles { bos: named("<s>"), eos: named("</s>"), pad: named("<pad>"), ..Roles::default() };
        let decoder = Decoder::SentencePiece {
            unk_surface: " \u{2047} ".to_owned(),
            add_dummy_prefix: rules.add_dummy_prefix,
            remove_extra_whitespaces: rules.remove_extra_whitespaces,
            treat_whitespace_as_suffix: false,
        };
        let model = UnigramDescription {
            tokens: Arc::new(tokens),
            scores,
            kinds,
            unk,
            unk_score: f64::from(lowest - UnigramDescription::UNK_PENALTY),
            byte_fallback: model.byte_fallback,
            single_precision: true,
        };
        Ok(Description {
            added_tokens,
            normalizer: options.normalizer,
            roles,
            decoding: Decoding::Steps(vec![decoder]),
            ..Description::of_model(ModelDescription::Unigram(model))
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
            post_processor,
            decoding: Decoding::Steps(vec![Decoder::WordPiece { prefix, cleanup: true }]),
            ..Description::of_model(ModelDescription::WordPiece(model))
        })
    }
}
