//! The added tokens that are searched in one pass over the text, and those that a call recognises.
//!
//! In: a text and the policy of the call. Out: the added tokens of the text, and the text between them. A token
//! that the policy does not allow must never be recognised; nor may a guarded token, which is special or protected,
//! if its literal holds an untrusted byte.
use std::collections::HashSet;

use tokenmill_kernels::{MadeOnce, sorting};

use crate::aligned::{AlignedText, Origins};
use crate::description::AddedToken;
use crate::error::{Error, Kind, Place, Result};
use crate::ids::TokenId;
use crate::model::{SAME_PART, Scratch};
use crate::span::Span;
use crate::special::{AddedMatcher, Choice, LiteralMatcher, LongestOf, Prefixes, Surroundings, TextPart};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Watch};

use super::input::Special;
use super::untrusted::UntrustedRanges;

/// A set of added tokens, compiled for the search.
#[derive(Debug, Clone)]
pub(crate) struct AddedSet {
    matcher: AddedMatcher,
    tokens: Vec<AddedLiteral>,
    is_special: bool,
    /// Made when the first literal is dropped.
    prefixes: MadeOnce<Prefixes>,
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

/// Finds the added tokens that a call recognises. Tokens that are not special belong to the vocabulary and are
/// always recognised. Made once for a call, however many texts it has: for [`Special::Only`] a matcher is built.
pub struct Recognizer<'a> {
    /// The literals of all special tokens.
    special: &'a LiteralMatcher,
    vocabulary: &'a Vocabulary,
    /// The token that the model gives for text that the vocabulary cannot spell.
    unk: Option<TokenId>,
    /// Tokens that are matched in the caller's text.
    pub(super) in_raw: RecognizedSet<'a>,
    /// Tokens that are matched in normalized text.
    pub(super) in_normalized: RecognizedSet<'a>,
    /// The ids of protected tokens, ascending.
    protected: Vec<TokenId>,
    /// The protected tokens that the model itself could give, ascending.
    pub(super) forgeable: Vec<TokenId>,
    /// Special tokens are matched and then treated as text: as in the tokenizers library, no shorter token is
    /// matched in their place.
    skips_special: bool,
    /// A literal of a special token is an error.
    refuses_special: bool,
}

/// The added tokens of one pass that a call recognises.
pub(super) struct RecognizedSet<'a> {
    all: &'a AddedSet,
    /// Some of them, if the policy allows only some.
    allowed: Option<Box<AddedSet>>,
    /// The longest unguarded token that each literal begins with. Made when the first literal is dropped.
    unguarded: MadeOnce<LongestOf>,
}

impl<'a> RecognizedSet<'a> {
    #[inline]
    fn new(all: &'a AddedSet) -> Self {
        Self { all, allowed: None, unguarded: MadeOnce::new() }
    }

    #[inline]
    pub(super) fn set(&self) -> &AddedSet {
        self.allowed.as_deref().unwrap_or(self.all)
    }
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
            prefixes: MadeOnce::new(),
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

