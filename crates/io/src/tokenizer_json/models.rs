//! The model of the file: tokens, merges and settings.
use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{
    AddedToken, Alphabet, BpeDescription, EndOfWord, EndOfWordForm, Merge, Merges, ModelDescription,
    TokenList, UnigramDescription, WordLevelDescription, WordPieceDescription,
};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::sorting;

use super::fields::unsupported;
use super::file::{MergeEntries, Model as ModelEntry, VocabEntries};
use crate::merges::{Repeated, keep_last};
use crate::names::{Joining, Names};
use crate::report::Report;
use crate::tables::{Map, Set};

/// The type of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bpe,
    WordPiece,
    WordLevel,
    Unigram,
}

/// The vocabulary of an entry.
pub(super) struct Vocabulary {
    /// The tokens with their ids.
    pub(super) names: Names,
    /// The number of tokens, as the reference counts them.
    pub(super) size: usize,
    /// The scores by id, if the vocabulary is a list.
    scores: Vec<f64>,
    /// Earlier occurrences of repeated pieces, with their ids.
    repeated: Vec<(TokenId, String)>,
}

fn missing(field: &str) -> Error {
    Error::format(Defect::Missing, "is missing").at(field)
}

impl Kind {
    /// The name of the type in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bpe => "BPE",
            Self::WordPiece => "WordPiece",
            Self::WordLevel => "WordLevel",
            Self::Unigram => "Unigram",
        }
    }

    /// The type by its name, or by the fields in files without one.
    pub(crate) fn of(entry: &ModelEntry<'_>) -> Result<Self> {
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
                // An error about missing fields refers to the most common model.
                _ => Self::Bpe,
            },
        })
    }

    /// Takes the vocabulary out of an entry.
    pub(super) fn vocabulary(self, entry: &mut ModelEntry<'_>, report: &mut Report) -> Result<Vocabulary> {
        match (self, entry.vocab.take()) {
            (_, None) => Err(missing("vocab").at("model")),
            (Self::Unigram, Some(VocabEntries::List(entries))) => {
                if TokenId::try_from(entries.len()).is_err() {
                    return Err(Error::limit("more tokens than ids", u64::from(TokenId::MAX))
                        .at("vocab")
                        .at("model"));
                }
                let bytes = entries.iter().map(|(token, _)| token.len()).sum();
                let mut names = Names::with_capacity(entries.len(), bytes);
                let mut scores = Vec::with_capacity(entries.len());
                let mut repeated = Vec::new();
                for ((token, score), id) in entries.into_iter().zip(0..) {
                    scores.push(score);
                    if let Some((place, earlier)) = names.insert(&token, id) {
                        let token = names.token(place);
                        let reason = format!("{token:?} is also token {earlier}; this one counts");
                        report.tolerate(Defect::Duplicate, format!("model.vocab[{id}]"), reason)?;
                        repeated.push((earlier, token.to_owned()));
                    }
                }
                Ok(Vocabulary { size: scores.len(), names, scores, repeated })
            }
            (Self::Unigram, Some(VocabEntries::Object(_))) => {
                Err(Error::format(Defect::Type, "expected a list of tokens and scores")
                    .at("vocab")
                    .at("model"))
            }
            (_, Some(VocabEntries::Object(entries))) => {
                let count = entries.len();
                let names = Names::new(&entries);
                if names.len() < count {
                    let reason =
                        format!("{} keys occur twice; the last occurrence counts", count - names.len());
                    report.tolerate(Defect::Duplicate, "model.vocab", reason)?;
                }
                Ok(Vocabulary { size: names.len(), names, scores: Vec::new(), repeated: Vec::new() })
            }
            (_, Some(VocabEntries::List(_))) => {
                Err(Error::format(Defect::Type, "expected an object of ids by token").at("vocab").at("model"))
            }
        }
    }
}

