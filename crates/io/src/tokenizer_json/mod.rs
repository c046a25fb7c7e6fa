//! `tokenizer.json`, the format of the tokenizers library. A setting that is not reproduced exactly
//! is a format error naming the field; it is never skipped.
//!
//! `file` has the shape of the whole; a room for each stage reads and writes its components, with
//! `fields` and `patterns` for what they share; `read` and `write` put the whole together.
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
mod unknown_keys;
mod write;

pub(crate) use file::{AddedTokenEntry, File, MergeEntries, Model, VocabEntries, behind_the_end, json_error};
pub(crate) use models::{Kind, report_shared_ids, set_scores};
pub(crate) use numbers::nearest_scores;
pub(crate) use read::{describe, parse, read};
pub(crate) use write::{check_written_forms, json_string, write};
