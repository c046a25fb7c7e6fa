//! Lookups in the tables of a tokenizer.
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tokenmill_core::description::Split;
use tokenmill_core::error::Error;
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::named_splits;
use tokenmill_io::fingerprint::Digests;

use super::Tokenizer;
use crate::argument_values;
use crate::buffer::{self, objects};
use crate::exceptions::raise;
use crate::load_report::LoadReport;
use crate::output::Item;
use crate::training_report::TrainingReport;

impl Tokenizer {
    /// The digests, which are kept: a tokenizer never changes.
    fn digests_of(&self, py: Python<'_>) -> PyResult<&Digests> {
        if let Some(digests) = self.digests.get() {
            return Ok(digests);
        }
        let digests = py.detach(|| Digests::of(&self.engine)).map_err(|error| raise(py, error))?;
        Ok(self.digests.get_or_make(|| digests))
    }
}

#[pymethods]
impl Tokenizer {
    /// The id of a token in written form (`Ġworld`), or None.
    #[pyo3(signature = (token, /))]
    fn token_to_id(&self, token: &str) -> Option<TokenId> {
        self.engine.vocabulary().id_of_written(token)
    }

    /// The written form of an id, or None for one that does not exist.
    #[pyo3(signature = (id, /))]
    fn id_to_token(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        Ok(self.engine.vocabulary().written(argument_values::token_id(id, || "id".to_owned())?))
    }

    /// The bytes of an id. Raises `VocabularyError` for one that does not exist.
    #[pyo3(signature = (id, /))]
    fn token_bytes<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = id.py();
        let id = argument_values::token_id(id, || "id".to_owned())?;
        match self.engine.vocabulary().decoded(id) {
            Some(bytes) => objects::bytes(py, bytes),
            None => Err(raise(py, Error::vocabulary(Some(id.into()), "does not exist in this vocabulary"))),
        }
    }

    /// Ids by written form, special tokens included; a new dict at every access. Several tokens may
    /// have one id.
    ///
    /// >>> tokenmill.Tokenizer.from_tokens([b"a", b" b"], special_tokens=["<s>"]).vocab
    /// {'a': 0, 'Ġb': 1, '<s>': 2}
    #[getter]
    fn vocab<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let vocab = PyDict::new(py);
        let vocabulary = self.engine.vocabulary();
        for (id, token) in vocabulary.entries() {
            vocab.set_item(buffer::string(py, &token)?, id.object(py)?)?;
        }
        // If an ordinary and an added token have the same written form, the added one counts.
        for token in vocabulary.added() {
            vocab.set_item(buffer::string(py, &token.content)?, token.id.object(py)?)?;
        }
        Ok(vocab)
    }

    /// The merges in rank order, as pairs of bytes; a new list at every access.
    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let merges = py.detach(|| self.engine.merges()).map_err(|error| raise(py, error))?;
        let model = self.engine.bpe().map_err(|error| raise(py, error))?;
        let list = PyList::empty(py);
        for parts in model.parts_of(&merges, self.engine.vocabulary().added()) {
            let (left, right) = parts.map_err(|error| raise(py, error))?;
            let parts = [objects::bytes(py, left)?.into_any(), objects::bytes(py, right)?.into_any()];
            list.append(objects::tuple(py, parts)?)?;
        }
        Ok(list)
    }

    /// Number of ids that exist; `len(tok)` is the same. Ids may have gaps: an embedding needs `max_id + 1` rows.
    #[getter]
    pub(super) fn vocab_size(&self) -> usize {
        self.engine.vocabulary().len()
    }

    /// The largest id. If ids have gaps it is more than `vocab_size - 1`; an embedding needs `max_id + 1` rows.
    #[getter]
    fn max_id(&self, py: Python<'_>) -> PyResult<TokenId> {
        let empty = || raise(py, Error::vocabulary(None, "an empty vocabulary has no largest id"));
        self.engine.vocabulary().max_id().ok_or_else(empty)
    }

    /// Ids of the special tokens by literal, ascending by id.
    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tokens = PyDict::new(py);
        for token in self.engine.vocabulary().added().iter().filter(|token| token.is_special) {
            tokens.set_item(&token.content, token.id)?;
        }
        Ok(tokens)
    }

    /// A hash of the tokenizer's behaviour: `tm1-` and 64 hexadecimal digits. It is the same for
    /// files that differ in layout only, and another one for any other behaviour. Chat templates, which
    /// change no id of a text, are not part of it. Hooks are
    /// identified by their names; one without a name is a `FormatError`.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.digests_of(py)?.fingerprint())
    }

    /// The three parts of the fingerprint as hashes: of what determines the ids of a text
    /// (`encode`), the text of ids (`decode`), and the tokens around ids (`template`). Beside them, and not
    /// in the fingerprint, stands the hash of the chat templates (`chat`), in whatever order they are.
    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Digests { encode, decode, template, chat } = self.digests_of(py)?;
        let digests = PyDict::new(py);
        for (name, digest) in [("encode", encode), ("decode", decode), ("template", template), ("chat", chat)]
        {
            digests.set_item(name, digest)?;
        }
        Ok(digests)
    }

    /// The name of the split, or its regular expression, whatever normalizes the text before; None if
    /// pre-tokenization is more than one split.
    /// `llama3` and `cl100k` are one pattern: it goes by the name that was asked for, in a file by `cl100k`.
    #[getter]
    pub(super) fn split(&self) -> Option<String> {
        let split = Split::of_stages(&self.engine.description().pre_tokenizer)?;
        // A splitter of the caller may have taken the place of the named split.
        Some(named_splits::shown(split, self.split_name))
    }

    /// The findings of `tokenmill.load`: the files that were read, and tolerated defects; None for
    /// a tokenizer that was not just loaded.
    #[getter]
    fn load_report(&self, py: Python<'_>) -> Option<Py<LoadReport>> {
        self.load_report.as_ref().map(|report| report.clone_ref(py))
    }

    /// The report of `tokenmill.train`; None for a tokenizer that was not just trained.
    #[getter]
    fn training_report(&self, py: Python<'_>) -> Option<Py<TrainingReport>> {
        self.report.as_ref().map(|report| report.clone_ref(py))
    }
}
