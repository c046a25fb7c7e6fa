//! The tokenizer itself: what a tokenizer *is* (a [`description`]), how it is compiled
//! ([`compile`]), how it runs ([`engine`]) and how one is learned from text ([`train`]).
//!
//! Layers; each imports only what is below it, which `tests/unit/test_floors.py` checks:
//!
//! ```text
//! compare, surgery, train, budget, placeholder -> engine -> compile -> model -> vocabulary, special, pattern, hooks
//!       -> description -> error, ids, span, watch
//! ```
//!
//! This crate opens no files and contains no unsafe code.
#![forbid(unsafe_code)]

pub mod aligned;
mod bits;
pub mod budget;
pub mod byte_alphabet;
pub mod charsmap;
pub mod compare;
pub mod compile;
pub mod decode;
mod decoded;
pub mod description;
pub mod early;
pub mod engine;
pub mod error;
pub mod hooks;
pub mod ids;
pub mod model;
pub mod normalize;
pub mod packing;
pub mod pattern;
pub mod placeholder;
pub mod postprocess;
pub mod pretokenize;
pub mod span;
pub mod special;
pub mod surgery;
pub mod threads;
pub mod train;
pub mod vocabulary;
pub mod watch;

#[cfg(unix)]
pub use tokenmill_kernels::is_readable_within;
pub use tokenmill_kernels::{MadeOnce, U32Array, cpu, image, sorting, try_alloc};
