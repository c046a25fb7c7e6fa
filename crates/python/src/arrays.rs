//! Writes rows into arrays of numpy: padded values, masks and positions, with the lock released.
use numpy::ndarray::{ArrayViewMut2, Axis};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use tokenmill_core::description::Side;
use tokenmill_core::error::{Error, Result};
use tokenmill_core::packing::best_fit;
use tokenmill_core::postprocess::{Number, pad_mask, pad_positions, pad_values};
use tokenmill_core::threads;
use tokenmill_core::try_alloc;
use tokenmill_core::watch::{Ticker, Watch};

use crate::argument_values::{self, Given, look};
use crate::buffer::numbers;
use crate::exceptions::{gather, out_of_memory};
use crate::output::{self, Dtype};
use crate::watch::run;

/// Writes the cells of a row, given its index.
pub(crate) trait WriteRow: Sync {
    fn write<T: Number>(&self, row: usize, cells: &mut [T]);
}

/// As [`WriteRow`], for cells of any type: what is around it need not be compiled for each writer.
trait WriteCells: Sync {
    fn write_cells(&self, row: usize, cells: Cells<'_>);
}

/// A type that cells have.
trait Cell: Number + Element {
    fn cells(cells: &mut [Self]) -> Cells<'_>;
}

macro_rules! cells {
    ($($of:ident $kind:ident),*) => {
        /// Cells one after the other.
        enum Cells<'a> {
            $($kind(&'a mut [$of]),)*
        }

        $(impl Cell for $of {
            fn cells(cells: &mut [Self]) -> Cells<'_> {
                Cells::$kind(cells)
            }
        })*

        impl<W: WriteRow> WriteCells for W {
            fn write_cells(&self, row: usize, cells: Cells<'_>) {
                match cells {
                    $(Cells::$kind(cells) => self.write(row, cells),)*
                }
            }
        }
    };
}

cells!(u16 U16, u32 U32, i32 I32, i64 I64, u64 U64);

/// Rows of an array, of any type.
trait Rows: Send {
    fn write(&mut self, first: usize, writer: &dyn WriteCells, ticker: &mut Ticker<'_>) -> Result<()>;
}

impl<T: Cell> Rows for ArrayViewMut2<'_, T> {
    fn write(&mut self, first: usize, writer: &dyn WriteCells, ticker: &mut Ticker<'_>) -> Result<()> {
        for (row, mut cells) in (first..).zip(self.axis_iter_mut(Axis(0))) {
            ticker.spend(cells.len() + 16)?;
            let cells = cells.as_slice_mut();
            writer.write_cells(row, T::cells(cells.ok_or_else(|| Error::internal("a row with gaps"))?));
        }
        Ok(())
    }
}

/// Some rows of an array, which one thread writes.
struct Share<'a> {
    first: usize,
    rows: Box<dyn Rows + 'a>,
    is_done: bool,
}

impl Share<'_> {
    fn write(&mut self, writer: &dyn WriteCells, watch: &dyn Watch) -> Result<()> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(());
        }
        self.rows.write(self.first, writer, &mut Ticker::new(watch))
    }
}

/// Writes every row of `out`, an array of two dimensions whose rows have no gaps.
pub(crate) fn write_rows(out: &Bound<'_, PyAny>, threads: usize, writer: &impl WriteRow) -> PyResult<()> {
    match output::check_out(out, None, None)? {
        Dtype::U16 => write_cells::<u16>(out, threads, writer),
        Dtype::U32 => write_cells::<u32>(out, threads, writer),
        Dtype::I32 => write_cells::<i32>(out, threads, writer),
        Dtype::I64 => write_cells::<i64>(out, threads, writer),
        Dtype::U64 => write_cells::<u64>(out, threads, writer),
    }
}

