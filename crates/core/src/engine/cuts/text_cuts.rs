//! Places at which any text may be cut, for tokenizers with a normalizer or with several steps of pre-tokenization.
//!
//! In: a description, then texts. Out: whether a text may be cut at a place. A place must never be given
//! if what is on the one side of it can change the ids of the other side, whatever else is in the text.
//!
//! There are two kinds of places: before a space that stands between two letters, and between two ideographs. Each
//! step is looked at: what it makes of such a place, and whether it looks across it. Steps that are not known here
//! look across everything.
use std::collections::HashSet;

use foldhash::fast::FixedState;

use crate::charsmap::Charsmap;
use crate::description::{
    AddedToken, Alphabet, Behavior, Description, ModelDescription, Normalizer, Pattern, PreTokenizer, Split,
};
use crate::model::Model;
use crate::normalize::{is_letter, is_plain_ideograph};
use crate::pattern::Splitter;
use crate::vocabulary::Vocabulary;

use super::place::{Cut, CutStages};

/// What the space between two words is written as, before and after some steps.
const SPACE: char = ' ';
const MARK: char = '\u{2581}';

/// Where texts may be cut.
#[derive(Debug)]
pub(in crate::engine) struct TextCuts {
    /// What a space between two letters is when the pre-tokenizer has it; `None` if a text may not be cut there.
    mark: Option<char>,
    /// The ASCII digits and marks that may stand beside it as letters may: a bit for each.
    edges: u128,
    /// Is the text cut before the mark by the model, or by a step other than these splits?
    is_cut: bool,
    /// The splits that must cut the text at the place, or leave all that is around it alone.
    splitters: Vec<Splitter>,
    ideographs: Ideographs,
}

/// Where a text may be cut between two ideographs.
#[derive(Debug)]
enum Ideographs {
    Nowhere,
    /// Everywhere: each is a pretoken.
    Everywhere,
    /// Where no token has both, one after the other, and both are tokens.
    Apart {
        adjacent: HashSet<[char; 2], FixedState>,
        known: HashSet<char, FixedState>,
    },
}

impl TextCuts {
    pub(in crate::engine) fn new(stages: CutStages<'_>) -> Self {
        let CutStages { description, model, vocabulary, .. } = stages;
        let nothing = Self {
            mark: None,
            edges: 0,
            is_cut: false,
            splitters: Vec::new(),
            ideographs: Ideographs::Nowhere,
        };
        let Some(normalized) = Normalized::new(&description.normalizer) else { return nothing };
        // Some are looked for in the text as it comes, some in normalized text.
        let normalized_content = |token: &AddedToken| AddedToken {
            content: stages.normalizers.apply_to(&token.content).unwrap_or_default(),
            ..token.clone()
        };
        let added = &description.added_tokens;
        let added: Vec<AddedToken> =
            added.iter().cloned().chain(added.iter().map(normalized_content)).collect();
        let (Some(pre_tokenized), Some(mark)) =
            (PreTokenized::new(&description.pre_tokenizer, &normalized), normalized.mark)
        else {
            return nothing;
        };
        let are_plain = added.iter().all(|token| is_plain(token, SPACE) && is_plain(token, mark));
        let is_cut = pre_tokenized.cuts_words
            || model_cuts_words(&description.model, (model, vocabulary), pre_tokenized.mark);
        let holds_ideographs = added.iter().any(|token| token.content.contains(is_plain_ideograph));
        let ideographs = if holds_ideographs {
            Ideographs::Nowhere
        } else if !normalized.isolates_ideographs {
            Ideographs::of_model(&description.model, (model, vocabulary))
        } else if pre_tokenized.splits_white_space && pre_tokenized.splitters.is_empty() {
            Ideographs::Everywhere
        } else {
            // A split, or the model, may look across the spaces between them.
            Ideographs::Nowhere
        };
        Self {
            edges: edges(description, &added),
            mark: Some(pre_tokenized.mark).filter(|_| are_plain && (is_cut || pre_tokenized.splits_words)),
            is_cut,
            splitters: pre_tokenized.splitters,
            ideographs,
        }
    }

    /// Are there cuts of this kind?
    pub(in crate::engine) fn has_any(&self) -> bool {
        self.mark.is_some() || !matches!(self.ideographs, Ideographs::Nowhere)
    }

    /// The cut at a place of a text, if it is one.
    pub(super) fn at(&self, text: &str, at: usize) -> Option<Cut> {
        let left = text[..at].chars().next_back()?;
        let mut following = text[at..].chars();
        let right = following.next()?;
        let cut = |end: usize| Cut { at, before: at - left.len_utf8(), seen: end };
        if right == SPACE && self.is_edge(left) {
            let last = following.next().filter(|&last| self.is_edge(last))?;
            return self.cuts_word(left, last).then(|| cut(at + 1 + last.len_utf8()));
        }
        let are_ideographs = is_plain_ideograph(left) && is_plain_ideograph(right);
        (are_ideographs && self.cuts_ideographs(left, right)).then(|| cut(at + right.len_utf8()))
    }

