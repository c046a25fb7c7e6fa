//! Regexes whose matches never contain some characters, nor depend on what stands beside them.
//!
//! In: a regex, and ASCII characters. Out: whether this is certain. A text that is cut at these characters then has the
//! matches of its parts.
use regex_syntax::hir::{Class, Hir, HirKind};

/// Does no match contain one of these characters, or depend on text outside of it? False where that is not known: for a
/// regex that looks around, that may match the empty string, or that is not regular.
pub fn avoids(regex: &str, characters: &[u8]) -> bool {
    let Ok(parsed) = regex_syntax::parse(regex) else { return false };
    parsed.properties().minimum_len().is_some_and(|length| length > 0) && never_contains(&parsed, characters)
}

/// Can each part of the regex match none of these characters?
fn never_contains(regex: &Hir, characters: &[u8]) -> bool {
    match regex.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => !literal.0.iter().any(|byte| characters.contains(byte)),
        HirKind::Class(Class::Unicode(class)) => !class.ranges().iter().any(|range| {
            let range = range.start()..=range.end();
            characters.iter().any(|&character| range.contains(&char::from(character)))
        }),
        HirKind::Class(Class::Bytes(_)) | HirKind::Look(_) => false,
        HirKind::Repetition(repetition) => never_contains(&repetition.sub, characters),
        HirKind::Capture(capture) => never_contains(&capture.sub, characters),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().all(|part| never_contains(part, characters))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::avoids;

    #[test]
    fn matches_lie_between_characters_or_not() {
        let white = b" \t\n\r";
        let clip = r"<\|startoftext\|>|'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+";
        for regex in [clip, "a+", "(?i:AB)|c", r"\S+", r"(\w+)", "[^ \t\n\r]"] {
            assert!(avoids(regex, white), "{regex}");
        }
        // Some of these are not known to do so.
        for regex in [
            " ?a",
            "a b",
            r"\s+",
            r"[^\p{L}]",
            ".",
            "(?s:.)",
            r"\ba",
            "^a",
            "a$",
            "a*",
            "a?|b",
            "",
            r"a(?=b)",
            r"a\n",
            "[\t-z]",
            r"(a)\1",
        ] {
            assert!(!avoids(regex, white), "{regex}");
        }
        assert!(avoids(r"a\nb", b" "));
    }
}
