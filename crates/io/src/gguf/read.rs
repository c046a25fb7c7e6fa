//! Builds a description from the keys, for each kind of tokenizer.
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use tokenmill_core::byte_alphabet;
use tokenmill_core::charsmap::Charsmap;
use tokenmill_core::description::{
    AddedToken, Alphabet, BpeDescription, CallDefaults, ChatTemplates, Decoder, Decoding, Description, Merge,
    Merges, ModelDescription, Normalizer, Pattern, PieceKind, PostProcessor, Roles, SentencePieceRules,
    Split, TokenList, UnigramDescription, WordPieceDescription,
};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::metadata::{Metadata, Token, key};
use super::{chat, container};
use super::{names, pre, whole};
use crate::byte_tokens;
use crate::report::Report;
use crate::templates;
use crate::vocab_txt;

/// The mark at the start of a word.
pub(super) const MARK: char = '▁';

/// Reads a file, or a prefix of it that has the keys. `split` is used if the file names no split.
///
/// # Errors
/// A format error that names the key; of kind `truncated` if the bytes end before the keys do.
pub(crate) fn parse(bytes: &[u8], split: Option<&Split>, report: &mut Report) -> Result<Description> {
    let metadata = Metadata(container::read(bytes)?);
    let Some(name) = metadata.text("model")? else {
        return Err(
            Error::format(Defect::Missing, "is missing; the file holds no tokenizer").at(key("model"))
        );
    };
    let kind = match name {
        "llama" => Kind::Llama,
        "gpt2" => Kind::Gpt2,
        "bert" => Kind::Bert,
        "t5" => Kind::T5,
        other => {
            let reason = format!("the tokenizer {other:?} is not supported by this version of tokenmill");
            return Err(Error::format(Defect::Unsupported, reason).at(key("model")));
        }
    };
    if split.is_some() && (kind != Kind::Gpt2 || metadata.text("pre")?.is_some()) {
        let reason = "the file holds a split of its own; leave split= out";
        return Err(Error::format(Defect::Inconsistent, reason).at(key("pre")));
    }
    let source = Source::new(&metadata)?;
    let description = match kind {
        Kind::Llama => source.llama(),
        Kind::Gpt2 => source.gpt2(split, report),
        Kind::Bert => source.bert(),
        Kind::T5 => source.t5(report),
    };
    let completed = whole::completed(description?, &metadata, report)?;
    Ok(Description { chat_templates: chat::read(&metadata.0, report)?, ..completed })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Byte-pair encoding by score, as in SentencePiece.
    Llama,
    /// Byte-level byte-pair encoding.
    Gpt2,
    /// WordPiece.
    Bert,
    /// Unigram.
    T5,
}

/// The input of all kinds.
struct Source<'a> {
    metadata: &'a Metadata<'a>,
    tokens: Vec<Token>,
    bos: Option<TokenId>,
    eos: Option<TokenId>,
    unk: Option<TokenId>,
    pad: Option<TokenId>,
    sep: Option<TokenId>,
    cls: Option<TokenId>,
    mask: Option<TokenId>,
}

impl<'a> Source<'a> {
    fn new(metadata: &'a Metadata<'a>) -> Result<Self> {
        let mut tokens = metadata.tokens()?;
        check(&tokens)?;
        for token in &mut tokens {
            // Many files mark end-of-turn tokens as ordinary.
            if names::is_control(&token.text) {
                token.kind = PieceKind::Control;
            }
        }
        let id = |name: &str| metadata.id(name, tokens.len());
        let (bos, eos) = (id("bos_token_id")?, id("eos_token_id")?);
        let (unk, pad) = (id("unknown_token_id")?, id("padding_token_id")?);
        let (sep, cls) = (id("seperator_token_id")?, id("cls_token_id")?);
        let mask = id("mask_token_id")?;
        Ok(Self { metadata, tokens, bos, eos, unk, pad, sep, cls, mask })
    }

    fn text(&self, id: TokenId) -> &str {
        self.tokens.get(id as usize).map_or("", |token| &token.text)
    }

    fn numbered(&self) -> impl DoubleEndedIterator<Item = (TokenId, &Token)> {
        self.tokens.iter().enumerate().map(|(id, token)| (id as TokenId, token))
    }

