//! `tokenmill.placeholder.NGramModel`.
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyType};
use tokenmill_core::engine::{Engine, Special, Text};
use tokenmill_core::error::{Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::placeholder::{self, Amount, Order, Request, Start};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;
use tokenmill_io::corpus::{Documents, Errors};
use tokenmill_io::ngram_model::{self, LoadedModel};

use crate::argument_place::ArgumentPlace;
use crate::argument_values;
use crate::buffer::{Surrogates, string};
use crate::exceptions::{raise, wrong_type};
use crate::ids;
use crate::late;
use crate::output;
use crate::sources::Sources;
use crate::text::PyText;
use crate::tokenizer::Tokenizer;
use crate::watch::{run, run_long};

/// Placeholder text from a corpus: which token follows which, how often, and the bytes of each token.
///
/// `train` makes one, `load` reads one that was saved. It needs no tokenizer to make text. It never changes, and is
/// safe to share between threads.
///
/// >>> from tokenmill.placeholder import NGramModel
/// >>> text = "The cat sat. The dog sat. The cat ran. "
/// >>> tok = tokenmill.train(texts=[text], num_merges=10)
/// >>> model = NGramModel.train(tok, texts=[text])
/// >>> model.generate(words=5, seed=1).endswith(".")
/// True
#[pyclass(module = "tokenmill.placeholder", frozen)]
pub(crate) struct NGramModel(Source);

enum Source {
    Trained(placeholder::NGramModel),
    Loaded(LoadedModel),
}

impl NGramModel {
    fn model(&self) -> &placeholder::NGramModel {
        match &self.0 {
            Source::Trained(model) => model,
            Source::Loaded(loaded) => &loaded.model,
        }
    }
}

/// What a text is to begin with, from Python.
enum GivenStart {
    Text(String),
    Ids(Vec<TokenId>),
}

impl GivenStart {
    fn new(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        let Some(argument) = argument else { return Ok(None) };
        if let Ok(text) = argument.cast::<PyString>() {
            let text = PyText::new(text, Surrogates::Replace, ArgumentPlace::TEXT)?;
            let text = String::from_utf8_lossy(text.as_text().as_bytes()).into_owned();
            return Ok(Some(Self::Text(text)));
        }
        ids::ids(argument, None).map(Self::Ids).map(Some)
    }

    fn as_start(&self) -> Start<'_> {
        match self {
            Self::Text(text) => Start::Text(text),
            Self::Ids(ids) => Start::Ids(ids),
        }
    }
}

/// The seed; one of the system's choice if none is given.
fn seed_of(argument: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    let Some(seed) = argument else { return Ok(RandomState::new().build_hasher().finish()) };
    u64::try_from(argument_values::number(seed, || "seed".to_owned())?)
        .map_err(|_| raise(seed.py(), Error::argument("seed must be from 0 to 2**64 - 1")))
}

/// An amount from 1 on.
fn amount(argument: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    let number = argument_values::number(argument, || name.to_owned())?;
    usize::try_from(number).ok().filter(|&count| count > 0).ok_or_else(|| {
        raise(argument.py(), Error::argument(format!("{name}={number} is no amount; ask for at least 1")))
    })
}

/// Appends the ids of a document, and those of a line end where it does not end in white space.
fn push_document(engine: &Engine, document: &str, watch: &dyn Watch, ids: &mut Vec<TokenId>) -> Result<()> {
    let mut encode = |text: &str| {
        engine.encode(Text::Str(text), &Special::Text, 1, watch, ids).map_err(Error::without_place)
    };
    if document.is_empty() || document.ends_with(char::is_whitespace) {
        return encode(document);
    }
    let mut ended = try_alloc::string(document.len() + 1)?;
    ended.push_str(document);
    ended.push('\n');
    encode(&ended)
}

fn ids_of_texts(engine: &Engine, texts: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
    let py = texts.py();
    let mut ids = Vec::new();
    if texts.cast::<PyString>().is_ok() {
        let reason = "texts is a single string, whose characters would be the documents: pass a list";
        return Err(raise(py, Error::training(reason)));
    }
    for (index, text) in argument_values::texts(texts, "texts", "an iterable of str")?.enumerate() {
        let text = text?;
        let Ok(string) = text.cast::<PyString>() else {
            return Err(wrong_type(&format!("texts[{index}]"), "str", &text));
        };
        let text = PyText::new(string, Surrogates::Replace, ArgumentPlace::TEXT)?;
        let Text::Str(text) = text.as_text() else { continue };
        run(py, text.len(), |watch| push_document(engine, text, watch, &mut ids))?;
    }
    Ok(ids)
}