fn write_cells<T: Cell>(out: &Bound<'_, PyAny>, threads: usize, writer: &dyn WriteCells) -> PyResult<()> {
    let array = out.cast::<PyArray2<T>>();
    let array = array.map_err(|_| PyTypeError::new_err("out takes a numpy array of two dimensions"))?;
    let mut array = array
        .try_readwrite()
        .map_err(|error| PyValueError::new_err(format!("out cannot be written to: {error}")))?;
    let mut all = array.as_array_mut();
    if all.is_empty() {
        return Ok(());
    }
    let bytes = all.len() * size_of::<T>();
    let threads = threads::threads_for(bytes, threads);
    let rows = all.nrows().div_ceil(threads).max(1);
    if all.ncols() > 1 && all.strides()[1] != 1 {
        return Err(PyValueError::new_err("the cells of a row of out lie apart; give an array in C order"));
    }
    let share = |(i, of_thread)| Share { first: i * rows, rows: Box::new(of_thread), is_done: false };
    let shares = all.axis_chunks_iter_mut(Axis(0), rows).enumerate().map(share).collect();
    write_shares(out.py(), bytes, shares, writer)
}

fn write_shares(
    py: Python<'_>,
    bytes: usize,
    mut shares: Vec<Share<'_>>,
    writer: &dyn WriteCells,
) -> PyResult<()> {
    run(py, bytes, |watch| {
        threads::run_with(shares.len(), &mut shares, watch, |_, share, watch| share.write(writer, watch))?;
        // A thread that started late may have found no unit left, so that its share is not written yet.
        shares.iter_mut().try_for_each(|share| share.write(writer, watch))
    })
}

fn side(is_left: bool) -> Side {
    if is_left { Side::Left } else { Side::Right }
}

/// The bounds of rows within `count` values: the start of each, and the end of the last one.
struct Bounds(Vec<usize>);

impl Bounds {
    fn new(row_offsets: &Bound<'_, PyAny>, count: Option<usize>) -> PyResult<Self> {
        let given = numbers(row_offsets.py(), &PyBuffer::<i64>::get(row_offsets)?)?;
        let refused = || PyValueError::new_err("row_offsets do not fit the values");
        let bound = |bound: i64| usize::try_from(bound).map_err(|_| refused());
        let bounds = gather(given.into_iter().map(bound))?;
        let last = *bounds.last().ok_or_else(refused)?;
        if bounds.is_sorted() && count.is_none_or(|count| last <= count) {
            Ok(Self(bounds))
        } else {
            Err(refused())
        }
    }

    fn of(&self, row: usize) -> std::ops::Range<usize> {
        self.0[row]..self.0[row + 1]
    }

    /// Checks that `out` has one row for each of these, with enough cells.
    fn fit(&self, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let (rows, cells): (usize, usize) = out.getattr("shape")?.extract()?;
        let longest = self.0.windows(2).map(|bounds| bounds[1] - bounds[0]).max().unwrap_or(0);
        if rows == self.0.len() - 1 && longest <= cells {
            return Ok(());
        }
        let reason = format!(
            "out has {rows} rows of {cells} cells, but there are {} rows of up to {longest} values",
            self.0.len() - 1
        );
        Err(PyValueError::new_err(reason))
    }
}

struct Padded<'a, S> {
    values: &'a [S],
    bounds: Bounds,
    pad: i64,
    side: Side,
}

impl<S: Copy + Into<i64> + Sync> WriteRow for Padded<'_, S> {
    fn write<T: Number>(&self, row: usize, cells: &mut [T]) {
        let values = &self.values[self.bounds.of(row)];
        pad_values(values, |value| T::of(value.into()), T::of(self.pad), self.side, cells);
    }
}

/// Writes rows of values (int64 or uint32) into `out`, of two dimensions, padded with `pad`.
#[pyfunction]
#[pyo3(signature = (values, row_offsets, out, pad, is_left, num_threads, /))]
pub(crate) fn pad_rows<'py>(
    values: &Bound<'py, PyAny>,
    row_offsets: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
    pad: i64,
    is_left: bool,
    num_threads: Given<'py>,
) -> PyResult<()> {
    let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
    if let Some(ids) = output::flat_ids(values)? {
        let values = ids.as_slice()?;
        let bounds = Bounds::new(row_offsets, Some(values.len()))?;
        bounds.fit(out)?;
        return write_rows(out, threads, &Padded { values, bounds, pad, side: side(is_left) });
    }
    let values = values.cast::<PyArray1<i64>>().map_err(PyErr::from)?.try_readonly();
    let values = values.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let values = values.as_slice()?;
    let bounds = Bounds::new(row_offsets, Some(values.len()))?;
    bounds.fit(out)?;
    write_rows(out, threads, &Padded { values, bounds, pad, side: side(is_left) })
}

