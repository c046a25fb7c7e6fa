//! Corpora. In: files. Out: documents, in batches and in bounded memory.
mod decode;
mod not_text;
mod pipes;
mod text;

pub use decode::Errors;
pub use not_text::not_text;
pub use text::{CorpusReport, Documents, read_files};