    /// May a character stand beside a space at which a text is cut?
    fn is_edge(&self, c: char) -> bool {
        is_letter(c) || (c.is_ascii_graphic() && self.edges >> u32::from(c) & 1 == 1)
    }

    fn cuts_word(&self, left: char, right: char) -> bool {
        let Some(mark) = self.mark else { return false };
        if self.splitters.is_empty() {
            return self.is_cut;
        }
        let text: String = [left, mark, right].iter().collect();
        let mut is_cut = self.is_cut;
        let each_agrees = self.splitters.iter().all(|splitter| {
            let cuts = splitter.safe_cut(&text, left.len_utf8()) == Some(left.len_utf8());
            is_cut |= cuts;
            cuts || splitter.ignores(&text)
        });
        each_agrees && is_cut
    }

    fn cuts_ideographs(&self, left: char, right: char) -> bool {
        match &self.ideographs {
            Ideographs::Nowhere => false,
            Ideographs::Everywhere => true,
            Ideographs::Apart { adjacent, known } => {
                let text: String = [left, right].iter().collect();
                known.contains(&left)
                    && known.contains(&right)
                    && !adjacent.contains(&[left, right])
                    && self.splitters.iter().all(|splitter| splitter.ignores(&text))
            }
        }
    }
}

/// See [`TextCuts::edges`]: those that are in no literal, and that no map of characters joins with others.
fn edges(description: &Description, added: &[AddedToken]) -> u128 {
    let is_one = |c: char| is_letter(c) || c.is_ascii_graphic();
    let mut literals: Vec<&str> = added.iter().map(|token| token.content.as_str()).collect();
    for step in &description.normalizer {
        let map = match step {
            Normalizer::Precompiled(blob) => blob,
            Normalizer::SentencePiece(rules) => {
                literals.extend(rules.user_defined.iter().map(String::as_str));
                &rules.charsmap
            }
            Normalizer::Replace { pattern: Pattern::Literal(literal), .. } => {
                literals.push(literal);
                continue;
            }
            _ => continue,
        };
        if !map.is_empty() && !Charsmap::parse(map).is_ok_and(|map| map.keeps_words(is_one)) {
            return 0;
        }
    }
    for step in &description.pre_tokenizer {
        match step {
            PreTokenizer::Split { pattern: Pattern::Literal(literal), .. } => literals.push(literal),
            PreTokenizer::CharDelimiter(_) => return 0,
            _ => {}
        }
    }
    let characters =
        ('!'..='~').filter(|&c| !is_letter(c) && !literals.iter().any(|literal| literal.contains(c)));
    characters.fold(0, |edges, c| edges | 1 << u32::from(c))
}

impl Ideographs {
    /// For a text that is one pretoken between two spaces.
    fn of_model(description: &ModelDescription, (model, vocabulary): (&Model, &Vocabulary)) -> Self {
        if !is_independent(description) {
            return Self::Nowhere;
        }
        let (mut adjacent, mut known) = (HashSet::default(), HashSet::default());
        for (_, token) in vocabulary.tokens().iter() {
            let Ok(token) = std::str::from_utf8(token) else { continue };
            let characters: Vec<char> = token.chars().collect();
            if let [only] = characters[..]
                && is_plain_ideograph(only)
                && model
                    .spells_as_one(token.as_bytes(), vocabulary)
                    .is_some_and(|id| Some(id) != description.unk())
            {
                known.insert(only);
            }
            let pairs = characters.windows(2).filter(|pair| pair.iter().all(|&c| is_plain_ideograph(c)));
            adjacent.extend(pairs.map(|pair| [pair[0], pair[1]]));
        }
        if known.is_empty() { Self::Nowhere } else { Self::Apart { adjacent, known } }
    }
}

/// Does no literal reach across a place, nor take white space there?
fn is_plain(token: &AddedToken, mark: char) -> bool {
    let literal = token.content.as_str();
    let joins = literal.match_indices(mark).any(|(at, _)| literal[..at].ends_with(is_letter));
    let takes_before = token.lstrip && literal.starts_with(is_letter);
    let takes_behind = token.rstrip && literal.ends_with(is_letter);
    !joins && !takes_before && !takes_behind
}

/// What normalization makes of the places.
struct Normalized {
    /// What the space is then; `None` if a step may look across it.
    mark: Option<char>,
    /// Are there spaces around each ideograph?
    isolates_ideographs: bool,
}

