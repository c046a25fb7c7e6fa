//! The options of training, and the checks that need no text.
use std::sync::Arc;

use super::base::Base;
use super::characters::CharacterOptions;
use super::wordpiece::Score;
use crate::description::{EndOfWord, Normalizer, PreTokenizer, Split};
use crate::error::{Error, Result};
use crate::ids::NO_ID;

/// The limit of `max_token_length` for Unigram, as in SentencePiece: the work grows with it.
const MAX_PIECE_LENGTH: usize = 512;

/// Options of a training run. [`TrainOptions::new`] sets the defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOptions {
    /// When to stop.
    pub target: Target,
    /// What is trained.
    pub model: TrainModel,
    /// The steps that rewrite ordinary text first; each segment between special tokens is rewritten
    /// on its own.
    pub normalizer: Vec<Normalizer>,
    /// What cuts ordinary text into pretokens; merges never cross them.
    pub pre_tokenizer: Vec<PreTokenizer>,
    /// Literals with an id of their own, in the order of their ids. Their occurrences are cut out
    /// of the text: neither counted nor merged across.
    pub special_tokens: Vec<String>,
    /// Whether special tokens get the first or the last ids.
    pub special_ids: SpecialIds,
    /// The size of the vocabulary becomes a multiple of this by special tokens at its end, which nothing becomes.
    pub pad_vocab_to_multiple_of: Option<usize>,
    /// Threads, at least 1. A thread is started only if each gets 256 kB of text to count. The number
    /// never changes the result.
    pub num_threads: usize,
    /// Find the ids of the text, too: one document, which byte-pair encoding learns from as a whole.
    pub return_ids: bool,
    /// The bytes of memory that can be had, if that is known. With `return_ids`, learning that would take more is not
    /// begun.
    pub memory: Option<u64>,
}

/// The model that is trained, with the options that only it has.
#[derive(Debug, Clone, PartialEq)]
pub enum TrainModel {
    /// Byte-pair encoding.
    Bpe(BpeOptions),
    /// WordPiece. Its alphabet is that of characters.
    WordPiece(WordPieceOptions),
    /// Unigram. Its alphabet is that of characters.
    Unigram(UnigramOptions),
}

/// What only byte-pair encoding has.
#[derive(Debug, Clone, PartialEq)]
pub struct BpeOptions {
    /// The order of equally frequent pairs.
    pub tie_break: TieBreak,
    /// The smallest count of a merge; at least 1.
    pub min_frequency: u64,
    /// Maximum length of a merged token, inclusive: in bytes, or in characters for a character
    /// alphabet (without the end-of-word symbol).
    pub max_token_length: Option<usize>,
    /// The base symbols.
    pub alphabet: TrainAlphabet,
    /// The mark at the end of every pretoken; only for a character alphabet.
    pub end_of_word: Option<EndOfWord>,
    /// The token for characters outside the alphabet; only for a character alphabet. Unless it is a
    /// special token, it gets the first id after them.
    pub unk_token: Option<String>,
    /// The characters of a character alphabet.
    pub characters: CharacterOptions,
    /// A token over bytes lies within one character or is made of whole ones.
    pub whole_characters: bool,
    /// The tokenizer that training goes on from. What it is decides how text is read, and it gets the new tokens.
    pub base: Option<Arc<Base>>,
}

/// All bytes, the smallest pair of byte strings first, no limits.
impl Default for BpeOptions {
    fn default() -> Self {
        Self {
            tie_break: TieBreak::Lexicographic,
            min_frequency: 1,
            max_token_length: None,
            alphabet: TrainAlphabet::Bytes,
            end_of_word: None,
            unk_token: None,
            characters: CharacterOptions::default(),
            whole_characters: false,
            base: None,
        }
    }
}

/// What only WordPiece has.
#[derive(Debug, Clone, PartialEq)]
pub struct WordPieceOptions {
    /// The token for words that cannot be spelled. Unless it is a special token, it gets the first id after them.
    pub unk_token: String,
    /// The smallest count of a merge; at least 1.
    pub min_frequency: u64,
    /// Maximum length of a merged token in characters, inclusive.
    pub max_token_length: Option<usize>,
    /// What makes a pair the next one.
    pub score: Score,
    /// What a token is written with that does not begin a pretoken.
    pub continuing_prefix: String,
    /// A pretoken with more characters is unknown.
    pub max_chars: usize,
    /// The tokens before and after a text, and between two.
    pub template: Option<BertTemplate>,
    /// The characters of the alphabet. A word with another one is unknown, and nothing is learned of it.
    pub characters: CharacterOptions,
}

