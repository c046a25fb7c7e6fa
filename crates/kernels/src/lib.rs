//! Flat tables behind safe types. This crate knows no tokenizer words, and it is the only one
//! where unsafe code may live, each block with its reason and a scalar twin.
#![deny(unsafe_code)]

mod automaton;
mod pair_table;
mod prefetch;
pub mod short_table;

pub use automaton::{Automaton, NO_KEY, State};
pub use pair_table::{Entry, PairTable};
