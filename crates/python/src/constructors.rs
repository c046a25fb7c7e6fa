//! Tokenizers from a caller's tables: an ordered list, ranks, merges, pairs of ids.
use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString, PyTuple};
use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{
    Alphabet, Behavior, BpeDescription, Description, Merge, Merges, Pattern, PreTokenizer, Split, TokenList,
};
use tokenmill_core::error::{Defect, Error, Kind};
use tokenmill_core::ids::TokenId;
use tokenmill_core::try_alloc;

use crate::argument_values::{self, look};
use crate::exceptions::{gather, out_of_memory, raise, wrong_type};

/// Maximum total length in bytes of the tokens made from pairs.
const LENGTH_LIMIT: u64 = 1 << 30;

fn describe(py: Python<'_>, tokens: TokenList, merges: Merges, split: &Split) -> PyResult<Description> {
    // Files may contain an empty token, which has no effect; a caller's table must not.
    if let Some((id, _)) = tokens.iter().find(|(_, bytes)| bytes.is_empty()) {
        let reason = format!("token {id} is empty; every token stands for some text");
        return Err(raise(py, Error::format(Defect::Empty, reason).at("vocab")));
    }
    // Files may give one id to several tokens; a caller's table must not.
    if let Some((index, id)) = tokens.first_shared_id() {
        let reason = format!("two tokens have the id {id}");
        return Err(raise(
            py,
            Error::format(Defect::Duplicate, reason).at_index(index).at("vocab").at("model"),
        ));
    }
    Ok(Description::of_bpe(split, BpeDescription::plain(Alphabet::Bytes, tokens, merges)))
}

/// `Tokenizer.from_tokens`.
pub(crate) fn from_tokens(tokens: &Bound<'_, PyAny>, split: Split) -> PyResult<Description> {
    let py = tokens.py();
    let tokens = argument_values::sequence(tokens, "tokens", "bytes")?;
    let entry = |(i, token): (usize, &Bound<'_, PyAny>)| {
        look(py, i)?;
        match token.cast::<PyBytes>() {
            Ok(bytes) => Ok((i as TokenId, try_alloc::copy(bytes.as_bytes()).map_err(out_of_memory)?)),
            Err(_) => Err(wrong_type(&format!("tokens[{i}]"), "bytes", token)),
        }
    };
    let entries = gather(tokens.iter().enumerate().map(entry))?;
    describe(py, TokenList::from_entries(entries), Merges::ById, &split)
}

/// `Tokenizer.from_ranks`.
pub(crate) fn from_ranks(
    ranks: &Bound<'_, PyAny>,
    split: Split,
    unmatched: &str,
    whole_pretokens: bool,
) -> PyResult<Description> {
    let py = ranks.py();
    let Ok(mapping) = ranks.cast::<PyMapping>() else {
        return Err(wrong_type("ranks", "a mapping of tokens to ranks", ranks));
    };
    let keeps_unmatched = match unmatched {
        "keep" => true,
        "drop" => false,
        other => {
            return Err(PyValueError::new_err(format!("unmatched={other:?} is none of \"keep\", \"drop\"")));
        }
    };
    let mut entries = Vec::new();
    for (i, item) in mapping.items()?.iter().enumerate() {
        look(py, i)?;
        let (token, rank): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(bytes) = token.cast::<PyBytes>() else {
            return Err(wrong_type(&format!("key {i} of ranks"), "bytes", &token));
        };
        let bytes = bytes.as_bytes();
        let rank =
            argument_values::token_id(&rank, || format!("ranks[{:?}]", String::from_utf8_lossy(bytes)))?;
        entries.push((rank, bytes.to_vec()));
    }
    let mut description = describe(py, TokenList::from_entries(entries), Merges::ById, &split)?;
    if let Some(model) = description.model.as_bpe_mut() {
        model.whole_pretokens = whole_pretokens;
    }
    if let (false, Split::Pattern(regex)) = (keeps_unmatched, split) {
        description.pre_tokenizer = vec![PreTokenizer::Split {
            pattern: Pattern::Regex(regex),
            behavior: Behavior::Removed,
            invert: true,
        }];
    }
    Ok(description)
}

