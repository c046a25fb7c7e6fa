//! Cuts between two characters that each stage is asked about.
use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::place::CutStages;
use super::text_cuts;

/// What is known of pairs of characters before a text is seen.
#[derive(Debug)]
pub(in crate::engine) struct Pairs {
    /// Are there cuts between characters that the normalizers keep?
    has_cuts: bool,
    /// May white space belong to an added token beside it?
    takes_white_space: bool,
    /// Characters that follow one another in the literal of an added token, in lower case.
    in_literals: HashSet<[char; 2], FixedState>,
    /// Characters with which the literal of an added token ends, in lower case.
    literal_ends: HashSet<char, FixedState>,
    /// What the normalizers make of ASCII characters; `None` for those that are not kept.
    ascii: [Option<char>; 128],
    /// Characters that a map of characters never joins with one another.
    never_joined: fn(char) -> bool,
    /// The characters of the longest token, or of the longest literal.
    longest: usize,
    /// The bytes of the longest token, or of the longest literal.
    longest_bytes: usize,
}

impl Pairs {
    pub(in crate::engine) fn new(stages: CutStages<'_>) -> Self {
        let description = stages.description;
        let added = &description.added_tokens;
        let (mut in_literals, mut literal_ends) = (HashSet::default(), HashSet::default());
        for literal in literals(stages) {
            let characters: Vec<char> = literal.chars().map(lower).collect();
            in_literals.extend(characters.windows(2).map(|pair| [pair[0], pair[1]]));
            literal_ends.extend(characters.last());
        }
        let ascii = std::array::from_fn(|code| stages.normalizers.kept(char::from(code as u8)));
        let has_cuts = ascii.iter().any(Option::is_some) && !added.iter().any(|token| token.single_word);
        Self {
            has_cuts: has_cuts && cuts_anything(stages),
            takes_white_space: added.iter().any(|token| token.lstrip || token.rstrip),
            in_literals,
            literal_ends,
            ascii,
            never_joined: text_cuts::never_joined(&description.normalizer),
            longest: longest(stages),
            longest_bytes: longest_bytes(stages),
        }
    }

    /// The characters of the longest token, or of the longest literal of an added token.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The bytes of the longest token, or of the longest literal of an added token.
    pub(in crate::engine) fn longest_bytes(&self) -> usize {
        self.longest_bytes
    }

    /// Is a text one pretoken, character by character as it is normalized, whatever follows it? No stage cuts it, and
    /// none changes a character because of another one.
    pub(super) fn is_run(&self, text: &str, stages: CutStages<'_>) -> bool {
        let image = |c: char| {
            let kept = self.kept(c, stages);
            kept.or_else(|| Some(c).filter(|&c| (self.never_joined)(c)))
        };
        if self.takes_white_space && text.contains(char::is_whitespace) {
            return false;
        }
        let mut characters = text.chars().map(image);
        let Some(Some(mut last)) = characters.next() else { return false };
        characters.all(|c| {
            let Some(c) = c else { return false };
            let left = std::mem::replace(&mut last, c);
            match stages.splitter {
                Some(splitter) => splitter.joins(left, c),
                None => stages.pre_tokenizers.joins(left, c),
            }
        })
    }

    /// The one character that the normalizers make of a character, if nothing beside it matters.
    fn kept(&self, c: char, stages: CutStages<'_>) -> Option<char> {
        match self.ascii.get(c as usize) {
            Some(&image) => image,
            None => stages.normalizers.kept(c),
        }
    }

    /// Are there cuts of this kind?
    pub(in crate::engine) fn has_any(&self) -> bool {
        self.has_cuts
    }

    /// Do these two characters follow one another in the literal of an added token?
    pub(super) fn join_in_literals(&self, left: char, right: char) -> bool {
        self.in_literals.contains(&[lower(left), lower(right)])
    }

    /// Does the literal of an added token end with this character? What follows it is then a text of its own, which
    /// some stages begin in another way.
    pub(super) fn ends_literal(&self, c: char) -> bool {
        !self.literal_ends.is_empty() && self.literal_ends.contains(&lower(c))
    }

    /// Is every text cut between these two characters, whatever is before them, if this one follows? It must be known
    /// what follows, where normalizers may join it with the one before.
    pub(super) fn cut(&self, (left, right): (char, char), next: Option<char>, stages: CutStages<'_>) -> bool {
        if !self.has_cuts
            || (self.takes_white_space && (left.is_whitespace() || right.is_whitespace()))
            || self.join_in_literals(left, right)
        {
            return false;
        }
        let kept = |c: char| self.kept(c, stages);
        let (Some(left), Some(right)) = (kept(left), kept(right)) else { return false };
        let is_cut = match stages.splitter {
            Some(splitter) => splitter.cuts_between(left, right),
            None => stages.pre_tokenizers.cuts_between(left, right),
        };
        let is_settled = || stages.normalizers.is_empty() || next.is_some_and(|next| kept(next).is_some());
        is_cut && !self.join_in_literals(left, right) && is_settled()
    }
}

/// The literals of all added tokens, as they are and as they are normalized.
fn literals(stages: CutStages<'_>) -> Vec<String> {
    let contents = stages.description.added_tokens.iter().map(|token| token.content.clone());
    let normalized =
        contents.clone().map(|content| stages.normalizers.apply_to(&content).unwrap_or_default());
    contents.chain(normalized).collect()
}

/// The characters of the longest token or literal; bytes, where a token is no text.
fn longest(stages: CutStages<'_>) -> usize {
    let tokens = stages.vocabulary.tokens();
    let tokens =
        tokens.iter().map(|(_, token)| std::str::from_utf8(token).map_or(token.len(), |t| t.chars().count()));
    let literals = stages.vocabulary.added().iter().map(|token| token.content.chars().count());
    tokens.chain(literals).max().unwrap_or_default()
}

fn longest_bytes(stages: CutStages<'_>) -> usize {
    let tokens = stages.vocabulary.tokens().iter().map(|(_, token)| token.len()).max();
    let literals = stages.vocabulary.added().iter().map(|token| token.content.len()).max();
    tokens.max(literals).unwrap_or_default()
}

/// Is there a place between ASCII characters that the pre-tokenizers cut?
fn cuts_anything(stages: CutStages<'_>) -> bool {
    let characters = ['a', '1', '.', ' '];
    let pairs = characters.iter().flat_map(|&left| characters.map(|right| (left, right)));
    pairs.into_iter().any(|(left, right)| match stages.splitter {
        Some(splitter) => splitter.cuts_between(left, right),
        None => stages.pre_tokenizers.cuts_between(left, right),
    })
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}
