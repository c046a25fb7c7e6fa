//! Raw words against all stages.
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use proptest::prelude::*;

use super::{check, check_parts, check_under};
use crate::charsmap::Charsmap;
use crate::compile::compile;
use crate::description::{
    AddedToken, Alphabet, Behavior, BpeDescription, Description, EndOfWord, EndOfWordForm, Merges,
    ModelDescription, Normalizer, Pattern, PreTokenizer, PrependScheme, TokenList, UnicodeTables,
    UnigramDescription, WordLevelDescription, WordPieceDescription,
};
use crate::engine::raw::{Raw, WordSpans};
use crate::engine::{Engine, Special, Text};
use crate::error::Result;
use crate::ids::to_u32;
use crate::normalize::tests::charsmap::blob;
use crate::watch::{Ticker, Unwatched, Watch};

/// Tokens of words; the first is the unknown token.
const TOKENS: [&str; 22] = [
    "[UNK]",
    "a",
    "b",
    "ab",
    "##b",
    "##a",
    "##1",
    "1",
    ".",
    "\"",
    "語",
    "é",
    "e",
    "##e",
    "##\u{301}",
    "\u{2581}",
    "\u{2581}a",
    "\u{2581}ab",
    "i",
    "\u{307}",
    "ß",
    "ss",
];

pub(super) fn models() -> Vec<ModelDescription> {
    let tokens =
        || TokenList::from_entries((0..).zip(TOKENS.map(|token| token.as_bytes().to_vec())).collect());
    let word_piece = |unk| {
        ModelDescription::WordPiece(WordPieceDescription {
            tokens: tokens().into(),
            unk,
            continuing_prefix: "##".to_owned(),
            max_chars: 20,
        })
    };
    let unigram = UnigramDescription {
        tokens: tokens().into(),
        scores: (0..).take(TOKENS.len()).map(|index: u32| -f64::from(index)).collect(),
        unk: Some(0),
        kinds: Vec::new(),
        unk_score: -100.0,
        byte_fallback: false,
        single_precision: false,
    };
    let end_of_word = EndOfWord { symbol: "</w>".to_owned(), form: EndOfWordForm::Suffix };
    let alphabet = Alphabet::Chars { end_of_word: Some(end_of_word) };
    let written =
        ["?", "a", "b", "a</w>", "b</w>", "ab", "ab</w>", "1</w>", "aab</w>", "Ã", "©</w>", "<", "/", ">"];
    let written =
        TokenList::from_entries((0..).zip(written.map(|token| token.as_bytes().to_vec())).collect());
    let bpe = BpeDescription { unk: Some(0), ..BpeDescription::plain(alphabet, written, Merges::ById) };
    let word_level = WordLevelDescription { tokens: tokens().into(), unk: None };
    vec![
        word_piece(Some(0)),
        word_piece(None),
        ModelDescription::Unigram(unigram),
        ModelDescription::WordLevel(word_level),
        ModelDescription::Bpe(bpe),
    ]
}

pub(super) fn bert(handle_chinese_chars: bool, strip_accents: Option<bool>, lowercase: bool) -> Normalizer {
    Normalizer::Bert { clean_text: true, handle_chinese_chars, strip_accents, lowercase }
}

