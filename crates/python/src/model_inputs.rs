//! `tok(..., return_tensors=)`: ids, masks and offsets, each written once into its array.
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tokenmill_core::description::{Padding, Truncation};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Error;
use tokenmill_core::ids::TokenId;
use tokenmill_core::postprocess::{
    Column, Number, OutputPart, PartsOfRow, RowPadding, Slot, Windows, padded_length,
};
use tokenmill_core::try_alloc;

use crate::argument_place::{ArgumentPlace, Naming};
use crate::arrays::{WriteRow, write_rows};
use crate::call::{Options, with_objects};
use crate::encoding::Encoding;
use crate::exceptions::{gather, raise};
use crate::late;
use crate::output::{self, Dtype};
use crate::watch::run;

/// The arguments of a call that say what it returns.
#[allow(clippy::struct_excessive_bools)] // each has a name of its own in Python
pub(crate) struct Returned<'a, 'py> {
    pub(crate) tensors: Option<&'a Bound<'py, PyAny>>,
    pub(crate) token_type_ids: Option<bool>,
    pub(crate) attention_mask: Option<bool>,
    pub(crate) overflowing_tokens: bool,
    pub(crate) special_tokens_mask: bool,
    pub(crate) offsets_mapping: bool,
    pub(crate) length: bool,
    pub(crate) position_ids: bool,
    pub(crate) dtype: Option<&'a Bound<'py, PyAny>>,
    pub(crate) out: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Returned<'_, 'py> {
    /// Refuses options that only arrays support.
    pub(crate) fn check_lists(&self) -> PyResult<()> {
        let given = [
            ("return_token_type_ids", self.token_type_ids.is_some()),
            ("return_attention_mask", self.attention_mask.is_some()),
            ("return_overflowing_tokens", self.overflowing_tokens),
            ("return_special_tokens_mask", self.special_tokens_mask),
            ("return_offsets_mapping", self.offsets_mapping),
            ("return_length", self.length),
            ("return_position_ids", self.position_ids),
            ("dtype", self.dtype.is_some_and(|dtype| !dtype.eq("int64").unwrap_or(false))),
            ("out", self.out.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((name, _)) => Err(PyValueError::new_err(format!(
                "{name} is for arrays: pass return_tensors=\"np\" or \"pt\" with it; without, the call gives \
                 Encodings, which have all of it as lists"
            ))),
        }
    }

    /// Checks the arguments before anything is encoded, and returns the object that makes the arrays.
    pub(crate) fn columns(&self, engine: &Engine) -> PyResult<Bound<'py, PyAny>> {
        let Some(tensors) = self.tensors else {
            return Err(PyValueError::new_err("return_tensors is \"np\" or \"pt\""));
        };
        let py = tensors.py();
        #[allow(clippy::disallowed_methods)] // it is short
        let plain = PyString::new(py, "int64").into_any();
        let dtype = self.dtype.unwrap_or(&plain);
        Dtype::new(Some(dtype), engine.vocabulary().max_id())?;
        let make = late::MODEL_INPUTS.get(py)?.getattr("_Columns")?;
        make.call1((tensors, dtype, self.out))
    }
}

/// The ids of many texts, concatenated.
struct FlatIds {
    ids: Vec<TokenId>,
    /// The start of each row, and the end of the last one.
    bounds: Vec<usize>,
}

impl FlatIds {
    /// Encodes texts; `places` gives their positions in the arguments.
    fn new(
        py: Python<'_>,
        engine: &Engine,
        texts: &[Bound<'_, PyAny>],
        options: &Options,
        places: impl Fn(usize) -> ArgumentPlace + Sync,
    ) -> PyResult<Self> {
        let (ids, bounds) = with_objects(py, texts, options, places, |texts, special, threads, watch| {
            engine.encode_batch(texts, special, false, threads, watch)
        })?;
        let bounds = gather(bounds.into_iter().map(|bound| Ok(usize::try_from(bound)?)))?;
        Ok(Self { ids, bounds })
    }

    fn row(&self, row: usize) -> &[TokenId] {
        &self.ids[self.bounds[row]..self.bounds[row + 1]]
    }
}

/// The source of the ids of a row.
enum Source {
    /// The ids of the texts, and of their pairs.
    Ids(FlatIds, Option<FlatIds>),
    Encodings(Vec<Encoding>),
}

impl Source {
    fn ids(&self, sample: usize) -> [&[TokenId]; 2] {
        match self {
            Self::Ids(texts, pairs) => {
                [texts.row(sample), pairs.as_ref().map_or(&[][..], |pairs| pairs.row(sample))]
            }
            Self::Encodings(encodings) => {
                let sequences = &encodings[sample].arranged().sequences;
                [0, 1].map(|i| sequences.get(i).map_or(&[][..], |sequence| &sequence.encoding.ids[..]))
            }
        }
    }
}

/// A row of the arrays: a window of a sample.
struct InputRow {
    sample: usize,
    parts: Vec<OutputPart>,
}

/// The rows of a call, before they become arrays.
pub(crate) struct InputRows {
    source: Source,
    rows: Vec<InputRow>,
    /// The length of the longest first window, to which `padding="longest"` pads.
    longest: usize,
}

impl InputRows {
    /// The ids of texts, each with the text at the same index of `pairs`, without offsets.
    pub(crate) fn of_texts(
        py: Python<'_>,
        engine: &Arc<Engine>,
        (texts, pairs): (&[Bound<'_, PyAny>], Option<&[Bound<'_, PyAny>]>),
        options: &Options,
        naming: Naming,
        (adds_special, truncation): (bool, Option<&Truncation>),
        overflowing: bool,
    ) -> PyResult<Self> {
        let sequences = 1 + usize::from(pairs.is_some());
        let ids =
            |texts, i| FlatIds::new(py, engine, texts, options, move |row| naming.place(row, i, sequences));
        let first = ids(texts, 0)?;
        let second = pairs.map(|pairs| ids(pairs, 1)).transpose()?;
        let count = texts.len();
        let windows = run(py, count * 256, |watch| {
            let windows = |row| {
                let lengths = [first.row(row).len(), second.as_ref().map_or(0, |ids| ids.row(row).len())];
                let windows = engine.arrange(&lengths[..sequences], adds_special, truncation, watch);
                windows.map_err(|error| naming.locate_sequence(error, row, sequences))
            };
            try_alloc::collect((0..count).map(windows))
        })?;
        Self::new(py, Source::Ids(first, second), windows, overflowing)
    }