fn ids_of_files(py: Python<'_>, engine: &Engine, files: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
    let sources = Sources::new(&late::TRAIN_INPUTS.get(py)?.getattr("expand")?.call1((files,))?)?;
    let mut ids = Vec::new();
    run_long(py, None, |watch| {
        let mut feed = |documents: &[&str], watch: &dyn Watch| {
            documents.iter().try_for_each(|document| push_document(engine, document, watch, &mut ids))
        };
        sources.read(Documents::File, Errors::Strict, &mut feed, watch)
    })?;
    Ok(ids)
}

#[pymethods]
impl NGramModel {
    /// Counts which token follows which in a corpus.
    ///
    /// The corpus is one of `files` (as for `tokenmill.train`: paths, globs, folders and URLs, of text and of rows), `texts`
    /// (an iterable of `str`, each a document) and `ids` (what `tok` made of a text before). Documents are encoded one by one,
    /// without special tokens around them, and joined in their order: where one does not end in white space, a line end is
    /// put after it. The end of the corpus is followed by its start. With `order=2` a token depends on the one before it,
    /// with `order=3` on the two before it.
    ///
    /// Raises `TrainingError` for an empty corpus and for files that are not text, `VocabularyError` for an id that `tok` does
    /// not have. Cost: linear, in time and memory.
    ///
    /// >>> from tokenmill.placeholder import NGramModel
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> NGramModel.train(tok, ids=tok.encode("low lower "), order=3)
    /// NGramModel(order=3, tokens=6, contexts=5, ngrams=6)
    #[classmethod]
    #[pyo3(signature = (tok, *, files = None, texts = None, ids = None, order = None), text_signature = "($cls, tok, *, files=None, texts=None, ids=None, order=2)")]
    fn train(
        _cls: &Bound<'_, PyType>,
        tok: &Bound<'_, Tokenizer>,
        files: Option<&Bound<'_, PyAny>>,
        texts: Option<&Bound<'_, PyAny>>,
        ids: Option<&Bound<'_, PyAny>>,
        order: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = tok.py();
        let number = order.map_or(Ok(2), |order| argument_values::number(order, || "order".to_owned()))?;
        let Some(order) = u64::try_from(number).ok().and_then(Order::of) else {
            let reason = format!("order={number} is neither 2 nor 3");
            return Err(raise(py, Error::training(reason)));
        };
        let engine = Arc::clone(tok.get().engine());
        let ids = match (files, texts, ids) {
            (Some(files), None, None) => ids_of_files(py, &engine, files)?,
            (None, Some(texts), None) => ids_of_texts(&engine, texts)?,
            (None, None, Some(ids)) => self::ids::ids(ids, None)?,
            _ => {
                let given = [files, texts, ids].into_iter().flatten().count();
                let reason = format!("give exactly one of files, texts and ids, not {given} of them");
                return Err(raise(py, Error::training(reason)));
            }
        };
        let model = run(py, ids.len().saturating_mul(16), |watch| {
            placeholder::NGramModel::train(&engine, &ids, order, watch)
        })?;
        Ok(Self(Source::Trained(model)))
    }

