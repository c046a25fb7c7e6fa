//! Places between words at which any text may be cut, for tokenizers with a normalizer or with several steps of
//! pre-tokenization.
//!
//! In: a description. Out: whether a text may be cut before a space that stands between two ASCII letters, and where
//! a text has such places. A place must never be given if what is on the one side of it can change the ids of the
//! other side, whatever the text is.
//!
//! Each step is looked at: what it makes of the space, and whether it looks across it. Steps that are not known here
//! look across everything.
use super::Engine;
use crate::charsmap::Charsmap;
use crate::description::{
    AddedToken, Alphabet, Behavior, Description, ModelDescription, Normalizer, Pattern, PreTokenizer, Split,
};
use crate::pattern::Splitter;
use crate::vocabulary::Vocabulary;

/// What the space between two words is written as, after some steps.
const SPACE: &str = " ";
const MARK: &str = "\u{2581}";

/// Letters of both cases, for patterns that tell them apart.
const LETTERS: [u8; 4] = [b'a', b'z', b'A', b'Z'];

impl Engine {
    /// May any text be cut before a space that stands between two ASCII letters? The ids of what is before it are
    /// then those of that text alone, and those of the letter before it and of what follows are together those of
    /// a text that begins with that letter.
    pub(crate) fn has_word_cuts(&self) -> bool {
        *self.word_cuts.get_or_make(|| has_word_cuts(&self.description, &self.stages.vocabulary))
    }
}

/// The last such place in a text from `from` on.
pub(crate) fn last_word_cut(text: &[u8], from: usize) -> Option<usize> {
    let places = from.max(1)..text.len().saturating_sub(1);
    places.rev().find(|&at| {
        text[at] == b' ' && text[at - 1].is_ascii_alphabetic() && text[at + 1].is_ascii_alphabetic()
    })
}

fn has_word_cuts(description: &Description, vocabulary: &Vocabulary) -> bool {
    let Some(mark) = normalized_mark(&description.normalizer) else { return false };
    let are_plain = |mark: &str| description.added_tokens.iter().all(|token| is_plain(token, mark));
    if !are_plain(SPACE) || !are_plain(&mark) {
        return false;
    }
    let Some((mark, is_cut)) = pre_tokenized_mark(&description.pre_tokenizer, mark) else { return false };
    is_cut || model_cuts(&description.model, vocabulary, &mark)
}

/// Does no literal reach across the place, nor take white space there?
fn is_plain(token: &AddedToken, mark: &str) -> bool {
    let literal = token.content.as_str();
    let joins =
        literal.match_indices(mark).any(|(at, _)| literal[..at].ends_with(|c: char| c.is_ascii_alphabetic()));
    let takes_before = token.lstrip && literal.starts_with(|c: char| c.is_ascii_alphabetic());
    let takes_behind = token.rstrip && literal.ends_with(|c: char| c.is_ascii_alphabetic());
    !joins && !takes_before && !takes_behind
}

/// What the space is after normalization; `None` if a step may look across it, or may change the letters.
fn normalized_mark(steps: &[Normalizer]) -> Option<String> {
    let mut mark = SPACE.to_owned();
    for step in steps {
        match step {
            Normalizer::Nfc(_)
            | Normalizer::Nfd(_)
            | Normalizer::Nfkc(_)
            | Normalizer::Nfkd(_)
            | Normalizer::Lowercase
            | Normalizer::Strip { .. }
            | Normalizer::StripAccents
            | Normalizer::Prepend(_)
            | Normalizer::Nmt
            | Normalizer::Bert { .. } => {}
            Normalizer::Replace { pattern: Pattern::Literal(literal), content } if *literal == mark => {
                mark.clone_from(content);
            }
            Normalizer::Replace { pattern: Pattern::Literal(literal), .. } => {
                let is_letter = |c: char| c.is_ascii_alphabetic();
                if literal.is_empty() || literal.contains(is_letter) || literal.contains(&mark) {
                    return None;
                }
            }
            // Runs of spaces, as some files of T5 collapse them.
            Normalizer::Replace { pattern: Pattern::Regex(regex), .. }
                if regex == " {2,}" && mark == SPACE => {}
            Normalizer::Precompiled(blob)
                if mark == SPACE && Charsmap::parse(blob).is_ok_and(|map| map.keeps_words()) => {}
            Normalizer::SentencePiece(rules) if mark == SPACE && !rules.treat_whitespace_as_suffix => {
                let is_mapped = !rules.charsmap.is_empty();
                let user_defined = rules.user_defined.iter();
                let joins = |literal: &String| literal.contains([' ', '\u{2581}']) || literal.len() == 1;
                if is_mapped && !Charsmap::parse(&rules.charsmap).is_ok_and(|map| map.keeps_words())
                    || user_defined.clone().any(joins)
                {
                    return None;
                }
                if rules.escape_whitespaces {
                    MARK.clone_into(&mut mark);
                }
            }
            _ => return None,
        }
    }
    let mut characters = mark.chars();
    (characters.next().is_some_and(|c| !c.is_ascii_alphabetic()) && characters.next().is_none())
        .then_some(mark)
}

