//! `tokenmill.Tokenizer`.
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use tokenmill_core::compile::compile;
use tokenmill_core::description::{Description, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Error;
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::known;
use tokenmill_io::SaveOptions;

use crate::call::{Options, with_text, with_texts};
use crate::constructors;
use crate::convert::{self, Given, NOT_GIVEN};
use crate::encoding::Encoding;
use crate::errors::raise;
use crate::output::{self, Dtype};
use crate::train::TrainingReport;
use crate::watch::run;

/// A tokenizer: text to ids and back.
///
/// It never changes; what looks like a change returns a new one. It may be shared between
/// threads, forked and pickled. Make one with `tokenmill.train`, `tokenmill.load` or the
/// constructors `from_tokens`, `from_merges` and `from_pairs`.
#[pyclass(frozen, module = "tokenmill")]
pub(crate) struct Tokenizer {
    engine: Arc<Engine>,
    report: Option<Py<TrainingReport>>,
    /// Digest of what it means, made when it is first compared.
    identity: OnceLock<Vec<u8>>,
}

impl Tokenizer {
    pub(crate) fn new(engine: Engine, report: Option<Py<TrainingReport>>) -> Self {
        Self { engine: Arc::new(engine), report, identity: OnceLock::new() }
    }

    fn identity(&self, py: Python<'_>) -> &[u8] {
        self.identity.get_or_init(|| py.detach(|| tokenmill_io::state::write(&self.engine.canonical())))
    }

    fn build(
        py: Python<'_>,
        description: Description,
        special: &[(String, Option<TokenId>)],
    ) -> PyResult<Self> {
        let engine = py
            .detach(|| {
                let engine = compile(description)?;
                if special.is_empty() { Ok(engine) } else { compile(engine.with_special_tokens(special)?) }
            })
            .map_err(|error| raise(py, error))?;
        Ok(Self::new(engine, None))
    }

    fn encode_ids<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        options: &Options<'_, 'py>,
    ) -> PyResult<Vec<TokenId>> {
        let (ids, _) = with_text(text, options, |text, special, threads, watch| {
            let mut ids = Vec::new();
            self.engine.encode(text, special, threads, watch, &mut ids)?;
            Ok(ids)
        })?;
        Ok(ids)
    }

    fn decode_to_bytes(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
        undefined: &str,
    ) -> PyResult<Vec<u8>> {
        let options = convert::decode_options(skip_special_tokens, undefined)?;
        let ids = convert::ids(ids, None)?;
        run(py, ids.len() * 4, |watch| self.engine.decode(&ids, options, watch))
    }
}

#[pymethods]
impl Tokenizer {
    /// A tokenizer from an ordered list of tokens: ids are positions, and any two neighbours whose
    /// joined bytes are a token merge, lowest id first, leftmost first.
    ///
    /// Special tokens take the ids behind the list. Raises `FormatError` for a list that is no
    /// vocabulary (empty or repeated tokens).
    #[staticmethod]
    #[pyo3(signature = (tokens, *, split = NOT_GIVEN, special_tokens = None), text_signature = "(tokens, *, split='none', special_tokens=None)")]
    fn from_tokens(
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        split: Given<'_>,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let description = constructors::from_tokens(tokens, convert::given_split(py, &split)?)?;
        Self::build(py, description, &convert::special_tokens(special_tokens)?)
    }

    /// A tokenizer from ids by token and merges in rank order, over bytes.
    ///
    /// Tokens are `bytes`, or `str` in the byte alphabet (`Ġworld`). Raises `FormatError` naming the
    /// merge whose part or result is missing, or the entry that is wrong.
    #[staticmethod]
    #[pyo3(signature = (vocab, merges, *, split = NOT_GIVEN, special_tokens = None), text_signature = "(vocab, merges, *, split='none', special_tokens=None)")]
    fn from_merges(
        py: Python<'_>,
        vocab: &Bound<'_, PyAny>,
        merges: &Bound<'_, PyAny>,
        split: Given<'_>,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let description = constructors::from_merges(py, vocab, merges, convert::given_split(py, &split)?)?;
        Self::build(py, description, &convert::special_tokens(special_tokens)?)
    }

