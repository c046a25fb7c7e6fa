//! The output of every stage for a text, as plain tuples from which `tokenmill.explain` makes classes.
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use tokenmill_core::engine::explain::{ExplainedSegment, Ordinary, Pretoken, Spelled, Token};
use tokenmill_core::model::bpe::MergeSteps;
use tokenmill_core::span::Span;
use tokenmill_core::try_alloc;
use tokenmill_kernels::OutOfMemory;

use super::Tokenizer;
use crate::argument_values::NOT_GIVEN;
use crate::buffer::{objects, string};
use crate::call::{Options, with_text};
use crate::exceptions::{gather, out_of_memory};
use crate::late;
use crate::output::{self, Item};
use crate::watch::run;

/// A span in characters, then in bytes.
type Place = ((usize, usize), (usize, usize));

/// Spans of one kind in the order of the text, in characters and bytes.
struct Places(std::vec::IntoIter<Place>);

impl Places {
    fn next(&mut self) -> Place {
        self.0.next().unwrap_or_default()
    }
}

/// The spans of all segments, pretokens and tokens. Each list is in the order of the text, so that
/// characters are counted in one pass.
fn spans(segments: &[ExplainedSegment]) -> Result<[Vec<Span>; 3], OutOfMemory> {
    let [mut texts, mut pretokens, mut tokens] = [vec![], vec![], vec![]];
    for segment in segments {
        match segment {
            ExplainedSegment::Added(token) => {
                try_alloc::push(&mut texts, token.span)?;
                try_alloc::push(&mut tokens, token.span)?;
            }
            ExplainedSegment::Ordinary(text) => {
                try_alloc::push(&mut texts, text.span)?;
                for pretoken in &text.pretokens {
                    try_alloc::push(&mut pretokens, pretoken.span)?;
                    try_alloc::reserve(&mut tokens, pretoken.tokens.len())?;
                    tokens.extend(pretoken.tokens.iter().map(|token| token.span));
                }
            }
        }
    }
    Ok([texts, pretokens, tokens])
}

/// Bytes as a string, with escapes for invalid UTF-8.
fn shown<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return string(py, text);
    }
    let bytes = objects::bytes(py, bytes)?;
    Ok(bytes.call_method1("decode", ("utf-8", "backslashreplace"))?.cast_into()?)
}

struct Rendering<'a, 'py> {
    py: Python<'py>,
    content: &'a [u8],
    texts: Places,
    pretokens: Places,
    tokens: Places,
}

impl<'py> Rendering<'_, 'py> {
    fn segment(&mut self, segment: &ExplainedSegment) -> PyResult<Bound<'py, PyTuple>> {
        let (offsets, bytes) = self.texts.next();
        let text = shown(self.py, &self.content[bytes.0..bytes.1])?;
        match segment {
            ExplainedSegment::Added(token) => {
                let token = self.token(token)?;
                ("added", text, offsets, bytes, token).into_pyobject(self.py)
            }
            ExplainedSegment::Ordinary(Ordinary { normalized, pretokens, .. }) => {
                let py = self.py;
                let pair = |(step, text): &(String, String)| {
                    let pair = [string(py, step)?.into_any(), string(py, text)?.into_any()];
                    objects::tuple(py, pair)
                };
                let normalized = output::list(py, normalized.iter().map(pair))?;
                let pretokens = pretokens.iter().map(|pretoken| self.pretoken(pretoken));
                let pretokens = output::list(py, pretokens)?;
                ("text", text, offsets, bytes, normalized, pretokens).into_pyobject(py)
            }
        }
    }

    fn pretoken(&mut self, pretoken: &Pretoken) -> PyResult<Bound<'py, PyTuple>> {
        let py = self.py;
        // There may be very many pretokens.
        py.check_signals()?;
        let (offsets, bytes) = self.pretokens.next();
        let tokens = output::list(py, pretoken.tokens.iter().map(|token| self.token(token)))?;
        let (how, steps) = match &pretoken.spelled {
            Spelled::Added => ("added", None),
            Spelled::Bpe(MergeSteps::Merged { symbols, merges }) => {
                let merges =
                    merges.iter().map(|step| (&step.left, &step.right, &step.result, step.rank, step.at));
                ("merges", Some((PyList::new(py, symbols)?, PyList::new(py, merges)?)))
            }
            Spelled::Bpe(MergeSteps::Whole) => ("whole", None),
            Spelled::Bpe(MergeSteps::TooLong(_)) => ("long", None),
            Spelled::WordPiece => ("wordpiece", None),
            Spelled::WordLevel => ("wordlevel", None),
            Spelled::Unigram => ("unigram", None),
        };
        let text = shown(py, &pretoken.bytes)?;
        (text, offsets, bytes, how, steps, tokens).into_pyobject(py)
    }

    fn token(&mut self, token: &Token) -> PyResult<Bound<'py, PyTuple>> {
        let (py, (offsets, bytes)) = (self.py, self.tokens.next());
        let written = string(py, &token.written)?.into_any();
        objects::tuple(py, [token.id.object(py)?, written, offsets.object(py)?, bytes.object(py)?])
    }
}

#[pymethods]
impl Tokenizer {
    /// The output of every stage for a text, as an `Explanation`: print it, or walk through its segments.
    ///
    /// Shows added tokens and the text between them, the output of each normalizer step, the
    /// pretokens, and the tokens of each; for byte-pair encoding also the merges in the order in
    /// which they were made, for pretokens of at most 1,000 symbols. Its `ids` are those of
    /// `encode`. Errors are those of `encode`.
    #[pyo3(signature = (text, *, special = None, surrogates = "replace"), text_signature = "($self, text, *, special='text', surrogates='replace')")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        let (segments, py_text) =
            with_text(text, &options, |text, special, _, watch| self.engine.explain(text, special, watch))?;
        let content = py_text.as_text().as_bytes();
        let places = |spans: Vec<Span>| {
            let offsets = run(py, content.len(), |watch| py_text.offsets(&spans, watch))?;
            let bytes = spans.iter().map(|span| (span.start, span.end));
            PyResult::Ok(Places(gather(offsets.into_iter().zip(bytes).map(Ok))?.into_iter()))
        };
        let [texts, pretokens, tokens] = spans(&segments).map_err(out_of_memory)?;
        let (texts, pretokens, tokens) = (places(texts)?, places(pretokens)?, places(tokens)?);
        let mut rendering = Rendering { py, content, texts, pretokens, tokens };
        let segments = segments.iter().map(|segment| rendering.segment(segment));
        let segments = output::list(py, segments)?;
        let whole = match text.cast::<PyString>() {
            Ok(text) => text.clone(),
            Err(_) => shown(py, content)?,
        };
        late::EXPLAIN.get(py)?.getattr("Explanation")?.call_method1("_of", (whole, segments))
    }
}