impl Normalized {
    /// `None` if a step may look across any place, or may change the letters around it.
    fn new(steps: &[Normalizer]) -> Option<Self> {
        let mut mark = SPACE;
        let mut isolates_ideographs = false;
        for step in steps {
            match step {
                Normalizer::Bert { handle_chinese_chars, .. } => isolates_ideographs |= handle_chinese_chars,
                step if looks_at_marks_at_most(step) => {}
                Normalizer::Strip { .. } | Normalizer::Prepend(_) => {}
                Normalizer::Replace { pattern: Pattern::Literal(literal), content }
                    if only_char(literal) == Some(mark) =>
                {
                    mark = only_char(content)?;
                }
                Normalizer::Replace { pattern: Pattern::Literal(literal), .. } => {
                    if literal.is_empty() || literal.contains(is_letter) || literal.contains(mark) {
                        return None;
                    }
                }
                // Runs of white space, as some files collapse them: a single space stays as it is.
                Normalizer::Replace { pattern: Pattern::Regex(regex), content }
                    if mark == SPACE && (regex == " {2,}" || regex == r"\s+" && content == " ") => {}
                Normalizer::Precompiled(blob) if mark == SPACE && keeps_words(blob) => {}
                Normalizer::SentencePiece(rules) if mark == SPACE && !rules.treat_whitespace_as_suffix => {
                    let is_harmless =
                        |literal: &String| !literal.contains([' ', MARK]) && !literal.contains(is_letter);
                    let keeps_words = rules.charsmap.is_empty() || keeps_words(&rules.charsmap);
                    if !keeps_words || !rules.user_defined.iter().all(is_harmless) {
                        return None;
                    }
                    if rules.escape_whitespaces {
                        mark = MARK;
                    }
                }
                _ => return None,
            }
        }
        Some(Self { mark: Some(mark).filter(|&mark| !is_letter(mark)), isolates_ideographs })
    }
}

/// Does the step rewrite each character by itself, or each with the combining marks after it? Then white space never
/// changes what is beside it, since no mark combines with it.
pub(in crate::engine) fn looks_at_marks_at_most(step: &Normalizer) -> bool {
    matches!(
        step,
        Normalizer::Nfc(_)
            | Normalizer::Nfd(_)
            | Normalizer::Nfkc(_)
            | Normalizer::Nfkd(_)
            | Normalizer::Lowercase
            | Normalizer::StripAccents
            | Normalizer::Nmt
            | Normalizer::Bert { .. }
    )
}

/// Characters of which the normalizer makes one such character each, whatever other ones are beside it.
pub(super) fn never_joined(steps: &[Normalizer]) -> fn(char) -> bool {
    let are_kept = |is_one: fn(char) -> bool| {
        let kept_by_map = |blob: &[u8]| Charsmap::parse(blob).is_ok_and(|map| map.keeps_words(is_one));
        steps.iter().all(|step| match step {
            Normalizer::Precompiled(blob) => kept_by_map(blob),
            Normalizer::SentencePiece(rules) => {
                let holds_one = |literal: &String| literal.contains(is_one);
                (rules.charsmap.is_empty() || kept_by_map(&rules.charsmap))
                    && !rules.user_defined.iter().any(holds_one)
            }
            Normalizer::Prepend(_) | Normalizer::Nfkc(_) | Normalizer::Nfc(_) => true,
            Normalizer::Replace { pattern: Pattern::Literal(literal), .. } => {
                !literal.is_empty() && !literal.contains(is_one)
            }
            Normalizer::Replace { pattern: Pattern::Regex(regex), .. } => regex == " {2,}" || regex == r"\s+",
            _ => false,
        })
    };
    let candidates: [fn(char) -> bool; 2] = [|c| is_letter(c) || c.is_ascii_graphic(), is_letter];
    candidates.into_iter().find(|&is_one| are_kept(is_one)).unwrap_or(|_| false)
}

fn keeps_words(blob: &[u8]) -> bool {
    Charsmap::parse(blob).is_ok_and(|map| map.keeps_words(is_letter))
}

