//! Words whose ids may depend on the words before them, against whole texts.
use std::sync::Arc;

use proptest::prelude::*;

use super::check;
use crate::compile::compile;
use crate::description::{
    Description, ModelDescription, Normalizer, PieceKind, SentencePieceRules, TokenList, UnigramDescription,
};
use crate::engine::Engine;
use crate::engine::raw::Raw;
use crate::normalize::tests::charsmap::blob;

/// Tokens, of which the first three are no text.
const TOKENS: [&str; 16] = [
    "<unk>",
    "<s>",
    "</s>",
    "\u{2581}",
    "\u{2581}a",
    "\u{2581}ab",
    "\u{2581}b",
    "a",
    "b",
    "ab",
    "ba",
    "aba",
    "é",
    "fi",
    "\u{2581}\u{2581}",
    "abab",
];

fn rules(entries: &[(&str, &str)]) -> SentencePieceRules {
    SentencePieceRules {
        charsmap: if entries.is_empty() { Arc::default() } else { blob(entries).into() },
        user_defined: Vec::new(),
        add_dummy_prefix: true,
        remove_extra_whitespaces: true,
        escape_whitespaces: true,
        treat_whitespace_as_suffix: false,
    }
}

fn usual() -> SentencePieceRules {
    rules(&[
        ("\n", " "),
        ("\t", " "),
        ("\u{3000}", " "),
        ("\u{a8}", " \u{308}"),
        ("\u{200b}", ""),
        ("ﬁ", "fi"),
        ("e\u{301}", "é"),
        ("ß", "b "),
        ("\u{301}", "  b"),
    ])
}

fn model(scores: &[f64], byte_fallback: bool) -> UnigramDescription {
    let mut tokens: Vec<Vec<u8>> = TOKENS.iter().map(|token| token.as_bytes().to_vec()).collect();
    let mut kinds = vec![PieceKind::Unknown, PieceKind::Control, PieceKind::Control];
    kinds.resize(tokens.len(), PieceKind::Normal);
    if byte_fallback {
        tokens.extend((0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>").into_bytes()));
        kinds.resize(tokens.len(), PieceKind::Byte);
    }
    let mut scores = scores.to_vec();
    scores.resize(tokens.len(), 0.0);
    UnigramDescription {
        tokens: TokenList::from_entries((0..).zip(tokens).collect()).into(),
        scores,
        unk: Some(0),
        kinds,
        unk_score: -60.0,
        byte_fallback,
        single_precision: true,
    }
}

fn engine(model: UnigramDescription, rules: SentencePieceRules) -> Engine {
    let normalizer = vec![Normalizer::SentencePiece(rules)];
    compile(Description { normalizer, ..Description::of_model(ModelDescription::Unigram(model)) }).unwrap()
}

fn has_sums(engine: &Engine) -> bool {
    engine.stages.raw.as_ref().is_some_and(Raw::looks_back)
}

const PIECES: [&str; 24] = [
    "a",
    "b",
    "ab",
    "aba",
    "abab",
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\t",
    "\u{3000}",
    "\u{a8}",
    "\u{200b}",
    "ﬁ",
    "e\u{301}",
    "ß",
    "\u{2581}",
    "語",
    "中",
    "\u{301}",
    "<s>",
    "é",
    "\u{1f98a}",
];

/// Scores that are often nearly equal, of one token or of several: eighths add up exactly, thousandths are lost in a sum
/// that is large.
fn scores() -> impl Strategy<Value = Vec<f64>> {
    let eighths = (-80..=8_i32).prop_map(|score| f64::from(score) / 8.0);
    let thousandths = (-4..4_i32).prop_map(|score| -20.0 + f64::from(score) / 1000.0);
    let tenths = (-300..0_i32).prop_map(|score| f64::from(score) / 10.0);
    let score = prop_oneof![eighths, thousandths, tenths];
    prop::collection::vec(score, TOKENS.len())
}

fn texts() -> impl Strategy<Value = String> {
    let pieces = |count| prop::collection::vec(prop::sample::select(&PIECES[..]), count);
    let pieces = move |count: std::ops::Range<usize>| {
        let drop_marks = |(pieces, has_marks): (Vec<&'static str>, bool)| {
            pieces.into_iter().filter(|&piece| has_marks || piece != "\u{2581}").collect::<Vec<_>>()
        };
        (pieces(count), prop::bool::weighted(0.2)).prop_map(drop_marks)
    };
    // Some are so long that sums start over.
    let repeated = (pieces(1..60), 1..400_usize).prop_map(|(pieces, times)| pieces.repeat(times).concat());
    let long = pieces(150..200).prop_map(|pieces| pieces.concat() + "a");
    prop_oneof![pieces(0..30).prop_map(|pieces| pieces.concat()), long, repeated]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 1_000 }))]
    #[test]
    fn their_ids_are_those_of_the_text(
        scores in scores(),
        byte_fallback in any::<bool>(),
        symbol in prop::sample::select(vec![None, Some("ab"), Some("語b")]),
        is_usual in any::<bool>(),
        cache_bytes in prop_oneof![Just(0), Just(20_000), Just(1 << 20)],
        texts in prop::collection::vec(texts(), 3),
    ) {
        let mut rules = if is_usual { usual() } else { rules(&[]) };
        rules.user_defined.extend(symbol.map(str::to_owned));
        let engine = engine(model(&scores, byte_fallback), rules).with_cache_bytes(Some(cache_bytes));
        prop_assert!(has_sums(&engine));
        for text in &texts {
            check(&engine, text)?;
        }
    }
}