pub(super) fn normalizers() -> Vec<Vec<Normalizer>> {
    let tables = UnicodeTables::Reference;
    let replace = |pattern, content: &str| Normalizer::Replace { pattern, content: content.to_owned() };
    vec![
        vec![],
        vec![bert(true, None, true)],
        vec![bert(true, Some(false), false)],
        vec![bert(false, Some(true), false)],
        vec![Normalizer::Nfd(tables), Normalizer::StripAccents, Normalizer::Lowercase],
        vec![Normalizer::Nfkc(UnicodeTables::Current), Normalizer::Lowercase],
        vec![Normalizer::Nmt, Normalizer::Nfc(tables)],
        vec![
            replace(Pattern::Literal("``".to_owned()), "\""),
            replace(Pattern::Regex(r"\s+".to_owned()), " "),
            Normalizer::Nfkd(tables),
        ],
        vec![Normalizer::Precompiled(map(&[
            ("\n", " "),
            ("\u{a0}", " "),
            ("ﬁ", "fi"),
            ("é", "e"),
            ("\u{200b}", ""),
        ]))],
        vec![
            replace(Pattern::Literal("a".to_owned()), "\u{301}"),
            Normalizer::Precompiled(map(&[("\u{301}", "b"), ("é", "1")])),
        ],
        vec![
            replace(Pattern::Literal("b".to_owned()), "1"),
            Normalizer::Precompiled(map(&[("\u{301}", "b")])),
        ],
        vec![
            Normalizer::Precompiled(map(&[("éa", "i"), ("\u{301}", ""), ("\u{3000}", " ")])),
            Normalizer::Lowercase,
        ],
        // Replacements in a row: one step makes the literal that the next one replaces, alone or with its neighbours.
        vec![
            Normalizer::Lowercase,
            replace(Pattern::Literal("ab".to_owned()), "1"),
            replace(Pattern::Literal("a".to_owned()), "e"),
        ],
        vec![
            replace(Pattern::Literal("A".to_owned()), "b"),
            replace(Pattern::Literal("b1".to_owned()), "a"),
            replace(Pattern::Literal("b".to_owned()), "i"),
        ],
        // Maps of white space.
        vec![Normalizer::Precompiled(map(&[("\r", ""), ("\u{301}", "b")]))],
        vec![Normalizer::Precompiled(map(&[("\r", " "), ("\n", "a")]))],
        vec![Normalizer::Precompiled(map(&[("\t", " "), ("\n", " "), ("\r", " \t")]))],
        vec![Normalizer::Precompiled(map(&[("\t", ""), ("\r\n", "b"), ("a", ""), ("b", "")]))],
        vec![Normalizer::Nfc(tables), Normalizer::Precompiled(map(&[("\n", "-"), ("\t", "1")]))],
        vec![Normalizer::Precompiled(map(&[(" \u{301}", "b")]))],
        vec![Normalizer::Precompiled(map(&[(" ", "1")])), Normalizer::Lowercase],
    ]
}

/// A map of characters as files have it.
pub(super) fn map(entries: &[(&str, &str)]) -> Arc<[u8]> {
    blob(entries).into()
}

pub(super) fn pre_tokenizers() -> Vec<Vec<PreTokenizer>> {
    let mark =
        PreTokenizer::Metaspace { replacement: '\u{2581}', prepend: PrependScheme::Always, split: true };
    let split = |pattern, behavior, invert| PreTokenizer::Split { pattern, behavior, invert };
    let isolated = PreTokenizer::Punctuation(Behavior::Isolated);
    let white_space = PreTokenizer::WhitespaceSplit;
    vec![
        vec![PreTokenizer::Bert],
        vec![PreTokenizer::Whitespace],
        vec![white_space.clone(), mark],
        vec![white_space.clone(), isolated.clone(), PreTokenizer::FixedLength(2)],
        // These drop parts of words.
        vec![white_space.clone(), PreTokenizer::Punctuation(Behavior::Removed)],
        vec![PreTokenizer::Bert, PreTokenizer::CharDelimiter('1')],
        vec![
            white_space.clone(),
            isolated,
            split(Pattern::Literal(".".to_owned()), Behavior::Removed, false),
        ],
        vec![white_space.clone(), split(Pattern::Regex("[a-z]+".to_owned()), Behavior::Removed, true)],
        vec![white_space, PreTokenizer::PrefixSpace, PreTokenizer::ByteAlphabet],
        vec![split(Pattern::Regex(r"\p{L}+|\d".to_owned()), Behavior::Removed, true)],
        vec![
            split(Pattern::Regex(r"ab|'a|\p{L}+|[^\s\p{L}]+".to_owned()), Behavior::Removed, true),
            PreTokenizer::ByteAlphabet,
        ],
    ]
}

