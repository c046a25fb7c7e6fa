//! A Unigram tokenizer of SentencePiece as one of the tokenizers library, and the other way round.
//!
//! In: a description that a format cannot hold. Out: the nearest one that it can. The libraries differ: in sums near a
//! tie, in what they do to spaces at the ends of a text, and around tokens that are matched before the model.
use std::sync::Arc;
use tokenmill_core::sorting;

use tokenmill_core::description::{
    AddedToken, Decoder, Decoding, Description, ModelDescription, Normalizer, Pattern, PieceKind,
    PreTokenizer, PrependScheme, Roles, SentencePieceRules, TokenList, UnigramDescription,
};
use tokenmill_core::ids::TokenId;

use crate::byte_tokens;

const MARK: char = '\u{2581}';

/// A byte token is never chosen as a piece of text: it costs more than any spelling.
const BYTE_SCORE: f64 = -1e6;

/// A tokenizer of SentencePiece as one that tokenizer.json can hold.
pub(crate) fn of_tokenizers(description: &Description) -> Option<Description> {
    let model = unigram(description, true)?;
    let [Normalizer::SentencePiece(rules)] = description.normalizer.as_slice() else { return None };
    if rules.treat_whitespace_as_suffix || !rules.escape_whitespaces {
        return None;
    }
    let mut added_tokens = description.added_tokens.clone();
    let (mut tokens, mut scores) = (TokenList::default(), Vec::new());
    for (((id, bytes), &score), kind) in model.tokens.iter().zip(&model.scores).zip(&model.kinds) {
        let content = || String::from_utf8_lossy(bytes).into_owned();
        match kind {
            PieceKind::Normal | PieceKind::Unused => {
                tokens.push(id, bytes);
                scores.push(score);
            }
            PieceKind::Byte => {
                tokens.push(id, bytes);
                scores.push(BYTE_SCORE);
            }
            PieceKind::Unknown => added_tokens.push(AddedToken::special(id, content())),
            PieceKind::UserDefined => {
                // It is in the model too: a file gives a token that is matched first the id of the model's token.
                tokens.push(id, bytes);
                scores.push(0.0);
                added_tokens.push(AddedToken { id, content: content(), ..AddedToken::default() });
            }
            // A control piece is an added token already.
            PieceKind::Control => {}
        }
    }
    AddedToken::sort_by_id(&mut added_tokens);
    let mut normalizer = Vec::new();
    if !rules.charsmap.is_empty() {
        normalizer.push(Normalizer::Precompiled(Arc::clone(&rules.charsmap)));
    }
    if rules.remove_extra_whitespaces {
        normalizer.push(Normalizer::Strip { left: true, right: true });
        let pattern = Pattern::Regex(" {2,}".to_owned());
        normalizer.push(Normalizer::Replace { pattern, content: " ".to_owned() });
    }
    let prepend = if rules.add_dummy_prefix { PrependScheme::Always } else { PrependScheme::Never };
    let mut steps = Vec::new();
    if model.byte_fallback {
        steps.push(Decoder::ByteFallback);
    }
    steps.push(Decoder::Metaspace { replacement: MARK, prepend, split: true });
    let lowest = scores.iter().copied().fold(0.0, f64::min);
    Some(Description {
        added_tokens,
        normalizer,
        pre_tokenizer: vec![PreTokenizer::Metaspace { replacement: MARK, prepend, split: true }],
        model: ModelDescription::Unigram(UnigramDescription {
            tokens: tokens.into(),
            scores,
            kinds: Vec::new(),
            unk_score: lowest - f64::from(UnigramDescription::UNK_PENALTY),
            single_precision: false,
            ..model.clone()
        }),
        decoding: Decoding::Steps(steps),
        ..description.clone()
    })
}

