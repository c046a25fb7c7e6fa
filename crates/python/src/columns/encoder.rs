//! Ids and counts for a column of a batch.
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use tokenmill_core::engine::{Engine, FlatEncodings, Source, Special, Text, to_characters};
use tokenmill_core::error::{Error, FieldPath, Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::span::Span;
use tokenmill_core::try_alloc;
use tokenmill_core::watch::{Ticker, Watch};
use tokenmill_kernels::{
    AddedColumn, ColumnError, Field, ImportedArray, Items, OutOfMemory, StringColumn, Values,
};

use crate::buffer::{column_error, type_name};
use crate::exceptions::raise;
use crate::output::Dtype;
use crate::text::PyText;

/// The columns of starts and ends in a text.
const STARTS: &str = "starts";
const ENDS: &str = "ends";

/// Names that an error lists, at most.
const MAX_NAMES: usize = 20;

/// What is made of a column.
#[derive(Clone)]
pub(crate) struct ColumnOptions {
    pub(crate) column: String,
    /// The name of the column of ids; `None` leaves it out.
    pub(crate) ids_column: Option<String>,
    /// The name of the column of counts; `None` leaves it out.
    pub(crate) count_column: Option<String>,
    pub(crate) dtype: Dtype,
    pub(crate) offsets: bool,
    pub(crate) add_special_tokens: bool,
    pub(crate) special: Special,
    pub(crate) threads: usize,
}

/// Encodes a column of each batch of one type.
pub(crate) struct ColumnEncoder {
    engine: Arc<Engine>,
    options: ColumnOptions,
    /// The index of the column of texts.
    index: usize,
    /// The schema of the output: the columns of the input, then the new ones.
    field: Arc<Field>,
}

/// The ids, counts and offsets of a batch, not yet converted to Arrow columns.
struct Encoded {
    /// The ids of all rows, concatenated, and where each row starts and ends among them.
    ids: Option<(Vec<TokenId>, Vec<i64>)>,
    /// Tokens per row; empty if no column of counts was asked for.
    counts: Vec<i64>,
    /// The start and the end of each token in its text.
    offsets: Option<(Vec<u32>, Vec<u32>)>,
}

impl ColumnEncoder {
    /// An encoder for batches of a type.
    ///
    /// # Errors
    /// A `TypeError` for data without columns and for a column of another type, a `ValueError` for a column that is
    /// missing or there twice, and for a new one that is there already.
    pub(crate) fn new(
        py: Python<'_>,
        engine: &Arc<Engine>,
        options: ColumnOptions,
        data: &Field,
    ) -> PyResult<Self> {
        if !data.is_struct() {
            return Err(PyTypeError::new_err(format!(
                "data is an Arrow array of {}, which has no columns; pass a table or a batch, or the array to \
                 encode_batch",
                type_name(&data.format().to_string_lossy())
            )));
        }
        let named = |name: &str| data.children().iter().filter(|field| field.name() == name).count();
        let column = &options.column;
        if named(column) != 1 {
            let how = if named(column) == 0 { "no column" } else { "more than one column" };
            return Err(PyValueError::new_err(format!("data has {how} {column:?}; it has {}", names(data))));
        }
        let index = data.children().iter().position(|field| field.name() == *column).unwrap_or_default();
        StringColumn::check_type(&data.children()[index])
            .map_err(|error| column_error(&format!("column {column:?} of data"), error))?;

        // The literals are checked before the first batch, too.
        engine.recognizer(&options.special).map(drop).map_err(|error| raise(py, error))?;

        let named_by_caller = [("ids_column", &options.ids_column), ("count_column", &options.count_column)];
        if let Some((argument, _)) = named_by_caller
            .into_iter()
            .find(|(_, name)| name.as_ref().is_some_and(|name| name.contains('\0')))
        {
            return Err(PyValueError::new_err(format!(
                "{argument}: a name with a zero character ends there in Arrow; choose another name"
            )));
        }
        let mut added = Vec::new();
        if let Some(name) = &options.ids_column {
            let none = options.dtype.items(Vec::new()).map_err(|error| raise(py, error.into()))?;
            added.push((Field::lists(name, &none), "ids_column"));
        }
        if let Some(name) = &options.count_column {
            added.push((Field::numbers(name), "count_column"));
        }
        if options.offsets {
            let none = Items::U32(Vec::new());
            added.extend([STARTS, ENDS].map(|name| (Field::lists(name, &none), "offsets")));
        }
        for (i, (field, argument)) in added.iter().enumerate() {
            let name = field.name();
            if named(&name) == 0 && added[..i].iter().any(|(other, _)| other.name() == name) {
                let argument = if *argument == "offsets" { "offsets=True" } else { argument };
                return Err(PyValueError::new_err(format!(
                    "{argument} would add a second column {name:?}; choose different names for the new columns"
                )));
            }
            if named(&name) > 0 {
                let all = names(data);
                return Err(PyValueError::new_err(match *argument {
                    "offsets" => format!(
                        "offsets=True adds a column {name:?}, but data has it already; rename it: data has {all}"
                    ),
                    _ => format!(
                        "data already has a column {name:?}; choose another name with {argument}=: data has {all}"
                    ),
                }));
            }
        }
        let field = Arc::new(data.with_children(added.into_iter().map(|(field, _)| field).collect()));
        Ok(Self { engine: Arc::clone(engine), options, index, field })
    }

    /// The same for data that has been asked for its batches again, and may be of another type by now.
    pub(crate) fn for_data(&self, py: Python<'_>, data: &Field) -> PyResult<Self> {
        Self::new(py, &self.engine, self.options.clone(), data)
    }

    /// The schema of the output: the columns of the input, then the new ones.
    pub(crate) fn field(&self) -> &Arc<Field> {
        &self.field
    }

    /// The names of the columns of the output, for a `repr`.
    pub(crate) fn column_names(&self) -> String {
        let names: Vec<String> = self.field.children().iter().map(Field::name).collect();
        names.join(", ")
    }

    /// The new columns of a batch whose first row has this number.
    ///
    /// # Errors
    /// As for a batch of texts; a text's error names its row.
    pub(crate) fn encode(
        &self,
        batch: &ImportedArray,
        first_row: u64,
        watch: &dyn Watch,
    ) -> Result<Vec<AddedColumn>> {
        let column = StringColumn::of_batch(batch, self.index).map_err(|error| self.broken(error))?;
        let mut ticker = Ticker::new(watch);
        let mut texts = try_alloc::vec(column.len())?;
        let mut nulls = 0;
        for row in 0..column.len() {
            ticker.spend(1)?;
            let bytes = column.get(row).map_err(|error| self.in_row(self.broken(error), row, first_row))?;
            nulls += usize::from(bytes.is_none());
            texts.push(bytes);
        }
        let validity = match nulls {
            0 => None,
            _ => Some((Arc::new(validity(&texts)?), nulls)),
        };
        let encoded = self.encode_texts(&texts, column.is_text(), watch).map_err(|error| {
            match error.field.first_index() {
                Some(row) => {
                    let error = located(error, texts.get(row).copied().flatten(), column.is_text());
                    self.in_row(error, row, first_row)
                }
                None => error,
            }
        })?;
        self.columns(encoded, validity).map_err(Error::from)
    }

    fn encode_texts(&self, texts: &[Option<&[u8]>], is_text: bool, watch: &dyn Watch) -> Result<Encoded> {
        let ColumnOptions { special, add_special_tokens, threads, .. } = &self.options;
        if self.options.offsets {
            return self.encode_with_offsets(texts, is_text, watch);
        }
        let rows = texts.iter().map(|text| Ok(text.map(|bytes| Source::Text(Text::Bytes(bytes)))));
        let rows: Vec<_> = try_alloc::collect::<_, Error>(rows)?;
        if self.options.ids_column.is_none() {
            let counts = self.engine.count_batch(&rows, special, *add_special_tokens, *threads, watch)?;
            return Ok(Encoded { ids: None, counts, offsets: None });
        }
        let (ids, row_offsets) =
            self.engine.encode_batch(&rows, special, *add_special_tokens, *threads, watch)?;
        let counts = self.counts(&row_offsets)?;
        Ok(Encoded { ids: Some((ids, row_offsets)), counts, offsets: None })
    }

    fn encode_with_offsets(
        &self,
        texts: &[Option<&[u8]>],
        is_text: bool,
        watch: &dyn Watch,
    ) -> Result<Encoded> {
        let ColumnOptions { special, add_special_tokens, threads, .. } = &self.options;
        let source = |bytes| match std::str::from_utf8(bytes) {
            Ok(text) if is_text => Source::Text(Text::Str(text)),
            _ => Source::Text(Text::Bytes(bytes)),
        };
        let rows: Vec<_> = try_alloc::collect::<_, Error>(texts.iter().map(|bytes| Ok(bytes.map(source))))?;
        let characters = |_: usize, text: Text<'_>, spans: &mut [Span], watch: &dyn Watch| {
            to_characters(text, spans, watch)
        };
        let FlatEncodings { ids, offsets, row_offsets } = self.engine.encode_batch_with_offsets(
            &rows,
            &characters,
            special,
            *add_special_tokens,
            *threads,
            watch,
        )?;
        let (mut starts, mut ends) = (try_alloc::vec(ids.len())?, try_alloc::vec(ids.len())?);
        for span in offsets {
            let short = |at: usize| {
                let reason = "offsets are 32 bits, but a text has more than 2^32 characters; cut it first";
                u32::try_from(at).map_err(|_| Error::argument(reason))
            };
            starts.push(short(span.start)?);
            ends.push(short(span.end)?);
        }
        let counts = self.counts(&row_offsets)?;
        Ok(Encoded { ids: Some((ids, row_offsets)), counts, offsets: Some((starts, ends)) })
    }

    /// The length of each row, if it is asked for.
    fn counts(&self, row_offsets: &[i64]) -> Result<Vec<i64>> {
        if self.options.count_column.is_none() {
            return Ok(Vec::new());
        }
        try_alloc::collect(row_offsets.windows(2).map(|pair| Ok(pair[1] - pair[0])))
    }

    fn columns(
        &self,
        encoded: Encoded,
        validity: Option<(Arc<Vec<u8>>, usize)>,
    ) -> std::result::Result<Vec<AddedColumn>, OutOfMemory> {
        let mut columns = Vec::new();
        let mut push = |values| columns.push(AddedColumn { values, validity: validity.clone() });
        let mut rows = None;
        if let Some((mut ids, row_offsets)) = encoded.ids {
            // The column keeps the whole capacity, much of which may be unused.
            ids.shrink_to_fit();
            let row_offsets = Arc::new(row_offsets);
            rows = Some(Arc::clone(&row_offsets));
            push(Values::Lists(row_offsets, Arc::new(self.options.dtype.items(ids)?)));
        }
        if self.options.count_column.is_some() {
            push(Values::Numbers(Arc::new(encoded.counts)));
        }
        if let (Some((starts, ends)), Some(rows)) = (encoded.offsets, rows) {
            for items in [starts, ends] {
                push(Values::Lists(Arc::clone(&rows), Arc::new(Items::U32(items))));
            }
        }
        Ok(columns)
    }

    /// An error in a row, with the number of the row.
    fn in_row(&self, mut error: Error, row: usize, first_row: u64) -> Error {
        error.field = FieldPath::default();
        error.at(format!("row {} of column {:?}", first_row + row as u64, self.options.column))
    }

    fn broken(&self, error: ColumnError) -> Error {
        let reason = match error {
            ColumnError::Broken(reason) | ColumnError::Stream(reason) => reason,
            ColumnError::Type(found) => format!("it is of type {found:?}"),
            ColumnError::Released => "it was released".to_owned(),
        };
        Error::argument(format!("column {:?} is no sound Arrow array: {reason}", self.options.column))
    }
}

