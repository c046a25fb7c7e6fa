//! `tokenmill.PretokenCounts`, its columns: counted from texts, read and written as arrays, put together, learned from.
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tokenmill_core::compile::compile_with_additions;
use tokenmill_core::error::Error;
use tokenmill_core::hooks::Hooks;
use tokenmill_core::pattern::named_splits::{name_of, split_from};
use tokenmill_core::train::{CorpusFigures, PretokenCounter, PretokenCounts, Trainer};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;

use crate::buffer::{numbers, objects};
use crate::exceptions::{gather, out_of_memory, raise};
use crate::sources::Sources;
use crate::tokenizer::Tokenizer;
use crate::train::{allows, filter_option, finish, options_and_roles, read_texts};
use crate::train_options::{documents_option, errors_option};
use crate::watch::run_long;

/// Documents, bytes, documents left out, documents mended, pretokens.
type Figures = (u64, u64, u64, u64, u64);

/// Distinct pretokens in the order of their bytes, with their counts. `tokenmill.PretokenCounts` adds what they are of.
#[pyclass(frozen, module = "tokenmill._core")]
pub(crate) struct PretokenTable(PretokenCounts);

/// A copy of bytes.
fn copied(bytes: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    numbers(bytes.py(), &PyBuffer::<u8>::get(bytes)?)
}

/// Numbers of 64 bits, the lowest byte of each first.
fn numbers_in(bytes: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let bytes = copied(bytes)?;
    let mut numbers = try_alloc::vec(bytes.len() / 8).map_err(out_of_memory)?;
    let (eights, _) = bytes.as_chunks::<8>();
    numbers.extend(eights.iter().map(|&number| u64::from_le_bytes(number)));
    Ok(numbers)
}

/// The bytes of numbers, the lowest byte of each first.
fn bytes_of<'py>(py: Python<'py>, numbers: &[u64]) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = try_alloc::vec(8 * numbers.len()).map_err(out_of_memory)?;
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    objects::bytes(py, &bytes)
}

#[pymethods]
impl PretokenTable {
    /// From all pretokens one after the other, where each begins and the last one ends, and their counts; the numbers as
    /// uint64, the lowest byte first. They need not be sorted or distinct, unless `are_sorted` says so. Raises
    /// `TrainingError` for what is no count of pretokens.
    #[staticmethod]
    #[pyo3(signature = (data, offsets, counts, *, are_sorted = false))]
    fn from_columns(
        data: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
        counts: &Bound<'_, PyAny>,
        are_sorted: bool,
    ) -> PyResult<Self> {
        let py = data.py();
        let (data, offsets, counts) = (copied(data)?, numbers_in(offsets)?, numbers_in(counts)?);
        run_long(py, None, |watch| {
            let read =
                if are_sorted { PretokenCounts::from_sorted_columns } else { PretokenCounts::from_columns };
            read(data, offsets, counts, watch).map(Self)
        })
    }

    /// What `from_columns` takes.
    fn columns<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        Ok((
            objects::bytes(py, self.0.bytes())?,
            bytes_of(py, self.0.offsets())?,
            bytes_of(py, self.0.counts())?,
        ))
    }

    /// The sum of all counts.
    #[getter]
    fn total(&self) -> u128 {
        self.0.total()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Some of the pretokens with their counts, by their numbers.
    fn items<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyList>> {
        let numbers = start.min(self.0.len())..stop.min(self.0.len());
        objects::list(
            py,
            numbers.len(),
            numbers.map(|number| {
                let pretoken = objects::bytes(py, self.0.pretoken(number))?.into_any();
                let count = objects::int(py, self.0.counts()[number] as usize)?;
                Ok(objects::tuple(py, [pretoken, count])?.into_any())
            }),
        )
    }

    /// The pretokens of both, the counts of equal ones summed. Raises `TrainingError` for a sum above 64 bits.
    fn merged(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<Self> {
        let other = &other.get().0;
        run_long(py, None, |watch| self.0.merged(other, watch)).map(Self)
    }

    /// `parts` tables, which together are this one: each pretoken is in the one that its bytes say, in every process.
    fn shares(&self, py: Python<'_>, parts: usize) -> PyResult<Vec<Self>> {
        let shares = run_long(py, None, |watch| self.0.shares(parts, watch))?;
        gather(shares.into_iter().map(|share| Ok(Self(share))))
    }

    /// Those that occur so often at least.
    fn at_least(&self, py: Python<'_>, count: u64) -> PyResult<Self> {
        run_long(py, None, |watch| self.0.at_least(count, watch)).map(Self)
    }
}

/// The name of the split that a name or a pattern stands for, if its pattern is a known one.
#[pyfunction]
pub(crate) fn known_split(split: &str) -> Option<&'static str> {
    name_of(&split_from(split))
}

