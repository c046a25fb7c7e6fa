//! The added tokens of one pass over the text, and which of them a call recognises.
//!
//! In: a text and the policy of the call. Out: its parts, added tokens and the text between them. A token that the
//! policy does not allow must never be recognised.
use std::borrow::Cow;
use std::collections::HashSet;

use crate::description::AddedToken;
use crate::error::{Error, Kind, Place, Result};
use crate::ids::TokenId;
use crate::span::Span;
use crate::special::{AddedMatcher, LiteralMatcher, Surroundings, TextPart};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Watch};

use super::input::Special;

/// Some of the added tokens, ready to be found.
#[derive(Debug, Clone)]
pub(crate) struct AddedSet {
    matcher: AddedMatcher,
    tokens: Vec<AddedLiteral>,
    is_special: bool,
}

/// An added token, and the literal that it is found by.
#[derive(Debug, Clone)]
struct AddedLiteral {
    id: TokenId,
    is_special: bool,
    content: String,
    literal: String,
    surroundings: Surroundings,
}

/// Finds the added tokens that a call recognises. Those that are not special belong to the vocabulary and are
/// always among them. Made once for a call, however many texts it has: for [`Special::Only`] a matcher is built.
pub struct Recognizer<'a> {
    /// The literals of all special tokens.
    special: &'a LiteralMatcher,
    vocabulary: &'a Vocabulary,
    /// Tokens that are matched in the caller's text.
    pub(super) in_raw: Cow<'a, AddedSet>,
    /// Tokens that are matched in normalized text.
    pub(super) in_normalized: Cow<'a, AddedSet>,
    /// Special tokens are matched and then treated as text: as in the tokenizers library, no shorter token is
    /// matched in their place.
    skips_special: bool,
    /// A literal of a special token is an error.
    refuses_special: bool,
}

