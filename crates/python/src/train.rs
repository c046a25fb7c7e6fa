//! Training from Python: passes texts on in batches.
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use tokenmill_core::compile::compile_with_additions;
use tokenmill_core::description::{Additions, Role};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Error, Result};
use tokenmill_core::hooks::Hooks;
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::named_splits::name_given;
use tokenmill_core::train::{TrainOptions, Trainer};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;
use tokenmill_io::Annotations;
use tokenmill_io::corpus::Errors;

use crate::argument_values;
use crate::buffer::{Surrogates, Utf8, objects, utf8};
use crate::exceptions::{gather, out_of_memory, raise, wrong_type};
use crate::hooks::raised;
use crate::output::{self, Dtype};
use crate::sources::{Sources, read_columns};
use crate::tokenizer::Tokenizer;
use crate::train_options::{
    column_option, documents_option, errors_option, is_sentencepiece, text_option, train_options,
};
use crate::training_report::TrainingReport;
use crate::watch::run_long;

/// Bytes of text per batch.
const BATCH_BYTES: usize = 16 << 20;

/// The engine that was trained, the report, and the ids of the text, if they were asked for.
type Learned = (Engine, tokenmill_core::train::TrainingReport, Option<Vec<TokenId>>);

/// A tokenizer, and the ids of the text, if they were asked for.
type Trained = (Tokenizer, Option<Py<PyAny>>);

