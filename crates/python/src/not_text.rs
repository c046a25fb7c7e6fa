//! Detects files that are not text.
use pyo3::prelude::*;
use tokenmill_io::corpus;

/// What a file is instead of UTF-8 text, and how it becomes one, where its first bytes, ten at least, show
/// it: compressed, or UTF-16 or UTF-32 with a byte-order mark. Else None.
#[pyfunction]
#[pyo3(signature = (start, /))]
pub(crate) fn not_text(start: &[u8]) -> Option<String> {
    corpus::not_text(start)
}
