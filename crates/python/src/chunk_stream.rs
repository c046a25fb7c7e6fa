//! Chunks as arrays, and those of a text that is read in parts.
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use tokenmill_core::budget::{self, ChunkOptions, Chunks};
use tokenmill_core::engine::{Engine, Special, Text, char_offsets};
use tokenmill_core::error::Error;
use tokenmill_core::try_alloc;

use crate::buffer::string;
use crate::exceptions::{out_of_memory, raise};
use crate::output::{self, Dtype};
use crate::text::PyText;
use crate::watch::run;

/// The text that was read of a string.
pub(crate) fn text_of<'a>(read: &'a PyText<'_>) -> PyResult<&'a str> {
    match read.as_text() {
        Text::Str(text) => Ok(text),
        Text::Bytes(_) => Err(pyo3::exceptions::PyTypeError::new_err("text must be str")),
    }
}

/// Chunks as arrays: ids, where the ids of each begin, the characters where each begins and ends, and the bytes.
pub(crate) fn chunk_arrays<'py>(
    py: Python<'py>,
    chunks: Chunks,
    characters: &[(usize, usize)],
    (bytes_before, characters_before): (usize, usize),
) -> PyResult<Bound<'py, PyTuple>> {
    let Chunks { spans, ids, ends } = chunks;
    let column = |values: &mut dyn Iterator<Item = usize>| {
        let mut column = try_alloc::vec(spans.len() + 1).map_err(out_of_memory)?;
        column.extend(values.map(|value| value as i64));
        output::int64_array(py, column)
    };
    (
        output::array(py, ids, Dtype::U32)?,
        column(&mut std::iter::once(0).chain(ends))?,
        column(&mut characters.iter().map(|&(start, _)| start + characters_before))?,
        column(&mut characters.iter().map(|&(_, end)| end + characters_before))?,
        column(&mut spans.iter().map(|span| span.start + bytes_before))?,
        column(&mut spans.iter().map(|span| span.end + bytes_before))?,
    )
        .into_pyobject(py)
}

/// Cuts a text that is read in parts: what `Tokenizer.chunk_file` reads with.
#[pyclass(module = "tokenmill")]
pub(crate) struct ChunkStream(budget::ChunkStream);

impl ChunkStream {
    pub(crate) fn new(
        py: Python<'_>,
        engine: &Arc<Engine>,
        options: ChunkOptions,
        (special, threads): (Special, usize),
    ) -> PyResult<Self> {
        let stream = budget::ChunkStream::new(Arc::clone(engine), options, special, threads);
        stream.map(Self).map_err(|error| raise(py, error))
    }
}

#[pymethods]
impl ChunkStream {
    /// Reads a part. The text that was kept, the characters before it, and the arrays of its chunks.
    fn push<'py>(&mut self, part: &Bound<'py, PyBytes>, is_last: bool) -> PyResult<Bound<'py, PyTuple>> {
        let py = part.py();
        let bytes = part.as_bytes();
        let (found, characters) = run(py, 16 * bytes.len() + 1, |watch| {
            let found = self.0.push(bytes, is_last, watch)?;
            let characters = char_offsets(Text::Str(&found.text), &found.chunks.spans, watch)?;
            Ok::<_, Error>((found, characters))
        })?;
        let text = string(py, &found.text)?;
        let before = found.before.1;
        let arrays = chunk_arrays(py, found.chunks, &characters, found.before)?;
        (text, before, arrays).into_pyobject(py)
    }
}
