//! The model of the file: tokens, merges and what else it needs.
use std::collections::{HashMap, HashSet};

use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{
    AddedToken, Alphabet, Bpe, EndOfWord, EndOfWordForm, Merge, Merges, Model, TokenList, Unigram, WordLevel,
    WordPiece,
};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::fields::unsupported;
use super::file::{MergeEntry, Model as Entry, VocabEntries};
use crate::merges::keep_last;
use crate::report::Report;

/// Which model an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bpe,
    WordPiece,
    WordLevel,
    Unigram,
}

/// The vocabulary of an entry.
pub(super) struct Vocabulary {
    /// The id of each token as it is written; of repeated ones the last counts.
    pub(super) ids: HashMap<String, TokenId>,
    /// The scores by id, where the vocabulary is a list.
    scores: Vec<f64>,
}

/// The unknown token's score lies this far below the lowest.
const UNK_PENALTY: f64 = 10.0;

fn missing(field: &str) -> Error {
    Error::format(Defect::Missing, "is missing").at(field)
}

impl Kind {
    /// By its name, or by its fields in files that are older than names.
    pub(crate) fn of(entry: &Entry) -> Result<Self> {
        Ok(match entry.name.as_deref() {
            Some("BPE") => Self::Bpe,
            Some("WordPiece") => Self::WordPiece,
            Some("WordLevel") => Self::WordLevel,
            Some("Unigram") => Self::Unigram,
            Some(other) => return Err(unsupported(format!("the model {other:?}")).at("type")),
            None => match &entry.vocab {
                Some(VocabEntries::List(_)) => Self::Unigram,
                _ if entry.merges.is_some() => Self::Bpe,
                _ if entry.max_input_chars_per_word.is_some() => Self::WordPiece,
                _ if entry.unk_token.is_some() => Self::WordLevel,
                // Missing fields are named as those of the most common model.
                _ => Self::Bpe,
            },
        })
    }

    /// Takes the vocabulary out of an entry.
    pub(super) fn vocabulary(self, entry: &mut Entry, report: &mut Report) -> Result<Vocabulary> {
        match (self, entry.vocab.take()) {
            (_, None) => Err(missing("vocab")),
            (Self::Unigram, Some(VocabEntries::List(entries))) => {
                if TokenId::try_from(entries.len()).is_err() {
                    return Err(Error::limit("more tokens than ids", u64::from(TokenId::MAX)).at("vocab"));
                }
                let mut ids = HashMap::with_capacity(entries.len());
                let mut scores = Vec::with_capacity(entries.len());
                for ((token, score), id) in entries.into_iter().zip(0..) {
                    if ids.insert(token, id).is_some() {
                        let reason = format!("token {id} is there before");
                        return Err(Error::format(Defect::Duplicate, reason)
                            .at_index(id as usize)
                            .at("vocab"));
                    }
                    scores.push(score);
                }
                Ok(Vocabulary { ids, scores })
            }
            (Self::Unigram, Some(VocabEntries::Object(_))) => {
                Err(Error::format(Defect::Type, "expected a list of tokens and scores").at("vocab"))
            }
            (_, Some(VocabEntries::Object(entries))) => {
                let count = entries.len();
                let ids: HashMap<String, TokenId> = entries.into_iter().collect();
                if ids.len() < count {
                    let reason = format!("{} keys are there twice; the last counts", count - ids.len());
                    report.tolerate(Defect::Duplicate, "model.vocab", reason)?;
                }
                Ok(Vocabulary { ids, scores: Vec::new() })
            }
            (_, Some(VocabEntries::List(_))) => {
                Err(Error::format(Defect::Type, "expected an object of ids by token").at("vocab"))
            }
        }
    }
}

/// What the model is read from.
pub(super) struct Source<'a> {
    pub(super) kind: Kind,
    pub(super) entry: Entry,
    pub(super) vocabulary: &'a Vocabulary,
    /// Ascending by id.
    pub(super) added: &'a [AddedToken],
    /// Does the text come in the byte alphabet, from the last step before the model alone?
    pub(super) comes_in_bytes: bool,
}

