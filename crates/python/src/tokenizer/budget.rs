//! Token budgets: texts that grow, and text to ids by a named algorithm.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use tokenmill_core::budget::algorithms::Algorithm;
use tokenmill_core::engine::{CodeUnits, Source};
use tokenmill_core::error::Error;
use tokenmill_core::watch::Watch;

use super::Tokenizer;
use crate::appender::Appender;
use crate::argument_place::ArgumentPlace;
use crate::buffer::wide_units;
use crate::call::{Options, with_text};
use crate::convert::{self, NOT_GIVEN};
use crate::exceptions::raise;
use crate::text::PyText;
use crate::watch::run;

#[pymethods]
impl Tokenizer {
    /// The number of ids of a text, as `count` gives it; `None` if it is more than `limit`.
    ///
    /// No more of the text is read than the limit needs, where stages look at no more than a pretoken: time
    /// grows with the limit, not with the text. What is wrong with the rest, or a special token there under
    /// `special="raise"`, is then not seen. Errors are those of `encode`.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.count_till_limit("lower", 3), tok.count_till_limit("lower" * 1_000_000, 3)
    /// (3, None)
    #[pyo3(signature = (text, limit, *, add_special_tokens = false, special = None, surrogates = "replace"), text_signature = "($self, text, limit, *, add_special_tokens=False, special='text', surrogates='replace')")]
    fn count_till_limit(
        &self,
        text: &Bound<'_, PyAny>,
        limit: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Option<usize>> {
        let py = text.py();
        let limit = convert::length(Some(limit), "limit")?.unwrap_or_default();
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        let count = |source: Source<'_>, watch: &dyn Watch| {
            self.engine.count_till_limit(source, &options.special, add_special_tokens, limit, watch)
        };
        // A string that is not ASCII is converted as far as it is read.
        if let Ok(string) = text.cast::<PyString>()
            && let Some(units) = wide_units(string, options.surrogates)?
        {
            match run(py, units.bytes().min(limit.saturating_mul(8)), |watch| {
                count(Source::Units(&units), watch)
            }) {
                // Converting the whole text gives the same error, with its position.
                Err(error) if error.is_instance_of::<PyValueError>(py) => {}
                done => return done,
            }
        }
        let read = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
        let size = read.as_text().as_bytes().len().min(limit.saturating_mul(8));
        run(py, size, |watch| count(Source::Text(read.as_text()), watch).map_err(|error| read.locate(error)))
    }

    /// An `Appender`: a text that grows at its end, and the number of its ids.
    ///
    /// With `add_special_tokens` they are counted, too. `special` and `surrogates` are as in `encode`, each piece
    /// is read on its own.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    /// >>> text = tok.appender()
    /// >>> for word in ["low", " lower", " lowest"]:
    /// ...     before = text.snapshot()
    /// ...     text.push(word)
    /// ...     if text.token_count > 5:
    /// ...         text.restore(before)
    /// >>> len(text), text.token_count, tok.decode(text.ids())
    /// (9, 4, 'low lower')
    #[pyo3(signature = (*, add_special_tokens = false, special = None, surrogates = "replace"), text_signature = "($self, *, add_special_tokens=False, special='text', surrogates='replace')")]
    fn appender(
        &self,
        py: Python<'_>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Appender> {
        let Options { special, surrogates, .. } = Options::new(special, surrogates, &NOT_GIVEN)?;
        let ready_ids = self.ready_ids.clone_ref(py);
        Appender::new(py, &self.engine, ready_ids, special, surrogates, add_special_tokens)
    }

    /// The ids of a text by an algorithm: what `tokenmill.algorithms` calls.
    #[pyo3(signature = (algorithm, text, *, special = None, surrogates = "replace"), text_signature = "($self, algorithm, text, *, special='text', surrogates='replace')")]
    fn _encode_by<'py>(
        &self,
        py: Python<'py>,
        algorithm: &str,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let Some((algorithm, _)) = Algorithm::ALL.iter().find(|(_, name)| *name == algorithm) else {
            return Err(raise(py, Error::argument(format!("there is no algorithm {algorithm:?}"))));
        };
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        let (ids, _) = with_text(text, &options, |text, special, _, watch| {
            self.engine.encode_by(*algorithm, text, special, watch)
        })?;
        self.ready_ids.get().list(py, &ids)
    }
}
