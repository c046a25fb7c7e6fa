//! Columns of text to columns of ids.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Tokenizer;
use crate::argument_values::{self, Given, NOT_GIVEN};
use crate::call::Options;
use crate::columns::{ColumnOptions, encode_arrow};
use crate::output::Dtype;

/// The name of a column: the default, or `None` if it is left out.
fn name_of(argument: Given<'_>, name: &'static str, default: &str) -> PyResult<Option<String>> {
    match argument.0 {
        None => Ok(Some(default.to_owned())),
        Some(value) if value.is_none() => Ok(None),
        Some(value) => argument_values::string(&value, || name.to_owned()).map(Some),
    }
}

#[pymethods]
impl Tokenizer {
    /// The ids of a column of texts, as new columns beside those that are there.
    ///
    /// `data` is what exports Arrow's C data or stream interface: a batch, table or reader of
    /// pyarrow, a frame of Polars, a relation of DuckDB. Its columns are passed on without a copy,
    /// nulls and metadata of the schema included. A batch gives an `ArrowBatch`, anything else a
    /// lazy `ArrowStream`: each of its batches is encoded when a consumer asks for it, so that
    /// memory is that of one batch and its ids. Neither needs pyarrow.
    ///
    /// `column` holds text: string, large_string, string_view, the three of binary, or a dictionary
    /// of one of these. `ids_column` is the name of a `large_list` of `dtype` (uint16, uint32,
    /// int32, int64 or uint64), `count_column` of the number of ids (int64). Both are null where the
    /// text is. None leaves a column out; without `ids_column` no ids are stored. `offsets=True`
    /// adds `starts` and `ends`, a `large_list` of uint32 each: the part of the text that each id
    /// stands for, in characters (of a binary column as for `bytes`).
    ///
    /// Raises `ValueError` for a column that is missing, a name that is there already and a `dtype`
    /// that cannot hold the largest id, `TypeError` for a column of another type, both before the
    /// first batch, and what `encode` raises, with the row. Within a stream an error reaches the
    /// consumer as its own library's, with our message and the number of the row in the stream.
    ///
    /// >>> import pyarrow as pa
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> batch = pa.record_batch({"id": [1, 2], "text": ["low", None]})
    /// >>> pa.record_batch(tok.encode_arrow(batch)).to_pylist()
    /// [{'id': 1, 'text': 'low', 'ids': [257], 'n_tokens': 1}, {'id': 2, 'text': None, 'ids': None, 'n_tokens': None}]
    #[pyo3(signature = (data, column = "text", *, ids_column = NOT_GIVEN, count_column = NOT_GIVEN, dtype = None, offsets = false, add_special_tokens = false, special = None, num_threads = NOT_GIVEN), text_signature = "($self, data, column='text', *, ids_column='ids', count_column='n_tokens', dtype='uint32', offsets=False, add_special_tokens=False, special='text', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn encode_arrow<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        column: &str,
        ids_column: Given<'py>,
        count_column: Given<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        offsets: bool,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ids_column = name_of(ids_column, "ids_column", "ids")?;
        let count_column = name_of(count_column, "count_column", "n_tokens")?;
        if ids_column.is_none() && count_column.is_none() {
            return Err(PyValueError::new_err(
                "ids_column and count_column are both None, so that nothing would be added",
            ));
        }
        if ids_column.is_none() && offsets {
            return Err(PyValueError::new_err("offsets=True needs ids_column: each pair belongs to an id"));
        }
        let dtype = Dtype::new(dtype, self.engine.vocabulary().max_id())?;
        let Options { special, threads, .. } = Options::new(special, "replace", &num_threads)?;
        let column = column.to_owned();
        let options = ColumnOptions {
            column,
            ids_column,
            count_column,
            dtype,
            offsets,
            add_special_tokens,
            special,
            threads,
        };
        encode_arrow(data, &self.engine, options)
    }
}