/// The special tokens of a training run in the order of their ids.
#[pyfunction]
pub(crate) fn special_literals(options: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    Ok(options_and_roles(options)?.0.special_tokens)
}

fn counter(options: &Bound<'_, PyDict>) -> PyResult<PretokenCounter> {
    let (train_options, _) = options_and_roles(options)?;
    PretokenCounter::new(&train_options).map_err(|error| raise(options.py(), error))
}

fn counted(
    py: Python<'_>,
    counter: PretokenCounter,
    skipped: u64,
    replaced: u64,
) -> PyResult<(PretokenTable, Figures)> {
    let CorpusFigures { documents, bytes, pretokens, .. } = counter.figures();
    let counts = run_long(py, None, |watch| counter.finish(watch))?;
    Ok((PretokenTable(counts), (documents, bytes, skipped, replaced, pretokens)))
}

/// Counts the pretokens of files; see `tokenmill.count_pretokens`. Also gives figures: documents, bytes, documents left
/// out, documents mended, pretokens.
#[pyfunction]
#[pyo3(signature = (sources, options, progress = None))]
pub(crate) fn count_files(
    py: Python<'_>,
    sources: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(PretokenTable, Figures)> {
    let documents = documents_option(options)?;
    let errors = errors_option(options)?;
    let mut counter = counter(options)?;
    let sources = Sources::new(sources)?;
    let corpus = run_long(py, progress.as_ref(), |watch| {
        let mut feed = |batch: &[&str], watch: &dyn Watch| {
            counter.feed_weighted(batch, &[], watch).map_err(Error::without_place)
        };
        sources.read(documents, errors, &mut feed, watch)
    })?;
    counted(py, counter, corpus.skipped, corpus.replaced)
}

/// Counts the pretokens of an iterable of str; see `tokenmill.count_pretokens`. Also gives figures, as `count_files`.
#[pyfunction]
#[pyo3(signature = (texts, options, progress = None, weights = None))]
pub(crate) fn count_texts(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
    weights: Option<Vec<u64>>,
) -> PyResult<(PretokenTable, Figures)> {
    let mut counter = counter(options)?;
    let mut read = |documents: &[&str], weights: &[u64], watch: &dyn Watch| {
        counter.feed_weighted(documents, weights, watch)
    };
    let (skipped, replaced) = read_texts(texts, options, progress.as_ref(), weights, &mut read)?;
    counted(py, counter, skipped, replaced)
}

/// Trains on counted pretokens; see `tokenmill.train`. The figures, as of `count_files`, are for the report.
#[pyfunction]
#[pyo3(signature = (counts, figures, options, progress = None))]
pub(crate) fn train_counts(
    py: Python<'_>,
    counts: &Bound<'_, PretokenTable>,
    figures: Figures,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Tokenizer> {
    let (train_options, roles) = options_and_roles(options)?;
    let filter = filter_option(options)?;
    let (documents, bytes, skipped_documents, replaced_documents, pretokens) = figures;
    let figures = CorpusFigures { documents, bytes, skipped_documents, replaced_documents, pretokens };
    let counts = &counts.get().0;
    let trained = run_long(py, progress.as_ref(), |watch| {
        let allows = |token: &[u8]| allows(filter.as_ref(), token);
        let (description, report) = Trainer::learn_from(train_options, counts, &figures, &allows, watch)?;
        Ok((compile_with_additions(description, &roles, &Hooks::default(), watch)?, report, None))
    })?;
    Ok(finish(py, trained, options)?.0)
}
