//! Search for added tokens in a text: leftmost first, longest at each position, never overlapping.
//!
//! In: a text. Out: its parts, each a literal or ordinary text. A match says nothing about who
//! wrote the literal: `engine` decides whether it counts as a token.
mod literals;
mod prefixes;

use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

pub use literals::{LiteralMatcher, TextPart};
pub use prefixes::{LongestOf, Prefixes};

/// The decision about a literal that was found, made before its conditions are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Take this literal: the one that was found, or a shorter one that it begins with.
    Take(usize, Span),
    /// Take none of them: the search goes on from this byte.
    SearchFrom(usize),
}

/// Conditions on the text around a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Matches only if no word character precedes or follows.
    pub single_word: bool,
    /// The match includes the white space before it.
    pub lstrip: bool,
    /// The match includes the white space after it.
    pub rstrip: bool,
}

/// Literals with conditions on the text around them.
#[derive(Debug, Clone)]
pub struct AddedMatcher {
    literals: LiteralMatcher,
    surroundings: Vec<Surroundings>,
}

impl AddedMatcher {
    /// Builds a matcher; a literal is identified by its index.
    ///
    /// # Errors
    /// As [`LiteralMatcher::new`].
    pub fn new<'a>(literals: impl IntoIterator<Item = (&'a str, Surroundings)>) -> Result<Self> {
        let (contents, surroundings): (Vec<_>, Vec<_>) = literals.into_iter().unzip();
        Ok(Self { literals: LiteralMatcher::new(contents)?, surroundings })
    }

    /// The matcher without the conditions.
    pub fn literals(&self) -> &LiteralMatcher {
        &self.literals
    }

    /// Does the matcher have no literals?
    pub fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    /// Do all literals match without conditions?
    pub fn is_plain(&self) -> bool {
        self.surroundings.iter().all(|surroundings| *surroundings == Surroundings::default())
    }

    /// Calls `emit` for the parts of `text` in order. They cover the text, except that a literal
    /// may be cut short if it starts in the white space that the literal before it took.
    ///
    /// At each position the longest literal is found and then tested: if `accept` or its conditions reject it, it
    /// is ordinary text, and no shorter literal is tried there. `choose` is called before that: a literal that it
    /// drops counts as if it were not in the text.
    ///
    /// # Errors
    /// Errors of `emit` and of the watch.
    pub fn for_each_part(
        &self,
        text: &str,
        choose: Option<&dyn Fn(usize, Span) -> Choice>,
        accept: impl Fn(usize) -> bool,
        ticker: &mut Ticker<'_>,
        mut emit: impl FnMut(TextPart, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut start, mut from) = (0, 0);
        let mut search = self.literals.search(text.as_bytes());
        while let Some((mut index, mut found)) = search.next(from, ticker)? {
            if let Some(choose) = choose {
                match choose(index, found) {
                    Choice::Take(chosen, span) => (index, found) = (chosen, span),
                    Choice::SearchFrom(next) => {
                        from = next;
                        continue;
                    }
                }
            }
            from = found.end;
            let conditions = self.surroundings[index];
            let (before, after) = (&text[..found.start], &text[found.end..]);
            if !accept(index)
                || (conditions.single_word && (ends_with_word(before) || starts_with_word(after)))
            {
                continue;
            }
            let mut literal = found;
            // White space is scanned only once, however many literals it contains: the part before `start` is
            // taken, and the white space after a literal in it ends at `start` too.
            if conditions.lstrip {
                literal.start = start + text.get(start..found.start).map_or(0, |free| free.trim_end().len());
            }
            if conditions.rstrip {
                literal.end = if found.end <= start { start } else { text.len() - after.trim_start().len() };
            }
            // The literal before took all of its white space.
            if literal.start >= literal.end {
                continue;
            }
            if literal.start > start {
                emit(TextPart::Ordinary(Span::new(start, literal.start)), ticker)?;
            }
            emit(TextPart::Literal(index, literal), ticker)?;
            start = literal.end;
        }
        if start < text.len() {
            emit(TextPart::Ordinary(Span::new(start, text.len())), ticker)
        } else {
            Ok(())
        }
    }
}

fn ends_with_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_word)
}

fn starts_with_word(text: &str) -> bool {
    text.chars().next().is_some_and(is_word)
}

