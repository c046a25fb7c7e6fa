//! The characters that may stand beside a gap between raw words.
//!
//! In: a description. Out: whether white space separates words, and beside which characters. The pretokens on both sides
//! of such white space must not depend on each other, whatever the text is.
//!
//! Three kinds of tokenizers have raw words:
//!
//! - The first step of pre-tokenization cuts at white space and drops it (BERT, T5, CLIP).
//! - A Metaspace alone writes spaces as marks and splits before each mark, after a step of normalization that makes one
//!   space of several (ALBERT, XLNet, new files of XLM-R). What may become a space or a mark beside a gap is no edge.
//! - Nothing splits, SentencePiece normalizes the text, and no token of the model goes on after a space (Unigram).
use crate::charsmap::Charsmap;
use crate::description::{Behavior, Description, Normalizer, Pattern, PreTokenizer, PrependScheme};
use crate::engine::cuts::looks_at_marks_at_most;
use crate::normalize::{BesideSpace, Normalizers, is_letter, joins_letter_after, may_follow_letter};
use crate::pattern::avoids;

/// The bytes that are tried as white space.
const WHITE_SPACE: [u8; 4] = [b' ', b'\t', b'\n', b'\r'];

/// What SentencePiece writes for a space.
pub(super) const MARK: char = '\u{2581}';

/// The characters that may stand beside a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edges {
    kind: Kind,
    /// The mark before which a Metaspace splits the text, if nothing else does.
    mark: Option<char>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    All,
    /// The first step is a precompiled map, which replaces grapheme clusters: characters that are in no cluster with
    /// white space on that side.
    OfMap,
    /// There are steps before the map, so it sees what these make of the text: printable ASCII, letters, which are in no
    /// cluster with white space after them either, and what is kept beside white space. Combining marks that are dropped
    /// are passed over. Where white space is dropped, a cluster may become anything, as long as no white space is in it.
    Kept,
}

/// The most combining marks beside a gap that are passed over.
const MOST_COMBINING: usize = 8;

impl Edges {
    /// `None` if a stage may look across white space.
    pub(super) fn new(description: &Description, normalizers: &Normalizers) -> Option<Self> {
        let steps = &description.normalizer;
        if normalizers.maps().any(|map| map.has_key_from(b' ')) {
            return None;
        }
        match &description.pre_tokenizer[..] {
            // A mark that is ASCII or a letter would be an edge.
            &[PreTokenizer::Metaspace { replacement, prepend: PrependScheme::Always, split: true }]
                if !replacement.is_ascii() && !is_letter(replacement) =>
            {
                let kind = beside_marks(steps, normalizers, replacement)?;
                Some(Self { kind, mark: Some(replacement) })
            }
            _ if cuts_at_white_space(description) => Some(Self { kind: beside_dropped(steps)?, mark: None }),
            _ => None,
        }
    }

    /// All characters, and the white space that is taken for spaces, where the normalizer is that of SentencePiece: it
    /// makes one space of several, removes those at the ends, puts one before a text and writes each as a mark. A text
    /// with marks of its own is no such text, since those at the ends are removed with the spaces.
    pub(super) fn beside_spaces(
        description: &Description,
        normalizers: &Normalizers,
    ) -> Option<(Self, Vec<u8>)> {
        let ([Normalizer::SentencePiece(rules)], []) =
            (&description.normalizer[..], &description.pre_tokenizer[..])
        else {
            return None;
        };
        let keeps_words = rules.add_dummy_prefix
            && rules.remove_extra_whitespaces
            && rules.escape_whitespaces
            && !rules.treat_whitespace_as_suffix;
        let is_word = |symbol: &String| !symbol.contains(|c: char| c == MARK || c.is_whitespace());
        // Only spaces at the start of a replacement join those before it.
        let is_other = |new: &str| new.contains(MARK) || new.ends_with("  ");
        if !keeps_words || !rules.user_defined.iter().all(is_word) {
            return None;
        }
        let mut white = WHITE_SPACE.to_vec();
        match normalizers.maps().next() {
            None => white.retain(|&byte| byte == b' '),
            Some(map) if map.replacements().any(is_other) => return None,
            Some(map) => white.retain(|&byte| {
                let new = map.shortest(&[byte]);
                !map.is_inside_key(byte) && (new == Some(" ") || (new.is_none() && byte == b' '))
            }),
        }
        let edges = Self { kind: Kind::All, mark: None };
        white.contains(&b' ').then_some((edges, white))
    }

    /// May every character stand beside a gap?
    #[inline]
    pub(super) fn are_all(self) -> bool {
        self.kind == Kind::All
    }

    /// Are gaps beside the marks that a Metaspace writes?
    pub(super) fn are_beside_marks(self) -> bool {
        self.mark.is_some()
    }

    /// May the last character of this text stand before a gap? True for the start of a text.
    #[inline]
    pub(super) fn may_precede_gap(self, text: &str, normalizers: &Normalizers) -> bool {
        self.is_edge(text.chars().rev(), BesideSpace::ends_before, normalizers)
    }

    /// May the first character of this text stand after a gap? True for the end of a text.
    #[inline]
    pub(super) fn may_follow_gap(self, text: &str, normalizers: &Normalizers) -> bool {
        self.is_edge(text.chars(), BesideSpace::begins_after, normalizers)
    }