    pub(crate) fn of_encodings(
        py: Python<'_>,
        encodings: Vec<Encoding>,
        overflowing: bool,
    ) -> PyResult<Self> {
        let windows = encodings.iter().map(|encoding| encoding.windows().cloned().collect()).collect();
        Self::new(py, Source::Encodings(encodings), windows, overflowing)
    }

    fn new(py: Python<'_>, source: Source, windows: Vec<Windows>, overflowing: bool) -> PyResult<Self> {
        let (mut rows, mut longest) = (Vec::new(), 0);
        for (sample, windows) in windows.into_iter().enumerate() {
            let kept = if overflowing { windows.len() } else { 1 };
            for (window, parts) in windows.into_iter().take(kept).enumerate() {
                if window == 0 {
                    longest = longest.max(length(&parts));
                }
                try_alloc::push(&mut rows, InputRow { sample, parts })
                    .map_err(|error| raise(py, error.into()))?;
            }
        }
        Ok(Self { source, rows, longest })
    }

    fn row(&self, row: usize) -> PartsOfRow<'_> {
        let InputRow { sample, parts } = &self.rows[row];
        PartsOfRow { parts, ids: self.source.ids(*sample) }
    }

    /// The length of all rows; an error if they are not equal.
    fn length(&self, py: Python<'_>, padding: Option<&Padding>) -> PyResult<usize> {
        let length_of = |row: &InputRow| length(&row.parts);
        let padded = padding.map_or(Ok(0), |padding| padded_length(padding, self.longest));
        let padded = padded.map_err(|error| raise(py, error))?;
        // Padding never shortens a row: as in transformers, all rows may be longer than the padded length.
        let first = self.rows.first().map_or(0, length_of).max(padded);
        let Some(at) = self.rows.iter().position(|row| length_of(row).max(padded) != first) else {
            return Ok(first);
        };
        let (found, advice) = (
            length_of(&self.rows[at]).max(padded),
            if padding.is_some() {
                "some are longer than padding makes them: pass truncation=True with max_length, or padding=\"longest\""
            } else {
                "pass padding=True, or leave return_tensors out for a list of Encodings"
            },
        );
        Err(PyValueError::new_err(format!(
            "rows of unequal length make no array: row 0 has {first} ids, row {at} has {found}; {advice}"
        )))
    }

