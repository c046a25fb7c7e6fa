//! Reads tokenizer files into descriptions, and writes them. The only Rust crate that opens files.
//!
//! A format is one file or folder: `parse` turns bytes into a [`Description`], `write` turns one
//! into bytes. `load` detects the format from the content, `save` takes it from the caller.
//!
//! [`Description`]: tokenmill_core::description::Description
#![forbid(unsafe_code)]

mod byte_tokens;
mod chat_files;
mod contents;
pub mod corpus;
mod dialects;
mod files;
pub mod fingerprint;
mod first_bytes;
mod folder;
mod formats;
mod gaps;
mod gguf;
mod image;
mod known_files;
mod limits;
mod load;
mod loose_base64;
mod main_file;
mod manifest;
pub mod memory;
mod merges;
mod names;
pub mod ngram_model;
mod ranks;
mod report;
mod save;
mod sentencepiece;
pub mod state;
mod tables;
mod tekken;
mod templates;
mod texts;
mod tiktoken;
mod tokenizer_json;
mod verify;
mod vocab_merges;
mod vocab_txt;

pub use load::{LoadOptions, load, load_state, load_tokenizer_json, parse_bytes};
pub use manifest::{Annotations, Mismatch};
pub use report::{Finding, Report};
pub use save::{Format, SaveOptions, manifest_of, save};
pub use sentencepiece::NamedMap;
pub use tokenizer_json::stages;
pub use verify::{Verification, manifest_of_folder, verify};
