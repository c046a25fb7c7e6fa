//! Flat tables, vector routines and memory allocation with safe interfaces.
//!
//! In: bytes and numbers. Out: bytes and numbers. This crate knows nothing about tokenizers. Apart from the
//! Python binding it is the only Rust crate that may contain unsafe code, and each unsafe block says why it is
//! sound. Every vector routine has a scalar twin with the same results.

mod arrow;
mod ascii_pairs;
mod automaton;
pub mod batch_merge;
#[cfg(target_arch = "x86_64")]
mod byte_compress;
mod char_starts;
mod code_units;
pub mod cpu;
mod double_array;
mod hashing;
pub mod image;
mod made_once;
#[cfg(unix)]
mod mapped_file;
mod merge_table;
pub mod pages;
mod pair_table;
pub mod planes;
mod prefetch;
#[cfg(unix)]
mod readable;
mod reorder_buffer;
mod repeat;
pub mod short_table;
pub mod sorting;
mod table;
mod thread_time;
pub mod try_alloc;
mod u32_array;
mod utf8;
mod word_bits;

pub use arrow::{
    AddedColumn, ArrowArray, ArrowSchema, ArrowStream, BatchSource, ColumnError, Field, ImportedArray,
    ImportedStream, Items, StreamError, StringColumn, Values, exported_stream, extended,
};
pub use ascii_pairs::AsciiPairs;
pub use automaton::{Automaton, NO_KEY, State};
pub use char_starts::CharStarts;
pub use code_units::{CodeUnit, UnitWidth, append_code_units, fill_code_units, guess_length, measure};
pub use made_once::MadeOnce;
pub use merge_table::{MergeTable, NO_MERGE};
pub use pair_table::{Entry, PairTable};
pub use prefetch::{Prefetcher, prefetch};
#[cfg(unix)]
pub use readable::is_readable_within;
pub use reorder_buffer::ReorderBuffer;
pub use repeat::end_of_repeat;
pub use thread_time::thread_time;
pub use try_alloc::OutOfMemory;
pub use u32_array::U32Array;
pub use word_bits::WordBits;
