//! Surgery: tokenizers with another vocabulary, and the map from old ids to new ones.
//!
//! The public methods pass their arguments to `tokenmill.surgery`, which reads them and calls the private ones.
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tokenmill_core::description::Additions;
use tokenmill_core::ids::TokenId;
use tokenmill_core::surgery::{self, Condition, Surgery};

use super::Tokenizer;
use super::conversations::hand_over;
use crate::buffer::objects;
use crate::ids::ids;
use crate::late;
use crate::watch::run_long;

#[pymethods]
impl Tokenizer {
    /// The same tokenizer with only some of its tokens, ids close together: a `Surgery`, with the map from old ids
    /// to new ones.
    ///
    /// Exactly one of these says which: `keep` and `drop` are ids, or tokens as `token_to_id` takes them; `texts`
    /// is a text or an iterable of texts whose ids are kept. Added tokens, bytes, the unknown token, tokens with a
    /// role, and what kept tokens are made of stay in any case; `promise.also_kept` has those that nobody asked for.
    ///
    /// Every text whose old ids are all kept, with no unknown token among them, has these ids, mapped. Raises
    /// `VocabularyError` for a token that does not exist.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, num_merges=7)
    /// >>> small = tok.trim(texts=["low"])
    /// >>> len(tok), len(small.tokenizer)
    /// (263, 258)
    /// >>> small.id_map[tok.encode("low")].tolist() == small.tokenizer.encode("low")
    /// True
    #[pyo3(signature = (*, keep = None, drop = None, texts = None))]
    fn trim<'py>(
        slf: &Bound<'py, Self>,
        keep: Option<&Bound<'py, PyAny>>,
        drop: Option<&Bound<'py, PyAny>>,
        texts: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("keep", keep)?;
        options.set_item("drop", drop)?;
        options.set_item("texts", texts)?;
        hand_over((&late::SURGERY, "trimmed"), [slf], Some(&options))
    }

    /// The same tokenizer with more ordinary tokens, whose ids come after all others: a `Surgery`. Old ids stay.
    ///
    /// `tokens` are `bytes`, or `str` as the model sees text: after the normalizer, so that a token of SentencePiece
    /// that begins a word begins with `▁`; for WordPiece as it is written (`##ing`). Byte-pair encoding gets the
    /// merges that make them, from left to right, and the tokens between, which are new tokens too.
    ///
    /// Every text that holds none of the new tokens' bytes (`promise.absent`) has its old ids. Raises
    /// `VocabularyError` for a token that is there already, listed twice or empty, and `FormatError` for Unigram,
    /// whose tokens compete by scores, and for models that mark the ends of words.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
    /// >>> more = tok.extend(["lowest"])
    /// >>> more.promise.absent
    /// (b'lowe', b'lowes', b'lowest')
    /// >>> more.tokenizer.encode("low lowest")
    /// [257, 32, 260]
    #[pyo3(signature = (tokens))]
    fn extend<'py>(slf: &Bound<'py, Self>, tokens: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::SURGERY, "extended"), [slf, tokens], None)
    }

    /// The same tokenizer with other ids: a `Surgery`. Every text has its old ids, mapped.
    ///
    /// `ids` is a mapping of old ids to new ones, in which ids that are not named stay; or all old ids in a new
    /// order, where the first becomes 0. Raises `VocabularyError` for an id that does not exist, is named twice or
    /// left out of an order, and for a new id that two tokens would have.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
    /// >>> swapped = tok.remap({257: 0, 0: 257})
    /// >>> tok.encode("low"), swapped.tokenizer.encode("low")
    /// ([257], [0])
    #[pyo3(signature = (ids))]
    fn remap<'py>(slf: &Bound<'py, Self>, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::SURGERY, "remapped"), [slf, ids], None)
    }

    /// The same tokenizer with another literal for a special token, whose id stays: a `Surgery`. The tokens around
    /// texts and the chat templates are changed with it.
    ///
    /// Every text that holds neither literal has its old ids. Raises `SpecialTokenError` where `old` is no special
    /// token or `new` is a token already, and for a new literal that a chat template cannot write as it is.
    ///
    /// >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=1, special_tokens=["<|end|>"])
    /// >>> tok.rename_special("<|end|>", "<eos>").tokenizer.special_tokens
    /// {'<eos>': 0}
    #[pyo3(signature = (old, new))]
    fn rename_special<'py>(
        slf: &Bound<'py, Self>,
        old: &Bound<'py, PyAny>,
        new: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        hand_over((&late::SURGERY, "renamed"), [slf.as_any(), old, new], None)
    }

    /// The tokenizer with only these ids and what they need; see `trim`.
    fn _trim<'py>(&self, wanted: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = wanted.py();
        let mut wanted = ids(wanted, None)?;
        wanted.sort_unstable();
        let is_wanted = |id: TokenId| wanted.binary_search(&id).is_ok();
        let done = run_long(py, None, |watch| surgery::trim(&self.engine, &is_wanted, watch))?;
        self.changed(py, done)
    }

    /// The tokenizer with more tokens; see `extend`.
    fn _extend<'py>(&self, py: Python<'py>, tokens: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyTuple>> {
        let done = run_long(py, None, |watch| surgery::extend(&self.engine, &tokens, watch))?;
        self.changed(py, done)
    }

    /// The tokenizer with new ids for old ones; see `remap`.
    fn _remap<'py>(&self, old: &Bound<'py, PyAny>, new: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let pairs: Vec<(TokenId, TokenId)> = ids(old, None)?.into_iter().zip(ids(new, None)?).collect();
        let done = run_long(old.py(), None, |_| surgery::remap(&self.engine, &pairs))?;
        self.changed(old.py(), done)
    }

    /// The tokenizer with another literal for a special token; see `rename_special`.
    fn _rename_special<'py>(&self, py: Python<'py>, old: &str, new: &str) -> PyResult<Bound<'py, PyTuple>> {
        let done = run_long(py, None, |_| surgery::rename_special(&self.engine, old, new))?;
        self.changed(py, done)
    }

    /// This tokenizer with the tokens of another; see `tokenmill.join`.
    fn _join<'py>(&self, py: Python<'py>, second: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let second = &second.get().engine;
        let done = run_long(py, None, |_| surgery::join(&self.engine, second))?;
        self.changed(py, done)
    }
}

impl Tokenizer {
    /// The new tokenizer, the new id of each old one (-1 for one that is gone), and the promise: its sentence, whether
    /// ids must be kept, the longest pretoken, the bytes that may not be in a text, and what was kept besides.
    fn changed<'py>(&self, py: Python<'py>, done: Surgery) -> PyResult<Bound<'py, PyTuple>> {
        late::NUMPY.get(py)?;
        let map: Vec<i64> = done.id_map.iter().map(|id| id.map_or(-1, i64::from)).collect();
        let words = done.promise.to_string();
        let (ids_kept, longest, absent) = match done.promise.condition {
            Condition::All => (false, None, Vec::new()),
            Condition::IdsKept { longest } => (true, longest, Vec::new()),
            Condition::Without(texts) => (false, None, texts),
        };
        let absent: Vec<Bound<'py, PyBytes>> =
            absent.iter().map(|bytes| objects::bytes(py, bytes)).collect::<PyResult<_>>()?;
        let promise =
            (words, ids_kept, longest, PyTuple::new(py, absent)?, PyTuple::new(py, done.promise.also_kept)?);
        let tokenizer =
            Self::build(py, done.description, &Additions::default(), &self.hooks, self.split_name)?;
        (Py::new(py, tokenizer)?, PyArray1::from_vec(py, map), promise).into_pyobject(py)
    }
}