/// Trains on files, as `tokenmill.sources.expand` gives them; see `tokenmill.train`.
#[pyfunction]
#[pyo3(signature = (sources, options, progress = None))]
pub(crate) fn train_files(
    py: Python<'_>,
    sources: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Trained> {
    let documents = documents_option(options)?;
    let errors = errors_option(options)?;
    let (mut trainer, roles) = trainer(options)?;
    let filter = filter_option(options)?;
    let sources = Sources::new(sources)?;
    let trained = run_long(py, progress.as_ref(), |watch| {
        let mut feed = |batch: &[&str], watch: &dyn Watch| feed_to(&mut trainer, batch, watch);
        let corpus = sources.read(documents, errors, &mut feed, watch)?;
        learn(trainer, &roles, filter.as_ref(), (corpus.skipped, corpus.replaced), watch)
    })?;
    finish(py, trained, options)
}

/// Trains on an iterable of str, each a document. `weights` says how often each counts; see `tokenmill.train`.
#[pyfunction]
#[pyo3(signature = (texts, options, progress = None, weights = None))]
pub(crate) fn train_texts(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
    weights: Option<Vec<u64>>,
) -> PyResult<Trained> {
    let (mut trainer, roles) = trainer(options)?;
    let filter = filter_option(options)?;
    let mut read = |documents: &[&str], weights: &[u64], watch: &dyn Watch| {
        trainer.feed_weighted(documents, weights, watch)
    };
    let skipped_and_replaced = read_texts(texts, options, progress.as_ref(), weights, &mut read)?;
    let trained = run_long(py, progress.as_ref(), |watch| {
        learn(trainer, &roles, filter.as_ref(), skipped_and_replaced, watch)
    })?;
    finish(py, trained, options)
}

/// Learns from the documents that were counted, and compiles the tokenizer. How many documents were skipped and how
/// many were replaced goes into the report.
fn learn(
    trainer: Trainer,
    roles: &Additions,
    filter: Option<&Py<PyAny>>,
    skipped_and_replaced: (u64, u64),
    watch: &dyn Watch,
) -> Result<Learned> {
    let (description, mut report, ids) = trainer.finish_with(&|token| allows(filter, token), watch)?;
    (report.skipped_documents, report.replaced_documents) = skipped_and_replaced;
    Ok((compile_with_additions(description, roles, &Hooks::default(), watch)?, report, ids))
}

/// A function that takes documents and their weights: how often each counts. Without weights each counts once.
pub(crate) type Read<'a> = dyn FnMut(&[&str], &[u64], &dyn Watch) -> Result<()> + Send + 'a;

/// Passes on an iterable of str, or data that exports Arrow arrays. Returns how many documents were skipped, and how
/// many were replaced.
pub(crate) fn read_texts(
    texts: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    progress: Option<&Py<PyAny>>,
    weights: Option<Vec<u64>>,
    read: &mut Read<'_>,
) -> PyResult<(u64, u64)> {
    let py = texts.py();
    // Each text is a document, so the option is only checked.
    documents_option(options)?;
    let errors = errors_option(options)?;
    let (mut skipped, mut replaced) = (0u64, 0u64);
    let (mut batch, mut batch_weights): (Vec<String>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    let column = column_option(options)?;
    let mut take =
        |documents: &[&str], watch: &dyn Watch| read(documents, &[], watch).map_err(Error::without_place);
    if let Some(corpus) = read_columns(texts, column.as_deref(), errors, progress, &mut take)? {
        return Ok((corpus.skipped, corpus.replaced));
    }
    let mut feed = |batch: &[String], weights: &[u64]| {
        let documents = gather(batch.iter().map(|text| Ok(text.as_str())))?;
        run_long(py, progress, |watch| read(&documents, weights, watch).map_err(Error::without_place))
    };
    for (index, item) in argument_values::texts(texts, "texts", "an iterable of str")?.enumerate() {
        let item = item?;
        let weight = weights.as_ref().and_then(|weights| weights.get(index).copied());
        let Ok(string) = item.cast::<PyString>() else {
            return Err(wrong_type(&format!("texts[{index}]"), "str", &item));
        };
        let text = match utf8(string, Surrogates::Refuse)? {
            Utf8::Borrowed(text) => try_alloc::copy_text(text).map_err(out_of_memory)?,
            Utf8::Copied { text, .. } => text,
            Utf8::Refused(at) => match errors {
                Errors::Strict => {
                    let reason = format!(
                        "text {index} holds a surrogate at character {at}, which is no text; pass errors=\"replace\" or \
                         \"skip\""
                    );
                    return Err(raise(py, Error::training(reason)));
                }
                Errors::Skip => {
                    skipped = weight.unwrap_or(1).saturating_add(skipped);
                    continue;
                }
                Errors::Replace => {
                    replaced = weight.unwrap_or(1).saturating_add(replaced);
                    match utf8(string, Surrogates::Replace)? {
                        Utf8::Copied { text, .. } => text,
                        Utf8::Borrowed(_) | Utf8::Refused(_) => String::new(),
                    }
                }
            },
        };
        bytes += text.len() + 64;
        try_alloc::push(&mut batch, text).map_err(out_of_memory)?;
        if let Some(weight) = weight {
            try_alloc::push(&mut batch_weights, weight).map_err(out_of_memory)?;
        }
        if bytes >= BATCH_BYTES {
            feed(&batch, &batch_weights)?;
            batch.clear();
            batch_weights.clear();
            bytes = 0;
        }
    }
    feed(&batch, &batch_weights)?;
    Ok((skipped, replaced))
}

/// Counts documents. The position of an error is dropped: it would count within a document, not in the caller's
/// input.
fn feed_to(trainer: &mut Trainer, documents: &[&str], watch: &dyn Watch) -> Result<()> {
    trainer.feed(documents, watch).map_err(Error::without_place)
}

/// The tokenizer that was trained, and its ids as an array.
pub(crate) fn finish(
    py: Python<'_>,
    (engine, report, ids): Learned,
    options: &Bound<'_, PyDict>,
) -> PyResult<Trained> {
    let settings = text_option(options, "settings")?;
    let annotations = Annotations::of_training(&report, &settings).map_err(|error| raise(py, error))?;
    let report = Py::new(py, TrainingReport::new(report, engine.description()))?;
    let split = text_option(options, "split")?;
    // The vocabulary decides, not the text, so that texts of one tokenizer have arrays of one type.
    let fits = engine.vocabulary().max_id().is_none_or(|id| id <= u16::MAX.into());
    let dtype = if fits { Dtype::U16 } else { Dtype::U32 };
    let ids = ids.map(|ids| output::array(py, ids, dtype)).transpose()?.map(Bound::unbind);
    let tokenizer = Tokenizer::new(py, engine, Some(report))?.with_split_name(name_given(&split));
    Ok((tokenizer.with_annotations(annotations), ids))
}

/// The function that says which tokens may be made.
pub(crate) fn filter_option(options: &Bound<'_, PyDict>) -> PyResult<Option<Py<PyAny>>> {
    let filter = options.get_item("allowed_merges")?.filter(|value| !value.is_none());
    match filter {
        Some(filter) if !filter.is_callable() => {
            Err(wrong_type("allowed_merges", "a function of bytes, a pattern or None", &filter))
        }
        filter => Ok(filter.map(Bound::unbind)),
    }
}

/// May this token be made?
pub(crate) fn allows(filter: Option<&Py<PyAny>>, token: &[u8]) -> Result<bool> {
    let Some(filter) = filter else { return Ok(true) };
    Python::attach(|py| {
        let token = objects::bytes(py, token).map_err(|error| raised(py, error))?;
        let answer = filter.bind(py).call1((token,)).map_err(|error| raised(py, error))?;
        match answer.cast::<PyBool>() {
            Ok(answer) => Ok(answer.is_true()),
            Err(_) => Err(raised(py, wrong_type("what allowed_merges gives", "bool", &answer))),
        }
    })
}

/// A trainer, and the roles that its tokens get at the end.
fn trainer(options: &Bound<'_, PyDict>) -> PyResult<(Trainer, Additions)> {
    let (train_options, roles) = options_and_roles(options)?;
    Ok((Trainer::new(train_options).map_err(|error| raise(options.py(), error))?, roles))
}

/// The options of a training run, and the roles that tokens get at its end.
pub(crate) fn options_and_roles(options: &Bound<'_, PyDict>) -> PyResult<(TrainOptions, Additions)> {
    let py = options.py();
    let additions = argument_values::additions(options)?;
    if let Some((role, _)) = additions.roles.iter().find(|(_, literal)| literal.is_empty()) {
        let error = Error::training(format!("the {} token must not be empty", role.name()));
        return Err(raise(py, error.at(format!("{}_token", role.name()))));
    }
    for (role, adds) in [(Role::Bos, additions.adds_bos), (Role::Eos, additions.adds_eos)] {
        if adds == Some(true) && !additions.roles.iter().any(|(other, _)| *other == role) {
            let name = role.name();
            let reason = format!("add_{name}_token=True needs the token; give {name}_token too");
            return Err(raise(py, Error::training(reason)));
        }
    }
    let options = train_options(options, &additions)?;
    let is_of_model = |role: &(Role, String)| role.0 == Role::Unk && options.unk_token().is_some();
    let mut roles = Additions { special_tokens: Vec::new(), ..additions };
    // A model with an unknown token stores it. If that is the only role, it is not set, so that every format can
    // hold the tokenizer. A SentencePiece model holds it in no other way.
    if roles.roles.iter().all(is_of_model) || is_sentencepiece(&options.model) {
        roles.roles.retain(|role| !is_of_model(role));
    }
    Ok((options, roles))
}
