//! How a tokenizer works and what it holds, for those who ask.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::Tokenizer;
use crate::output;

#[pymethods]
impl Tokenizer {
    /// What the tokenizer holds in memory and what its cache did, in a dict of ints.
    ///
    /// In bytes: `vocabulary`, `model`, `lists` (an `int` for each id), `seed` (pretokens that are known from the start), `workers` (what
    /// was learnt since; never more than `cache_bytes`). In pretokens, over all calls that have ended:
    /// `hits` and `misses` of the look-up.
    fn memory_usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let usage = self.engine.memory_usage();
        let dict = PyDict::new(py);
        for (name, bytes) in [
            ("vocabulary", usage.vocabulary),
            ("model", usage.model),
            ("lists", self.ready_ids.get().memory()),
            ("seed", usage.seed),
            ("workers", usage.learnt),
            ("cache_bytes", usage.cache_bytes),
        ] {
            dict.set_item(name, bytes)?;
        }
        // Calls may end between the two readings.
        dict.set_item("hits", usage.lookups.saturating_sub(usage.misses))?;
        dict.set_item("misses", usage.misses)?;
        Ok(dict)
    }

    /// Which way each stage goes from text to ids and back, and why: rows of stage, path and reason.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let steps = self.engine.plan();
        output::list(py, steps.into_iter().map(|step| (step.stage, step.path, step.reason)))
    }
}