/// Reports ids that several tokens share.
///
/// # Errors
/// In strict loading.
pub(crate) fn report_shared_ids(
    names: &Names,
    added: &[AddedToken],
    field: &str,
    report: &mut Report,
) -> Result<()> {
    // The usual order.
    if names.iter().is_sorted_by(|(_, a), (_, b)| a < b) {
        return Ok(());
    }
    let mut by_id: Vec<(TokenId, &str)> = names.iter().map(|(token, id)| (id, token)).collect();
    sorting::sort(&mut by_id);
    let mut shared = by_id.chunk_by(|a, b| a.0 == b.0).filter(|tokens| tokens.len() > 1).peekable();
    if shared.peek().is_none() {
        return Ok(());
    }
    let added: Map<TokenId, &str> = added.iter().map(|token| (token.id, token.content.as_str())).collect();
    for tokens in shared {
        let ((id, first), (_, second)) = (tokens[0], tokens[1]);
        let more = if tokens.len() > 2 { format!(" and {} more", tokens.len() - 2) } else { String::new() };
        let decoded = added.get(&id).copied().unwrap_or(first);
        let reason = format!("{first:?} and {second:?}{more} have the id {id}, which decodes to {decoded:?}");
        report.tolerate(Defect::Duplicate, field, reason)?;
    }
    Ok(())
}

/// The input of a model.
pub(super) struct Source<'a> {
    pub(super) kind: Kind,
    pub(super) entry: ModelEntry<'a>,
    pub(super) vocabulary: &'a Vocabulary,
    /// Ascending by id.
    pub(super) added: &'a [AddedToken],
    /// Is the text in the byte alphabet, and only by the last step before the model?
    pub(super) comes_in_bytes: bool,
}

