//! Chunks, compared with counting every part of a text.
use std::sync::Arc;

use proptest::prelude::*;

use super::borders::Borders;
use super::{Border, ChunkOptions, ChunkStream, Oversize};
use crate::budget::tests::engine;
use crate::description::Side;
use crate::engine::{Engine, Special, Text};
use crate::error::Kind;
use crate::span::Span;
use crate::watch::Unwatched;

fn ids(engine: &Engine, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut ids).unwrap();
    ids
}

/// All borders of a text, with 0 and the end.
fn borders(border: Border, text: &str) -> Vec<usize> {
    let mut borders = Borders::new(border, text, 0);
    let mut all = vec![0];
    while all.last() < Some(&text.len()) {
        all.push(borders.first(all[all.len() - 1] + 1));
    }
    all
}

/// The chunks by the law: `None` where a character does not fit.
fn chunks(engine: &Engine, text: &str, options: &ChunkOptions) -> Option<Vec<(usize, usize)>> {
    let fits = |start: usize, end: usize, limit: usize| ids(engine, &text[start..end]).len() <= limit;
    let kinds: Vec<Border> = std::iter::successors(Some(options.border), |border| border.finer()).collect();
    let all: Vec<Vec<usize>> = kinds.iter().map(|&border| borders(border, text)).collect();
    let longest = |level: usize, start: usize, floor: usize| {
        let ends = all[level].iter().copied().rev().take_while(|&end| end > floor);
        ends.into_iter().find(|&end| fits(start, end, options.limit))
    };
    let from = |start: usize| {
        let levels = if options.oversize == Oversize::Split { all.len() } else { 1 };
        let found = (0..levels).find_map(|level| longest(level, start, start));
        let keep = || {
            let next = all[0].iter().copied().find(|&border| border > start);
            next.filter(|_| options.oversize == Oversize::Keep)
        };
        found.or_else(keep)
    };
    let mut found: Vec<(usize, usize)> = Vec::new();
    while found.last().map_or(0, |last| last.1) < text.len() {
        let Some(&(start, end)) = found.last() else {
            found.push((0, from(0)?));
            continue;
        };
        let starts = all[0].iter().copied().filter(|&at| start < at && at < end);
        let overlapping = starts.filter(|&at| fits(at, end, options.overlap)).collect::<Vec<_>>();
        let next = overlapping.into_iter().find_map(|at| longest(0, at, end).map(|to| (at, to)));
        found.push(match next {
            Some(next) if options.overlap > 0 => next,
            _ => (end, from(end)?),
        });
    }
    Some(found)
}

fn check(engine: &Engine, text: &str, options: &ChunkOptions) -> Result<(), TestCaseError> {
    let found = engine.chunk(text, options, &Special::Text, 1, &Unwatched);
    let want = chunks(engine, text, options);
    match (found, want) {
        (Ok(found), Some(want)) => {
            let spans: Vec<_> = found.spans.iter().map(|span| (span.start, span.end)).collect();
            prop_assert_eq!(spans, want, "{:?}", options);
            let mut from = 0;
            for (span, &end) in found.spans.iter().zip(&found.ends) {
                prop_assert_eq!(&found.ids[from..end], ids(engine, &text[span.start..span.end]));
                from = end;
            }
        }
        (Err(error), None) => {
            let is_budget = matches!(error.kind, Kind::Budget { .. });
            prop_assert!(is_budget, "{}", error);
        }
        (done, want) => prop_assert!(false, "{:?} {:?}", done, want),
    }
    Ok(())
}

