//! Flat tables and vector routines behind safe types. This crate knows no tokenizer words, and it
//! is the only one where unsafe code may live, each block with its reason and each routine with a
//! scalar twin.

mod automaton;
pub mod cpu;
mod pair_table;
pub mod planes;
mod prefetch;
pub mod short_table;

pub use automaton::{Automaton, NO_KEY, State};
pub use pair_table::{Entry, PairTable};