impl Source<'_> {
    /// Reads the model; its alphabet tells whether it works on bytes.
    pub(super) fn read(self, report: &mut Report) -> Result<ModelDescription> {
        let (model, repeated) = self.read_with_repeated().map_err(|e| e.at("model"))?;
        for (place, earlier) in repeated {
            let reason = format!("the merge is also model.merges[{earlier}]; this place counts");
            report.tolerate(Defect::Duplicate, format!("model.merges[{place}]"), reason)?;
        }
        Ok(model)
    }

    /// Reads the model, and the merges that the file lists more than once.
    fn read_with_repeated(self) -> Result<(ModelDescription, Repeated)> {
        let unk = self.entry.unk_token.as_ref().and_then(|unk| self.id_of(unk));
        let model: Result<ModelDescription> = match self.kind {
            Kind::Bpe => {
                return self.read_bpe(unk).map(|(model, repeated)| (ModelDescription::Bpe(model), repeated));
            }
            Kind::WordPiece => {
                let tokens = self.plain_tokens();
                let entry = &self.entry;
                if entry.unk_token.is_none() {
                    return Err(missing("unk_token"));
                }
                Ok(ModelDescription::WordPiece(WordPieceDescription {
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
                let tokens = self.plain_tokens();
                Ok(ModelDescription::WordLevel(WordLevelDescription { tokens: tokens.into(), unk }))
            }
            Kind::Unigram => self.read_unigram(),
        };
        Ok((model?, Vec::new()))
    }

    /// The id of a token in written form.
    fn id_of(&self, written: &str) -> Option<TokenId> {
        let added = || self.added.iter().find(|token| token.content == written).map(|token| token.id);
        self.vocabulary.names.get(written).or_else(added)
    }

    fn has_id(&self, tokens: &TokenList, id: TokenId) -> bool {
        tokens.index_of(id).is_some() || self.added.iter().any(|token| token.id == id)
    }

    /// The special tokens. The model must not contain them, since text would become one (law 9).
    fn special(&self) -> Set<&str> {
        self.added.iter().filter(|token| token.is_special).map(|token| token.content.as_str()).collect()
    }

    /// The tokens in written form, without special ones.
    fn plain_tokens(&self) -> TokenList {
        let special = self.special();
        let repeated = self.vocabulary.repeated.iter().map(|(id, token)| (token.as_str(), *id));
        let entries = self.vocabulary.names.iter().chain(repeated);
        let entries = entries.filter(|(token, _)| !special.contains(token));
        TokenList::from_entries(entries.map(|(token, id)| (id, token.as_bytes())).collect())
    }

    fn read_unigram(self) -> Result<ModelDescription> {
        let tokens = self.plain_tokens();
        let scores = &self.vocabulary.scores;
        let unk = self.entry.unk_id;
        if let Some(unk) = unk.filter(|&unk| unk >= scores.len()) {
            let reason = format!("{unk} is not the place of a token; there are {}", scores.len());
            return Err(Error::format(Defect::Range, reason).at("unk_id"));
        }
        if let Some(unk) = unk
            && !self.has_id(&tokens, unk as TokenId)
        {
            // The token is special and occurs again: it has the last of its ids.
            let named = |(id, token): &(TokenId, String)| (*id as usize == unk).then(|| token.clone());
            let token = self.vocabulary.repeated.iter().find_map(named).unwrap_or_default();
            let instead = self.id_of(&token).map_or_else(String::new, |id| format!(", with the id {id}"));
            let reason =
                format!("no token has the id {unk}: the one in this place, {token:?}, occurs again{instead}");
            return Err(Error::format(Defect::Missing, reason).at("unk_id"));
        }
        let mut model = UnigramDescription {
            scores: Vec::new(),
            tokens: tokens.into(),
            kinds: Vec::new(),
            unk: unk.map(|unk| unk as TokenId),
            unk_score: 0.0,
            byte_fallback: self.entry.byte_fallback == Some(true),
            single_precision: false,
        };
        set_scores(&mut model, scores)?;
        Ok(ModelDescription::Unigram(model))
    }

    fn read_bpe(self, unk: Option<TokenId>) -> Result<(BpeDescription, Repeated)> {
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
            (Alphabet::Chars { end_of_word }, self.plain_tokens(), self.special())
        };
        let dropout = entry.dropout.filter(|&dropout| dropout != 0.0);
        if dropout.is_some_and(|dropout| !(0.0..=1.0).contains(&dropout)) {
            return Err(Error::format(Defect::Range, "is not between 0 and 1").at("dropout"));
        }
        let (merges, repeated) = self
            .resolve_merges(merges, prefix.as_deref().unwrap_or_default(), &left_out)
            .map_err(|e| e.at("merges"))?;
        let model = BpeDescription {
            alphabet,
            tokens: tokens.into(),
            merges: Merges::listed(merges),
            whole_pretokens: entry.ignore_merges == Some(true),
            unk,
            fuse_unk: entry.fuse_unk == Some(true),
            byte_fallback: entry.byte_fallback == Some(true),
            continuing_prefix: prefix,
            dropout,
        };
        Ok((model, repeated))
    }

    /// The tokens as bytes, and the tokens left out, if all tokens are in the byte alphabet; else `None`.
    ///
    /// A special token such as `Ġlow`, whose literal differs from the bytes that it stands for, is
    /// matched by its literal. The entry of the model means ` low`, and must not become the special
    /// token.
    fn raw_tokens(&self, merges: &MergeEntries) -> Option<(TokenList, Set<&str>)> {
        let mut left_out = self.special();
        // Text never becomes a token that is not in the byte alphabet.
        let is_two_faced = |token: &&AddedToken| {
            byte_alphabet::read(&token.content)
                .is_none_or(|bytes| token.is_special && bytes != token.content.as_bytes())
        };
        let in_vocabulary = |token: &&AddedToken| self.vocabulary.names.contains(&token.content);
        let two_faced: Set<&str> = self
            .added
            .iter()
            .filter(in_vocabulary)
            .filter(is_two_faced)
            .map(|token| token.content.as_str())
            .collect();
        if !two_faced.is_empty() {
            let unk = self.entry.unk_token.as_deref();
            let is_unknown = |part: &str| unk == Some(part) && two_faced.contains(part);
            let needs_one = |(_, left, right): (usize, &str, &str)| {
                is_unknown(left) || is_unknown(right) || two_faced.contains(format!("{left}{right}").as_str())
            };
            if merges.iter().any(needs_one) {
                return None;
            }
            left_out.extend(two_faced);
        }
        let names = &self.vocabulary.names;
        let is_left_out = names.marked(&left_out);
        let mut tokens = TokenList::with_capacity(names.len(), names.bytes());
        let mut bytes = Vec::new();
        for ((token, id), _) in names.iter().zip(&is_left_out).filter(|(_, is_left_out)| !**is_left_out) {
            bytes.clear();
            if !byte_alphabet::read_into(token, &mut bytes) {
                return None;
            }
            tokens.push(id, &bytes);
        }
        // The usual order.
        if tokens.ids().is_sorted_by(|a, b| a < b) {
            // In the byte alphabet a byte takes one or two bytes, so the capacity was too large.
            tokens.shrink_to_fit();
        } else {
            tokens = TokenList::from_entries(tokens.iter().collect());
        }
        Some((tokens, left_out))
    }

    /// The merges by id, without those that need a left-out token, which can never happen. The
    /// unknown token can occur, and may be merged with its neighbours.
    fn resolve_merges(
        &self,
        entries: &MergeEntries,
        prefix: &str,
        left_out: &Set<&str>,
    ) -> Result<(Vec<Merge>, Repeated)> {
        let names = &self.vocabulary.names;
        let never_made = names.marked(left_out);
        let unk = self.entry.unk_token.as_deref().and_then(|unk| names.place(unk));
        let can_occur = |place: usize| !never_made[place] || unk == Some(place);
        let mut joining = Joining::default();
        let mut places = Vec::with_capacity(entries.len());
        let mut merges = Vec::with_capacity(entries.len());
        for (i, left_part, right_part) in entries.iter() {
            let fault = |reason: String| Error::format(Defect::Merge, reason).at_index(i);
            let no_token =
                |what: &str, token: &str| fault(format!("{what} {token:?} is not in the vocabulary"));
            let left = names.place(left_part).ok_or_else(|| no_token("the left part", left_part))?;
            let right = names.place(right_part).ok_or_else(|| no_token("the right part", right_part))?;
            // As in the reference, the prefix is cut off by its length, without a comparison.
            let rest = right_part.get(prefix.len()..).ok_or_else(|| {
                fault(format!("the right part {right_part:?} does not start with {prefix:?}"))
            })?;
            let result = joining
                .place(names, left_part, rest)
                .ok_or_else(|| no_token("the result", &format!("{left_part}{rest}")))?;
            if can_occur(left) && can_occur(right) && !never_made[result] {
                merges.push(Merge { left: names.id(left), right: names.id(right), result: names.id(result) });
                places.push(i);
            }
        }
        let (merges, mut repeated) = keep_last(merges);
        for (place, earlier) in &mut repeated {
            (*place, *earlier) = (places[*place], places[*earlier]);
        }
        Ok((merges, repeated))
    }
}

/// Sets the scores of a model. `scores` are by id, including those of special tokens.
pub(crate) fn set_scores(model: &mut UnigramDescription, scores: &[f64]) -> Result<()> {
    if let Some(i) = scores.iter().position(|score| !score.is_finite()) {
        return Err(Error::format(Defect::Range, "the score is no number").at_index(i).at("vocab"));
    }
    let of = |&id: &TokenId| scores.get(id as usize).copied();
    let own: Option<Vec<f64>> = model.tokens.ids().iter().map(of).collect();
    model.scores = own.ok_or_else(|| Error::format(Defect::Missing, "a token has no score").at("vocab"))?;
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let lowest = if lowest.is_finite() { lowest } else { 0.0 };
    model.unk_score = lowest - f64::from(UnigramDescription::UNK_PENALTY);
    Ok(())
}