/// `\w` of the Rust regex crate, as in the tokenizers library.
fn is_word(char: char) -> bool {
    regex_syntax::try_is_word_character(char).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;
    use proptest::prelude::*;

    fn added(literals: &[(&str, Surroundings)], text: &str) -> Vec<(Option<usize>, (usize, usize))> {
        let matcher = AddedMatcher::new(literals.iter().copied()).unwrap();
        let mut found = Vec::new();
        let emit = |segment, _: &mut Ticker<'_>| {
            found.push(match segment {
                TextPart::Ordinary(span) => (None, (span.start, span.end)),
                TextPart::Literal(index, span) => (Some(index), (span.start, span.end)),
            });
            Ok(())
        };
        matcher.for_each_part(text, None, |_| true, &mut Ticker::new(&Unwatched), emit).unwrap();
        found
    }

    #[test]
    fn a_single_word_is_refused_beside_word_characters_and_no_shorter_one_is_tried() {
        let word = Surroundings { single_word: true, ..Surroundings::default() };
        let literals = [("ab", word), ("a", Surroundings::default())];
        assert_eq!(added(&literals, "abc"), [(None, (0, 3))]);
        for blocked in ["ab\u{301}", "ab日", "ab\u{200d}", "ab_"] {
            assert_eq!(added(&literals, blocked), [(None, (0, blocked.len()))], "{blocked}");
        }
        for free in ["ab²", "ab'", "ab-"] {
            assert_eq!(added(&literals, free)[0], (Some(0), (0, 2)), "{free}");
        }
    }

    #[test]
    fn white_space_goes_into_a_literal_that_strips() {
        let both = Surroundings { lstrip: true, rstrip: true, ..Surroundings::default() };
        let text = "a \t<m>\n\u{a0}b";
        assert_eq!(added(&[("<m>", both)], text), [(None, (0, 1)), (Some(0), (1, 9)), (None, (9, 10))]);
        // Stripping on the left stops at the previous literal.
        assert_eq!(added(&[("<m>", both)], "<m> <m>"), [(Some(0), (0, 4)), (Some(0), (4, 7))]);
        // The search continues after the literal itself, so that the next match may overlap.
        let right = Surroundings { rstrip: true, ..Surroundings::default() };
        let literals = [("<m>", right), (" b", Surroundings::default())];
        assert_eq!(added(&literals, "<m> b"), [(Some(0), (0, 4)), (Some(1), (3, 5))]);
        // Nothing is left of a literal of white space if the one before it took that white space.
        let left = Surroundings { lstrip: true, ..Surroundings::default() };
        for mark in [left, both] {
            assert_eq!(added(&[("<m>", right), (" ", mark)], "<m>   b"), [(Some(0), (0, 6)), (None, (6, 7))]);
        }
    }

    /// The parts by a naive search that scans the white space around each literal again.
    fn added_plainly(literals: &[(&str, Surroundings)], text: &str) -> Vec<(Option<usize>, (usize, usize))> {
        let matcher = LiteralMatcher::new(literals.iter().map(|literal| literal.0)).unwrap();
        let (mut found, mut start, mut from) = (vec![], 0, 0);
        let mut search = matcher.search(text.as_bytes());
        while let Some((index, span)) = search.next(from, &mut Ticker::new(&Unwatched)).unwrap() {
            from = span.end;
            let (mut literal, conditions) = (span, literals[index].1);
            if conditions.lstrip {
                literal.start = text[..span.start].trim_end().len().max(start);
            }
            if conditions.rstrip {
                literal.end = text.len() - text[span.end..].trim_start().len();
            }
            if literal.start < literal.end {
                if start < literal.start {
                    found.push((None, (start, literal.start)));
                }
                found.push((Some(index), (literal.start, literal.end)));
                start = literal.end;
            }
        }
        if start < text.len() {
            found.push((None, (start, text.len())));
        }
        found
    }

    proptest! {
        #[test]
        fn white_space_is_taken_as_if_it_was_looked_at_anew(
            text in "[ab \n\u{a0}]{0,30}",
            conditions in prop::collection::vec((any::<bool>(), any::<bool>()), 6),
        ) {
            let contents = ["\n", " ", "a", " b", "\n\n", "\u{a0} "];
            let surroundings = conditions
                .into_iter()
                .map(|(lstrip, rstrip)| Surroundings { lstrip, rstrip, ..Surroundings::default() });
            let literals: Vec<_> = contents.into_iter().zip(surroundings).collect();
            prop_assert_eq!(added(&literals, &text), added_plainly(&literals, &text));
        }
    }
}
