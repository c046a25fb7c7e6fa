//! Flags of added tokens that have no effect.
//!
//! In: a canonical description. Out: one in which they are not set, so that two that differ only in them are equal.
use crate::description::{AddedToken, Description};

/// With more added tokens nothing is changed: every two of them are compared.
const MOST_TOKENS: usize = 2_000;

/// Clears the flag `normalized` of all added tokens if it has no effect.
///
/// Without a normalizer both passes search the same text, but tokens with the flag are searched for in the second one.
/// The order has no effect if no two literals can overlap in a text and no token depends on the characters beside it.
pub(super) fn without_idle_flags(mut description: Description) -> Description {
    let tokens = &mut description.added_tokens;
    if description.normalizer.is_empty() && tokens.len() <= MOST_TOKENS && never_overlap(tokens) {
        for token in tokens {
            token.normalized = false;
        }
    }
    description
}

/// Can no two literals overlap, and does no token depend on the characters beside it?
fn never_overlap(tokens: &[AddedToken]) -> bool {
    let depends_on_neighbours = |token: &AddedToken| token.single_word || token.lstrip || token.rstrip;
    !tokens.iter().any(depends_on_neighbours)
        && tokens.iter().enumerate().all(|(i, a)| {
            tokens[i + 1..]
                .iter()
                .all(|b| !overlap(&a.content, &b.content) && !overlap(&b.content, &a.content))
        })
}

/// Does `a` contain `b`, or does an end of `a` equal a beginning of `b`?
fn overlap(a: &str, b: &str) -> bool {
    a.contains(b) || a.char_indices().skip(1).any(|(at, _)| b.starts_with(&a[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_overlap_where_one_contains_the_other_or_begins_with_its_end() {
        for (a, b) in [("<s>", "s"), ("<s>", "<s>"), ("abc", "cd"), ("éa", "a"), ("abc", "ab")] {
            assert!(overlap(a, b), "{a} {b}");
        }
        for (a, b) in [("<s>", "</s>"), ("cd", "abc"), ("ab", "abc")] {
            assert!(!overlap(a, b), "{a} {b}");
        }
    }
}
