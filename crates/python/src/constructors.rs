//! Tokenizers from tables that people bring: an ordered list, merges, pairs of ids.
use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};
use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{Alphabet, Bpe, Description, Merge, Merges, Roles, Split, TokenList};
use tokenmill_core::error::{Defect, Error, Kind};
use tokenmill_core::ids::TokenId;

use crate::convert;
use crate::errors::raise;

/// Bytes of all tokens that are made from pairs.
const LENGTH_LIMIT: u64 = 1 << 30;

fn describe(tokens: TokenList, merges: Merges, split: Split) -> Description {
    let model =
        Bpe { alphabet: Alphabet::Bytes, tokens: tokens.into(), merges, whole_pretokens: false, unk: None };
    Description { added_tokens: Vec::new(), split, model, roles: Roles::default() }
}

/// `Tokenizer.from_tokens`.
pub(crate) fn from_tokens(tokens: Vec<Vec<u8>>, split: Split) -> Description {
    let entries = tokens.into_iter().zip(0..).map(|(bytes, id)| (id, bytes)).collect();
    describe(TokenList::from_entries(entries), Merges::ById, split)
}

/// `Tokenizer.from_merges`.
pub(crate) fn from_merges(
    py: Python<'_>,
    vocab: &Bound<'_, PyMapping>,
    merges: &[(Bound<'_, PyAny>, Bound<'_, PyAny>)],
    split: Split,
) -> PyResult<Description> {
    let mut ids = HashMap::new();
    let mut entries = Vec::new();
    for item in vocab.items()?.iter() {
        let (token, id): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let bytes = token_bytes(&token)?;
        let id = convert::token_id(&id, None)?;
        if ids.insert(bytes.clone(), id).is_some() {
            let reason = format!("token {:?} is there twice", String::from_utf8_lossy(&bytes));
            return Err(raise(py, Error::format(Defect::Duplicate, reason).at("vocab")));
        }
        entries.push((id, bytes));
    }
    let mut listed = Vec::with_capacity(merges.len());
    for (i, (left, right)) in merges.iter().enumerate() {
        let (left, right) = (token_bytes(left)?, token_bytes(right)?);
        let joined = [left.as_slice(), right.as_slice()].concat();
        let id = |bytes: &[u8]| {
            ids.get(bytes).copied().ok_or_else(|| {
                let reason = format!("token {:?} is not in the vocabulary", String::from_utf8_lossy(bytes));
                raise(py, Error::format(Defect::Merge, reason).at_index(i).at("merges"))
            })
        };
        listed.push(Merge { left: id(&left)?, right: id(&right)?, result: id(&joined)? });
    }
    Ok(describe(TokenList::from_entries(entries), Merges::Listed(listed), split))
}

/// A token as bytes, or as `str` in the byte alphabet.
fn token_bytes(token: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = token.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let written: String = token.extract()?;
    byte_alphabet::read(&written).ok_or_else(|| {
        let reason =
            format!("token {written:?} is not written in the byte alphabet (a space is Ġ); give it as bytes");
        raise(token.py(), Error::format(Defect::Encoding, reason).at("vocab"))
    })
}

/// `Tokenizer.from_pairs`.
pub(crate) fn from_pairs(
    py: Python<'_>,
    pairs: &[(Bound<'_, PyAny>, Bound<'_, PyAny>)],
    split: Split,
) -> PyResult<Description> {
    let mut tokens = TokenList::default();
    for byte in 0..=255u8 {
        tokens.push(byte.into(), &[byte]);
    }
    let mut merges = Vec::with_capacity(pairs.len());
    // Lengths first: pairs of pairs double, and no memory is taken for what will not fit.
    let mut lengths: Vec<u64> = vec![1; 256];
    let mut total = 0;
    for (i, (left, right)) in pairs.iter().enumerate() {
        let result = lengths.len() as TokenId;
        let part = |id: &Bound<'_, PyAny>| {
            let id = convert::token_id(id, Some(i))?;
            if id < result {
                return Ok(id);
            }
            let reason =
                format!("pair {i} needs it, but it is not defined before (pair {i} makes id {result})");
            Err(raise(py, Kind::Vocabulary { id: Some(id.into()), position: Some(i), reason }.into()))
        };
        let (left, right) = (part(left)?, part(right)?);
        let length = lengths[left as usize] + lengths[right as usize];
        total += length;
        if total > LENGTH_LIMIT {
            let error = Error::limit("the tokens are longer than 1 GiB in all", LENGTH_LIMIT);
            return Err(raise(py, error.at_index(i).at("pairs")));
        }
        lengths.push(length);
        merges.push(Merge { left, right, result });
    }
    for merge in &merges {
        tokens
            .try_push_joined(merge.result, merge.left as usize, merge.right as usize)
            .map_err(|error| raise(py, error.at("pairs")))?;
    }
    Ok(describe(tokens, Merges::Listed(merges), split))
}