impl AddedSet {
    /// These tokens, each found by its literal.
    ///
    /// # Errors
    /// A special-token error for an empty literal, or when there are too many.
    pub(crate) fn new<'a>(tokens: impl IntoIterator<Item = (&'a AddedToken, String)>) -> Result<Self> {
        let tokens = tokens.into_iter().map(|(token, literal)| AddedLiteral {
            id: token.id,
            is_special: token.is_special,
            content: token.content.clone(),
            literal,
            surroundings: Surroundings {
                single_word: token.single_word,
                lstrip: token.lstrip,
                rstrip: token.rstrip,
            },
        });
        Self::of(tokens.collect())
    }

    fn of(tokens: Vec<AddedLiteral>) -> Result<Self> {
        #[cfg(test)]
        tests::MADE.set(tests::MADE.get() + 1);
        let literals = tokens.iter().map(|token| (token.literal.as_str(), token.surroundings));
        Ok(Self {
            matcher: AddedMatcher::new(literals)?,
            is_special: tokens.iter().all(|token| token.is_special),
            tokens,
        })
    }

    /// The tokens whose content is allowed, and all that are not special.
    fn allowed(&self, allowed: &[String]) -> Result<Self> {
        let allowed: HashSet<&str> = allowed.iter().map(String::as_str).collect();
        let keep = |token: &&AddedLiteral| !token.is_special || allowed.contains(token.content.as_str());
        Self::of(self.tokens.iter().filter(keep).cloned().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Is nothing left to match where special tokens are plain text?
    pub(super) fn has_only_special(&self) -> bool {
        self.is_empty() || self.is_special
    }

    /// Are all of them special?
    pub(crate) fn is_special(&self) -> bool {
        self.is_special
    }

    /// The matcher of their literals, without the rules about neighbouring characters.
    pub(crate) fn literals(&self) -> &LiteralMatcher {
        self.matcher.literals()
    }

    /// Does no token depend on the characters beside it?
    pub(super) fn is_plain(&self) -> bool {
        self.matcher.is_plain()
    }

    fn special_contents(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().filter(|token| token.is_special).map(|token| token.content.as_str())
    }
}

impl<'a> Recognizer<'a> {
    /// The recognizer for one value of `special=`.
    ///
    /// # Errors
    /// A special-token error for a literal in [`Special::Only`] that is no special token.
    pub(super) fn new(
        (first, second): (&'a AddedSet, &'a AddedSet),
        literals: &'a LiteralMatcher,
        vocabulary: &'a Vocabulary,
        special: &Special,
    ) -> Result<Self> {
        let (mut in_raw, mut in_normalized) = (Cow::Borrowed(first), Cow::Borrowed(second));
        if let Special::Only(allowed) = special {
            let known: HashSet<&str> = first.special_contents().chain(second.special_contents()).collect();
            if let Some(unknown) = allowed.iter().find(|content| !known.contains(content.as_str())) {
                return Err(Error::special(unknown.clone(), "is not a special token of this tokenizer"));
            }
            in_raw = Cow::Owned(first.allowed(allowed)?);
            in_normalized = Cow::Owned(second.allowed(allowed)?);
        }
        Ok(Self {
            special: literals,
            vocabulary,
            in_raw,
            in_normalized,
            skips_special: matches!(special, Special::Text | Special::Raise),
            refuses_special: *special == Special::Raise,
        })
    }

    /// Checks a text for literals of special tokens under [`Special::Raise`].
    ///
    /// # Errors
    /// A special-token error with the token and its byte; cancellation.
    pub(super) fn check(&self, text: &[u8], watch: &dyn Watch) -> Result<()> {
        if !self.refuses_special {
            return Ok(());
        }
        let found = self.special.search(text).next(0, &mut Ticker::new(watch))?;
        let Some((index, span)) = found else { return Ok(()) };
        let token = self.vocabulary.added().iter().filter(|token| token.is_special).nth(index);
        let token = token.map(|token| token.content.clone()).unwrap_or_default();
        let reason = "text may not hold special tokens here; pass special=\"text\" to read it as plain text, or \
                      special=\"parse\" to recognise it";
        let position = Some(Place::Byte(span.start));
        Err(Kind::SpecialToken { token, position, reason: reason.to_owned() }.into())
    }

    /// Calls `emit` for the tokens of a set that are recognised in `text`, by id, and for the text
    /// between them.
    pub(super) fn for_each_part(
        &self,
        set: &AddedSet,
        text: &str,
        ticker: &mut Ticker<'_>,
        mut emit: impl FnMut(TextPart<TokenId>, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        if set.is_empty() || (self.skips_special && set.has_only_special()) {
            let whole = TextPart::Ordinary(Span::new(0, text.len()));
            return if text.is_empty() { Ok(()) } else { emit(whole, ticker) };
        }
        let accept = |index: usize| !(self.skips_special && set.tokens[index].is_special);
        set.matcher.for_each_part(text, accept, ticker, |segment, ticker| {
            let segment = match segment {
                TextPart::Literal(index, span) => TextPart::Literal(set.tokens[index].id, span),
                TextPart::Ordinary(span) => TextPart::Ordinary(span),
            };
            emit(segment, ticker)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::{Source, Text};
    use super::*;
    use crate::compile::compile;
    use crate::description::{Alphabet, BpeDescription, Description, Merges, Split, TokenList};
    use crate::watch::Unwatched;

    thread_local! {
        /// How many matchers were made on this thread.
        pub(super) static MADE: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn a_set_of_literals_has_its_matchers_made_once_for_all_rows() {
        let tokens = TokenList::from_entries(vec![(0, b"a".to_vec())]);
        let mut description =
            Description::of_bpe(&Split::Whole, BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById));
        description.added_tokens = vec![AddedToken::special(1, "<s>"), AddedToken::special(2, "<t>")];
        let engine = compile(description).unwrap();
        let special = Special::Only(vec!["<s>".to_owned()]);
        let rows = [Some(Source::Text(Text::Str("a<s>a"))); 50];
        MADE.set(0);
        let (ids, _) = engine.encode_batch(&rows, &special, false, 1, &Unwatched).unwrap();
        assert_eq!(ids, [0, 1, 0].repeat(50));
        assert_eq!(engine.count_batch(&rows, &special, false, 1, &Unwatched).unwrap(), [3; 50]);
        // One for each pass over the text, in each of the two calls.
        assert_eq!(MADE.get(), 4);
    }
}