    #[inline]
    fn is_edge(
        self,
        mut chars: impl Iterator<Item = char>,
        is_apart: fn(&BesideSpace, char) -> bool,
        normalizers: &Normalizers,
    ) -> bool {
        for passed in 0..=MOST_COMBINING {
            match (self.kind, chars.next()) {
                (Kind::All, _) => return true,
                // If all of it is dropped, the word has no tokens, but a Metaspace makes a pretoken of the white space
                // before it.
                (_, None) => return passed == 0,
                (_, Some(c)) if c.is_ascii_graphic() || is_letter(c) => return true,
                (Kind::OfMap, Some(c)) => return is_apart(BesideSpace::get(), c),
                (Kind::Kept, Some(c)) if normalizers.drops_combining_mark(c) => {}
                (Kind::Kept, Some(c)) => {
                    let kept = normalizers.kept_beside_space(c);
                    return kept.is_some_and(|kept| Some(kept) != self.mark);
                }
            }
        }
        false
    }

    /// Is each ideograph a word of its own? So it is if there are spaces around it before anything else looks at it.
    pub(super) fn isolate_ideographs(self, description: &Description) -> bool {
        let first = description.normalizer.first();
        self.are_all() && matches!(first, Some(Normalizer::Bert { handle_chinese_chars: true, .. }))
    }
}

/// The white space that maps leave white space.
pub(super) fn white_space(normalizers: &Normalizers) -> Vec<u8> {
    let mut white = WHITE_SPACE.to_vec();
    for map in normalizers.maps() {
        let is_white = |new: &str| !new.is_empty() && new.bytes().all(|byte| WHITE_SPACE.contains(&byte));
        white.retain(|&byte| !map.goes_on(&[byte]) && map.shortest(&[byte]).is_none_or(is_white));
    }
    white
}

/// Does the first step of pre-tokenization cut at white space and drop it, and do the others look at a piece alone?
fn cuts_at_white_space(description: &Description) -> bool {
    let Some((first, rest)) = description.pre_tokenizer.split_first() else { return false };
    let cuts = match first {
        PreTokenizer::Bert | PreTokenizer::Whitespace | PreTokenizer::WhitespaceSplit => true,
        // Matches are kept, and what lies between them is dropped.
        PreTokenizer::Split { pattern: Pattern::Regex(regex), behavior: Behavior::Removed, invert: true } => {
            avoids(regex, &WHITE_SPACE)
        }
        _ => false,
    };
    cuts && !rest.iter().any(looks_around)
}

/// May a step of pre-tokenization look beyond its piece?
pub(super) fn looks_around(step: &PreTokenizer) -> bool {
    matches!(step, PreTokenizer::Hook(_) | PreTokenizer::Metaspace { prepend: PrependScheme::First, .. })
}

/// The characters that may stand beside white space that is dropped; `None` if a normalizer may look across it.
fn beside_dropped(normalizers: &[Normalizer]) -> Option<Kind> {
    let (mut kind, mut changes_edges) = (Kind::All, false);
    for (number, step) in normalizers.iter().enumerate() {
        match step {
            step if looks_at_marks_at_most(step) => {}
            Normalizer::Replace { pattern: Pattern::Literal(literal), content }
                if !literal.is_empty() && !literal.contains(char::is_whitespace) =>
            {
                changes_edges |= !is_ascii_word(content);
            }
            // Runs of white space become one space; all of it is dropped later.
            Normalizer::Replace { pattern: Pattern::Regex(regex), content }
                if (regex == SPACES || regex == r"\s+") && content == " " => {}
            // Two maps: the second one sees the characters of the first.
            Normalizer::Precompiled(_) if changes_edges || kind != Kind::All => return None,
            Normalizer::Precompiled(_) => kind = if number == 0 { Kind::OfMap } else { Kind::Kept },
            _ => return None,
        }
    }
    Some(kind)
}

/// Several spaces.
const SPACES: &str = " {2,}";

/// The characters that may stand beside a gap where a Metaspace alone splits; `None` if a step may change how a word
/// begins or ends, or does not leave one space of several.
fn beside_marks(steps: &[Normalizer], normalizers: &Normalizers, mark: char) -> Option<Kind> {
    let is_map = |step: &Normalizer| matches!(step, Normalizer::Precompiled(_));
    let is_space = |content: &str| content == " " || content.chars().eq([mark]);
    // What comes later must look at spaces alone.
    let (mut has_map, mut strips, mut ends) = (false, false, false);
    for step in steps {
        match step {
            Normalizer::Strip { left: false, right: true } if !ends => strips = true,
            Normalizer::Replace { pattern: Pattern::Regex(regex), content }
                if !ends && regex == SPACES && is_space(content) =>
            {
                ends = true;
            }
            _ if strips || ends => return None,
            step if is_map(step) && !has_map => has_map = true,
            _ if has_map => return None,
            Normalizer::Replace { pattern: Pattern::Literal(literal), content }
                if !literal.is_empty()
                    && !literal.contains(|c: char| c.is_whitespace() || c == mark)
                    && is_ascii_word(content) => {}
            Normalizer::Bert { .. } | Normalizer::Nmt => return None,
            step if looks_at_marks_at_most(step) => {}
            _ => return None,
        }
    }
    normalizers.maps().all(|map| keeps_edges(map, mark)).then_some(Kind::Kept)
}

/// Does a map leave printable ASCII and letters, decomposed or not, something that neither begins nor ends with a space?
/// So must the characters that are in a cluster with a letter after them, of which the map may replace both.
fn keeps_edges(map: &Charsmap, mark: char) -> bool {
    let is_edge =
        |c: char| c.is_ascii_graphic() || is_letter(c) || may_follow_letter(c) || joins_letter_after(c);
    let is_word = |new: &str| {
        let is_white = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || c == mark);
        !is_white(new.chars().next()) && !is_white(new.chars().next_back())
    };
    map.all_replacements_from(is_edge, is_word)
}

/// Is this a text of printable ASCII?
fn is_ascii_word(content: &str) -> bool {
    !content.is_empty() && content.chars().all(|c| c.is_ascii_graphic())
}
