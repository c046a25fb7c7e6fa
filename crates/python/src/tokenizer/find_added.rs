//! The added tokens of a text.
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokenmill_core::engine::{Recognizer, Special, UntrustedRanges};
use tokenmill_core::error::Result;
use tokenmill_core::ids::TokenId;
use tokenmill_core::span::Span;
use tokenmill_core::try_alloc;

use super::Tokenizer;
use crate::argument_place::ArgumentPlace;
use crate::argument_values::NOT_GIVEN;
use crate::buffer::objects;
use crate::call::Options;
use crate::output::{self, Item};
use crate::text::PyText;
use crate::untrusted::TrustArguments;
use crate::watch::run;

#[pymethods]
impl Tokenizer {
    /// The added tokens that `encode` would recognise in a text, as a list of (start, stop, id) in the
    /// order of the text.
    ///
    /// Places are in characters, for bytes in bytes. White space that a token takes (`lstrip`,
    /// `rstrip`) belongs to it. A token that is matched in normalized text is where its characters
    /// come from. Arguments are as for `encode`, but that special tokens are found by default:
    /// `special="text"` finds only those that are not special. Raises what `encode` raises, but no
    /// `UnknownTokenError`: the text between is not encoded.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2, special_tokens=["<|end|>"])
    /// >>> tok.find_added("low<|end|>low<|end|>")
    /// [(3, 10, 0), (13, 20, 0)]
    /// >>> tok.find_added("low<|end|>low<|end|>", untrusted=[(0, 4)])
    /// [(13, 20, 0)]
    #[pyo3(signature = (text, *, special = None, untrusted = None, protected = None, surrogates = "replace"), text_signature = "($self, text, *, special='parse', untrusted=None, protected=None, surrogates='replace')")]
    fn find_added<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        untrusted: Option<&Bound<'py, PyAny>>,
        protected: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut options = Options::new(special, surrogates, &NOT_GIVEN)?;
        if special.is_none() {
            options.special = Special::Parse;
        }
        let py_text = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
        let trust =
            TrustArguments::new(untrusted, protected).for_text(&self.engine, py_text.length(text)?)?;
        let (engine, text) = (&self.engine, py_text.as_text());
        let found = run(py, text.as_bytes().len(), |watch| {
            let find = |recognizer: &Recognizer<'_>, untrusted: &UntrustedRanges| {
                let found = engine.find_added(text, recognizer, untrusted, watch);
                found.map_err(|error| py_text.locate(error))
            };
            let found = match &trust {
                None => find(&engine.recognizer(&options.special)?, UntrustedRanges::none())?,
                Some(trust) => {
                    let untrusted = py_text.untrusted(trust.pairs(0), watch)?;
                    trust.with_recognizers(engine, &options.special, |all| find(all[0], &untrusted))?
                }
            };
            let spans: Vec<Span> = try_alloc::collect(found.iter().map(|(span, _)| Result::Ok(*span)))?;
            let places = match &py_text {
                PyText::Str { .. } => py_text.offsets(&spans, watch)?,
                PyText::Bytes(_) => spans.into_iter().map(|span| (span.start, span.end)).collect(),
            };
            Ok((found, places))
        })?;
        let (found, places) = found;
        let rows = found.iter().zip(&places);
        let row = |((_, id), (start, stop)): (&(Span, TokenId), &(usize, usize))| {
            objects::tuple(py, [start.object(py)?, stop.object(py)?, id.object(py)?])
        };
        output::list(py, rows.map(row))
    }
}