/// What only Unigram has.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramOptions {
    /// The library that the tokenizer is for.
    pub dialect: Dialect,
    /// The token for characters outside the alphabet. Unless it is a special token, it gets the first id after them.
    pub unk_token: Option<String>,
    /// Characters outside the alphabet become the tokens of their bytes, 256 of them.
    pub byte_fallback: bool,
    /// Literals that are always one token, and cut text.
    pub user_defined_symbols: Vec<String>,
    /// The characters of the alphabet.
    pub characters: CharacterOptions,
    /// Maximum length of a token in characters, inclusive.
    pub max_token_length: usize,
}

/// The library whose rules a Unigram tokenizer follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SentencePiece: its normalization, words that begin with a space, and these limits for a token.
    SentencePiece {
        /// A token has characters of one script.
        split_by_unicode_script: bool,
        /// A digit is a token of its own.
        split_digits: bool,
    },
    /// tokenizers: any normalizer and pre-tokenizer.
    Tokenizers,
}

/// The special tokens of `[CLS] A [SEP] B [SEP]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BertTemplate {
    /// The first token.
    pub cls: String,
    /// The token after each text.
    pub sep: String,
}

/// Says whether a token with these bytes may be made by a merge.
pub type MergeFilter<'a> = dyn Fn(&[u8]) -> Result<bool> + 'a;

/// When training stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// At this many ids: special tokens, alphabet and merges together.
    VocabSize(usize),
    /// After this many merges.
    NumMerges(usize),
}

/// The position of the special tokens among the ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialIds {
    /// From 0 on, before the alphabet.
    First,
    /// After the last merge.
    Last,
}

/// The order of equally frequent pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest pair of byte strings, the left one first; independent of the order of the text.
    Lexicographic,
    /// The largest pair of byte strings.
    LexicographicLargest,
    /// The pair whose first occurrence in the current corpus comes first.
    FirstSeen,
    /// The smallest pair of ids.
    TokenId,
    /// The smallest pair of ids as the `tokenizers` library (0.23) assigns them: bytes are ordered
    /// by the code point of their character in byte-level files.
    HuggingFace,
}

/// The base symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainAlphabet {
    /// All 256 bytes, whether or not they occur.
    Bytes,
    /// The characters that occur in the text.
    Chars,
}

impl TrainOptions {
    /// Byte-level training with the lexicographic tie-break, no special tokens and one thread.
    pub fn new(target: Target, split: &Split) -> Self {
        Self {
            target,
            model: TrainModel::Bpe(BpeOptions::default()),
            normalizer: Vec::new(),
            pre_tokenizer: split.stages(),
            special_tokens: Vec::new(),
            special_ids: SpecialIds::First,
            pad_vocab_to_multiple_of: None,
            num_threads: 1,
            return_ids: false,
            memory: None,
        }
    }

    /// The unknown token.
    pub fn unk_token(&self) -> Option<&str> {
        match &self.model {
            TrainModel::Bpe(model) => model.unk_token.as_deref(),
            TrainModel::WordPiece(model) => Some(&model.unk_token),
            TrainModel::Unigram(model) => model.unk_token.as_deref(),
        }
    }

    /// The tokenizer that training goes on from.
    fn base(&self) -> Option<&Base> {
        match &self.model {
            TrainModel::Bpe(model) => model.base.as_deref(),
            _ => None,
        }
    }

    /// The smallest count of a merge; 1 where nothing is merged.
    pub(super) fn min_frequency(&self) -> u64 {
        match &self.model {
            TrainModel::Bpe(model) => model.min_frequency,
            TrainModel::WordPiece(model) => model.min_frequency,
            TrainModel::Unigram(_) => 1,
        }
    }

    /// Does the order of the text matter?
    pub(super) fn is_by_first_seen(&self) -> bool {
        matches!(&self.model, TrainModel::Bpe(BpeOptions { tie_break: TieBreak::FirstSeen, .. }))
    }

    /// The special tokens in the order of their ids, including the unknown token.
    pub(super) fn literals(&self) -> Vec<&str> {
        let mut literals: Vec<&str> = self.special_tokens.iter().map(String::as_str).collect();
        if let Some(unk) = self.unk_token()
            && !literals.contains(&unk)
        {
            literals.push(unk);
        }
        literals
    }

