//! Texts that hold the literals of added tokens. In: two descriptions. Out: the literals, and what normalizers make into
//! them, in the neighbourhoods that flags, normalizers and other literals look at.
use super::around::Found;
use crate::description::{AddedToken, Description, Normalizer, Pattern};
use crate::error::Result;

/// The literals that differ, and those that do not, of which texts are made.
const MOST_DIFFERING: usize = 200;
const MOST_OTHERS: usize = 50;

const AROUND: [&str; 9] = ["", " ", "  ", "a", "1", "_", "é", "\n", "."];

/// Marks that a normalizer may compose with the end of a literal, or remove.
const MARKS: [&str; 4] = ["\u{301}", "\u{338}", "\u{200d}", "\0"];

/// The literals of added tokens, those that differ first.
pub(super) fn each_literal(a: &Description, b: &Description, found: &mut Found<'_>) -> Result<bool> {
    let is_new = |token: &AddedToken, others: &Description| !others.added_tokens.contains(token);
    let differing = a
        .added_tokens
        .iter()
        .filter(|token| is_new(token, b))
        .chain(b.added_tokens.iter().filter(|token| is_new(token, a)));
    let all = a.added_tokens.iter().chain(&b.added_tokens);
    let literals: Vec<&str> = differing
        .take(MOST_DIFFERING)
        .chain(all.take(MOST_OTHERS))
        .map(|token| token.content.as_str())
        .collect();
    for &literal in &literals {
        let forms = [literal.to_owned(), literal.to_lowercase(), literal.to_uppercase(), literal.repeat(2)];
        for form in forms.into_iter().chain(normalized_to(literal, a)).chain(normalized_to(literal, b)) {
            for before in AROUND {
                for after in AROUND.into_iter().chain(MARKS) {
                    if found(&[before, &form, after].concat())? {
                        return Ok(true);
                    }
                }
            }
        }
    }
    // Two literals that share characters: the one that begins first is found.
    for first in &literals {
        for second in literals.iter().take(MOST_OTHERS) {
            for (at, _) in first.char_indices() {
                if found(&[&first[..at], second].concat())? {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Texts that a step of a normalizer may turn into a literal.
fn normalized_to(literal: &str, description: &Description) -> Vec<String> {
    let wide = |c: char| match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
        _ => c,
    };
    let mut forms = Vec::new();
    for step in &description.normalizer {
        match step {
            Normalizer::Replace { pattern: Pattern::Literal(pattern), content } if !content.is_empty() => {
                forms.extend([literal.replace(content, pattern), literal.replacen(content, pattern, 1)]);
            }
            Normalizer::Replace { pattern: Pattern::Literal(pattern), .. } => {
                forms.extend(inside(literal, pattern));
            }
            Normalizer::Prepend(prefix) => forms.extend(literal.strip_prefix(prefix).map(str::to_owned)),
            Normalizer::Lowercase
            | Normalizer::Nfc(_)
            | Normalizer::Nfd(_)
            | Normalizer::Strip { .. }
            | Normalizer::ByteLevel
            | Normalizer::Replace { .. }
            | Normalizer::Hook(_) => {}
            // Compatibility forms, and steps that remove marks or controls.
            _ => {
                forms.push(literal.chars().map(wide).collect());
                forms.extend(MARKS.iter().flat_map(|mark| inside(literal, mark)));
            }
        }
    }
    forms
}

/// A literal with something after its first character, and before its last.
fn inside(literal: &str, more: &str) -> Vec<String> {
    let places =
        [literal.chars().next().map(char::len_utf8), literal.char_indices().last().map(|(at, _)| at)];
    places.into_iter().flatten().map(|at| [&literal[..at], more, &literal[at..]].concat()).collect()
}