/// An error in a text, with its position in characters if the text has these.
fn located(error: Error, bytes: Option<&[u8]>, is_text: bool) -> Error {
    match bytes.map(std::str::from_utf8) {
        Some(Ok(text)) if is_text && !matches!(error.kind, Kind::Argument(_)) => {
            PyText::Str { text: text.into(), pairs: Vec::new() }.locate(error)
        }
        _ => error,
    }
}

/// A bit for each row that is not null.
fn validity(texts: &[Option<&[u8]>]) -> std::result::Result<Vec<u8>, OutOfMemory> {
    let mut bits = try_alloc::filled(0u8, texts.len().div_ceil(8))?;
    for (row, _) in texts.iter().enumerate().filter(|(_, text)| text.is_some()) {
        bits[row / 8] |= 1 << (row % 8);
    }
    Ok(bits)
}

/// The names of the columns, for an error.
fn names(data: &Field) -> String {
    let all = data.children();
    if all.is_empty() {
        return "no columns".to_owned();
    }
    let mut names: Vec<String> =
        all.iter().take(MAX_NAMES).map(|field| format!("{:?}", field.name())).collect();
    if all.len() > MAX_NAMES {
        names.push(format!("and {} more", all.len() - MAX_NAMES));
    }
    names.join(", ")
}

impl Dtype {
    /// Ids as numbers of this type.
    fn items(self, ids: Vec<TokenId>) -> std::result::Result<Items, OutOfMemory> {
        fn of<T>(
            ids: Vec<TokenId>,
            convert: impl Fn(TokenId) -> T,
        ) -> std::result::Result<Vec<T>, OutOfMemory> {
            let mut converted = try_alloc::vec(ids.len())?;
            converted.extend(ids.into_iter().map(convert));
            Ok(converted)
        }
        Ok(match self {
            Self::U16 => Items::U16(of(ids, |id| id as u16)?),
            Self::U32 => Items::U32(ids),
            Self::I32 => Items::I32(of(ids, |id| id as i32)?),
            Self::I64 => Items::I64(of(ids, i64::from)?),
            Self::U64 => Items::U64(of(ids, u64::from)?),
        })
    }
}
