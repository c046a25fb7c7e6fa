//! A complete and stable binary form of a description, for pickling.
//!
//! ```text
//! magic, version u8, sha256 of the rest (32), then the fields in order;
//! integers are little-endian, strings and lists begin with their length as u64
//! ```
pub mod encodings;
mod fields;
pub(crate) mod shape;

use sha2::{Digest, Sha256};
use tokenmill_core::description::Description;
use tokenmill_core::error::{Defect, Error, Result};

use shape::{Reader, State, Writer};

const MAGIC: &[u8] = b"tokenmill";
const VERSION: u8 = 3;
const HEADER: usize = MAGIC.len() + 1 + 32;

/// The binary form of a description.
pub fn write(description: &Description) -> Vec<u8> {
    let mut out = Writer(vec![0; HEADER]);
    description.write(&mut out);
    let Writer(mut bytes) = out;
    let digest = Sha256::digest(&bytes[HEADER..]);
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[MAGIC.len()] = VERSION;
    bytes[MAGIC.len() + 1..HEADER].copy_from_slice(&digest);
    bytes
}

/// Parses the binary form.
///
/// # Errors
/// A format error for truncated or damaged bytes, another version, or other data.
pub fn parse(bytes: &[u8]) -> Result<Description> {
    let Some(header) = bytes.get(..HEADER).filter(|header| header.starts_with(MAGIC)) else {
        return Err(Error::format(Defect::WrongKind, "these bytes are not a tokenmill tokenizer"));
    };
    if header[MAGIC.len()] != VERSION {
        let reason = format!(
            "version {} of the state is not known; this tokenmill reads {VERSION}",
            header[MAGIC.len()]
        );
        return Err(Error::format(Defect::Version, reason));
    }
    let body = &bytes[HEADER..];
    if Sha256::digest(body)[..] != header[MAGIC.len() + 1..] {
        return Err(Error::format(
            Defect::Inconsistent,
            "the checksum does not fit: the bytes were changed or cut",
        ));
    }
    Description::read(&mut Reader(body))
}