    fn named(&self, id: Option<TokenId>) -> Option<templates::Token<'_>> {
        id.map(|id| (self.text(id), id))
    }

    /// The first token of a kind.
    fn first(&self, kind: PieceKind) -> Option<TokenId> {
        self.tokens.iter().position(|token| token.kind == kind).map(|id| id as TokenId)
    }

    fn roles(&self) -> Roles {
        Roles {
            bos: self.bos,
            eos: self.eos,
            unk: None,
            sep: self.sep,
            pad: self.pad,
            cls: self.cls,
            mask: self.mask,
        }
    }

    /// `bos A eos`, as far as the file asks for them.
    fn around(&self, add_bos: bool, add_eos: bool) -> Result<Vec<PostProcessor>> {
        let add_bos = self.metadata.flag("add_bos_token", add_bos)?;
        let add_eos = self.metadata.flag("add_eos_token", add_eos)?;
        Ok(templates::around(
            self.named(self.bos).filter(|_| add_bos),
            self.named(self.eos).filter(|_| add_eos),
        ))
    }

    /// The added tokens: control tokens are special; user-defined tokens are always matched.
    fn added(&self) -> Vec<AddedToken> {
        let takes_space = names::TakesSpace::of(&self.metadata.model_name());
        let mut added = Vec::new();
        for (id, token) in (0..).zip(&self.tokens) {
            let is_special = match token.kind {
                PieceKind::Control => true,
                PieceKind::Unknown => self.unk == Some(id),
                PieceKind::UserDefined => false,
                _ => continue,
            };
            if is_special || token.kind == PieceKind::UserDefined {
                let rstrip = takes_space.after(&token.text);
                added.push(AddedToken { is_special, rstrip, ..AddedToken::special(id, token.text.clone()) });
            }
        }
        added
    }

    fn list(&self) -> TokenList {
        let mut list = TokenList::with_capacity(self.tokens.len(), 8 * self.tokens.len());
        for (id, token) in (0..).zip(&self.tokens) {
            list.push(id, token.text.as_bytes());
        }
        list
    }

    /// The kinds of pieces for the model: tokens that are matched before the model are ordinary for it.
    fn kinds(&self, user_defined: PieceKind) -> Result<Vec<PieceKind>> {
        let has_kinds = self.tokens.iter().any(|token| token.kind != PieceKind::Normal);
        let kind = |(i, token): (usize, &Token)| match token.kind {
            PieceKind::Byte if byte_tokens::byte_of(&token.text).is_none() => {
                let reason =
                    format!("{:?} is not a byte token; these are written <0x00> to <0xFF>", token.text);
                Err(Error::format(Defect::Type, reason).at_index(i).at(key("tokens")))
            }
            PieceKind::UserDefined => Ok(user_defined),
            PieceKind::Normal if !has_kinds && byte_tokens::byte_of(&token.text).is_some() => {
                Ok(PieceKind::Byte)
            }
            kind => Ok(kind),
        };
        self.tokens.iter().enumerate().map(kind).collect()
    }

    fn rules(
        &self,
        add_dummy_prefix: bool,
        charsmap: &[u8],
        user_defined: Vec<String>,
    ) -> Result<SentencePieceRules> {
        Ok(SentencePieceRules {
            charsmap: charsmap.into(),
            user_defined,
            add_dummy_prefix,
            remove_extra_whitespaces: self.metadata.flag("remove_extra_whitespaces", false)?,
            escape_whitespaces: true,
            treat_whitespace_as_suffix: false,
        })
    }

    fn llama(&self) -> Result<Description> {
        let kinds = self.kinds(PieceKind::Normal)?;
        let add_space_prefix = self.metadata.flag("add_space_prefix", true)?;
        let rules = self.rules(add_space_prefix, &[], Vec::new())?;
        let byte_fallback = kinds.contains(&PieceKind::Byte);
        let scores = self.tokens.iter().map(|token| token.score).collect();
        let merges = Merges::ByScore { scores, kinds };
        let model = BpeDescription {
            unk: self.unk.or_else(|| self.first(PieceKind::Unknown)),
            byte_fallback,
            ..BpeDescription::plain(Alphabet::Chars { end_of_word: None }, self.list(), merges)
        };
        let mut steps = vec![
            Decoder::Replace { pattern: Pattern::Literal(MARK.to_string()), content: " ".to_owned() },
            Decoder::ByteFallback,
            Decoder::Fuse,
        ];
        if add_space_prefix {
            steps.push(Decoder::Strip { content: ' ', start: 1, stop: 0 });
        }
        Ok(Description {
            added_tokens: self.added(),
            normalizer: vec![Normalizer::SentencePiece(rules)],
            pre_tokenizer: Vec::new(),
            model: ModelDescription::Bpe(model),
            post_processor: self.around(true, false)?,
            decoding: Decoding::Steps(steps),
            truncation: None,
            padding: None,
            roles: self.roles(),
            defaults: CallDefaults::default(),
            chat_templates: ChatTemplates::default(),
        })
    }

    fn t5(&self, report: &mut Report) -> Result<Description> {
        let kinds = self.kinds(PieceKind::UserDefined)?;
        let user_defined = self.tokens.iter().filter(|token| token.kind == PieceKind::UserDefined);
        let user_defined = user_defined.map(|token| token.text.clone()).collect();
        let add_space_prefix = self.metadata.flag("add_space_prefix", false)?;
        let charsmap = self.metadata.bytes("precompiled_charsmap")?;
        if !charsmap.is_empty() {
            Charsmap::parse(charsmap).map_err(|e| e.at(key("precompiled_charsmap")))?;
            report.tolerate_map(charsmap, || key("precompiled_charsmap"))?;
        }
        let rules = self.rules(add_space_prefix, charsmap, user_defined)?;
        let remove_extra_whitespaces = rules.remove_extra_whitespaces;
        let normal = self.tokens.iter().filter(|token| token.kind == PieceKind::Normal);
        let lowest = normal.map(|token| token.score).fold(f32::MAX, f32::min);
        let model = UnigramDescription {
            tokens: self.list().into(),
            scores: self.tokens.iter().map(|token| f64::from(token.score)).collect(),
            byte_fallback: kinds.contains(&PieceKind::Byte),
            kinds,
            unk: self.unk.or_else(|| self.first(PieceKind::Unknown)),
            unk_score: f64::from(lowest - UnigramDescription::UNK_PENALTY),
            single_precision: true,
        };
        Ok(Description {
            added_tokens: self.added().into_iter().filter(|token| token.is_special).collect(),
            normalizer: vec![Normalizer::SentencePiece(rules)],
            pre_tokenizer: Vec::new(),
            model: ModelDescription::Unigram(model),
            post_processor: self.around(false, true)?,
            decoding: Decoding::Steps(vec![Decoder::SentencePiece {
                unk_surface: " \u{2047} ".to_owned(),
                add_dummy_prefix: add_space_prefix,
                remove_extra_whitespaces,
                treat_whitespace_as_suffix: false,
            }]),
            truncation: None,
            padding: None,
            roles: self.roles(),
            defaults: CallDefaults::default(),
            chat_templates: ChatTemplates::default(),
        })
    }

    fn bert(&self) -> Result<Description> {
        let added_tokens = self.added();
        let (list, _) = self.tokens_of_model(&added_tokens, |_, token, bytes| {
            bytes.extend_from_slice(word_piece(token).as_bytes());
            true
        })?;
        let model = WordPieceDescription {
            tokens: list.into(),
            unk: self.unk,
            continuing_prefix: vocab_txt::PREFIX.to_owned(),
            max_chars: usize::MAX,
        };
        let lowercase = self.metadata.flag("normalizer.lowercase", true)?;
        let strip_accents = self.metadata.flag("normalizer.strip_accents", lowercase)?;
        let add_bos = self.metadata.flag("add_bos_token", true)?;
        let add_sep = self.metadata.flag("add_sep_token", true)?;
        Ok(vocab_txt::around(
            model,
            added_tokens,
            lowercase,
            Some(strip_accents),
            self.named(self.cls.or(self.bos)).filter(|_| add_bos),
            self.named(self.sep.or(self.eos)).filter(|_| add_sep),
            self.roles(),
        ))
    }

    fn gpt2(&self, split: Option<&Split>, report: &mut Report) -> Result<Description> {
        let (stages, whole_pretokens, add_bos) = match (self.metadata.text("pre")?, split) {
            (Some(name), _) => {
                let pre = pre::find(name).ok_or_else(|| {
                    let reason = format!("the split {name:?} is not supported by this version of tokenmill");
                    Error::format(Defect::Unsupported, reason).at(key("pre"))
                })?;
                (pre.stages(), pre.whole_pretokens, pre.add_bos)
            }
            (None, Some(split)) => (split.stages(), false, false),
            (None, None) => {
                let reason = "the file does not say how text is split; pass split=";
                return Err(Error::format(Defect::Unknown, reason).at(key("pre")));
            }
        };
        let added_tokens = self.added();
        let mut merges = self.merges(report)?;
        let is_user_defined = |id: &TokenId| self.tokens[*id as usize].kind == PieceKind::UserDefined;
        let of_merges = merges.iter().flat_map(|merge| [merge.left, merge.right, merge.result]);
        let merged: HashSet<TokenId> = of_merges.filter(is_user_defined).collect();
        // Can the model produce a user-defined token even where its literal does not match?
        let is_reached = |id, text: &str, bytes: &[u8]| {
            merged.contains(&id) || (bytes != text.as_bytes() && is_pretoken(bytes, whole_pretokens))
        };
        let ends_in = |(id, token): &(TokenId, &Token)| {
            let bytes = || byte_alphabet::read(&token.text);
            added_tokens.binary_search_by_key(id, |token| token.id).is_ok()
                && !(is_user_defined(id) && bytes().is_some_and(|bytes| is_reached(*id, &token.text, &bytes)))
        };
        // Added tokens after the last token of the model stay outside it, as in other formats;
        // earlier ones have an entry in it.
        let end = self.tokens.len() - self.numbered().rev().take_while(ends_in).count();
        // A token outside the byte alphabet can be decoded, but not merged.
        let mut not_in_alphabet = HashSet::new();
        let (list, mut left_out) = self.tokens_of_model(&added_tokens, |id, token, bytes| {
            if byte_alphabet::read_into(&token.text, bytes) {
                let is_literal = || bytes == token.text.as_bytes();
                return !is_user_defined(&id)
                    || is_reached(id, &token.text, bytes)
                    || (is_literal() && (id as usize) < end);
            }
            not_in_alphabet.insert(id);
            bytes.clear();
            bytes.extend_from_slice(token.text.as_bytes());
            token.kind != PieceKind::UserDefined
        })?;
        left_out.extend(not_in_alphabet);
        let is_left_out = |id: &TokenId| left_out.contains(id);
        merges.retain(|merge| ![merge.left, merge.right, merge.result].iter().any(is_left_out));
        let model = BpeDescription {
            whole_pretokens,
            unk: None,
            ..BpeDescription::plain(Alphabet::Bytes, list, Merges::listed(merges))
        };
        Ok(Description {
            added_tokens,
            pre_tokenizer: stages,
            post_processor: self.around(add_bos, false)?,
            roles: self.roles(),
            ..Description::of_bpe(&Split::Whole, model)
        })
    }

    /// The tokens of the model by their bytes, and the ids that the model does not have.
    ///
    /// As in llama.cpp, a user-defined token is matched in the text and is a token of the model as
    /// well: merging builds it from the bytes that its text stands for, which differ from its
    /// literal if that contains a `Ġ`. Special tokens are left out, because text must not become
    /// one; so are tokens that `bytes_of` rejects.
    fn tokens_of_model(
        &self,
        added: &[AddedToken],
        mut bytes_of: impl FnMut(TokenId, &Token, &mut Vec<u8>) -> bool,
    ) -> Result<(TokenList, HashSet<TokenId>)> {
        let special = added.iter().filter(|token| token.is_special);
        let mut left_out: HashSet<TokenId> = special.map(|token| token.id).collect();
        let is_added = |id| added.binary_search_by_key(&id, |token| token.id).is_ok();
        let mut bytes = Vec::new();
        loop {
            let mut list = TokenList::with_capacity(self.tokens.len(), 8 * self.tokens.len());
            let count = left_out.len();
            for (id, token) in (0..).zip(&self.tokens) {
                if !left_out.is_empty() && left_out.contains(&id) {
                    continue;
                }
                bytes.clear();
                if !bytes_of(id, token, &mut bytes) {
                    left_out.insert(id);
                    continue;
                }
                // If an ordinary token has the same bytes, these bytes belong to it.
                match list.push_new(id, &bytes).map_err(|earlier| list.id(earlier)) {
                    Ok(()) => {}
                    Err(_) if is_added(id) => drop(left_out.insert(id)),
                    Err(earlier) if is_added(earlier) => drop(left_out.insert(earlier)),
                    Err(_) => {
                        let reason = format!(
                            "{:?} has the same bytes as an earlier token that is written in another way",
                            token.text
                        );
                        return Err(Error::format(Defect::Duplicate, reason)
                            .at_index(id as usize)
                            .at(key("tokens")));
                    }
                }
            }
            // Repeats without the tokens that lost their bytes to a later one.
            if left_out.len() == count || left_out.iter().all(|&id| list.index_of(id).is_none()) {
                return Ok((list, left_out));
            }
        }
    }

    /// The merges by id. Of a merge that is listed twice llama.cpp uses the first.
    fn merges(&self, report: &mut Report) -> Result<Vec<Merge>> {
        let ids: HashMap<&str, TokenId> =
            (0..).zip(&self.tokens).map(|(id, token)| (token.text.as_str(), id)).collect();
        let mut merges = Vec::new();
        let mut places: HashMap<(TokenId, TokenId), usize> = HashMap::new();
        for (i, merge) in self.metadata.texts("merges")?.into_iter().enumerate() {
            let fault = |reason: String| Error::format(Defect::Merge, reason).at_index(i).at(key("merges"));
            // A token may start with a blank.
            let first = merge.chars().next().map_or(0, char::len_utf8);
            let Some(blank) = merge[first..].find(' ') else {
                return Err(fault(format!("expected two tokens with a blank between them, found {merge:?}")));
            };
            let (left, right) = (&merge[..first + blank], &merge[first + blank + 1..]);
            let id = |token: &str| {
                let id = ids.get(token).copied();
                id.ok_or_else(|| fault(format!("{token:?} of the merge {merge:?} is not among the tokens")))
            };
            let merge = Merge { left: id(left)?, right: id(right)?, result: id(&format!("{left}{right}"))? };
            if let Some(earlier) = places.get(&(merge.left, merge.right)) {
                let reason = format!("the merge occurs earlier, at {earlier}, and that occurrence counts");
                report.tolerate(Defect::Duplicate, format!("{}[{i}]", key("merges")), reason)?;
                continue;
            }
            places.insert((merge.left, merge.right), i);
            merges.push(merge);
        }
        Ok(merges)
    }
}

