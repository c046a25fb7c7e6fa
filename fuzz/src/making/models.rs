//! Vocabularies of a few tokens that are made of one another.
use arbitrary::{Result, Unstructured};
use tokenmill_core::description::{
    Alphabet, BpeDescription, EndOfWord, EndOfWordForm, Merge, Merges, ModelDescription, PieceKind,
    TokenList, UnigramDescription, WordLevelDescription, WordPieceDescription,
};
use tokenmill_core::ids::TokenId;

use super::{PIECES, word};

pub(super) fn model(from: &mut Unstructured<'_>) -> Result<ModelDescription> {
    Ok(match from.int_in_range(0..=7)? {
        0..=3 => ModelDescription::Bpe(bpe(from)?),
        4 | 5 => ModelDescription::Unigram(unigram(from)?),
        6 => {
            let continuing_prefix = (*from.choose(&["##", "", "a", "▁"])?).to_owned();
            let mut words = words(from, 20)?;
            for _ in 0..from.int_in_range(0..=10)? {
                words.push(continuing_prefix.clone() + &word(from)?);
            }
            let tokens = listed(from, words.into_iter().map(String::into_bytes).collect())?;
            let max_chars = *from.choose(&[100, 3, 0, usize::MAX])?;
            ModelDescription::WordPiece(WordPieceDescription {
                unk: unk(from, &tokens)?,
                tokens: tokens.into(),
                continuing_prefix,
                max_chars,
            })
        }
        _ => {
            let words = words(from, 20)?;
            let tokens = listed(from, words.into_iter().map(String::into_bytes).collect())?;
            ModelDescription::WordLevel(WordLevelDescription {
                unk: unk(from, &tokens)?,
                tokens: tokens.into(),
            })
        }
    })
}

fn words(from: &mut Unstructured<'_>, most: usize) -> Result<Vec<String>> {
    super::up_to(from, most, word)
}

/// Tokens with ascending ids, now and then with holes; none twice.
fn listed(from: &mut Unstructured<'_>, mut tokens: Vec<Vec<u8>>) -> Result<TokenList> {
    let mut list = TokenList::default();
    let mut seen = std::collections::HashSet::new();
    tokens.retain(|token| seen.insert(token.clone()));
    let has_holes = from.ratio(1, 4)?;
    let mut id: TokenId = 0;
    for token in tokens {
        if has_holes {
            id += *from.choose(&[0, 0, 1, 1000])?;
        }
        list.push(id, &token);
        id += 1;
    }
    Ok(list)
}

fn unk(from: &mut Unstructured<'_>, tokens: &TokenList) -> Result<Option<TokenId>> {
    Ok(if tokens.is_empty() || from.ratio(1, 3)? { None } else { Some(*from.choose(tokens.ids())?) })
}

fn bpe(from: &mut Unstructured<'_>) -> Result<BpeDescription> {
    let is_bytes = from.arbitrary()?;
    let suffix = (*from.choose(&["</w>", "▁"])?).to_owned();
    let end_of_word = match from.int_in_range(0..=3)? {
        0 => Some(EndOfWord { symbol: suffix.clone(), form: EndOfWordForm::Separate }),
        1 => Some(EndOfWord { symbol: suffix, form: EndOfWordForm::Suffix }),
        _ => None,
    };
    let alphabet = if is_bytes { Alphabet::Bytes } else { Alphabet::Chars { end_of_word } };
    let prefix = if !is_bytes && from.ratio(1, 8)? { Some("##".to_owned()) } else { None };
    let mut tokens: Vec<Vec<u8>> = if is_bytes && from.ratio(7, 8)? {
        (0..=255).map(|byte| vec![byte]).collect()
    } else {
        let mut symbols: Vec<Vec<u8>> = PIECES.iter().map(|piece| piece.as_bytes().to_vec()).collect();
        symbols.truncate(from.int_in_range(0..=symbols.len())?);
        symbols.extend(words(from, 10)?.into_iter().map(String::into_bytes));
        symbols
    };
    if from.ratio(1, 4)? {
        tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>").into_bytes()));
    }
    let mut seen = std::collections::HashSet::new();
    tokens.retain(|token| seen.insert(token.clone()));
    let mut pairs = Vec::new();
    for _ in 0..from.int_in_range(0..=40)? {
        if tokens.is_empty() {
            break;
        }
        let (left, right) = (from.choose_index(tokens.len())?, from.choose_index(tokens.len())?);
        let bare = prefix.as_deref().and_then(|prefix| tokens[right].get(prefix.len()..));
        let joined = [&tokens[left], bare.unwrap_or(&tokens[right])].concat();
        if joined.len() > 200 {
            continue;
        }
        let result = tokens.iter().position(|token| *token == joined).unwrap_or(tokens.len());
        if result == tokens.len() {
            tokens.push(joined);
        }
        pairs.push((left, right, result));
    }
    let tokens = listed(from, tokens)?;
    let id = |index| tokens.id(index);
    let listed: Vec<Merge> =
        pairs.iter().map(|&(l, r, x)| Merge { left: id(l), right: id(r), result: id(x) }).collect();
    let merges = match from.int_in_range(0..=3)? {
        0 => Merges::ById,
        1 => {
            let mut scores = Vec::with_capacity(tokens.len());
            let mut kinds = Vec::with_capacity(tokens.len());
            for _ in 0..tokens.len() {
                scores.push(f32::from(from.arbitrary::<i8>()?) / 4.0);
                kinds.push(if from.ratio(7, 8)? {
                    PieceKind::Normal
                } else {
                    *from.choose(&PieceKind::ALL)?
                });
            }
            Merges::ByScore { scores, kinds }
        }
        _ => Merges::listed(listed),
    };
    Ok(BpeDescription {
        alphabet,
        merges,
        whole_pretokens: from.arbitrary()?,
        unk: unk(from, &tokens)?,
        fuse_unk: from.arbitrary()?,
        byte_fallback: from.arbitrary()?,
        continuing_prefix: prefix,
        dropout: None,
        tokens: tokens.into(),
    })
}

fn unigram(from: &mut Unstructured<'_>) -> Result<UnigramDescription> {
    let mut pieces = vec![b"<unk>".to_vec()];
    pieces.extend(words(from, 30)?.into_iter().map(String::into_bytes));
    if from.ratio(1, 4)? {
        pieces.extend((0..=255).map(|byte| format!("<0x{byte:02X}>").into_bytes()));
    }
    let tokens = listed(from, pieces)?;
    let mut scores = Vec::with_capacity(tokens.len());
    for _ in 0..tokens.len() {
        scores.push(match from.int_in_range(0..=31)? {
            0 => *from.choose(&[0.0, -0.0, 1e30, -1e30, f64::MIN, f64::MAX, 1e-300])?,
            _ => f64::from(from.arbitrary::<i8>()?) / 8.0,
        });
    }
    let mut kinds = Vec::new();
    if from.arbitrary()? {
        for _ in 0..tokens.len() {
            kinds.push(if from.ratio(7, 8)? { PieceKind::Normal } else { *from.choose(&PieceKind::ALL)? });
        }
    }
    Ok(UnigramDescription {
        unk: unk(from, &tokens)?,
        scores,
        kinds,
        unk_score: f64::from(from.arbitrary::<i8>()?),
        byte_fallback: from.arbitrary()?,
        single_precision: from.arbitrary()?,
        tokens: tokens.into(),
    })
}