/// Sums that start over inside of words, and between them.
#[test]
fn sums_start_over_where_those_of_the_text_do() {
    let mut scores = vec![0.0, 0.0, 0.0, -0.25, -9.0, -30.002, -12.0, -15.0, -15.004, -30.003, -60.0, -45.0];
    scores.resize(TOKENS.len(), -50.0);
    let engine = engine(model(&scores, false), usual());
    for words in [["ab ba", "aba b"], ["a", "語"], ["abab abab", "ab\u{2581}a"], ["ba", "a語"]] {
        for length in [3_000, 3_001, 9_000] {
            let text = [words[0], " ", words[1], " "].concat().repeat(length);
            check(&engine, &text).unwrap();
        }
    }
}

/// Rules and models under which words are no paths of their own.
#[test]
fn there_are_none_where_words_are_tied_otherwise() {
    let scores = [-1.0; TOKENS.len()];
    let with = |change: &dyn Fn(&mut UnigramDescription, &mut SentencePieceRules)| {
        let (mut model, mut rules) = (model(&scores, false), usual());
        change(&mut model, &mut rules);
        has_sums(&engine(model, rules))
    };
    assert!(with(&|_, _| {}));
    assert!(!with(&|_, rules| rules.add_dummy_prefix = false));
    assert!(!with(&|_, rules| rules.remove_extra_whitespaces = false));
    assert!(!with(&|_, rules| rules.escape_whitespaces = false));
    assert!(!with(&|_, rules| rules.treat_whitespace_as_suffix = true));
    assert!(!with(&|_, rules| rules.user_defined.push("a b".to_owned())));
    assert!(!with(&|_, rules| rules.user_defined.push("\u{2581}a".to_owned())));
    assert!(!with(&|_, rules| rules.charsmap = blob(&[("a", "\u{2581}")]).into()));
    assert!(!with(&|_, rules| rules.charsmap = blob(&[("a b", "b")]).into()));
    assert!(!with(&|_, rules| rules.charsmap = blob(&[(" ", "b")]).into()));
    assert!(!with(&|_, rules| rules.charsmap = blob(&[("é", "b  ")]).into()));
    assert!(with(&|_, rules| rules.charsmap = blob(&[("é", "  b "), ("ß", "a  b")]).into()));
    assert!(!with(&|model, _| model.single_precision = false));
    assert!(!with(&|model, _| model.unk = None));
    assert!(!with(&|model, _| model.scores[7] = -1e9));
    // A token that reaches over the start of a word, and a mark that is no token.
    assert!(!with(&|model, _| {
        let texts = TOKENS.map(|token| if token == "abab" { "a\u{2581}b" } else { token });
        model.tokens =
            TokenList::from_entries((0..).zip(texts.map(|text| text.as_bytes().to_vec())).collect()).into();
    }));
    assert!(!with(&|model, _| model.kinds[3] = PieceKind::Unused));
}