/// Can a pretoken consist of these bytes, so that they become a token without a merge? A single
/// byte can, if it occurs in UTF-8.
fn is_pretoken(bytes: &[u8], whole_pretokens: bool) -> bool {
    match bytes {
        [byte] => !matches!(byte, 0xc0 | 0xc1 | 0xf5..),
        _ => whole_pretokens && std::str::from_utf8(bytes).is_ok(),
    }
}

/// Checks that all tokens differ, as llama.cpp does.
fn check(tokens: &[Token]) -> Result<()> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        if let Some(earlier) = places.insert(&token.text, i) {
            let reason = format!("{:?} is also token {earlier}", token.text);
            return Err(Error::format(Defect::Duplicate, reason).at_index(i).at(key("tokens")));
        }
    }
    Ok(())
}

/// Is a token of BERT outside words by its name, such as `[unused0]`?
pub(super) fn is_bracketed(text: &str) -> bool {
    text.starts_with('[') && text.ends_with(']') && text.len() > 2
}

/// A token in BERT's written form: the file marks starts of words, BERT marks continuations.
fn word_piece(token: &Token) -> Cow<'_, str> {
    let text = token.text.as_str();
    let is_special = !matches!(token.kind, PieceKind::Normal | PieceKind::UserDefined) || is_bracketed(text);
    match text.strip_prefix(MARK) {
        Some(word) => word.into(),
        None if is_special => text.into(),
        None => format!("{}{text}", vocab_txt::PREFIX).into(),
    }
}
