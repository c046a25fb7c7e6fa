//! `tokenizer.json`, the format of the tokenizers library. In: bytes. Out: a description, and back.
//! A setting that is not supported exactly is a format error that names the field; it is never
//! ignored.
//!
//! `file` has the structure of the file; a module for each stage reads and writes its components,
//! with `fields` and `patterns` for common parts; `read` and `write` combine them.
mod added;
mod decoders;
mod fields;
mod file;
mod kinds;
mod known_keys;
mod limits;
mod loose_fields;
mod models;
mod normalizers;
mod numbers;
mod patterns;
mod post_processors;
mod pre_tokenizers;
mod read;
mod stages;
mod unknown_keys;
mod write;

pub(crate) use file::{AddedTokenEntry, File, MergeEntries, Model, VocabEntries, json_error, trailing_text};
pub(crate) use models::{Kind, report_shared_ids, set_scores};
pub(crate) use numbers::nearest_scores;
pub(crate) use read::{describe, parse, read};
pub use stages::stages;
pub(crate) use write::{check_written_forms, json_string, write};