    /// The arrays, as `ModelInputs`.
    pub(crate) fn into_arrays<'py>(
        self,
        columns: &Bound<'py, PyAny>,
        returned: &Returned<'_, 'py>,
        engine: &Engine,
        padding: Option<&Padding>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = columns.py();
        let length = self.length(py, padding)?;
        let row_padding = RowPadding {
            side: padding.map(|padding| padding.direction).unwrap_or_default(),
            id: padding.map_or(0, |padding| padding.id),
            type_id: padding.map_or(0, |padding| padding.type_id),
        };
        let made = PyDict::new(py);
        let add = |name: &str, column: Column| {
            let array = columns.call_method1("allocated", (name, self.rows.len(), length))?;
            write_rows(&array, threads, &OfColumn { rows: &self, column, row_padding: &row_padding })?;
            made.set_item(name, array)
        };
        add("input_ids", Column::Ids)?;
        if returned.token_type_ids.unwrap_or_else(|| has_types(engine)) {
            add("token_type_ids", Column::TypeIds)?;
        }
        if returned.attention_mask.unwrap_or(true) {
            add("attention_mask", Column::AttentionMask)?;
        }
        if returned.position_ids {
            add("position_ids", Column::PositionIds)?;
        }
        if returned.special_tokens_mask {
            add("special_tokens_mask", Column::SpecialTokensMask)?;
        }
        if returned.offsets_mapping {
            let name = "offset_mapping";
            let array = columns.call_method1("allocated_pairs", (self.rows.len(), length))?;
            let flat = array.call_method1("reshape", (self.rows.len(), 2 * length))?;
            write_rows(&flat, threads, &Offsets { rows: &self, row_padding: &row_padding })?;
            made.set_item(name, array)?;
        }
        if returned.length {
            let lengths = try_alloc::filled(length as i64, self.rows.len());
            made.set_item(
                "length",
                output::int64_array(py, lengths.map_err(|error| raise(py, error.into()))?)?,
            )?;
        }
        if returned.overflowing_tokens {
            let samples = try_alloc::collect(self.rows.iter().map(|row| Ok::<_, Error>(row.sample as i64)));
            let samples = samples.map_err(|error| raise(py, error))?;
            made.set_item("overflow_to_sample_mapping", output::int64_array(py, samples)?)?;
        }
        columns.call_method1("finish", (made,))
    }
}

fn length(parts: &[OutputPart]) -> usize {
    parts.iter().map(OutputPart::len).sum()
}

/// Do models with this tokenizer take type ids? They do if there is a classification token and the types of a pair
/// are not all 0.
fn has_types(engine: &Engine) -> bool {
    let type_of = |slot: &Slot| match *slot {
        Slot::Sequence { type_id, .. } | Slot::Special { type_id, .. } => type_id,
    };
    let slots = engine.post_processors().slots(true, true);
    engine.description().roles.cls.is_some() && slots.iter().any(|slot| type_of(slot) != 0)
}

struct OfColumn<'a> {
    rows: &'a InputRows,
    column: Column,
    row_padding: &'a RowPadding,
}

impl WriteRow for OfColumn<'_> {
    fn write<T: Number>(&self, row: usize, cells: &mut [T]) {
        self.rows.row(row).write(self.column, self.row_padding, cells);
    }
}

struct Offsets<'a> {
    rows: &'a InputRows,
    row_padding: &'a RowPadding,
}

impl WriteRow for Offsets<'_> {
    fn write<T: Number>(&self, row: usize, cells: &mut [T]) {
        let offsets = match &self.rows.source {
            Source::Ids(..) => [&[][..]; 2],
            Source::Encodings(encodings) => {
                let sequences = &encodings[self.rows.rows[row].sample].arranged().sequences;
                [0, 1].map(|i| sequences.get(i).map_or(&[][..], |sequence| &sequence.offsets[..]))
            }
        };
        self.rows.row(row).write_offsets(offsets, self.row_padding.side, cells);
    }
}
