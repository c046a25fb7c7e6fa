//! What the targets share: tokenizers made from bytes, the laws that hold for each, a limit on work.
//!
//! A target is one file in `targets/`. A reader's target is given the bytes of a file; the others are
//! given bytes from which [`making`] makes a small tokenizer and a text. A broken law is a panic.
pub mod laws;
pub mod making;
pub mod patience;
pub mod readers;
