//! Spans by lookup against spans by pretokens.
use proptest::prelude::*;

use super::{Spans, char_offsets, to_characters};
use crate::compile::compile;
use crate::description::{
    AddedToken, Alphabet, BpeDescription, Description, EndOfWord, EndOfWordForm, Merge, Merges,
    ModelDescription, Normalizer, Pattern, PostProcessor, PreTokenizer, TokenList, UnicodeTables,
    UnigramDescription, WordPieceDescription,
};
use crate::engine::{Encoding, Engine, Source, Special, Text, UntrustedRanges};
use crate::span::Span;
use crate::watch::{Unwatched, Watch};

/// The encoding of a text, or the error, pretoken by pretoken.
fn by_pretoken(engine: &Engine, text: Text<'_>) -> Result<Encoding, String> {
    let recognizer = engine.recognizer(&Special::Parse).unwrap();
    let mut spans = Spans::new(engine, false);
    let done = engine.encode_pretokens(text, &recognizer, UntrustedRanges::none(), &Unwatched, &mut spans);
    done.map(|()| spans.encoding).map_err(|error| error.to_string())
}

/// Compares the encoding of a text, twice: what misses in the first pass hits in the second. Before each, the text is a
/// row of a batch.
pub(in crate::engine) fn check_spans(engine: &Engine, text: &[u8]) -> Result<(), TestCaseError> {
    let text = std::str::from_utf8(text).map_or(Text::Bytes(text), Text::Str);
    let want = by_pretoken(engine, text);
    let recognizer = engine.recognizer(&Special::Parse).unwrap();
    let rows = [Some(Source::Text(text)), None, Some(Source::Text(text))];
    let flat = want.clone().map(|encoding| {
        let offsets = char_offsets(text, &encoding.byte_offsets, &Unwatched).unwrap();
        let offsets: Vec<Span> = offsets.into_iter().map(|(start, end)| Span::new(start, end)).collect();
        let count = encoding.ids.len() as i64;
        (encoding.ids.repeat(2), offsets.repeat(2), vec![0, count, count, 2 * count])
    });
    for _ in 0..2 {
        let characters = |_: usize, text: Text<'_>, spans: &mut [Span], watch: &dyn Watch| {
            to_characters(text, spans, watch)
        };
        let special = &Special::Parse;
        let got = engine.encode_batch_with_offsets(&rows, &characters, special, false, 1, &Unwatched);
        let got = got.map(|flat| (flat.ids, flat.offsets, flat.row_offsets));
        prop_assert_eq!(got.ok(), flat.clone().ok());
        let got = engine.encode_with_offsets(text, &recognizer, UntrustedRanges::none(), &Unwatched);
        prop_assert_eq!(got.map_err(|error| error.to_string()), want.clone());
    }
    Ok(())
}

fn tokens<T: AsRef<[u8]>>(all: impl IntoIterator<Item = T>) -> TokenList {
    TokenList::from_entries((0..).zip(all.into_iter().map(|token| token.as_ref().to_vec())).collect())
}

/// Byte-level: all bytes, and some tokens.
fn byte_level() -> BpeDescription {
    let more = ["ab", "abab", " a", " ab", "  ", "    ", "é", " é", "\n\n", "1a", "aa", "語", "\u{301}"];
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let all = bytes.chain(more.iter().map(|token| token.as_bytes().to_vec()));
    BpeDescription::plain(Alphabet::Bytes, tokens(all), Merges::ById)
}

/// Some bytes are missing.
fn few_bytes(unk: Option<u32>) -> BpeDescription {
    let all = ["?", "a", "b", "1", " ", "\n", "ab", " a", "é", "\u{c3}", "aa"];
    let plain = BpeDescription::plain(Alphabet::Bytes, tokens(all), Merges::ById);
    BpeDescription { unk, fuse_unk: true, ..plain }
}

/// Characters, with a mark for the end of a word.
fn with_end_of_word(form: EndOfWordForm) -> BpeDescription {
    let end = Some(EndOfWord { symbol: "</w>".to_owned(), form });
    let all = [
        "?", "a", "b", "1", "é", "<", "/", "w", ">", "</w>", "a</w>", "b</w>", "é</w>", "ab", "ab</w>",
        "</w", "語", "語</w>", "></w>",
    ];
    let merge = |left, right, result| Merge { left, right, result };
    let merges = Merges::listed([merge(1, 2, 13), merge(1, 11, 14)]);
    let plain = BpeDescription::plain(Alphabet::Chars { end_of_word: end }, tokens(all), merges);
    BpeDescription { unk: Some(0), ..plain }
}

/// Characters, where a byte token and the unknown token merge with others.
fn merging_unknown() -> BpeDescription {
    let all = ["?", "a", "b", "<", "0", "x", "3", ">", " ", "<0x31>", "a<0x31>", "?a"];
    let merge = |left, right, result| Merge { left, right, result };
    let merges = Merges::listed([merge(1, 9, 10), merge(0, 1, 11)]);
    let plain = BpeDescription::plain(Alphabet::Chars { end_of_word: None }, tokens(all), merges);
    BpeDescription { unk: Some(0), byte_fallback: true, ..plain }
}