    /// What is cut out of the text before anything else.
    pub(super) fn cut_out(&self) -> Vec<&str> {
        let mut literals = self.literals();
        if let TrainModel::Unigram(UnigramOptions {
            dialect: Dialect::Tokenizers,
            user_defined_symbols,
            ..
        }) = &self.model
        {
            literals.extend(user_defined_symbols.iter().map(String::as_str));
        }
        literals
    }

    /// The number of merges that fit after `alphabet` symbols.
    pub(super) fn merges_for(&self, alphabet: usize) -> Result<usize> {
        let size = match self.target {
            Target::NumMerges(merges) => return Ok(merges),
            Target::VocabSize(size) => size,
        };
        if let Some(base) = self.base() {
            return size.checked_sub(base.size()).ok_or_else(|| {
                let reason = format!("{size} is below the {} ids that base has", base.size());
                Error::training(reason).at("vocab_size")
            });
        }
        let special = self.literals().len();
        size.checked_sub(special + alphabet).ok_or_else(|| {
            Error::training(format!(
                "{size} is too small for {special} special tokens and an alphabet of {alphabet}; it must \
                 be at least {}",
                special + alphabet
            ))
            .at("vocab_size")
        })
    }

    /// The number of pieces that fit into the vocabulary, those of the alphabet among them.
    pub(super) fn pieces_for(&self, model: &UnigramOptions, alphabet: usize) -> Result<usize> {
        let Target::VocabSize(size) = self.target else {
            return Err(Error::training("Unigram makes no merges; give vocab_size").at("num_merges"));
        };
        let bytes = if model.byte_fallback { 256 } else { 0 };
        let other = self.literals().len() + model.user_defined_symbols.len() + bytes;
        size.checked_sub(other).filter(|&pieces| pieces >= alphabet).ok_or_else(|| {
            Error::training(format!(
                "{size} is too small for an alphabet of {alphabet} and {other} other tokens; it must be at least {}, or \
                 character_coverage lower",
                other + alphabet
            ))
            .at("vocab_size")
        })
    }

    /// All checks that need no text.
    pub(super) fn check(&self) -> Result<()> {
        self.check_literals()?;
        if let Target::VocabSize(size) = self.target
            && size > NO_ID as usize
        {
            return Err(Error::training(format!("{size} is above {NO_ID}")).at("vocab_size"));
        }
        if self.pad_vocab_to_multiple_of == Some(0) {
            return Err(Error::training("must be at least 1").at("pad_vocab_to_multiple_of"));
        }
        if self.num_threads == 0 {
            return Err(Error::training("must be at least 1").at("num_threads"));
        }
        if self.return_ids {
            self.check_whole()?;
        }
        match &self.model {
            TrainModel::Bpe(model) => {
                model.characters.check()?;
                check_merging(model.min_frequency, model.max_token_length)?;
                match model.alphabet {
                    TrainAlphabet::Bytes => self.check_bytes(model),
                    TrainAlphabet::Chars => self.check_chars(model),
                }
            }
            TrainModel::WordPiece(model) => {
                model.characters.check()?;
                check_merging(model.min_frequency, model.max_token_length)?;
                self.check_wordpiece(model)
            }
            TrainModel::Unigram(model) => {
                model.characters.check()?;
                self.check_unigram(model)
            }
        }
    }

    /// Checks that the text is learned from as a whole.
    fn check_whole(&self) -> Result<()> {
        let wrong = |reason: &str| Err(Error::training(reason).at("return_ids"));
        if let TrainModel::Bpe(model) = &self.model
            && (model.characters.coverage < 1.0 || model.characters.limit.is_some())
        {
            return wrong("needs all characters of the text; train without it, and encode the text");
        }
        if !matches!(self.model, TrainModel::Bpe(_)) {
            return wrong("only byte-pair encoding has the ids at the end; train, and encode the text");
        }
        if Split::of_stages(&self.pre_tokenizer) != Some(Split::Whole) {
            return wrong(
                "needs split=\"none\": only a text that is not cut has its ids at the end; with a split, train, \
                          and encode the text",
            );
        }
        Ok(())
    }

