//! Parts that are looked up as they come against all stages.
mod long_words;
mod marks;
mod pieces;
mod segments;
mod sums;
mod words;

use proptest::prelude::*;
use tokenmill_kernels::Prefetcher;

use crate::engine::input::Part;
use crate::engine::lookup::tests::OneByOne;
use crate::engine::offsets::tests::check_spans;
use crate::engine::{Engine, Special, Text, UntrustedRanges};
use crate::watch::Unwatched;

/// The ids or the error of a text, twice, against those by all stages.
fn check(engine: &Engine, text: &str) -> Result<(), TestCaseError> {
    check_under(engine, text, &Special::Parse)?;
    check_spans(engine, text.as_bytes())
}

/// As [`check`], under a policy, without spans.
fn check_under(engine: &Engine, text: &str, special: &Special) -> Result<(), TestCaseError> {
    let text = Text::Str(text);
    let mut want = OneByOne::default();
    let recognizer = engine.recognizer(special).unwrap();
    let done = engine.encode_pretokens(text, &recognizer, UntrustedRanges::none(), &Unwatched, &mut want);
    let want = done.map(|()| want.0).map_err(|error| error.to_string());
    // What misses in the first pass hits in the second.
    for _ in 0..2 {
        let mut ids = Vec::new();
        let done = engine.encode(text, special, 1, &Unwatched, &mut ids);
        prop_assert_eq!(&done.map(|()| ids).map_err(|error| error.to_string()), &want);
        let count = engine.count(text, special, 1, &Unwatched);
        prop_assert_eq!(count.ok(), want.as_ref().ok().map(Vec::len));
    }
    Ok(())
}

/// The parts of a text between cuts, each encoded by itself.
fn check_parts(engine: &Engine, text: &str, size: usize) -> Result<(), TestCaseError> {
    if engine.stages.raw.is_none() {
        return Ok(());
    }
    prop_assert!(engine.takes_blocks(&Special::Text));
    let mut want = Vec::new();
    if engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut want).is_err() {
        return Ok(());
    }
    let (mut ids, mut start) = (Vec::new(), 0);
    let recognizer = engine.recognizer(&Special::Text).unwrap();
    while start < text.len() {
        let rest = &text[start..];
        let end = engine.safe_cut(rest, size).unwrap_or(rest.len());
        prop_assert!(end >= size.min(rest.len()));
        let part = Part { text: Text::Str(&rest[..end]), follows: start > 0 };
        let trusted = UntrustedRanges::none();
        engine.encode_ids(part, &recognizer, trusted, Prefetcher::default(), &Unwatched, &mut ids).unwrap();
        start += end;
    }
    prop_assert_eq!(ids, want);
    Ok(())
}
