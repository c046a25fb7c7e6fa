//! GGUF files. In: a file. Out: the description in its keys, and back; tensors are never read nor written.
mod chat;
mod container;
mod keys;
mod metadata;
mod names;
mod pre;
mod read;
#[cfg(test)]
mod tests;
mod whole;
mod write;

use std::io::Read as _;

use tokenmill_core::description::{Description, Split};
use tokenmill_core::error::{Defect, Error, Kind, Result};

use crate::files::Source;
use crate::report::Report;
pub(crate) use container::MAGIC;
pub(crate) use read::parse;
pub(crate) use write::write;

/// Limit of the key section in bytes.
const HEAD_LIMIT: u64 = 1 << 30;

/// Bytes read at first; most vocabularies are smaller.
const FIRST_PART: u64 = 32 << 20;

/// Reads the file as far as its keys reach, since the whole may be larger than memory. `bytes` were
/// read from it before.
///
/// # Errors
/// A format error that names the key; errors of the operating system.
pub(crate) fn load(
    mut file: Source<'_>,
    mut bytes: Vec<u8>,
    split: Option<&Split>,
    report: &mut Report,
) -> Result<Description> {
    let mut part = FIRST_PART;
    loop {
        let before = bytes.len();
        file.by_ref().take(part).read_to_end(&mut bytes)?;
        let is_whole = ((bytes.len() - before) as u64) < part;
        match parse(&bytes, split, report) {
            Err(error) if !is_whole && is_cut(&error) => {
                part = bytes.len() as u64;
                if part >= HEAD_LIMIT {
                    return Err(Error::limit("the keys are longer than 1 GiB", HEAD_LIMIT));
                }
            }
            done => return done,
        }
    }
}

fn is_cut(error: &Error) -> bool {
    matches!(error.kind, Kind::Format { defect: Defect::Truncated, .. })
}
