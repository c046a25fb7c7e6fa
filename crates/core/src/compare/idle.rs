//! Flags that have no effect, though the canonical descriptions differ in them.
use crate::description::{AddedToken, Description};

/// The added tokens that are looked at at most: every two of them are compared.
const MOST_TOKENS: usize = 2_000;

/// The description with one notation for added tokens that are found alike in raw and in normalized text.
///
/// Text that is not normalized is the same in both, but tokens that are `normalized` are looked for second. The order
/// means nothing if no two literals can share a character of a text, and none looks at what is around it.
pub(super) fn without_idle_flags(mut description: Description) -> Description {
    let tokens = &mut description.added_tokens;
    if description.normalizer.is_empty() && tokens.len() <= MOST_TOKENS && are_apart(tokens) {
        for token in tokens {
            token.normalized = false;
        }
    }
    description
}

fn are_apart(tokens: &[AddedToken]) -> bool {
    let looks_around = |token: &AddedToken| token.single_word || token.lstrip || token.rstrip;
    !tokens.iter().any(looks_around)
        && tokens.iter().enumerate().all(|(i, a)| {
            tokens[i + 1..].iter().all(|b| !meet(&a.content, &b.content) && !meet(&b.content, &a.content))
        })
}

/// Does `a` hold `b`, or end with what `b` begins with?
fn meet(a: &str, b: &str) -> bool {
    a.contains(b) || a.char_indices().skip(1).any(|(at, _)| b.starts_with(&a[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_meet_where_one_text_may_hold_both_at_once() {
        assert!(meet("<s>", "s") && meet("<s>", "<s>") && meet("abc", "cd") && meet("éa", "a"));
        assert!(!meet("<s>", "</s>") && !meet("cd", "abc") && !meet("ab", "abc"));
        assert!(meet("abc", "ab"));
    }
}
