//! A complete and stable binary form of a description, for pickling.
//!
//! ```text
//! magic, version u8, sha256 of the rest (32), then the fields in order;
//! integers are little-endian, strings and lists begin with their length as u64
//! ```
pub mod encodings;
mod fields;
mod header;
pub(crate) mod shape;

use tokenmill_core::description::Description;
use tokenmill_core::error::Result;

use header::Header;
use shape::{Reader, State, Writer};

const HEADER: Header = Header { magic: b"tokenmill", version: 4, digest: 32, what: "tokenmill tokenizer" };

/// The binary form of a description.
pub fn write(description: &Description) -> Vec<u8> {
    let mut out = Writer(HEADER.space());
    description.write(&mut out);
    HEADER.seal(out.0)
}

/// Parses the binary form.
///
/// # Errors
/// A format error for truncated or damaged bytes, another version, or other data.
pub fn parse(bytes: &[u8]) -> Result<Description> {
    Description::read(&mut Reader(HEADER.open(bytes)?))
}
