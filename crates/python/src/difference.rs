//! Two tokenizers compared, as plain tuples from which `tokenmill.difference` makes classes.
use std::sync::Arc;

use pyo3::prelude::*;
use tokenmill_core::compare::{MergeChanges, Proof, Witness, compare};

use crate::tokenizer::Tokenizer;
use crate::watch::run_long;

/// A witness: a text with the name of a call, or ids and whether special tokens are left out.
type PlainWitness = (Option<(String, &'static str)>, Option<(Vec<u32>, bool)>);

/// The merges that only A and only B has, by their ranks, and those that moved.
type PlainMerges = (Vec<usize>, Vec<usize>, Vec<(usize, usize)>);

/// The name of the proof, the witness, the numbers of inputs by their kind, and merges.
type PlainDifference = (Option<&'static str>, PlainWitness, Vec<(&'static str, u64)>, PlainMerges);

/// Compares two tokenizers, chat templates and settings aside; see `tokenmill.diff`.
///
/// `texts` are tried first. Gives the proof that they are the same (`"descriptions"`, `"merges"` or
/// None), a witness that they are not (a text and the name of a call, or ids and whether special
/// tokens are left out), how many inputs of each kind were tried, and the ranks of merges that only
/// the first and only the second has, and of those that moved.
#[pyfunction]
#[pyo3(signature = (a, b, texts, /))]
pub(crate) fn compare_tokenizers(
    py: Python<'_>,
    a: &Tokenizer,
    b: &Tokenizer,
    texts: Vec<String>,
) -> PyResult<PlainDifference> {
    let (a, b) = (Arc::clone(a.engine()), Arc::clone(b.engine()));
    let found = run_long(py, None, |watch| compare(&a, &b, texts.iter().map(String::as_str), watch))?;
    let proof = found.proof.map(|proof| match proof {
        Proof::Descriptions => "descriptions",
        Proof::Merges => "merges",
    });
    let witness = match found.witness {
        Some(Witness::Text { text, call }) => (Some((text, call.name())), None),
        Some(Witness::Ids { ids, skip_special }) => (None, Some((ids, skip_special))),
        None => (None, None),
    };
    let MergeChanges { only_in_a, only_in_b, moved, .. } = found.merges;
    Ok((proof, witness, found.tried, (only_in_a, only_in_b, moved)))
}

/// The stages and settings of a tokenizer as JSON; see `tokenmill.difference`.
#[pyfunction]
#[pyo3(signature = (tokenizer, /))]
pub(crate) fn written_stages(py: Python<'_>, tokenizer: &Tokenizer) -> String {
    let engine = Arc::clone(tokenizer.engine());
    py.detach(|| tokenmill_io::stages(&engine))
}