struct Mask {
    bounds: Bounds,
    side: Side,
}

impl WriteRow for Mask {
    fn write<T: Number>(&self, row: usize, cells: &mut [T]) {
        pad_mask(self.bounds.of(row).len(), self.side, cells);
    }
}

/// Writes 1 for each value of a row and 0 for padding into `out`, of two dimensions.
#[pyfunction]
#[pyo3(signature = (row_offsets, out, is_left, num_threads, /))]
pub(crate) fn mask_rows<'py>(
    row_offsets: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
    is_left: bool,
    num_threads: Given<'py>,
) -> PyResult<()> {
    let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
    let bounds = Bounds::new(row_offsets, None)?;
    bounds.fit(out)?;
    write_rows(out, threads, &Mask { bounds, side: side(is_left) })
}

struct Positions {
    bounds: Bounds,
    first: Vec<i64>,
    side: Side,
}

impl WriteRow for Positions {
    fn write<T: Number>(&self, row: usize, cells: &mut [T]) {
        pad_positions(self.bounds.of(row).len(), self.first[row], self.side, cells);
    }
}

/// Writes the positions of the values of each row into `out`, of two dimensions. `first` has the first
/// position of each row, int64.
#[pyfunction]
#[pyo3(signature = (row_offsets, first, out, is_left, num_threads, /))]
pub(crate) fn position_rows<'py>(
    row_offsets: &Bound<'py, PyAny>,
    first: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
    is_left: bool,
    num_threads: Given<'py>,
) -> PyResult<()> {
    let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
    let bounds = Bounds::new(row_offsets, None)?;
    bounds.fit(out)?;
    let first = numbers(out.py(), &PyBuffer::<i64>::get(first)?)?;
    if first.len() + 1 != bounds.0.len() {
        return Err(PyValueError::new_err("first has a position for each row"));
    }
    write_rows(out, threads, &Positions { bounds, first, side: side(is_left) })
}

/// The values of lists of `int` one after the other, and the bounds of the lists, as int64 arrays. None if
/// a row is no list, or an item no plain `int` of 64 bits.
#[pyfunction]
#[pyo3(signature = (rows, /))]
pub(crate) fn flat_rows<'py>(rows: &Bound<'py, PyList>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = rows.py();
    let (mut values, mut bounds) = (Vec::new(), vec![0]);
    for row in rows.iter() {
        let Ok(row) = row.cast_exact::<PyList>() else { return Ok(None) };
        try_alloc::reserve(&mut values, row.len()).map_err(out_of_memory)?;
        for item in row.iter() {
            let Ok(number) = item.cast_exact::<PyInt>() else { return Ok(None) };
            let Ok(number) = number.extract::<i64>() else { return Ok(None) };
            try_alloc::push(&mut values, number).map_err(out_of_memory)?;
            look(py, values.len())?;
        }
        try_alloc::push(&mut bounds, values.len() as i64).map_err(out_of_memory)?;
    }
    let (values, bounds) = (output::int64_array(py, values)?, output::int64_array(py, bounds)?);
    Ok(Some(PyTuple::new(py, [values, bounds])?))
}

/// The window of each piece, by best fit; `lengths` is an int64 array.
#[pyfunction]
#[pyo3(signature = (lengths, window, /))]
pub(crate) fn best_fit_windows<'py>(
    py: Python<'py>,
    lengths: &Bound<'py, PyAny>,
    window: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let lengths = numbers(py, &PyBuffer::<i64>::get(lengths)?)?;
    let length = |&length| Ok(usize::try_from(length)?);
    let lengths = gather(lengths.iter().map(length))?;
    let windows = run(py, lengths.len() * 64, |watch| best_fit(&lengths, window, watch))?;
    let windows = gather(windows.into_iter().map(|window| Ok(window as i64)))?;
    output::int64_array(py, windows)
}