    /// A tokenizer from pairs of ids: ids 0 to 255 are the bytes, and the pairs become 256, 257, ...
    /// in order, which is also the order of the merges.
    ///
    /// Raises `VocabularyError` naming a pair of ids that do not exist yet.
    #[staticmethod]
    #[pyo3(signature = (pairs, *, split = NOT_GIVEN, special_tokens = None), text_signature = "(pairs, *, split='none', special_tokens=None)")]
    fn from_pairs(
        py: Python<'_>,
        pairs: &Bound<'_, PyAny>,
        split: Given<'_>,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let description = constructors::from_pairs(py, pairs, convert::given_split(py, &split)?)?;
        Self::build(py, description, &convert::special_tokens(special_tokens)?)
    }

    /// The ids of a text.
    ///
    /// `special` says what the literal of a special token in the text means: `"text"` plain text,
    /// `"parse"` the token, `"raise"` a `SpecialTokenError`, or a set of the literals to recognise.
    /// `surrogates` is `"replace"` (lone ones become U+FFFD, pairs are joined) or `"error"`. A long
    /// text is cut for several threads where that cannot change the ids (`num_threads=None`: all
    /// cores). Raises `UnknownTokenError` for what the vocabulary cannot spell. Cost: n log n at
    /// worst, whatever the text.
    #[pyo3(signature = (text, *, special = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, text, *, special='text', surrogates='replace', num_threads=1)")]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        output::list(py, self.encode_ids(text, &Options { special, surrogates, num_threads })?)
    }

    /// As `encode`, into a numpy array.
    ///
    /// `dtype` is uint16, uint32, int32, int64 or uint64; one that cannot hold the largest id is a
    /// `ValueError`. With `out=`, an array of one of these, the ids fill it from the front and the
    /// filled view is returned; if it is too small, a `ValueError` names the size needed. A `dtype`
    /// given beside it must be that of the array.
    #[pyo3(signature = (text, *, dtype = None, out = None, special = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, text, *, dtype='uint32', out=None, special='text', surrogates='replace', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn encode_to_numpy<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let max_id = self.engine.vocabulary().max_id();
        let given = dtype.is_some();
        let dtype = Dtype::new(dtype, max_id)?;
        if let Some(out) = out {
            output::check_out(out, given.then_some(dtype), max_id)?;
        }
        let ids = self.encode_ids(text, &Options { special, surrogates, num_threads })?;
        match out {
            Some(out) => output::fill(out, &ids, max_id),
            None => output::array(py, ids, dtype),
        }
    }

    /// The ids of many texts, as a `Ragged`: flat ids and the offset of each row.
    ///
    /// Rows are the same as from `encode`, whatever `num_threads` is.
    #[pyo3(signature = (texts, *, dtype = None, special = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, texts, *, dtype='uint32', special='text', surrogates='replace', num_threads=1)")]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        dtype: Option<&Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = Dtype::new(dtype, self.engine.vocabulary().max_id())?;
        let options = Options { special, surrogates, num_threads };
        let (ids, row_offsets) = with_texts(texts, &options, |texts, special, threads, watch| {
            self.engine.encode_batch(texts, special, threads, watch)
        })?;
        let (ids, row_offsets) = (output::array(py, ids, dtype)?, output::int64_array(py, row_offsets)?);
        py.import("tokenmill.ragged")?.getattr("Ragged")?.call_method1("_of", (ids, row_offsets))
    }

    /// The ids of a text with the part of it that each stands for, as an `Encoding`.
    #[pyo3(signature = (text, *, special = None, surrogates = "replace"), text_signature = "($self, text, *, special='text', surrogates='replace')")]
    fn encode_with_offsets(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Encoding> {
        let options = Options { special, surrogates, num_threads: NOT_GIVEN };
        let (encoding, text) = with_text(text, &options, |text, special, _, watch| {
            self.engine.encode_with_offsets(text, special, watch)
        })?;
        Encoding::new(py, Arc::clone(&self.engine), encoding, &text)
    }

    /// How many ids `encode` gives; none are stored.
    #[pyo3(signature = (text, *, special = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, text, *, special='text', surrogates='replace', num_threads=1)")]
    fn count<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<usize> {
        let options = Options { special, surrogates, num_threads };
        let (count, _) = with_text(text, &options, |text, special, threads, watch| {
            self.engine.count(text, special, threads, watch)
        })?;
        Ok(count)
    }

    /// The number of ids of each of many texts, as an int64 array.
    #[pyo3(signature = (texts, *, special = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, texts, *, special='text', surrogates='replace', num_threads=1)")]
    fn count_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options { special, surrogates, num_threads };
        let counts = with_texts(texts, &options, |texts, special, threads, watch| {
            self.engine.count_batch(texts, special, threads, watch)
        })?;
        output::int64_array(py, counts)
    }

    /// The text that ids stand for.
    ///
    /// `ids` is a list, an integer array or any sequence. `errors` is Python's policy for bytes that
    /// are not UTF-8: `"replace"`, `"strict"` or `"ignore"`. `undefined` says what an id that does
    /// not exist does: `"error"` (a `VocabularyError` with id and position), `"skip"`, or `"replace"`
    /// (U+FFFD). Cost: linear.
    #[pyo3(signature = (ids, *, errors = "replace", skip_special_tokens = false, undefined = "error"))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
        undefined: &str,
    ) -> PyResult<Bound<'py, PyString>> {
        output::check_errors(errors)?;
        output::text(py, &self.decode_to_bytes(py, ids, skip_special_tokens, undefined)?, errors)
    }

    /// The bytes that ids stand for, which need not be UTF-8.
    #[pyo3(signature = (ids, *, skip_special_tokens = false, undefined = "error"))]
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        undefined: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.decode_to_bytes(py, ids, skip_special_tokens, undefined)?))
    }

    /// The text of every row of ids: a `Ragged`, or an iterable of what `decode` takes.
    #[pyo3(signature = (batch, *, errors = "replace", skip_special_tokens = false, undefined = "error", num_threads = NOT_GIVEN), text_signature = "($self, batch, *, errors='replace', skip_special_tokens=False, undefined='error', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
        undefined: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        output::check_errors(errors)?;
        let threads = convert::threads(&num_threads, Error::argument::<String>)?;
        let options = convert::decode_options(skip_special_tokens, undefined)?;
        let rows = convert::rows_of_ids(batch)?;
        let views: Vec<&[TokenId]> = rows.iter().map(Vec::as_slice).collect();
        let size = rows.iter().map(|row| row.len() * 4 + 1).sum();
        let decoded = run(py, size, |watch| self.engine.decode_batch(&views, options, threads, watch))?;
        output::texts(py, &decoded, errors)
    }

    /// The id of a token in written form (`Ġworld`), or None.
    #[pyo3(signature = (token, /))]
    fn token_to_id(&self, token: &str) -> Option<TokenId> {
        self.engine.vocabulary().id_of_written(token)
    }

    /// The written form of an id, or None for one that does not exist.
    #[pyo3(signature = (id, /))]
    fn id_to_token(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        Ok(self.engine.vocabulary().written(convert::token_id(id, || "id".to_owned())?))
    }

    /// The bytes that one id stands for. Raises `VocabularyError` for one that does not exist.
    #[pyo3(signature = (id, /))]
    fn token_bytes<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = id.py();
        let id = convert::token_id(id, || "id".to_owned())?;
        match self.engine.vocabulary().decoded(id) {
            Some(bytes) => Ok(PyBytes::new(py, bytes)),
            None => Err(raise(py, Error::vocabulary(Some(id.into()), "does not exist in this vocabulary"))),
        }
    }

    /// Ids by written form, special tokens included; a new dict at every access.
    #[getter]
    fn vocab<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let vocab = PyDict::new(py);
        let vocabulary = self.engine.vocabulary();
        for id in vocabulary.ids() {
            vocab.set_item(vocabulary.written(id), id)?;
        }
        Ok(vocab)
    }

    /// The merges in rank order, as pairs of bytes; a new list at every access.
    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let merges = py.detach(|| self.engine.merges()).map_err(|error| raise(py, error))?;
        let tokens = self.engine.vocabulary().tokens();
        let bytes = |id| PyBytes::new(py, tokens.index_of(id).map_or(&[], |index| tokens.bytes(index)));
        PyList::new(py, merges.iter().map(|merge| (bytes(merge.left), bytes(merge.right))))
    }

    /// How many ids exist; `len(tok)` is the same.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.engine.vocabulary().len()
    }

    /// The largest id. With holes between ids it is more than `vocab_size - 1`.
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

    /// The name of the split, or its regular expression.
    #[getter]
    fn split(&self) -> String {
        let split = &self.engine.description().split;
        match (known::name_of(split), split) {
            (Some(name), _) => name.to_owned(),
            (None, Split::Pattern(regex)) => regex.clone(),
            (None, Split::Whole) => "none".to_owned(),
        }
    }

    /// The id that begins a sequence, or None where the file names none.
    #[getter]
    fn bos_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.bos
    }

    /// The id that ends a sequence, or None where the file names none.
    #[getter]
    fn eos_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.eos
    }

    /// The id of padding, or None where the file names none.
    #[getter]
    fn pad_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.pad
    }

    /// The id for what the vocabulary cannot spell, or None.
    #[getter]
    fn unk_token_id(&self) -> Option<TokenId> {
        self.engine.description().model.unk
    }

    /// What `tokenmill.train` read and learned; None for a tokenizer that was not just trained.
    #[getter]
    fn training_report(&self, py: Python<'_>) -> Option<Py<TrainingReport>> {
        self.report.as_ref().map(|report| report.clone_ref(py))
    }

    /// The same tokenizer with more special tokens: a list (they take the next free ids) or a dict
    /// of ids.
    ///
    /// Raises `SpecialTokenError` for an empty or repeated literal and for an id that is taken.
    #[pyo3(signature = (special_tokens))]
    fn with_special_tokens(&self, py: Python<'_>, special_tokens: &Bound<'_, PyAny>) -> PyResult<Self> {
        let tokens = convert::special_tokens(Some(special_tokens))?;
        let description = self.engine.with_special_tokens(&tokens).map_err(|error| raise(py, error))?;
        Self::build(py, description, &[])
    }

    /// The same tokenizer with only its first merges, so many that `vocab_size` ids remain: what
    /// training to that size would have learned. Ids that remain are the same.
    ///
    /// Raises `VocabularyError` for a size that is not between no merges and all of them.
    #[pyo3(signature = (vocab_size))]
    fn with_vocab_size(&self, py: Python<'_>, vocab_size: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = convert::number(vocab_size, || "vocab_size".to_owned())?;
        let vocab_size = usize::try_from(number).map_err(|_| {
            raise(
                py,
                Error::vocabulary(None, format!("vocab_size={vocab_size} is no size of this vocabulary")),
            )
        })?;
        let description = self.engine.with_vocab_size(vocab_size).map_err(|error| raise(py, error))?;
        Self::build(py, description, &[])
    }

    /// Saves the tokenizer: atomically, and the same bytes every time.
    ///
    /// A folder gets a tokenizer.json and a manifest; else the name decides: `*.json` is
    /// tokenizer.json, `*.tiktoken` ranks, `vocab.json` the pair vocab.json and merges.txt; `format`
    /// overrules the name. What a format cannot hold is a `FormatError` that says so, unless
    /// `lossy=True`.
    #[pyo3(signature = (path, *, format = None, lossy = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, format: Option<&str>, lossy: bool) -> PyResult<()> {
        let options = SaveOptions { format: convert::format(format)?, lossy };
        py.detach(|| tokenmill_io::save(&self.engine, &path, options)).map_err(|error| raise(py, error))
    }

    fn __len__(&self) -> usize {
        self.engine.vocabulary().len()
    }

    fn __repr__(&self) -> String {
        let special = self.engine.vocabulary().added().iter().filter(|token| token.is_special).count();
        format!(
            "Tokenizer(vocab_size={}, split={:?}, special_tokens={special})",
            self.vocab_size(),
            self.split()
        )
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> bool {
        // Another type is never equal, whatever it says itself.
        other.cast::<Self>().is_ok_and(|other| self.identity(py) == other.get().identity(py))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyBytes::new(py, self.identity(py)).hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let state = py.detach(|| tokenmill_io::state::write(self.engine.description()));
        let from_state = py.import("tokenmill._core")?.getattr("from_state")?;
        PyTuple::new(py, [from_state, PyTuple::new(py, [PyBytes::new(py, &state)])?.into_any()])
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }
}
