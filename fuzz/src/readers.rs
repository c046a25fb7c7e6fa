//! Reading bytes as a file, and what holds for the tokenizer that comes out.
use std::sync::Arc;

use tokenmill_core::compile::compile;
use tokenmill_core::description::{Description, Split};
use tokenmill_core::engine::{DecodeOptions, Engine, Undefined};
use tokenmill_core::ids::TokenId;
use tokenmill_io::{LoadOptions, parse_bytes, state};

use crate::laws;
use crate::patience::checked;

/// Texts that a tokenizer which was read is tried on.
const TEXTS: [&str; 4] = [
    "",
    "Hello  world\n",
    "\u{301}é한\u{1100}ﬁ 🙂\0▁<s></s>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Reads the bytes of a file of this name, leniently and strictly.
///
/// # Panics
/// Where a law is broken.
pub fn read(name: &str, bytes: &[u8], beside: &[(&str, &[u8])]) {
    // Formats without a split take the caller's, the others refuse it.
    for split in [None, Some(Split::Pattern(r"\s?\w+|\s".to_owned()))] {
        let options = LoadOptions { split, ..LoadOptions::default() };
        let strict = LoadOptions { strict: true, ..options.clone() };
        let lenient = checked("reading", parse_bytes(name, bytes, beside, &options));
        let careful = checked("strict reading", parse_bytes(name, bytes, beside, &strict));
        if let Some((careful, _)) = careful {
            let same = lenient.as_ref().map(|(description, _)| state::write(description));
            assert_eq!(same, Some(state::write(&careful)), "strictness changes the meaning");
        }
        if let Some((description, report)) = lenient {
            assert!(!report.files().is_empty());
            made(description);
        }
    }
}

/// What holds for a description, wherever it came from.
///
/// # Panics
/// Where a law is broken.
pub fn made(description: Description) {
    let bytes = state::write(&description);
    let back = checked("reading the state", state::parse(&bytes));
    assert_eq!(back.as_ref().map(state::write), Some(bytes), "the state of a description");
    let Some(engine) = checked("compiling", compile(description)) else { return };
    compiled(engine);
}

/// What holds for a tokenizer, wherever it came from.
///
/// # Panics
/// Where a law is broken.
pub fn compiled(engine: Engine) {
    for text in TEXTS {
        laws::encode(&engine, text);
    }
    // Every token, the first hundred of them.
    let mut ids: Vec<TokenId> = engine.vocabulary().ids();
    ids.truncate(100);
    ids.push(TokenId::MAX);
    let engine = Arc::new(engine);
    let options = DecodeOptions { undefined: Undefined::Replace, ..DecodeOptions::default() };
    laws::decode(&engine, &ids, options);
    laws::stream(&engine, &ids, &[1, 2, 3], options);
}
