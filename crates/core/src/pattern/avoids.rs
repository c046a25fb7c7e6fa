//! Does no match of a regex contain, or depend on, some characters?
//!
//! In: a regex, and ASCII characters. Out: true only if every match lies between them, whatever stands there. Then a text
//! that is cut at these characters has the matches of its parts.
use regex_syntax::hir::{Class, Hir, HirKind};

/// See the module. False for a regex that looks around or matches nothing, and for one that is not regular.
pub fn avoids(regex: &str, characters: &[u8]) -> bool {
    let Ok(parsed) = regex_syntax::parse(regex) else { return false };
    parsed.properties().minimum_len().is_some_and(|length| length > 0) && lies_between(&parsed, characters)
}

fn lies_between(regex: &Hir, characters: &[u8]) -> bool {
    match regex.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => !literal.0.iter().any(|byte| characters.contains(byte)),
        HirKind::Class(Class::Unicode(class)) => !class.ranges().iter().any(|range| {
            let range = range.start()..=range.end();
            characters.iter().any(|&character| range.contains(&char::from(character)))
        }),
        HirKind::Class(Class::Bytes(_)) | HirKind::Look(_) => false,
        HirKind::Repetition(repetition) => lies_between(&repetition.sub, characters),
        HirKind::Capture(capture) => lies_between(&capture.sub, characters),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().all(|part| lies_between(part, characters))
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
        // Of the last ones it is not known.
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
