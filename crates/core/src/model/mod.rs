//! From one pretoken to ids.
pub mod bpe;