pub(super) fn engine(
    model: &ModelDescription,
    normalizer: &[Normalizer],
    pre_tokenizer: &[PreTokenizer],
) -> Engine {
    let (normalizer, pre_tokenizer) = (normalizer.to_vec(), pre_tokenizer.to_vec());
    let added_tokens = vec![AddedToken::special(to_u32(TOKENS.len()), "<s>")];
    let description =
        Description { added_tokens, normalizer, pre_tokenizer, ..Description::of_model(model.clone()) };
    compile(description).unwrap()
}

/// Pieces of texts: all kinds of white space, combining marks, ideographs, control characters, characters that are
/// normalized to several or none.
pub(super) const PIECES: [&str; 63] = [
    "a",
    "b",
    "ab",
    "1",
    ".",
    "``",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u{b}",
    "\u{85}",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "\u{200b}",
    "\u{200d}",
    "\u{301}",
    "\u{307}",
    "é",
    "É",
    "İ",
    "ß",
    "ﬁ",
    "ẛ",
    "\u{a8}",
    "語",
    "中",
    "\u{f900}",
    "\u{20000}",
    "ー",
    "が",
    "\u{0}",
    "\u{ad}",
    "\u{fffd}",
    "\u{600}",
    "<s>",
    "ababababababababab",
    "ガガガガガガ",
    "A",
    "Ab",
    "\u{1f98a}",
    "\u{ac00}",
    "\u{1100}",
    "\u{1161}",
    "\u{2581}",
    "की",
    "\u{94d}",
    "क",
    "\u{200c}",
    "。",
    "\u{ff9e}",
    "\u{9be}",
    "\u{9bc}",
    "\u{13a0}",
    "\u{3001} \u{300c}",
    "\u{263a}\u{fe0f}",
    "\u{1f1e6}",
    "\u{a960}",
    "\u{344}",
];

pub(super) fn texts() -> impl Strategy<Value = String> {
    let pieces = |count| prop::collection::vec(prop::sample::select(&PIECES[..]), count);
    prop_oneof![pieces(0..30), pieces(60..120)].prop_map(|pieces| pieces.concat())
}

/// Counts how often it is polled.
#[derive(Default)]
struct Polls(AtomicUsize);

impl Watch for Polls {
    fn poll(&self) -> Result<()> {
        self.0.fetch_add(1, Relaxed);
        Ok(())
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {}
}

#[test]
fn a_stop_is_heard_within_a_long_word() {
    let steps: &[PreTokenizer] = &[PreTokenizer::Bert];
    let engine = engine(&models()[0], &[bert(true, None, true)], steps);
    let Some(Raw::Words(words)) = &engine.stages.raw else { panic!("texts have words") };
    let text = "aé".repeat(1 << 16);
    let polls = Polls::default();
    let text_and_steps = (&text[..], &engine.stages.normalizers);
    let end = words.finder().next(text_and_steps, 0, &mut WordSpans::default(), &mut Ticker::new(&polls));
    assert_eq!(end.unwrap(), text.len());
    // A watch that is polled only when the word has ended could not stop the search.
    assert!(polls.0.load(Relaxed) > 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 16 } else { 256 }))]
    #[test]
    fn their_ids_are_those_of_the_text(
        cache_bytes in prop_oneof![Just(0), Just(20_000), Just(1 << 20)],
        size in 1..20_usize,
        texts in prop::collection::vec(texts(), 3),
    ) {
        for (model, normalizer) in models().iter().flat_map(|model| normalizers().into_iter().map(move |n| (model, n))) {
            for pre_tokenizer in pre_tokenizers() {
                let engine = engine(model, &normalizer, &pre_tokenizer).with_cache_bytes(Some(cache_bytes));
                let has_words = matches!(engine.stages.raw, Some(Raw::Words(_)));
                // The map does not see the characters of the text; and some steps drop "a" and "B".
                let is_replaced = matches!(
                    &normalizer[..],
                    [Normalizer::Replace { content, .. }, Normalizer::Precompiled(_)] if !content.is_ascii()
                );
                let maps_space = |step: &Normalizer| match step {
                    Normalizer::Precompiled(blob) => Charsmap::parse(blob).unwrap().has_key_from(b' '),
                    _ => false,
                };
                let is_refused = is_replaced || normalizer.iter().any(maps_space);
                prop_assert!(!has_words || !is_refused);
                prop_assert!(has_words || is_refused || pre_tokenizer.len() > 1);
                for text in &texts {
                    check(&engine, text)?;
                    check_parts(&engine, text, size)?;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 16 } else { 256 }))]
    #[test]
    fn special_tokens_in_normalized_text_are_found_or_not(
        texts in prop::collection::vec(texts(), 3),
        special in prop_oneof![Just(Special::Text), Just(Special::Parse)],
    ) {
        for normalizer in normalizers() {
            for pre_tokenizer in pre_tokenizers() {
                let engine = engine(&models()[0], &normalizer, &pre_tokenizer);
                let mut description = engine.description().clone();
                description.added_tokens[0].normalized = true;
                let normalized = compile(description).unwrap();
                prop_assert_eq!(normalized.stages.raw.is_some(), engine.stages.raw.is_some());
                for text in &texts {
                    check_under(&normalized, text, &special)?;
                }
            }
        }
    }
}