/// `Tokenizer.from_merges`.
pub(crate) fn from_merges(
    py: Python<'_>,
    vocab: &Bound<'_, PyAny>,
    merges: &Bound<'_, PyAny>,
    split: Split,
) -> PyResult<Description> {
    let Ok(mapping) = vocab.cast::<PyMapping>() else {
        return Err(wrong_type("vocab", "a mapping of tokens to ids", vocab));
    };
    let merges = pairs(merges, "merges", "of two tokens")?;
    let mut ids = HashMap::new();
    let mut entries = Vec::new();
    for (i, item) in mapping.items()?.iter().enumerate() {
        look(py, i)?;
        let (token, id): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let bytes = token_bytes(&token, || format!("key {i} of vocab"))?;
        let id = argument_values::token_id(&id, || format!("vocab[{:?}]", String::from_utf8_lossy(&bytes)))?;
        if ids.insert(bytes.clone(), id).is_some() {
            let reason = format!("token {:?} is there twice", String::from_utf8_lossy(&bytes));
            return Err(raise(py, Error::format(Defect::Duplicate, reason).at("vocab")));
        }
        entries.push((id, bytes));
    }
    let mut listed = try_alloc::vec(merges.len()).map_err(out_of_memory)?;
    for (i, (left, right)) in merges.iter().enumerate() {
        look(py, i)?;
        let left = token_bytes(left, || format!("merges[{i}][0]"))?;
        let right = token_bytes(right, || format!("merges[{i}][1]"))?;
        let joined = [left.as_slice(), right.as_slice()].concat();
        let id = |bytes: &[u8]| {
            ids.get(bytes).copied().ok_or_else(|| {
                let reason = format!("token {:?} is not in the vocabulary", String::from_utf8_lossy(bytes));
                raise(py, Error::format(Defect::Merge, reason).at_index(i).at("merges"))
            })
        };
        listed.push(Merge { left: id(&left)?, right: id(&right)?, result: id(&joined)? });
    }
    describe(py, TokenList::from_entries(entries), Merges::listed(listed), &split)
}

/// Reads a sequence of pairs.
fn pairs<'py>(
    argument: &Bound<'py, PyAny>,
    name: &str,
    what: &str,
) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let pair = |(i, item): (usize, Bound<'py, PyAny>)| {
        let Ok(tuple) = item.cast::<PyTuple>() else {
            return Err(wrong_type(&format!("{name}[{i}]"), &format!("a tuple {what}"), &item));
        };
        if tuple.len() != 2 {
            let reason = format!("{name}[{i}] must be a tuple {what}, not of {}", tuple.len());
            return Err(PyValueError::new_err(reason));
        }
        Ok((tuple.get_item(0)?, tuple.get_item(1)?))
    };
    gather(
        argument_values::sequence(argument, name, &format!("tuples {what}"))?
            .into_iter()
            .enumerate()
            .map(pair),
    )
}

/// A token given as bytes, or as `str` in the byte alphabet.
fn token_bytes(token: &Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = token.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let Ok(written) = token.cast::<PyString>() else {
        return Err(wrong_type(&name(), "bytes or str", token));
    };
    let written: String = written.extract()?;
    byte_alphabet::read(&written).ok_or_else(|| {
        let reason =
            format!("token {written:?} is not written in the byte alphabet (a space is Ġ); give it as bytes");
        raise(token.py(), Error::format(Defect::Encoding, reason).at("vocab"))
    })
}

/// `Tokenizer.from_pairs`.
pub(crate) fn from_pairs(py: Python<'_>, argument: &Bound<'_, PyAny>, split: Split) -> PyResult<Description> {
    let pairs = pairs(argument, "pairs", "of two ids")?;
    let mut tokens = TokenList::default();
    for byte in 0..=255u8 {
        tokens.push(byte.into(), &[byte]);
    }
    let mut merges = try_alloc::vec(pairs.len()).map_err(out_of_memory)?;
    // Lengths are checked first: pairs of pairs double, and no memory is allocated for tokens that
    // exceed the limit.
    let mut lengths: Vec<u64> = vec![1; 256];
    let mut total = 0;
    for (i, (left, right)) in pairs.iter().enumerate() {
        look(py, i)?;
        let result = lengths.len() as TokenId;
        let part = |side: usize, id: &Bound<'_, PyAny>| {
            let id = argument_values::pair_id(id, i, side)?;
            if id < result {
                return Ok(id);
            }
            let reason =
                format!("pair {i} needs it, but it is not defined before (pair {i} makes id {result})");
            Err(raise(py, Kind::Vocabulary { id: Some(id.into()), position: Some(i), reason }.into()))
        };
        let (left, right) = (part(0, left)?, part(1, right)?);
        let length = lengths[left as usize] + lengths[right as usize];
        total += length;
        if total > LENGTH_LIMIT {
            let error = Error::limit("the tokens are longer than 1 GiB in all", LENGTH_LIMIT);
            return Err(raise(py, error.at_index(i).at("pairs")));
        }
        try_alloc::push(&mut lengths, length).map_err(out_of_memory)?;
        merges.push(Merge { left, right, result });
    }
    for merge in &merges {
        tokens
            .try_push_joined(merge.result, merge.left as usize, merge.right as usize)
            .map_err(|error| raise(py, error.at("pairs")))?;
    }
    describe(py, tokens, Merges::listed(merges), &split)
}
