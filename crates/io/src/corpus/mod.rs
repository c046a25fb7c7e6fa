//! Corpora: files in, documents out, in batches and within bounded memory.
mod decode;
mod pipes;
mod text;

pub use decode::Errors;
pub use text::{CorpusReport, Documents, read_files};
