//! Columns of strings from other libraries, through Arrow's C interfaces.
//!
//! In: what speaks these interfaces: arrays, batches, tables and streams. Out: [the texts of a column](Columns), or
//! [the same data with more columns](batches).
mod batches;
mod encoder;
mod strings;

pub(crate) use batches::{ArrowBatch, ArrowStream, encode_arrow};
pub(crate) use encoder::ColumnOptions;
pub(crate) use strings::Columns;
