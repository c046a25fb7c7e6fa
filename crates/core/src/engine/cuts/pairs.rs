//! Cuts between two characters that each stage is asked about.
use std::collections::HashSet;

use foldhash::fast::FixedState;

use crate::description::Description;
use crate::engine::Stages;

/// What is known of pairs of characters before a text is seen.
#[derive(Debug)]
pub(in crate::engine) struct Pairs {
    /// Are there cuts between characters that the normalizers keep?
    has_cuts: bool,
    /// May white space belong to an added token beside it?
    takes_white_space: bool,
    /// Characters that follow one another in the literal of an added token, in lower case.
    in_literals: HashSet<[char; 2], FixedState>,
    /// What the normalizers make of ASCII characters; 0 for those that are not kept.
    ascii: [u8; 128],
}

impl Pairs {
    pub(super) fn new(description: &Description, stages: &Stages) -> Self {
        let added = &description.added_tokens;
        let mut in_literals = HashSet::default();
        for token in added {
            let normalized = stages.normalizers.apply_to(&token.content).unwrap_or_default();
            for literal in [&token.content, &normalized] {
                let characters: Vec<char> = literal.chars().collect();
                in_literals.extend(characters.windows(2).map(|pair| [lower(pair[0]), lower(pair[1])]));
            }
        }
        let mut ascii = [0; 128];
        for (code, kept) in (0..).zip(&mut ascii) {
            let image = stages.normalizers.kept(char::from(code));
            *kept = image.and_then(|c| u8::try_from(c).ok()).filter(u8::is_ascii).unwrap_or_default();
        }
        let has_cuts = ascii.iter().any(|&kept| kept != 0) && !added.iter().any(|token| token.single_word);
        Self {
            has_cuts: has_cuts && cuts_anything(stages),
            takes_white_space: added.iter().any(|token| token.lstrip || token.rstrip),
            in_literals,
            ascii,
        }
    }

    /// Are there any?
    pub(super) fn has_any(&self) -> bool {
        self.has_cuts
    }

    /// Do these two characters follow one another in the literal of an added token?
    pub(super) fn join_in_literals(&self, left: char, right: char) -> bool {
        self.in_literals.contains(&[lower(left), lower(right)])
    }

    /// Is every text cut between these two characters, whatever is before them, if this one follows?
    pub(super) fn cut(
        &self,
        (left, right): (char, char),
        next: impl Fn() -> Option<char>,
        stages: &Stages,
    ) -> bool {
        if !self.has_cuts
            || (self.takes_white_space && (left.is_whitespace() || right.is_whitespace()))
            || self.join_in_literals(left, right)
        {
            return false;
        }
        let kept = |c: char| match self.ascii.get(c as usize) {
            Some(0) => None,
            Some(&image) => Some(char::from(image)),
            None => stages.normalizers.kept(c),
        };
        let (Some(left), Some(right)) = (kept(left), kept(right)) else { return false };
        let is_cut = match &stages.splitter {
            Some(splitter) => splitter.cuts_between(left, right),
            None => stages.pre_tokenizers.cuts_between(left, right),
        };
        is_cut && next().is_none_or(|next| kept(next).is_some())
    }
}

/// Is there a place between ASCII characters that the pre-tokenizers cut?
fn cuts_anything(stages: &Stages) -> bool {
    let characters = ['a', '1', '.', ' '];
    let pairs = characters.iter().flat_map(|&left| characters.map(|right| (left, right)));
    pairs.into_iter().any(|(left, right)| match &stages.splitter {
        Some(splitter) => splitter.cuts_between(left, right),
        None => stages.pre_tokenizers.cuts_between(left, right),
    })
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}
