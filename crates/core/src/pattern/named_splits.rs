//! The split patterns that have names.
//!
//! Translates names and patterns into splits, and splits back into names. The patterns are written in their
//! portable forms: they give the same pretokens in fancy-regex and in Oniguruma, so they can be written into a
//! tokenizer.json unchanged.
use crate::description::Split;

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const CL100K: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const WHITESPACE: &str = r" ?\S+|\s+";

const PATTERNS: [(&str, &str); 6] = [
    ("gpt2", GPT2),
    ("cl100k", CL100K),
    ("o200k", O200K),
    // The pattern is the same as for cl100k: [`name_of`] gives that name, whoever asked for this one keeps it.
    ("llama3", CL100K),
    ("qwen2", QWEN2),
    ("whitespace", WHITESPACE),
];

/// All names, in the order in which they are shown to users.
pub const NAMES: [&str; 7] = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "whitespace", "none"];

/// The name that a user asks for a split by; `None` for a regular expression.
pub fn name_given(user: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| *name == user)
}

/// How a split is shown to users: the name that it was asked for by, else the name of its pattern, else the pattern.
/// A name that was asked for and stands for another split does not count.
pub fn shown(split: Split, asked: Option<&'static str>) -> String {
    let asked = asked.filter(|name| split_named(name).as_ref() == Some(&split));
    match (asked.or_else(|| name_of(&split)), split) {
        (Some(name), _) => name.to_owned(),
        (None, Split::Pattern(regex)) => regex,
        (None, Split::Whole) => "none".to_owned(),
    }
}

/// The split with this name.
pub fn split_named(name: &str) -> Option<Split> {
    if name == "none" {
        return Some(Split::Whole);
    }
    let (_, pattern) = PATTERNS.iter().find(|(known, _)| *known == name)?;
    Some(Split::Pattern((*pattern).to_owned()))
}

/// The name of this split, if its pattern is a known one. If two names have the same pattern, this is the first
/// one in [`NAMES`].
pub fn name_of(split: &Split) -> Option<&'static str> {
    match split {
        Split::Whole => Some("none"),
        Split::Pattern(pattern) => PATTERNS.iter().find(|(_, known)| known == pattern).map(|(name, _)| *name),
    }
}

/// The split that a user asks for, by a known name or by a regular expression. The expression is not checked here:
/// [`Splitter::compile`](super::Splitter::compile) reports whether it is valid.
pub fn split_from(user: &str) -> Split {
    split_named(user).unwrap_or_else(|| Split::Pattern(user.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Plan, Splitter, from_portable, portable};

    #[test]
    fn every_name_has_a_split_and_every_split_a_name() {
        for name in NAMES {
            let split = split_named(name).unwrap();
            let expected = if name == "llama3" { "cl100k" } else { name };
            assert_eq!(name_of(&split), Some(expected));
            assert_eq!(split_from(name), split);
            assert_eq!(name_given(name), Some(name));
        }
        assert_eq!((split_named("gpt-2"), name_given("gpt-2"), name_given(r"\w+")), (None, None, None));
        assert_eq!(name_of(&Split::Pattern(r"\w+".to_owned())), None);
        assert_eq!(split_from(r"\w+"), Split::Pattern(r"\w+".to_owned()));
    }

    #[test]
    fn every_known_pattern_runs_on_the_scanner_and_is_portable() {
        for (name, pattern) in PATTERNS {
            let splitter = Splitter::compile(&split_named(name).unwrap()).unwrap();
            assert_eq!(splitter.plan(), Plan::Scanner, "{name}");
            assert_eq!(portable(pattern).unwrap(), pattern);
            assert_eq!(from_portable(pattern).unwrap(), pattern);
        }
        assert_eq!(Splitter::compile(&Split::Whole).unwrap().plan(), Plan::Whole);
    }
}