/// What the space is after pre-tokenization, and whether the text is cut before it; `None` if a step may look
/// across it.
fn pre_tokenized_mark(steps: &[PreTokenizer], mut mark: String) -> Option<(String, bool)> {
    let mut is_cut = false;
    for step in steps {
        let is_mark = |text: &str| text == mark;
        match step {
            PreTokenizer::Split { pattern: Pattern::Literal(literal), behavior, invert: false }
                if is_mark(literal) =>
            {
                is_cut |= match behavior {
                    Behavior::Removed
                    | Behavior::Isolated
                    | Behavior::MergedWithNext
                    | Behavior::Contiguous => true,
                    Behavior::MergedWithPrevious => return None,
                };
            }
            // It is nowhere near the place.
            PreTokenizer::Split { pattern: Pattern::Literal(literal), .. }
                if !literal.is_empty()
                    && !literal.contains(|c: char| c.is_ascii_alphabetic())
                    && !literal.contains(&mark) => {}
            PreTokenizer::Split { pattern: Pattern::Regex(regex), behavior: Behavior::Isolated, .. } => {
                let splitter = Splitter::compile(&Split::Pattern(regex.clone())).ok()?;
                let cuts = |left: &u8, right: &u8| {
                    let text = format!("{}{mark}{}", char::from(*left), char::from(*right));
                    splitter.safe_cut(&text, 1) == Some(1)
                };
                if LETTERS.iter().all(|left| LETTERS.iter().all(|right| cuts(left, right))) {
                    is_cut = true;
                } else if !splitter.ignores(&format!("azAZ{mark}")) {
                    return None;
                }
            }
            PreTokenizer::PrefixSpace | PreTokenizer::ByteAlphabet | PreTokenizer::Digits { .. } => {}
            PreTokenizer::Punctuation(_) if is_cut || mark == SPACE => {}
            PreTokenizer::Bert | PreTokenizer::Whitespace | PreTokenizer::WhitespaceSplit
                if is_cut || mark == SPACE =>
            {
                is_cut = true;
            }
            PreTokenizer::CharDelimiter(delimiter) => is_cut |= is_mark(delimiter.encode_utf8(&mut [0; 4])),
            PreTokenizer::Metaspace { replacement, split, .. } => {
                let written = replacement.to_string();
                if mark == SPACE || mark == written {
                    is_cut |= split;
                    mark = written;
                } else if !is_cut {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some((mark, is_cut))
}

/// Does the model never look across the space of a text that is one pretoken? Only if no token has a letter before
/// it, and if it is a token itself, so that it is never a part of unknown text.
fn model_cuts(model: &ModelDescription, vocabulary: &Vocabulary, mark: &str) -> bool {
    let is_independent = match model {
        ModelDescription::Bpe(bpe) => {
            bpe.continuing_prefix.is_none()
                && !bpe.whole_pretokens
                && matches!(bpe.alphabet, Alphabet::Chars { end_of_word: None })
        }
        ModelDescription::Unigram(_) => true,
        ModelDescription::WordPiece(_) | ModelDescription::WordLevel(_) => false,
    };
    let joins = |token: &[u8]| {
        let places = token.windows(mark.len()).enumerate();
        places.skip(1).any(|(at, part)| part == mark.as_bytes() && token[at - 1].is_ascii_alphabetic())
    };
    is_independent
        && vocabulary.find(mark.as_bytes()).is_some()
        && !vocabulary.tokens().iter().any(|(_, token)| joins(token))
}
