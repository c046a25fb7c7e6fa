//! `tokenizer.json`, the format of the tokenizers library: byte-level BPE and character BPE
//! with one split. A setting that is not reproduced exactly is a format error naming the field;
//! it is never skipped.
//!
//! Field names live in `file`, meaning in `read` and `write`.
mod file;
mod read;
mod write;

pub(crate) use file::{VocabEntries, json_error};
pub(crate) use read::parse;
pub(crate) use write::{check_written_forms, json_string, write};