/// The only character of a text.
pub(in crate::engine) fn only_char(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// What pre-tokenization makes of the places.
struct PreTokenized {
    /// What the space is then.
    mark: char,
    /// Is the text cut before it by a step other than the splits by patterns?
    cuts_words: bool,
    /// Is it cut before it by one of these, between ASCII letters?
    splits_words: bool,
    /// Is it cut at all white space?
    splits_white_space: bool,
    /// See [`TextCuts::splitters`].
    splitters: Vec<Splitter>,
}

impl PreTokenized {
    /// `None` if a step may look across a place.
    fn new(steps: &[PreTokenizer], normalized: &Normalized) -> Option<Self> {
        let mark = normalized.mark?;
        let mut result = Self {
            mark,
            cuts_words: false,
            splits_words: false,
            splits_white_space: false,
            splitters: Vec::new(),
        };
        let mut is_in_letters = false;
        for step in steps {
            // In the byte alphabet no step finds the mark, and other letters than before.
            if is_in_letters && !matches!(step, PreTokenizer::Digits { .. } | PreTokenizer::Punctuation(_)) {
                return None;
            }
            is_in_letters |= matches!(step, PreTokenizer::ByteAlphabet);
            result.add(step)?;
        }
        Some(result)
    }

    fn add(&mut self, step: &PreTokenizer) -> Option<()> {
        match step {
            PreTokenizer::Split { pattern: Pattern::Literal(literal), behavior, invert: false }
                if only_char(literal) == Some(self.mark) =>
            {
                if *behavior == Behavior::MergedWithPrevious {
                    return None;
                }
                self.cuts_words = true;
            }
            // It is nowhere near a place.
            PreTokenizer::Split { pattern: Pattern::Literal(literal), .. }
                if !literal.is_empty() && !literal.contains(is_letter) && !literal.contains(self.mark) => {}
            PreTokenizer::Split { pattern: Pattern::Regex(regex), behavior: Behavior::Isolated, .. } => {
                let splitter = Splitter::compile(&Split::Pattern(regex.clone())).ok()?;
                let text: String = ['a', self.mark, 'a'].iter().collect();
                self.splits_words |= splitter.safe_cut(&text, 1) == Some(1);
                self.splitters.push(splitter);
            }
            // What no match holds is dropped, among it the space.
            PreTokenizer::Split {
                pattern: Pattern::Regex(regex),
                behavior: Behavior::Removed,
                invert: true,
            } => {
                let splitter = Splitter::compile(&Split::Pattern(regex.clone())).ok()?;
                if !splitter.ignores(self.mark.encode_utf8(&mut [0; 4])) {
                    return None;
                }
                self.cuts_words = true;
            }
            PreTokenizer::PrefixSpace
            | PreTokenizer::ByteAlphabet
            | PreTokenizer::Digits { .. }
            | PreTokenizer::Punctuation(_) => {}
            PreTokenizer::Bert | PreTokenizer::Whitespace | PreTokenizer::WhitespaceSplit => {
                let is_white = self.mark == SPACE;
                self.cuts_words |= is_white;
                self.splits_white_space |= is_white;
                // The words of this step are not those of the mark.
                if !is_white && !self.cuts_words && !self.splits_words {
                    return None;
                }
            }
            PreTokenizer::CharDelimiter(delimiter) => self.cuts_words |= *delimiter == self.mark,
            PreTokenizer::Metaspace { replacement, split, .. } => {
                if self.mark == SPACE || self.mark == *replacement {
                    self.cuts_words |= split;
                    self.mark = *replacement;
                } else if !self.cuts_words && !self.splits_words {
                    return None;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// Does the model spell the parts of a text alone as it spells them together, where no token has a part of both?
fn is_independent(model: &ModelDescription) -> bool {
    match model {
        ModelDescription::Bpe(bpe) => {
            bpe.continuing_prefix.is_none()
                && !bpe.whole_pretokens
                && matches!(bpe.alphabet, Alphabet::Chars { end_of_word: None })
        }
        // Unigram adds up scores from the start of the pretoken on, and rounding decides between equal ones.
        ModelDescription::Unigram(_) | ModelDescription::WordPiece(_) | ModelDescription::WordLevel(_) => {
            false
        }
    }
}

/// Does the model never look across the space of a text that is one pretoken? Only if no token has another
/// character before it, and if it is a token itself, so that it is never a part of unknown text: byte tokens may come
/// before unknown text that stands before them.
fn model_cuts_words(
    description: &ModelDescription,
    (model, vocabulary): (&Model, &Vocabulary),
    mark: char,
) -> bool {
    let mut buffer = [0; 4];
    let mark = mark.encode_utf8(&mut buffer).as_bytes();
    let joins = |token: &[u8]| {
        let places = token.windows(mark.len()).enumerate();
        let mut places = places.filter(|&(at, part)| part == mark && !token[..at].ends_with(mark));
        places.any(|(at, _)| at > 0)
    };
    let is_token = |id| Some(id) != description.unk() && vocabulary.find(mark) == Some(id);
    is_independent(description)
        && model.spells_as_one(mark, vocabulary).is_some_and(is_token)
        && !vocabulary.tokens().iter().any(|(_, token)| joins(token))
}
