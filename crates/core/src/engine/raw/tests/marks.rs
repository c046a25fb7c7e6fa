//! Raw words between the marks of a Metaspace, against all stages.
use proptest::prelude::*;

use super::words::{bert, engine, map, models, texts};
use super::{check, check_parts};
use crate::description::{Normalizer, Pattern, PreTokenizer, PrependScheme, UnicodeTables};
use crate::engine::raw::Raw;

/// Normalizers before a Metaspace alone, and whether texts have words then.
fn before_metaspace() -> Vec<(bool, Vec<Normalizer>)> {
    let tables = UnicodeTables::Reference;
    let replace = |pattern, content: &str| Normalizer::Replace { pattern, content: content.to_owned() };
    let literal = |literal: &str, content| replace(Pattern::Literal(literal.to_owned()), content);
    let collapse = |content| replace(Pattern::Regex(" {2,}".to_owned()), content);
    let strip = || Normalizer::Strip { left: false, right: true };
    let mapped = |entries: &[(&str, &str)]| Normalizer::Precompiled(map(entries));
    let usual = || {
        mapped(&[
            ("\n", " "),
            ("\t", " "),
            ("\r", " "),
            ("\u{a0}", " "),
            ("\u{3000}", " "),
            ("\u{a8}", " \u{308}"),
            ("\u{200b}", ""),
            ("ﬁ", "fi"),
            ("É", "é"),
            ("A\u{301}", "Á"),
            ("\u{1100}\u{1161}", "\u{ac00}"),
        ])
    };
    vec![
        (true, vec![usual(), strip(), collapse("\u{2581}")]),
        (true, vec![usual(), collapse(" ")]),
        (
            true,
            vec![literal("``", "\""), literal("''", "\""), Normalizer::Nfkd(tables), usual(), collapse(" ")],
        ),
        (
            true,
            vec![
                literal("``", "\""),
                Normalizer::Nfkd(tables),
                Normalizer::StripAccents,
                Normalizer::Lowercase,
                usual(),
                collapse(" "),
            ],
        ),
        (true, vec![strip(), collapse("\u{2581}")]),
        (true, vec![collapse(" ")]),
        (true, vec![mapped(&[("\u{1f98a}", " b"), ("\u{ff9e}", "c ")]), strip(), collapse("\u{2581}")]),
        (true, vec![mapped(&[("\u{1f98a}", ""), ("\u{ff9e}", "\u{2028}")]), strip(), collapse("\u{2581}")]),
        (true, vec![mapped(&[("。\u{301}", ""), ("\u{13a0}\u{301}", "b ")]), strip(), collapse("\u{2581}")]),
        (
            true,
            vec![
                Normalizer::Nfd(tables),
                Normalizer::StripAccents,
                mapped(&[("\u{3001}", "")]),
                collapse(" "),
            ],
        ),
        // A mark that is decomposed into one that is replaced is not dropped.
        (
            true,
            vec![
                Normalizer::Nfd(tables),
                literal("\u{301}", "a"),
                Normalizer::StripAccents,
                usual(),
                collapse(" "),
            ],
        ),
        // Without one of the steps, or with a map that changes how words begin and end.
        (false, vec![usual(), strip()]),
        (false, vec![usual()]),
        (false, vec![]),
        (false, vec![mapped(&[("a", " b")]), collapse(" ")]),
        (false, vec![mapped(&[("a", " b"), ("b", "c ")]), strip(), collapse("\u{2581}")]),
        (false, vec![mapped(&[("a", "b ")]), collapse(" ")]),
        (false, vec![mapped(&[("é", "")]), collapse(" ")]),
        (false, vec![mapped(&[("\u{600}", " ")]), collapse(" ")]),
        (false, vec![mapped(&[("\u{301}", "")]), collapse(" ")]),
        (false, vec![mapped(&[("é", "\u{2581}")]), strip(), collapse("\u{2581}")]),
        (false, vec![mapped(&[("é", "e\u{2028}")]), strip(), collapse("\u{2581}")]),
        (false, vec![mapped(&[(" ", "b")]), strip(), collapse("\u{2581}")]),
        (false, vec![usual(), Normalizer::Strip { left: true, right: true }, collapse("\u{2581}")]),
        (false, vec![usual(), Normalizer::Nfkd(tables), collapse(" ")]),
        (false, vec![literal("a", "\u{2581}"), collapse(" ")]),
        (false, vec![literal("\u{2581}", "a"), collapse(" ")]),
        (false, vec![Normalizer::Nmt, collapse(" ")]),
        (false, vec![bert(true, None, true), collapse(" ")]),
        (false, vec![collapse("b")]),
        (false, vec![collapse(" "), usual()]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 24 } else { 400 }))]
    #[test]
    fn a_metaspace_alone_has_words_beside_edges(
        cache_bytes in prop_oneof![Just(0), Just(20_000), Just(1 << 20)],
        size in 1..20_usize,
        texts in prop::collection::vec(texts(), 3),
        replacement in prop::sample::select(&['\u{2581}', '語', '_', '。'][..]),
    ) {
        for (model, (has_words, normalizer)) in
            models().iter().flat_map(|model| before_metaspace().into_iter().map(move |stages| (model, stages)))
        {
            // A space that was written as another mark than the one that splits is no gap, nor is one whose mark is
            // an edge.
            let split = PreTokenizer::Metaspace { replacement, prepend: PrependScheme::Always, split: true };
            let engine = engine(model, &normalizer, &[split]).with_cache_bytes(Some(cache_bytes));
            let found = matches!(engine.stages.raw, Some(Raw::Words(_)));
            let has_words = has_words && model.unk().is_some();
            match replacement {
                '\u{2581}' => prop_assert_eq!(found, has_words, "{:?}", normalizer),
                '語' | '_' => prop_assert!(!found),
                _ => {}
            }
            for text in &texts {
                check(&engine, text)?;
                check_parts(&engine, text, size)?;
            }
        }
    }
}

#[test]
fn white_space_beside_marks_that_are_dropped_is_kept() {
    let split =
        PreTokenizer::Metaspace { replacement: '\u{2581}', prepend: PrependScheme::Always, split: true };
    for text in ["a \u{301}", "a \u{9be}", "\u{9be}\t\u{301}", "a  \u{9be}\t\u{301}b", "a\u{301} \u{301}b"] {
        for (_, normalizer) in before_metaspace() {
            check(&engine(&models()[0], &normalizer, std::slice::from_ref(&split)), text).unwrap();
        }
    }
}