/// Models that do not work on bytes.
fn others() -> Vec<ModelDescription> {
    let all =
        ["?", "a", "##a", "b", "##b", "ab", "##ab", "1", "é", "##é", "語", "<0x31>", " ", "\u{2581}", "#"];
    let word_piece = |prefix: &str| {
        ModelDescription::WordPiece(WordPieceDescription {
            tokens: tokens(all).into(),
            unk: Some(0),
            continuing_prefix: prefix.to_owned(),
            max_chars: 9,
        })
    };
    let unigram = |byte_fallback: bool, single_precision: bool| {
        let bytes = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>"));
        let all: Vec<String> = all[..11].iter().map(ToString::to_string).chain(bytes).collect();
        ModelDescription::Unigram(UnigramDescription {
            scores: (0..).take(all.len()).map(|index: u32| -f64::from(index)).collect(),
            tokens: tokens(all).into(),
            unk: Some(0),
            kinds: Vec::new(),
            unk_score: -900.0,
            byte_fallback,
            single_precision,
        })
    };
    let marked = |form| ModelDescription::Bpe(with_end_of_word(form));
    vec![
        word_piece("##"),
        word_piece(""),
        unigram(false, false),
        unigram(true, false),
        unigram(true, true),
        marked(EndOfWordForm::Suffix),
        marked(EndOfWordForm::Separate),
        ModelDescription::Bpe(few_bytes(Some(0))),
        ModelDescription::Bpe(few_bytes(None)),
        ModelDescription::Bpe(byte_level()),
        ModelDescription::Bpe(merging_unknown()),
    ]
}

/// Normalizers and pre-tokenizers before any model.
fn stages() -> Vec<(Vec<Normalizer>, Vec<PreTokenizer>)> {
    let split = |pattern: &str| PreTokenizer::Split {
        pattern: Pattern::Regex(pattern.to_owned()),
        behavior: crate::description::Behavior::Isolated,
        invert: false,
    };
    let digits = PreTokenizer::Digits { individual: true };
    let mut all = vec![
        (vec![], vec![]),
        (vec![], vec![split(r" ?\p{L}+|\s+(?!\S)|\s+|[^\s\p{L}]+")]),
        (vec![], vec![digits, split(r"\s+|\S+")]),
        (vec![], vec![PreTokenizer::PrefixSpace, split(r" ?\S+|\s+")]),
        (vec![Normalizer::Nfc(UnicodeTables::Current)], vec![split(r" ?\S+|\s+")]),
        (vec![Normalizer::Lowercase], vec![PreTokenizer::Whitespace]),
        (vec![], vec![PreTokenizer::WhitespaceSplit, PreTokenizer::PrefixSpace]),
        (vec![], vec![split(r"\s+|\S+"), PreTokenizer::ByteAlphabet]),
        (vec![Normalizer::StripAccents], vec![split(r" ?\S+|\s+(?!\S)|\s+")]),
    ];
    all.push((vec![Normalizer::Nfd(UnicodeTables::Current), Normalizer::StripAccents], vec![]));
    all
}

fn engine(
    model: ModelDescription,
    (normalizer, pre_tokenizer): (Vec<Normalizer>, Vec<PreTokenizer>),
    trims: bool,
) -> Engine {
    let mut description = Description { normalizer, pre_tokenizer, ..Description::of_model(model) };
    description.added_tokens = vec![
        AddedToken::special(100_000, "<s>"),
        AddedToken { lstrip: true, rstrip: true, ..AddedToken::special(100_001, "<m>") },
        AddedToken { normalized: true, ..AddedToken::special(100_002, "<n>") },
    ];
    if trims {
        description.post_processor =
            vec![PostProcessor::ByteLevel { trim_offsets: true, add_prefix_space: true }];
    }
    compile(description).unwrap()
}

/// Without lookups the properties below would compare a way with itself.
#[test]
fn their_ids_come_from_the_lookup() {
    let all = stages();
    let lookups = |model: &ModelDescription, stages: usize, text: &str| {
        let engine = engine(model.clone(), all[stages].clone(), false);
        let before = engine.memory_usage().lookups;
        let recognizer = engine.recognizer(&Special::Text).unwrap();
        let none = UntrustedRanges::none();
        engine.encode_with_offsets(Text::Str(text), &recognizer, none, &Unwatched).unwrap();
        engine.memory_usage().lookups - before
    };
    let models = others();
    for (number, model) in models.iter().enumerate() {
        // A mark that stands for nothing, or merges of what stands for unknown text.
        let is_known = ![6, 7, 10].contains(&number);
        assert_eq!(lookups(model, 1, "ab ab ab") > 0, is_known, "{number}");
        assert!(lookups(model, 5, "ab ab ab") >= 3, "{number}");
    }
    assert!(lookups(&ModelDescription::Bpe(byte_level()), 1, "ab ab ab") >= 3);
}

const TEXT: &str = "(a|b|1| |  |\u{2581}|\n|é|語|☃|\u{301}|e\u{301}|\u{10400}|<s>| <m> |<n>|<0x31>|</w>|##a| ab|ab|A|  1){0,30}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 1024 }))]
    #[test]
    fn they_are_those_by_pretoken(texts in prop::collection::vec(TEXT, 2), trims in any::<bool>()) {
        for stages in stages() {
            for model in others() {
                let engine = engine(model, stages.clone(), trims);
                for text in &texts {
                    check_spans(&engine, text.as_bytes())?;
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_have_spans(text in prop::collection::vec(prop_oneof![Just(b'a'), Just(b' '), any::<u8>()], 0..40)) {
        for stages in stages() {
            let engine = engine(ModelDescription::Bpe(byte_level()), stages, false);
            check_spans(&engine, &text)?;
        }
    }
}