/// Stages that may look across white space.
#[test]
fn there_are_none_where_a_stage_looks_farther() {
    let has_words = |normalizer: &[Normalizer], pre_tokenizer: &[PreTokenizer]| {
        matches!(engine(&models()[0], normalizer, pre_tokenizer).stages.raw, Some(Raw::Words(_)))
    };
    let bert_split = [PreTokenizer::Bert];
    assert!(has_words(&[], &bert_split));
    // Such a key is in no cluster.
    assert!(has_words(&[Normalizer::Precompiled(map(&[("..", ".")]))], &bert_split));
    let maps = [Normalizer::Precompiled(map(&[("a", "b")])), Normalizer::Precompiled(map(&[("b", "c")]))];
    assert!(!has_words(&maps, &bert_split));
    let replace = |pattern| Normalizer::Replace { pattern, content: "b".to_owned() };
    for step in [
        Normalizer::Prepend("a".to_owned()),
        Normalizer::Strip { left: true, right: true },
        replace(Pattern::Literal("a b".to_owned())),
        replace(Pattern::Literal(" ".to_owned())),
        replace(Pattern::Regex("a\\s".to_owned())),
    ] {
        assert!(!has_words(std::slice::from_ref(&step), &bert_split), "{step:?}");
    }
    let first = PreTokenizer::Metaspace { replacement: '_', prepend: PrependScheme::First, split: true };
    assert!(!has_words(&[], &[PreTokenizer::WhitespaceSplit, first]));
    assert!(!has_words(&[], &[PreTokenizer::Punctuation(Behavior::Isolated), PreTokenizer::Bert]));
    assert!(!has_words(&[], &[]));
    let kept = |regex: &str, behavior, invert| {
        let split = PreTokenizer::Split { pattern: Pattern::Regex(regex.to_owned()), behavior, invert };
        has_words(&[], &[split])
    };
    assert!(kept(r"\S+", Behavior::Removed, true));
    assert!(!kept(r"\S+", Behavior::Removed, false));
    assert!(!kept(r"\S+", Behavior::Isolated, true));
    assert!(!kept(r" ?\S+", Behavior::Removed, true));
    assert!(!kept(r"\S+(?!a)", Behavior::Removed, true));
}

/// Errors on several threads are those of one.
#[test]
fn an_unknown_symbol_is_shown_as_text_on_threads() {
    let model = &models()[1];
    let pre_tokenizer = [PreTokenizer::WhitespaceSplit, PreTokenizer::ByteAlphabet];
    let engine = engine(model, &[], &pre_tokenizer);
    let text = format!("{}éé", "a ".repeat(400_000));
    let said = |threads| {
        let encoded = engine.encode(Text::Str(&text), &Special::Parse, threads, &Unwatched, &mut Vec::new());
        encoded.unwrap_err().to_string()
    };
    assert!(said(1).contains('é'), "{}", said(1));
    assert_eq!(said(3), said(1));
}