/// A tokenizer of tokenizer.json as one that a SentencePiece model can hold.
pub(crate) fn of_sentencepiece(description: &Description) -> Option<Description> {
    let model = unigram(description, false)?;
    let [PreTokenizer::Metaspace { replacement: MARK, prepend, split: true }] = description.pre_tokenizer[..]
    else {
        return None;
    };
    if !description.normalizer.is_empty() {
        return None;
    }
    let unk = model.unk?;
    let mut pieces: Vec<(TokenId, Vec<u8>, f64, PieceKind)> = Vec::new();
    for ((id, bytes), &score) in model.tokens.iter().zip(&model.scores) {
        let is_byte =
            model.byte_fallback && std::str::from_utf8(bytes).ok().and_then(byte_tokens::byte_of).is_some();
        let kind = if is_byte { PieceKind::Byte } else { PieceKind::Normal };
        pieces.push((id, bytes.to_vec(), if is_byte { 0.0 } else { score }, kind));
    }
    pieces.retain(|(id, ..)| description.added_tokens.iter().all(|token| token.id != *id));
    for token in &description.added_tokens {
        let kind = match token.is_special {
            _ if token.id == unk => PieceKind::Unknown,
            true => PieceKind::Control,
            false => PieceKind::UserDefined,
        };
        pieces.push((token.id, token.content.clone().into_bytes(), 0.0, kind));
    }
    sorting::sort_by_key(&mut pieces, |(id, ..)| *id);
    let (mut tokens, mut scores, mut kinds) = (TokenList::default(), Vec::new(), Vec::new());
    let mut lowest = f32::MAX;
    let mut user_defined = Vec::new();
    for (id, bytes, score, kind) in pieces {
        tokens.push(id, &bytes);
        #[allow(clippy::cast_possible_truncation)] // what the format holds
        let score = score as f32;
        scores.push(f64::from(score));
        kinds.push(kind);
        match kind {
            PieceKind::Normal => lowest = lowest.min(score),
            PieceKind::UserDefined => user_defined.push(String::from_utf8_lossy(&bytes).into_owned()),
            _ => {}
        }
    }
    let add_dummy_prefix = prepend != PrependScheme::Never;
    let rules = SentencePieceRules {
        user_defined,
        add_dummy_prefix,
        escape_whitespaces: true,
        ..SentencePieceRules::default()
    };
    let decoder = Decoder::SentencePiece {
        unk_surface: " \u{2047} ".to_owned(),
        add_dummy_prefix,
        remove_extra_whitespaces: false,
        treat_whitespace_as_suffix: false,
    };
    // A model file knows no other roles, and the unknown piece by its kind.
    let named = |name: &str| {
        let mut control = description.added_tokens.iter().filter(|token| token.is_special && token.id != unk);
        control.find(|token| token.content == name).map(|token| token.id)
    };
    let roles = Roles {
        bos: description.roles.bos.or_else(|| named("<s>")),
        eos: description.roles.eos.or_else(|| named("</s>")),
        pad: description.roles.pad.or_else(|| named("<pad>")),
        ..Roles::default()
    };
    let kinds_of = |id: TokenId| tokens.index_of(id).map(|index| kinds[index]);
    Some(Description {
        added_tokens: description
            .added_tokens
            .iter()
            .filter(|token| kinds_of(token.id) == Some(PieceKind::Control))
            .map(|token| AddedToken::special(token.id, token.content.clone()))
            .collect(),
        normalizer: vec![Normalizer::SentencePiece(rules)],
        pre_tokenizer: Vec::new(),
        roles,
        decoding: Decoding::Steps(vec![decoder]),
        model: ModelDescription::Unigram(UnigramDescription {
            tokens: Arc::new(tokens),
            scores,
            kinds,
            unk_score: f64::from(lowest - UnigramDescription::UNK_PENALTY),
            single_precision: true,
            ..model.clone()
        }),
        ..description.clone()
    })
}

/// The model, if it is Unigram and sums as SentencePiece does, or as it does not.
fn unigram(description: &Description, as_sentencepiece: bool) -> Option<&UnigramDescription> {
    match &description.model {
        ModelDescription::Unigram(model) if model.single_precision == as_sentencepiece => Some(model),
        _ => None,
    }
}
