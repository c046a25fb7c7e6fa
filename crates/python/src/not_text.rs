//! Detects files that are not text.
use pyo3::prelude::*;
use tokenmill_io::corpus;

/// Says why a file is not UTF-8 text and how to convert it, if its first bytes (at least ten) show that it
/// is compressed, or UTF-16 or UTF-32 with a byte-order mark. Else None.
#[pyfunction]
#[pyo3(signature = (start, /))]
pub(crate) fn not_text(start: &[u8]) -> Option<String> {
    corpus::not_text(start)
}