/// A text that is read in parts has the chunks of the whole.
fn check_stream(
    engine: &Arc<Engine>,
    text: &str,
    options: &ChunkOptions,
    size: usize,
) -> Result<(), TestCaseError> {
    let want = engine.chunk(text, options, &Special::Text, 1, &Unwatched);
    let mut stream = ChunkStream::new(engine.clone(), *options, Special::Text, 2).unwrap();
    let (mut spans, mut all) = (Vec::new(), Vec::new());
    let mut push = |part: &[u8], is_last| {
        stream.push(part, is_last, &Unwatched).map(|found| {
            for span in &found.chunks.spans {
                let (bytes, characters) = found.before;
                assert_eq!(found.text[span.start..span.end], text[bytes + span.start..bytes + span.end]);
                assert_eq!(characters, text[..bytes].chars().count());
                spans.push(Span::new(bytes + span.start, bytes + span.end));
            }
            all.extend(found.chunks.ids);
        })
    };
    let mut parts = text.as_bytes().chunks(size);
    let done = parts.try_for_each(|part| push(part, false)).and_then(|()| push(b"", true));
    match (want, done) {
        (Ok(want), Ok(())) => prop_assert_eq!((want.spans, want.ids), (spans, all), "{:?}", options),
        (Err(_), Err(_)) => {}
        (want, done) => prop_assert!(false, "{:?} {:?}", want, done),
    }
    Ok(())
}

fn check_truncate(engine: &Engine, text: &str, limit: usize, border: Border) -> Result<(), TestCaseError> {
    let all = borders(border, text);
    let cut =
        |side| engine.truncate(text, (limit, side), border, (&Special::Text, false), &Unwatched).unwrap();
    let right = all.iter().rev().find(|&&end| ids(engine, &text[..end]).len() <= limit);
    let found = cut(Side::Right);
    prop_assert_eq!((found.span.start, Some(&found.span.end)), (0, right));
    prop_assert_eq!(found.ids, ids(engine, &text[..found.span.end]));
    let left = all.iter().find(|&&start| ids(engine, &text[start..]).len() <= limit);
    let found = cut(Side::Left);
    prop_assert_eq!((Some(&found.span.start), found.span.end), (left, text.len()));
    prop_assert_eq!(found.ids, ids(engine, &text[found.span.start..]));
    Ok(())
}

fn text() -> impl Strategy<Value = String> {
    let pieces =
        "the|'s|  ? ?|\\n|\\r|[0-9]{1,4}|\u{e9}|\u{8a9e}|\u{1F98A}|A|\\. |ab|b|aaaa|\\PC|!!|\u{301}|abacb";
    prop::collection::vec((pieces, 1..3_usize), 0..40)
        .prop_map(|pieces| pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect())
}

fn options() -> impl Strategy<Value = ChunkOptions> {
    let borders = Border::ALL.map(|(border, _)| border).to_vec();
    let oversizes = vec![Oversize::Split, Oversize::Error, Oversize::Keep];
    (1..20_usize, 0..8_usize, prop::sample::select(borders), prop::sample::select(oversizes)).prop_map(
        |(limit, overlap, border, oversize)| ChunkOptions {
            limit,
            overlap: overlap.min(limit - 1),
            border,
            oversize,
            adds_special: false,
        },
    )
}

const SPLITS: [&str; 7] = ["gpt2", "cl100k", "o200k", "none", "whitespace", r"\p{Lu}+", r"(?:a|b)++c|(?s:.)"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn chunks_are_those_of_the_law(
        split in prop::sample::select(SPLITS.to_vec()),
        whole_pretokens in any::<bool>(),
        text in text(),
        options in options(),
        size in 1..40_usize,
    ) {
        let engine = engine(split, whole_pretokens, false);
        check(&engine, &text, &options)?;
        check_stream(&engine, &text, &options, size)?;
        check_truncate(&engine, &text, options.limit, options.border)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Parts without a cut that are long enough for the tables of prefixes and suffixes.
    #[test]
    fn so_are_those_of_long_runs(
        split in prop::sample::select(SPLITS.to_vec()),
        whole_pretokens in any::<bool>(),
        runs in prop::collection::vec(("aaaa|  |ab|\n|\u{e9}|th|the| a|abacb|1|!!", 1..220_usize), 1..4),
        options in options(),
    ) {
        let engine = engine(split, whole_pretokens, false);
        let text: String = runs.iter().map(|(piece, times)| piece.repeat(*times)).collect();
        check(&engine, &text, &options)?;
        check_truncate(&engine, &text, options.limit, options.border)?;
    }
}
