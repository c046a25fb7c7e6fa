//! `Tokenizer.encode_arrow`: a batch, table or stream with columns of ids and counts.
use std::sync::Arc;
use std::thread::ThreadId;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Kind;
use tokenmill_core::watch::Watch;
use tokenmill_kernels::{
    AddedColumn, ArrowArray, BatchSource, ColumnError, ImportedArray, ImportedStream, StreamError,
    exported_stream, extended,
};

use super::encoder::{ColumnEncoder, ColumnOptions};
use crate::buffer::{Imported, array_capsules, column_error, imported, schema_capsule, stream_capsule};
use crate::exceptions::wrong_type;
use crate::watch::{run, run_foreign};

/// A batch with columns of ids and counts. Any Arrow library takes it: `pyarrow.record_batch(batch)`.
#[pyclass(frozen, module = "tokenmill._core")]
pub(crate) struct ArrowBatch {
    encoder: ColumnEncoder,
    /// `None` while it is dropped.
    parts: Option<(ImportedArray, Vec<AddedColumn>)>,
}

/// Batches with columns of ids and counts, each of which is made when it is asked for. Any Arrow library takes it:
/// `pyarrow.RecordBatchReader.from_stream(stream)`, `pyarrow.table(stream)`, `polars.DataFrame(stream)`.
#[pyclass(module = "tokenmill._core")]
pub(crate) struct ArrowStream {
    encoder: Arc<ColumnEncoder>,
    /// What the batches come from: it is asked again when they are asked for again.
    data: Option<Py<PyAny>>,
    /// The stream that has been asked for its type, until its batches are asked for.
    first: Option<ImportedStream>,
}

/// What `data` is with new columns.
pub(crate) fn encode_arrow<'py>(
    data: &Bound<'py, PyAny>,
    engine: &Arc<Engine>,
    options: ColumnOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    match imported(data, "data")? {
        None => {
            let expected = "an Arrow batch, table or stream (with __arrow_c_array__ or __arrow_c_stream__; \
                            collect what is lazy, or make a reader of it)";
            Err(wrong_type("data", expected, data))
        }
        Some(Imported::Array(batch)) => {
            let encoder = ColumnEncoder::new(py, engine, options, batch.field())?;
            let added = run(py, usize::MAX, |watch| encoder.encode(&batch, 0, watch))?;
            Ok(Bound::new(py, ArrowBatch { encoder, parts: Some((batch, added)) })?.into_any())
        }
        Some(Imported::Stream(stream)) => {
            let encoder = Arc::new(ColumnEncoder::new(py, engine, options, stream.field())?);
            let data = Some(data.clone().unbind());
            Ok(Bound::new(py, ArrowStream { encoder, data, first: Some(stream) })?.into_any())
        }
    }
}

#[pymethods]
impl ArrowBatch {
    /// The batch in the capsules of Arrow's C data interface: its type, and its columns. `requested_schema` is
    /// ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let Some((batch, added)) = &self.parts else { return Err(PyTypeError::new_err("it is gone")) };
        array_capsules(py, self.encoder.field().export(), extended(batch, added))
    }

    /// The type in the capsule of Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.encoder.field().export())
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.parts.as_ref().map_or(0, |(batch, _)| batch.len())
    }

    fn __repr__(&self) -> String {
        format!("ArrowBatch({} rows, columns {})", self.__len__(), self.encoder.column_names())
    }
}

/// To release a column is foreign code: it may wait for a thread that needs the interpreter lock.
impl Drop for ArrowBatch {
    fn drop(&mut self) {
        let parts = self.parts.take();
        Python::attach(|py| py.detach(|| drop(parts)));
    }
}

#[pymethods]
impl ArrowStream {
    /// The batches in the capsule of Arrow's C stream interface. A second call asks the data for its batches again. For
    /// data that is read once, as a reader is, it is a `ValueError`. `requested_schema` is ignored, as the interface
    /// allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let py = slf.py();
        let (first, data, encoder) = {
            let mut this = slf.try_borrow_mut()?;
            let data = this.data.as_ref().map(|data| data.clone_ref(py));
            (this.first.take(), data, Arc::clone(&this.encoder))
        };
        let (stream, encoder) = match (first, data) {
            (Some(stream), _) => (stream, encoder),
            // An iterator goes on where it stands: the rows before it would be missing, and nobody would be told.
            (None, Some(data)) if data.bind(py).hasattr("__next__")? => {
                return Err(PyValueError::new_err(
                    "data is read once, and its batches have been asked for already; encode a table, or a new reader",
                ));
            }
            (None, Some(data)) => match imported(data.bind(py), "data")? {
                Some(Imported::Stream(stream)) => {
                    let encoder = encoder.for_data(py, stream.field())?;
                    (stream, Arc::new(encoder))
                }
                _ => return Err(column_error("data", ColumnError::Released)),
            },
            (None, None) => return Err(column_error("data", ColumnError::Released)),
        };
        let field = Arc::clone(encoder.field());
        let caller = std::thread::current().id();
        stream_capsule(py, exported_stream(field, Box::new(Batches { encoder, stream, row: 0, caller })))
    }

    /// The type in the capsule of Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.encoder.field().export())
    }

    fn __repr__(&self) -> String {
        format!("ArrowStream(columns {})", self.encoder.column_names())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.data)
    }

    fn __clear__(&mut self) {
        self.data = None;
    }
}

impl Drop for ArrowStream {
    fn drop(&mut self) {
        let first = self.first.take();
        Python::attach(|py| py.detach(|| drop(first)));
    }
}

/// The batches of a stream with new columns.
struct Batches {
    encoder: Arc<ColumnEncoder>,
    stream: ImportedStream,
    /// The number of the next row.
    row: u64,
    /// The thread that asked for the stream; in it signals are looked for.
    caller: ThreadId,
}

impl BatchSource for Batches {
    fn next_batch(&mut self) -> Result<Option<ArrowArray>, StreamError> {
        let caller = self.caller;
        run_foreign(caller, |watch| self.encode_next(watch))
    }
}

impl Batches {
    fn encode_next(&mut self, watch: &dyn Watch) -> Result<Option<ArrowArray>, StreamError> {
        let next = self.stream.next_array().map_err(|error| match error {
            ColumnError::Stream(reason) => StreamError::Source(reason),
            ColumnError::Broken(reason) | ColumnError::Type(reason) => {
                StreamError::Data(format!("data is no sound Arrow stream: {reason}"))
            }
            ColumnError::Released => StreamError::Data("data was released".to_owned()),
        })?;
        let Some(batch) = next else { return Ok(None) };
        let added = self.encoder.encode(&batch, self.row, watch).map_err(|error| {
            let text = error.to_string();
            match error.kind {
                Kind::Memory { .. } => StreamError::Memory(text),
                Kind::Cancelled => StreamError::Source(text),
                _ => StreamError::Data(text),
            }
        })?;
        self.row += batch.len() as u64;
        Ok(Some(extended(&batch, &added)))
    }
}
