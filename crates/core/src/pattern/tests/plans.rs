//! Patterns as published files contain them, in the dialect of those files, and the plan of each.
use super::{Plan, splitter};
use crate::pattern::from_portable;

const PUBLISHED: [(&str, &str, Plan); 26] = [
    ("deepseek-v3, 1", r"\p{N}{1,3}", Plan::Scanner),
    ("deepseek-v3, 2", "[一-龥぀-ゟ゠-ヿ]+", Plan::Scanner),
    ("deepseek-v3, 3", super::DEEPSEEK_V3, Plan::Scanner),
    ("deepseek-llm, 1", r"[\r\n]", Plan::Scanner),
    (
        "deepseek-llm, 2",
        r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕ]+",
        Plan::Scanner,
    ),
    ("deepseek-llm, 3", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", Plan::Scanner),
    ("deepseek-llm, 4", r"\s+$", Plan::Scanner),
    ("deepseek-llm, 5", "[一-龥ࠀ-一가-퟿]+", Plan::Scanner),
    ("deepseek-coder, 2", r"\s?\p{L}+", Plan::Scanner),
    ("deepseek-coder, 3", r"\s?\p{P}+", Plan::Scanner),
    ("falcon, 1", r"[\p{P}\$\+<=>\^~\|`]+", Plan::Scanner),
    ("falcon, 3", "[0-9][0-9][0-9]", Plan::Scanner),
    ("starcoder, 1", r"\p{N}", Plan::Scanner),
    ("bloom", " ?[^(\\s|[.,!?…。，、।۔،])]+", Plan::Scanner),
    ("viking", r" ?[^(\s|.,!?…。，、।۔،)]+|\p{N}", Plan::Scanner),
    (
        "clip",
        r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
        Plan::Scanner,
    ),
    (
        "mistral-nemo",
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        Plan::Scanner,
    ),
    (
        "qwen35",
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
            r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        Plan::Scanner,
    ),
    (
        "kimi-k2",
        concat!(
            r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
            r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
            r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        Plan::Scanner,
    ),
    ("whitespace", r"\S+", Plan::Scanner),
    ("newlines", r"[^\n]+|[\n]+", Plan::Scanner),
    ("words", r"\w+|[^\w\s]+", Plan::Scanner),
    ("a rewriter's", r"\s+", Plan::Scanner),
    (
        "threes from the right",
        r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
        Plan::Automaton { reads_past_match: false },
    ),
    ("graphemes", r"\X", Plan::Backtracking),
    ("lines", r"^.+$", Plan::Automaton { reads_past_match: false }),
];

#[test]
fn published_patterns_run_on_the_scanner_where_they_have_its_forms() {
    for (name, pattern, plan) in PUBLISHED {
        let ours = from_portable(pattern).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(splitter(&ours).plan(), plan, "{name}: {ours}");
    }
}
