//! Corpora. In: files. Out: documents, in batches and in bounded memory.
mod compressed;
mod decode;
mod pipes;
mod text;

pub use decode::Errors;
pub use text::{CorpusReport, Documents, read_files};
