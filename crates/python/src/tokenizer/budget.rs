//! Token budgets: texts that grow, and text to ids by a named algorithm.
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use tokenmill_core::budget::algorithms::Algorithm;
use tokenmill_core::budget::{self, Edited};
use tokenmill_core::engine::{CodeUnits, Source, byte_spans};
use tokenmill_core::error::{Error, Place};
use tokenmill_core::watch::Watch;

use super::Tokenizer;
use crate::appender::Appender;
use crate::argument_place::ArgumentPlace;
use crate::argument_values::{self, NOT_GIVEN};
use crate::buffer::wide_units;
use crate::call::{Options, with_text};
use crate::chunk_stream::text_of;
use crate::encoding::Encoding;
use crate::exceptions::{raise, wrong_type};
use crate::growing::Grown;
use crate::intervals::IntervalCounter;
use crate::late;
use crate::prepender::Prepender;
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
        let limit = argument_values::length(Some(limit), "limit")?.unwrap_or_default();
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
        let text = budget::Appender::new(Arc::clone(&self.engine), special);
        let text = text.map_err(|error| raise(py, error))?;
        let ready_ids = self.ready_ids.clone_ref(py);
        Ok(Appender(Grown::new(text, "Appender", ready_ids, surrogates, add_special_tokens)))
    }

    /// A `Prepender`: a text that grows at its start, and the number of its ids. Arguments are as for `appender`.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    /// >>> text = tok.prepender()
    /// >>> for word in [" lowest", " lower", "low"]:
    /// ...     text.push(word)
    /// >>> len(text), text.token_count, tok.decode(text.ids())
    /// (16, 8, 'low lower lowest')
    /// >>> text.truncate(7)
    /// >>> text.token_count
    /// 4
    #[pyo3(signature = (*, add_special_tokens = false, special = None, surrogates = "replace"), text_signature = "($self, *, add_special_tokens=False, special='text', surrogates='replace')")]
    fn prepender(
        &self,
        py: Python<'_>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Prepender> {
        let Options { special, surrogates, .. } = Options::new(special, surrogates, &NOT_GIVEN)?;
        let text = budget::Prepender::new(Arc::clone(&self.engine), special);
        let text = text.map_err(|error| raise(py, error))?;
        let ready_ids = self.ready_ids.clone_ref(py);
        Ok(Prepender(Grown::new(text, "Prepender", ready_ids, surrogates, add_special_tokens)))
    }

    /// An `IntervalCounter` of a text: the number of ids of any range of it, after one pass.
    ///
    /// With `add_special_tokens` those around a range count, too. Raises what `encode` raises.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    /// >>> ranges = tok.interval_counter("low lower lowest")
    /// >>> ranges.count(4, 9), tok.count("lower"), ranges.count_many([(0, 3), (0, 9)])
    /// (3, 3, array([1, 4]))
    /// >>> ranges.fits(4, 5)
    /// 14
    #[pyo3(signature = (text, *, add_special_tokens = false, special = None, surrogates = "replace"), text_signature = "($self, text, *, add_special_tokens=False, special='text', surrogates='replace')")]
    fn interval_counter(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
    ) -> PyResult<IntervalCounter> {
        let py = text.py();
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        if text.cast::<PyString>().is_err() {
            return Err(wrong_type("text", "str", text));
        }
        let read = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
        read.refuse_pairs().map_err(|error| raise(py, error))?;
        let source = text_of(&read)?;
        run(py, source.len(), |watch| {
            let engine = Arc::clone(&self.engine);
            budget::IntervalCounter::new(engine, source, options.special.clone(), add_special_tokens, watch)
                .map_err(|error| read.locate(error))
        })
        .map(IntervalCounter)
    }

    /// The encoding of a text in which the characters from `start` to `stop` are replaced: an `Edit`.
    ///
    /// `encoding` is what `encode_with_offsets` gave for `text`, with the same `special`. Only what the change can
    /// reach is encoded anew, the rest is copied. The result is what `encode_with_offsets` gives for the changed text.
    ///
    /// Raises what `encode` raises, and `BudgetError` for a range that the text does not have, for an encoding that
    /// has a pair, was truncated or padded, or is of another tokenizer or text, as far as that shows.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    /// >>> text = "low lower lowest"
    /// >>> edit = tok.edit(text, tok.encode_with_offsets(text), 4, 9, "low")
    /// >>> edit.text, edit.start, edit.old_stop, edit.new_stop
    /// ('low low lowest', 2, 4, 2)
    #[pyo3(signature = (text, encoding, start, stop, replacement, *, special = None, surrogates = "replace"), text_signature = "($self, text, encoding, start, stop, replacement, *, special='text', surrogates='replace')")]
    #[allow(clippy::too_many_arguments)]
    fn edit<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        encoding: &Bound<'py, Encoding>,
        start: &Bound<'py, PyAny>,
        stop: &Bound<'py, PyAny>,
        replacement: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = text.py();
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        for (value, name) in [(text, "text"), (replacement, "replacement")] {
            if value.cast::<PyString>().is_err() {
                return Err(wrong_type(name, "str", value));
            }
        }
        let place =
            |value, name| Ok::<_, PyErr>(argument_values::length(Some(value), name)?.unwrap_or_default());
        let (start, stop) = (place(start, "start")?, place(stop, "stop")?);
        let length = text.len()?;
        if start > stop || stop > length {
            let reason = format!("there is no range from {start} to {stop} in a text of {length} characters");
            return Err(raise(py, Error::budget(None, None, reason)));
        }
        let (sequence, adds_special) =
            encoding.get().whole_of(&self.engine).map_err(|error| raise(py, error))?;
        let read = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
        let read_replacement = PyText::new(replacement, options.surrogates, ArgumentPlace::TEXT)?;
        let (source, put) = (text_of(&read)?, text_of(&read_replacement)?);
        let changed = late::EDITING.get(py)?.getattr("changed")?.call1((text, start, stop, replacement))?;
        // Halves may meet.
        let read_changed = PyText::new(&changed, options.surrogates, ArgumentPlace::TEXT)?;
        for read in [&read, &read_replacement, &read_changed] {
            read.refuse_pairs().map_err(|error| raise(py, error))?;
        }
        let (edited, windows) = run(py, source.len(), |watch| {
            let span = byte_spans(source, &[(start, stop)], watch)?[0];
            let range = span.start..span.end;
            // An error names the character of the changed text.
            let character = |byte: usize| {
                let parts = [&source[..range.start], put, &source[range.end..]];
                let bytes = parts.iter().flat_map(|part| part.bytes()).take(byte);
                Place::Character(bytes.filter(|&byte| byte & 0xc0 != 0x80).count())
            };
            let edited = self.engine.edit((source, sequence), range.clone(), put, &options.special, watch);
            let edited = edited.map_err(|error| {
                error.placed(|place| if let Place::Byte(at) = place { character(at) } else { place })
            })?;
            let lengths = [edited.sequence.encoding.ids.len()];
            let windows = self.engine.arrange(&lengths, adds_special, None, watch)?;
            Ok((edited, windows))
        })?;
        let Edited { sequence, start: first, old_stop, new_stop } = edited;
        let made = Encoding::new(Arc::clone(&self.engine), vec![sequence], windows);
        let before = made.ids_before_text();
        let ids = (before + first, before + old_stop, before + new_stop);
        late::EDITING.get(py)?.getattr("Edit")?.call1((changed, made, ids.0, ids.1, ids.2))
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