    fn check_unigram(&self, model: &UnigramOptions) -> Result<()> {
        let wrong = |field: &'static str, reason: &str| Err(Error::training(reason).at(field));
        if model.dialect != Dialect::Tokenizers && model.unk_token.is_none() {
            return wrong("unk_token", "SentencePiece needs an unknown token, such as \"<unk>\"");
        }
        if !(1..=MAX_PIECE_LENGTH).contains(&model.max_token_length) {
            return wrong("max_token_length", "must be from 1 to 512 for Unigram");
        }
        let symbols = &model.user_defined_symbols;
        for (i, symbol) in symbols.iter().enumerate() {
            let wrong = if symbol.is_empty() {
                "a symbol must not be empty".to_owned()
            } else if symbols[..i].contains(symbol) || self.literals().contains(&symbol.as_str()) {
                format!("{symbol:?} is there twice, or a special token too")
            } else {
                continue;
            };
            return Err(Error::training(wrong).at_index(i).at("user_defined_symbols"));
        }
        self.pieces_for(model, 0).map(drop)
    }

    fn check_wordpiece(&self, model: &WordPieceOptions) -> Result<()> {
        let wrong = |field: &'static str, reason: &str| Err(Error::training(reason).at(field));
        if let Some(BertTemplate { cls, sep }) = &model.template
            && let Some(missing) =
                [cls, sep].into_iter().find(|token| !self.literals().contains(&token.as_str()))
        {
            return wrong("post_processor", &format!("{missing:?} is not among the special tokens"));
        }
        if model.max_chars == 0 {
            return wrong("max_input_chars_per_word", "must be at least 1");
        }
        Ok(())
    }

    fn check_literals(&self) -> Result<()> {
        for (i, token) in self.special_tokens.iter().enumerate() {
            let wrong = if token.is_empty() {
                "a special token must not be empty".to_owned()
            } else if self.special_tokens[..i].contains(token) {
                format!("special token {token:?} is listed twice")
            } else {
                continue;
            };
            return Err(Error::training(wrong).at_index(i).at("special_tokens"));
        }
        if self.unk_token() == Some("") {
            return Err(Error::training("the unknown token must not be empty").at("unk_token"));
        }
        Ok(())
    }

    fn check_bytes(&self, model: &BpeOptions) -> Result<()> {
        if model.end_of_word.is_some() {
            let reason = "an end-of-word symbol needs a character alphabet";
            return Err(Error::training(reason).at("end_of_word"));
        }
        let of_characters = CharacterOptions::default();
        for (field, is_given) in [
            ("character_coverage", model.characters.coverage < of_characters.coverage),
            ("limit_alphabet", model.characters.limit.is_some()),
            ("initial_alphabet", !model.characters.initial.is_empty()),
        ] {
            if is_given {
                return Err(
                    Error::training("is for an alphabet of characters: bytes spell every text").at(field)
                );
            }
        }
        if model.unk_token.is_some() {
            let reason = "an unknown token needs a character alphabet: bytes spell every text";
            return Err(Error::training(reason).at("unk_token"));
        }
        if model.base.is_some() && (model.whole_characters || self.return_ids) {
            let reason = "whole_characters and return_ids are for training from the start, and base is given";
            return Err(Error::training(reason).at("base"));
        }
        self.merges_for(256).map(drop)
    }

    fn check_chars(&self, model: &BpeOptions) -> Result<()> {
        if model.whole_characters {
            let reason = "is for an alphabet of bytes: tokens of characters are made of whole ones";
            return Err(Error::training(reason).at("whole_characters"));
        }
        let Some(mark) = &model.end_of_word else { return Ok(()) };
        if mark.symbol.is_empty() {
            return Err(Error::training("the end-of-word symbol must not be empty").at("end_of_word"));
        }
        // A learned token may be any pretoken followed by the mark, so such a literal would be ambiguous.
        match self.literals().into_iter().find(|literal| literal.ends_with(&mark.symbol)) {
            Some(literal) => Err(Error::training(format!(
                "special token {literal:?} ends with the end-of-word symbol {:?}",
                mark.symbol
            ))
            .at("special_tokens")),
            None => Ok(()),
        }
    }
}

fn check_merging(min_frequency: u64, max_token_length: Option<usize>) -> Result<()> {
    if min_frequency == 0 {
        let reason = "must be at least 1: a pair that does not occur cannot merge";
        return Err(Error::training(reason).at("min_frequency"));
    }
    if max_token_length == Some(0) {
        return Err(Error::training("must be at least 1").at("max_token_length"));
    }
    Ok(())
}