    /// A model that `save` wrote. The file stays mapped: loading takes the same time for every size, and its pages are
    /// shared between processes.
    ///
    /// Only the header and the size are checked, and every number when it is used: `FormatError` for what is damaged there.
    /// `verify` checks all. A file that is mapped must not be shortened in place; saving over it is safe.
    #[staticmethod]
    #[pyo3(signature = (path))]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run_long(py, None, |watch| ngram_model::load(&path, watch)).map(|loaded| Self(Source::Loaded(loaded)))
    }

    /// Writes the model to a file, which is replaced as a whole or not at all. The same model gives the same bytes on every
    /// machine.
    #[pyo3(signature = (path))]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_long(py, None, |watch| ngram_model::save(self.model(), &path, watch))
    }

    /// Checks every number of the model, and the checksum of the file that it was loaded from. Raises `FormatError`, whose
    /// `field` says where the first fault is.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        run_long(py, None, |watch| match &self.0 {
            Source::Trained(model) => model.verify(watch),
            Source::Loaded(loaded) => loaded.verify(watch),
        })
    }

    /// Draws a text, of exactly one of `words` (what white space separates), `tokens`, `sentences` and `characters`.
    ///
    /// It ends at the first end of a sentence from that amount on, inside a token if need be; with `exact=True` it is cut
    /// there and closed with a full stop. So it is where no sentence ends within 512 tokens; a corpus without white space, which has no
    /// words to count, gives 64 tokens for each and 512 more. A sentence ends at `.`, `!`, `?` or `…`, with closing quotes and
    /// brackets, before white space (at `。`, `！`, `？` before anything), but not at an abbreviation such as `Mr.` or `M.`
    ///
    /// The text begins with a sentence, or with `start`: a text, which has to be spelled by tokens that follow one another in
    /// the corpus, or ids, of which the last have to stand together there (else `VocabularyError`). The same `seed`, from 0 to
    /// 2**64 - 1, gives the same text on every machine; without one the system chooses.
    ///
    /// >>> from tokenmill.placeholder import NGramModel
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> model = NGramModel.train(tok, texts=["One, two. Three, four! "])
    /// >>> len(model.generate(words=3, seed=0, exact=True).split())
    /// 3
    #[pyo3(signature = (*, words = None, tokens = None, sentences = None, characters = None, seed = None, start = None, exact = false))]
    #[allow(clippy::too_many_arguments)]
    fn generate<'py>(
        &self,
        py: Python<'py>,
        words: Option<&Bound<'py, PyAny>>,
        tokens: Option<&Bound<'py, PyAny>>,
        sentences: Option<&Bound<'py, PyAny>>,
        characters: Option<&Bound<'py, PyAny>>,
        seed: Option<&Bound<'py, PyAny>>,
        start: Option<&Bound<'py, PyAny>>,
        exact: bool,
    ) -> PyResult<Bound<'py, PyString>> {
        let amount = match (words, tokens, sentences, characters) {
            (Some(count), None, None, None) => Amount::Words(self::amount(count, "words")?),
            (None, Some(count), None, None) => Amount::Tokens(self::amount(count, "tokens")?),
            (None, None, Some(count), None) => Amount::Sentences(self::amount(count, "sentences")?),
            (None, None, None, Some(count)) => Amount::Characters(self::amount(count, "characters")?),
            _ => {
                let given = [words, tokens, sentences, characters].into_iter().flatten().count();
                let reason = format!(
                    "give exactly one of words, tokens, sentences and characters, not {given} of them"
                );
                return Err(raise(py, Error::argument(reason)));
            }
        };
        let (seed, start) = (seed_of(seed)?, GivenStart::new(start)?);
        let request =
            Request { amount, is_exact: exact, seed, start: start.as_ref().map(GivenStart::as_start) };
        let text = run_long(py, None, |watch| self.model().generate(request, watch))?;
        string(py, &text)
    }

    /// Draws ids: of every `order` that stand together, the last follows the others somewhere in the corpus. They begin
    /// with `start`, or anywhere. Raises what `generate` raises.
    ///
    /// >>> from tokenmill.placeholder import NGramModel
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> NGramModel.train(tok, ids=[1, 2, 3]).generate_ids(5, start=[2])
    /// [2, 3, 1, 2, 3]
    #[pyo3(signature = (n, *, seed = None, start = None))]
    fn generate_ids<'py>(
        &self,
        py: Python<'py>,
        n: &Bound<'py, PyAny>,
        seed: Option<&Bound<'py, PyAny>>,
        start: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let count = amount(n, "n")?;
        let (seed, start) = (seed_of(seed)?, GivenStart::new(start)?);
        let start = start.as_ref().map(GivenStart::as_start);
        let ids = run_long(py, None, |watch| self.model().generate_ids(count, seed, start, watch))?;
        output::list_of(py, ids.len(), ids.into_iter())
    }

    /// The ids that follow a context of `order - 1` ids, ascending, each with how often it does. None follow what the corpus
    /// does not have.
    ///
    /// >>> from tokenmill.placeholder import NGramModel
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> NGramModel.train(tok, ids=[1, 2, 1, 3, 1, 2]).successors([1])
    /// [(2, 2), (3, 1)]
    #[pyo3(signature = (context))]
    fn successors<'py>(&self, context: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = context.py();
        let context = ids::ids(context, None)?;
        let pairs = run(py, 0, |_| self.model().successors(&context))?.unwrap_or_default();
        output::list_of(py, pairs.len(), pairs.into_iter())
    }

    /// How many tokens an n-gram has: 2 or 3.
    #[getter]
    fn order(&self) -> usize {
        self.model().sizes().order.number()
    }

    /// How many tokens the corpus has.
    #[getter]
    fn tokens(&self) -> u64 {
        self.model().sizes().tokens
    }

    /// How many different contexts there are.
    #[getter]
    fn contexts(&self) -> u64 {
        self.model().sizes().contexts
    }

    /// How many different n-grams there are.
    #[getter]
    fn ngrams(&self) -> u64 {
        self.model().sizes().ngrams
    }

    /// The memory it uses, in bytes, without a file that is mapped.
    #[getter]
    fn memory(&self) -> usize {
        self.model().memory()
    }

    fn __repr__(&self) -> String {
        let sizes = self.model().sizes();
        format!(
            "NGramModel(order={}, tokens={}, contexts={}, ngrams={})",
            sizes.order.number(),
            sizes.tokens,
            sizes.contexts,
            sizes.ngrams
        )
    }
}