impl Source<'_> {
    /// The model; whether it reads bytes is in its alphabet.
    pub(super) fn read(self) -> Result<Model> {
        let unk = self.entry.unk_token.as_ref().and_then(|unk| self.id_of(unk));
        match self.kind {
            Kind::Bpe => self.read_bpe(unk).map(Model::Bpe),
            Kind::WordPiece => {
                let (tokens, _) = self.plain_tokens();
                let entry = &self.entry;
                if entry.unk_token.is_none() {
                    return Err(missing("unk_token"));
                }
                Ok(Model::WordPiece(WordPiece {
                    tokens: tokens.into(),
                    unk,
                    continuing_prefix: entry
                        .continuing_subword_prefix
                        .clone()
                        .ok_or_else(|| missing("continuing_subword_prefix"))?,
                    max_chars: entry
                        .max_input_chars_per_word
                        .ok_or_else(|| missing("max_input_chars_per_word"))?,
                }))
            }
            Kind::WordLevel => {
                if self.entry.unk_token.is_none() {
                    return Err(missing("unk_token"));
                }
                let (tokens, _) = self.plain_tokens();
                Ok(Model::WordLevel(WordLevel { tokens: tokens.into(), unk }))
            }
            Kind::Unigram => self.read_unigram(),
        }
    }

    /// The id of a token as it is written.
    fn id_of(&self, written: &str) -> Option<TokenId> {
        let added = || self.added.iter().find(|token| token.content == written).map(|token| token.id);
        self.vocabulary.ids.get(written).copied().or_else(added)
    }

    /// Special tokens are not for the model to produce: text would become them (law 9).
    fn special(&self) -> HashSet<TokenId> {
        self.added.iter().filter(|token| token.is_special).map(|token| token.id).collect()
    }

    /// The tokens as they are written, by ascending ids, without special ones.
    fn plain_tokens(&self) -> (TokenList, HashSet<TokenId>) {
        let special = self.special();
        let entries = self.vocabulary.ids.iter().filter(|(_, id)| !special.contains(id));
        let mut entries: Vec<_> = entries.map(|(token, &id)| (id, token.clone().into_bytes())).collect();
        // A map has no order; ids are unique where the file is sound, and validation finds where not.
        entries.sort();
        (TokenList::from_entries(entries), special)
    }

    fn read_unigram(self) -> Result<Model> {
        let (tokens, _) = self.plain_tokens();
        let scores = &self.vocabulary.scores;
        let unk = self.entry.unk_id;
        if let Some(unk) = unk.filter(|&unk| unk >= scores.len()) {
            let reason = format!("{unk} is not the place of a token; there are {}", scores.len());
            return Err(Error::format(Defect::Range, reason).at("unk_id"));
        }
        if let Some(i) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::format(Defect::Range, "the score is no number").at_index(i).at("vocab"));
        }
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Model::Unigram(Unigram {
            scores: tokens.ids().iter().map(|&id| scores[id as usize]).collect(),
            tokens: tokens.into(),
            kinds: Vec::new(),
            unk: unk.map(|unk| unk as TokenId),
            unk_score: if lowest.is_finite() { lowest } else { 0.0 } - UNK_PENALTY,
            byte_fallback: self.entry.byte_fallback == Some(true),
            single_precision: false,
        }))
    }

    fn read_bpe(self, unk: Option<TokenId>) -> Result<Bpe> {
        let entry = &self.entry;
        let merges = entry.merges.as_ref().ok_or_else(|| missing("merges"))?;
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (prefix, suffix) = (given(&entry.continuing_subword_prefix), given(&entry.end_of_word_suffix));
        let is_plain = prefix.is_none() && suffix.is_none() && entry.byte_fallback != Some(true);
        let raw = if self.comes_in_bytes && is_plain { self.raw_tokens(merges) } else { None };
        let (alphabet, tokens, left_out) = if let Some((tokens, left_out)) = raw {
            (Alphabet::Bytes, tokens, left_out)
        } else {
            let end_of_word = suffix.map(|symbol| EndOfWord { symbol, form: EndOfWordForm::Suffix });
            let (tokens, special) = self.plain_tokens();
            (Alphabet::Chars { end_of_word }, tokens, special)
        };
        let dropout = entry.dropout.filter(|&dropout| dropout != 0.0);
        if dropout.is_some_and(|dropout| !(0.0..=1.0).contains(&dropout)) {
            return Err(Error::format(Defect::Range, "is not between 0 and 1").at("dropout"));
        }
        let merges = self
            .resolve_merges(merges, prefix.as_deref().unwrap_or_default(), &left_out)
            .map_err(|e| e.at("merges"))?;
        Ok(Bpe {
            alphabet,
            tokens: tokens.into(),
            merges: Merges::Listed(merges),
            whole_pretokens: entry.ignore_merges == Some(true),
            unk,
            fuse_unk: entry.fuse_unk == Some(true),
            byte_fallback: entry.byte_fallback == Some(true),
            continuing_prefix: prefix,
            dropout,
        })
    }

    /// The tokens as bytes, and the ids left out of them, where all of them are written in the byte
    /// alphabet.
    ///
    /// An added token with a character that stands for another byte, as `Ġlow`, is found where the
    /// text holds that very literal, while the model's entry means ` low`.
    fn raw_tokens(&self, merges: &[MergeEntry]) -> Option<(TokenList, HashSet<TokenId>)> {
        let mut left_out = self.special();
        let two_faced: HashMap<&str, usize> = self
            .added
            .iter()
            .enumerate()
            .filter(|(_, token)| {
                self.vocabulary.ids.contains_key(&token.content)
                    && byte_alphabet::read(&token.content)
                        .is_none_or(|bytes| bytes != token.content.as_bytes())
            })
            .map(|(i, token)| (token.content.as_str(), i))
            .collect();
        if !two_faced.is_empty() {
            let mut joined = merges.iter().map(|merge| format!("{}{}", merge.left, merge.right));
            if joined.any(|result| two_faced.contains_key(result.as_str())) {
                return None;
            }
            left_out.extend(two_faced.values().map(|&i| self.added[i].id));
        }
        let mut entries = Vec::with_capacity(self.vocabulary.ids.len());
        for (token, &id) in &self.vocabulary.ids {
            if left_out.contains(&id) && self.added.iter().any(|added| added.content == *token) {
                continue;
            }
            entries.push((id, byte_alphabet::read(token)?));
        }
        entries.sort();
        Some((TokenList::from_entries(entries), left_out))
    }

    /// Merges by id. One that needs a token that is left out can never happen; it is left out too.
    fn resolve_merges(
        &self,
        entries: &[MergeEntry],
        prefix: &str,
        left_out: &HashSet<TokenId>,
    ) -> Result<Vec<Merge>> {
        let ids = &self.vocabulary.ids;
        let mut merges = Vec::with_capacity(entries.len());
        for (i, entry) in entries.iter().enumerate() {
            let id = |token: &str, what: &str| {
                ids.get(token).copied().ok_or_else(|| {
                    let reason = format!("{what} {token:?} is not in the vocabulary");
                    Error::format(Defect::Merge, reason).at_index(i)
                })
            };
            let left = id(&entry.left, "the left part")?;
            let right = id(&entry.right, "the right part")?;
            // As the reference has it: so many bytes are cut off, whatever they are.
            let Some(rest) = entry.right.get(prefix.len()..) else {
                let reason = format!("the right part {:?} does not start with {prefix:?}", entry.right);
                return Err(Error::format(Defect::Merge, reason).at_index(i));
            };
            let result = id(&format!("{}{rest}", entry.left), "the result")?;
            if [left, right, result].iter().any(|id| left_out.contains(id)) {
                continue;
            }
            merges.push(Merge { left, right, result });
        }
        Ok(keep_last(merges))
    }
}
