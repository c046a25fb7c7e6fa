//! Raw pieces against all stages.
use proptest::prelude::*;

use super::{check, check_parts};
use crate::byte_alphabet;
use crate::compile::compile;
use crate::description::{
    AddedToken, Alphabet, Behavior, BpeDescription, Description, Merges, ModelDescription, Normalizer,
    Pattern, PreTokenizer, PrependScheme, TokenList, UnigramDescription,
};
use crate::engine::Engine;
use crate::engine::raw::Raw;

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

fn split(regex: &str) -> PreTokenizer {
    let pattern = Pattern::Regex(regex.to_owned());
    PreTokenizer::Split { pattern, behavior: Behavior::Isolated, invert: false }
}

/// What Falcon does: the last two steps see bytes as letters, some of which count as digits.
fn falcon() -> Vec<PreTokenizer> {
    vec![
        PreTokenizer::Punctuation(Behavior::Contiguous),
        split(GPT2),
        PreTokenizer::ByteAlphabet,
        PreTokenizer::Digits { individual: false },
        split("[0-9][0-9][0-9]"),
    ]
}

fn pre_tokenizers() -> Vec<Vec<PreTokenizer>> {
    let mark = PreTokenizer::Metaspace { replacement: '_', prepend: PrependScheme::Always, split: true };
    vec![
        falcon(),
        vec![PreTokenizer::Digits { individual: true }, PreTokenizer::ByteAlphabet, split("[a-c]+|¹")],
        vec![split(GPT2), PreTokenizer::FixedLength(2)],
        vec![split(GPT2), PreTokenizer::PrefixSpace, PreTokenizer::ByteAlphabet],
        vec![split(r"\s+|\S+"), mark],
        vec![split(GPT2), PreTokenizer::CharDelimiter('b')],
    ]
}

/// Letters of all bytes, and some tokens of them; or another model with few tokens.
fn models() -> Vec<ModelDescription> {
    let more = ["ab", "Ġa", "Ġab", "12", "123", "Â³", "Ã©", "èª", "ĠĠ", "ba"];
    let letters = byte_alphabet::BYTE_TO_CHAR.iter().map(char::to_string);
    let all: Vec<String> = letters.chain(more.map(str::to_owned)).collect();
    let tokens = |all: Vec<String>| {
        TokenList::from_entries((0..).zip(all.into_iter().map(String::into_bytes)).collect())
    };
    let alphabet = Alphabet::Chars { end_of_word: None };
    let bpe = BpeDescription { unk: Some(0), ..BpeDescription::plain(alphabet, tokens(all), Merges::ById) };
    let few = ["?", "a", "ab", "_", "_a", " a", "1", "12", "Ġ"].map(str::to_owned).to_vec();
    let unigram = UnigramDescription {
        scores: (0..).take(few.len()).map(|index: u32| -f64::from(index)).collect(),
        tokens: tokens(few).into(),
        unk: Some(0),
        kinds: Vec::new(),
        unk_score: -100.0,
        byte_fallback: false,
        single_precision: false,
    };
    vec![ModelDescription::Bpe(bpe), ModelDescription::Unigram(unigram)]
}

fn engine(model: ModelDescription, normalizer: Vec<Normalizer>, pre_tokenizer: Vec<PreTokenizer>) -> Engine {
    let description = Description { normalizer, pre_tokenizer, ..Description::of_model(model) };
    let added_tokens = vec![AddedToken::special(100_000, "<s>")];
    compile(Description { added_tokens, ..description }).unwrap()
}

fn has_pieces(engine: &Engine) -> bool {
    matches!(engine.stages.raw, Some(Raw::Pieces(_)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 1024 }))]
    #[test]
    fn their_ids_are_those_of_the_text(
        texts in prop::collection::vec("(a|b|ab| |  |\n|1|23|4567|\\.|,,|'s|é|³|¹2|語|٣|<s>|b{20}|(ab){70}){0,30}", 3),
        cache_bytes in prop_oneof![Just(0), Just(20_000), Just(1 << 20)],
        size in 1..20_usize,
    ) {
        for pre_tokenizer in pre_tokenizers() {
            for model in models() {
                let engine = engine(model, vec![], pre_tokenizer.clone()).with_cache_bytes(Some(cache_bytes));
                prop_assert!(has_pieces(&engine));
                for text in &texts {
                    check(&engine, text)?;
                    check_parts(&engine, text, size)?;
                }
            }
        }
    }
}

#[test]
fn there_are_none_where_a_step_looks_farther_or_nothing_else_is_done() {
    let of = |normalizer: Vec<Normalizer>, pre_tokenizer: Vec<PreTokenizer>| {
        models()
            .into_iter()
            .all(|model| has_pieces(&engine(model, normalizer.clone(), pre_tokenizer.clone())))
    };
    assert!(of(vec![], falcon()));
    assert!(!of(vec![Normalizer::Lowercase], falcon()));
    assert!(!of(vec![], falcon()[..2].to_vec()));
    assert!(!of(vec![], falcon()[2..].to_vec()));
    let first = PreTokenizer::Metaspace { replacement: '_', prepend: PrependScheme::First, split: true };
    assert!(!of(vec![], vec![split(GPT2), first]));
    // No scanner runs this.
    assert!(!of(vec![], vec![split(r"\w+(?=a)|\w"), PreTokenizer::ByteAlphabet, split("a")]));
}
