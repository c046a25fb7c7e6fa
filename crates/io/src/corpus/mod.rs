//! Corpora. In: files, and streams of bytes or rows that others open. Out: documents, in batches and in bounded memory.
mod decode;
mod json_field;
mod json_lines;
mod not_text;
mod pipes;
mod reader;
mod text;

pub use decode::Errors;
pub use json_field::JsonField;
pub use json_lines::json_rows;
pub use not_text::not_text;
pub use pipes::refuse_pipes_given_twice;
pub use reader::{CorpusReader, CorpusReport, Documents, open};
pub use text::read_files;
