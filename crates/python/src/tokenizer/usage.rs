//! Introspection: memory, the implementation of each stage, and the growth of its time.
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokenmill_core::engine::audit::{AuditOptions, Measure};
use tokenmill_core::error::Error;

use super::Tokenizer;
use crate::argument_values;
use crate::exceptions::raise;
use crate::late;
use crate::output;
use crate::watch::run_long;

/// An object of a class of `tokenmill.stages`, made from plain rows.
fn made_of<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    class: &str,
    rows: impl ExactSizeIterator<Item = T>,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = output::list(py, rows.map(Ok))?;
    late::STAGES.get(py)?.getattr(class)?.call_method1("_of", (rows,))
}

#[pymethods]
impl Tokenizer {
    /// The memory of the tokenizer and the counters of its cache, in a dict of ints.
    ///
    /// In bytes: `vocabulary`, `model`, `lists` (an `int` for each id, made with the first list), `seed` (the
    /// static table of pretokens that are tokens), `image` (a mapped image, which processes share: what is in
    /// it counts nowhere else), `chat_templates` (their sources), `workers` (the pretoken caches of all workers;
    /// never more than `cache_bytes`). In pretokens: `misses`, for which the model was asked so far, and
    /// `hits`, all others. A tokenizer made by `with_chat_template` shares all of it but its templates with the
    /// one that it is made from.
    fn memory_usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let usage = self.engine.memory_usage();
        let dict = PyDict::new(py);
        for (name, bytes) in [
            ("vocabulary", usage.vocabulary),
            ("model", usage.model),
            ("lists", self.ready_ids.get().memory()),
            ("seed", usage.static_table),
            ("image", usage.image),
            ("chat_templates", usage.chat_templates),
            ("workers", usage.caches),
            ("cache_bytes", usage.cache_bytes),
        ] {
            dict.set_item(name, bytes)?;
        }
        // Calls may end between the two readings, so the difference is saturated.
        dict.set_item("hits", usage.lookups.saturating_sub(usage.misses))?;
        dict.set_item("misses", usage.misses)?;
        Ok(dict)
    }

    /// The implementation of each stage for encoding and decoding, and the reason for it, as a
    /// `Plan`: print it, or ask it for a stage by name.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let steps = self.engine.plan();
        made_of(py, "Plan", steps.into_iter().map(|step| (step.stage, step.path, step.reason)))
    }

    /// The ids that the model never gives, and those that it gives only for a pretoken with exactly their
    /// bytes: two lists, ascending. Added tokens, the unknown token and tokens that spell bytes are in neither.
    fn _never_built(&self, py: Python<'_>) -> PyResult<(Vec<u32>, Vec<u32>)> {
        let found = run_long(py, None, |watch| self.engine.never_built(watch))?;
        Ok((found.never, found.whole_only))
    }

    /// The ranks of the merges that no text makes, ascending: indices of `merges`.
    fn _unused_merges(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        run_long(py, None, |watch| self.engine.unused_merges(watch))
    }

    /// How the time of each stage grows with the length of a text, as an `Audit`: the promised
    /// growth, the reason, and the worst text that was found, with its measured slope. Print it, or
    /// ask it for a stage by name.
    ///
    /// Texts that are known to be slow, among them some of the tokenizer's own tokens, go through
    /// every stage at lengths that double up to `max_bytes`, for about `seconds`. A slope is d log
    /// cost / d log length. The cost is counted work, which is the same in every run; if time grows
    /// clearly faster than that, it is time. An error that a text causes is part of the finding;
    /// functions of yours (hooks) are called with these texts.
    #[pyo3(signature = (*, seconds = 3.0, max_bytes = None), text_signature = "($self, *, seconds=3.0, max_bytes=65536)")]
    fn audit<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
        max_bytes: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        let time = time.ok_or_else(|| {
            raise(py, Error::argument(format!("seconds is {seconds}; it must be a number above 0")))
        })?;
        let default = AuditOptions::default().max_bytes;
        let max_bytes = argument_values::length(max_bytes, "max_bytes")?.unwrap_or(default);
        let options = AuditOptions { time, max_bytes };
        let findings = run_long(py, None, |watch| self.engine.audit(options, watch))?;
        let rows = findings.into_iter().map(|finding| {
            let worst = finding.worst.map(|worst| {
                let measure = worst.measure.map(|measure| match measure {
                    Measure::Work => "work",
                    Measure::Time => "time",
                });
                (worst.kind, worst.text, worst.slope, measure, worst.nanoseconds_per_byte, worst.error)
            });
            let guarantee = finding.guarantee.to_string();
            (finding.stage, finding.path, guarantee, finding.reason, finding.texts, worst)
        });
        made_of(py, "Audit", rows)
    }
}