    /// Are all of them special, so that nothing is left to match if special tokens are plain text?
    pub(crate) fn has_only_special(&self) -> bool {
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

    fn prefixes(&self) -> &Prefixes {
        self.prefixes.get_or_make(|| {
            let literals: Vec<&str> = self.tokens.iter().map(|token| token.literal.as_str()).collect();
            Prefixes::new(&literals)
        })
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
    #[inline]
    pub(super) fn new(
        (first, second): (&'a AddedSet, &'a AddedSet),
        literals: &'a LiteralMatcher,
        vocabulary: &'a Vocabulary,
        unk: Option<TokenId>,
        special: &Special,
    ) -> Result<Self> {
        let (mut in_raw, mut in_normalized) = (RecognizedSet::new(first), RecognizedSet::new(second));
        if let Special::Only(allowed) = special {
            let known: HashSet<&str> = first.special_contents().chain(second.special_contents()).collect();
            if let Some(unknown) = allowed.iter().find(|content| !known.contains(content.as_str())) {
                return Err(Error::special(unknown.clone(), "this tokenizer has no such special token"));
            }
            in_raw.allowed = Some(Box::new(first.allowed(allowed)?));
            in_normalized.allowed = Some(Box::new(second.allowed(allowed)?));
        }
        Ok(Self {
            special: literals,
            vocabulary,
            unk,
            in_raw,
            in_normalized,
            protected: Vec::new(),
            forgeable: Vec::new(),
            skips_special: matches!(special, Special::Text | Special::Raise),
            refuses_special: *special == Special::Raise,
        })
    }

    /// Checks a text for literals of special tokens under [`Special::Raise`].
    ///
    /// # Errors
    /// A special-token error with the token and its byte; cancellation.
    pub(crate) fn check(&self, text: &[u8], watch: &dyn Watch) -> Result<()> {
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

    /// The same recognizer, for texts of which some bytes are untrusted: there it recognises neither special nor
    /// protected tokens, and the model does not give them either. `protected` has ids of added tokens.
    ///
    /// # Errors
    /// A vocabulary error for an id that is not one of an added token.
    pub fn protecting(&self, protected: &[TokenId]) -> Result<Recognizer<'_>> {
        if let Some(&id) = protected.iter().find(|&&id| self.vocabulary.added_by_id(id).is_none()) {
            let reason = "is not an added token of this tokenizer, and only those can be protected";
            return Err(Error::vocabulary(Some(id.into()), reason));
        }
        let mut protected = protected.to_vec();
        sorting::sort(&mut protected);
        protected.dedup();
        let may_be_given = |id: &TokenId| {
            self.vocabulary.tokens().index_of(*id).is_some()
                && !self.vocabulary.is_special(*id)
                && Some(*id) != self.unk
        };
        Ok(Recognizer {
            special: self.special,
            vocabulary: self.vocabulary,
            unk: self.unk,
            in_raw: RecognizedSet::new(self.in_raw.set()),
            in_normalized: RecognizedSet::new(self.in_normalized.set()),
            forgeable: protected.iter().copied().filter(may_be_given).collect(),
            protected,
            skips_special: self.skips_special,
            refuses_special: self.refuses_special,
        })
    }

    /// Is this the id of a protected token that the model could give?
    #[inline]
    pub(super) fn may_forge(&self, id: TokenId) -> bool {
        self.forgeable.binary_search(&id).is_ok()
    }

    /// Does a protected token that the model gave stand for an untrusted byte? `scratch` has the ids of a pretoken
    /// and their ends.
    pub(super) fn finds_forged(
        &self,
        untrusted: &UntrustedRanges,
        scratch: &Scratch,
        origins: Origins<'_>,
    ) -> bool {
        if self.forgeable.is_empty() {
            return false;
        }
        let mut part = Span::new(0, 0);
        scratch.ids.iter().zip(&scratch.ends).any(|(id, &end)| {
            if end != SAME_PART {
                part = Span::new(part.end, end as usize);
            }
            self.may_forge(*id) && untrusted.overlaps(origins.touched(part))
        })
    }

    fn is_guarded(&self, token: &AddedLiteral) -> bool {
        token.is_special || self.protected.binary_search(&token.id).is_ok()
    }

    /// Are the origins of normalized text needed, so that no guarded token is recognised in untrusted text?
    pub(super) fn guards_normalized(&self) -> bool {
        self.searches_normalized()
            && self.in_normalized.set().tokens.iter().any(|token| self.is_guarded(token))
    }

    /// May a token be recognised in normalized text?
    pub(super) fn searches_normalized(&self) -> bool {
        let set = self.in_normalized.set();
        !(set.is_empty() || self.skips_special && set.has_only_special())
    }

    /// Calls `emit` for the tokens of a set that are recognised in a text, by id, and for the text between them. If
    /// some bytes are untrusted and a token is guarded, the origins of the text must be known.
    pub(super) fn for_each_part(
        &self,
        recognized: &RecognizedSet<'_>,
        text: AlignedText<'_>,
        untrusted: &UntrustedRanges,
        ticker: &mut Ticker<'_>,
        mut emit: impl FnMut(TextPart<TokenId>, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        let set = recognized.set();
        if set.is_empty() || (self.skips_special && set.has_only_special()) {
            let whole = TextPart::Ordinary(Span::new(0, text.text.len()));
            return if text.text.is_empty() { Ok(()) } else { emit(whole, ticker) };
        }
        let accept = |index: usize| !(self.skips_special && set.tokens[index].is_special);
        let ranges_before = untrusted.ranges_before(text.span().start);
        let is_untrusted = |span: Span| untrusted.overlaps_from(&ranges_before, text.origins.touched(span));
        let choose = |index: usize, found: Span| {
            if !self.is_guarded(&set.tokens[index]) || !is_untrusted(found) {
                return Choice::Take(index, found);
            }
            self.choose_shorter(recognized, text, untrusted, &is_untrusted, (index, found))
        };
        let choose: Option<&dyn Fn(usize, Span) -> Choice> =
            if untrusted.is_empty() { None } else { Some(&choose) };
        set.matcher.for_each_part(text.text, choose, accept, ticker, |segment, ticker| {
            let segment = match segment {
                TextPart::Literal(index, span) => TextPart::Literal(set.tokens[index].id, span),
                TextPart::Ordinary(span) => TextPart::Ordinary(span),
            };
            emit(segment, ticker)
        })
    }

    /// Calls `each` for the tokens that are recognised in the caller's text, and for the text between them.
    pub(crate) fn for_each_part_of(
        &self,
        text: &str,
        ticker: &mut Ticker<'_>,
        mut each: impl FnMut(TextPart<TokenId>),
    ) -> Result<()> {
        let (whole, trusted) = (AlignedText::original(text, 0), UntrustedRanges::none());
        self.for_each_part(&self.in_raw, whole, trusted, ticker, |part, _| {
            each(part);
            Ok(())
        })
    }

    /// The choice if a literal is dropped: the longest literal that it begins with and that is not dropped; if
    /// there is none, the search goes on.
    #[cold]
    fn choose_shorter(
        &self,
        recognized: &RecognizedSet<'_>,
        text: AlignedText<'_>,
        untrusted: &UntrustedRanges,
        is_untrusted: &dyn Fn(Span) -> bool,
        (index, found): (usize, Span),
    ) -> Choice {
        let set = recognized.set();
        let span = |index: usize| Span::new(found.start, found.start + set.tokens[index].literal.len());
        let prefixes = set.prefixes();
        let unguarded = recognized
            .unguarded
            .get_or_make(|| prefixes.longest_of(|index| !self.is_guarded(&set.tokens[index])));
        let length = |index: &usize| set.tokens[*index].literal.len();
        // Of equal literals the first one.
        let longest = [unguarded.get(index), prefixes.longest(index, |index| is_untrusted(span(index)))]
            .into_iter()
            .flatten()
            .max_by_key(|index| (length(index), std::cmp::Reverse(*index)));
        match (longest, text.origins) {
            (Some(index), _) => Choice::Take(index, span(index)),
            // Every literal that begins before the next trusted byte would be dropped as well.
            (None, Origins::Same(at)) if unguarded.is_empty() => {
                let next = untrusted.next_trusted(at + found.start) - at;
                Choice::SearchFrom(next.clamp(found.start + 1, text.text.len()))
            }
            _ => Choice::SearchFrom(found.start + 1),
        }
    }
}

#[cfg(test)]
mod tests;
