//! Texts made of the tokens that differ. In: two engines. Out: texts, and the merges that only one has or that have
//! another place.
use std::collections::{BTreeSet, HashMap};

use foldhash::fast::FixedState;

use super::around::{Found, each_around};
use crate::byte_alphabet;
use crate::description::{Description, Merges, ModelDescription};
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::TokenId;

/// The differing tokens of which texts are made.
const MOST_TOKENS: usize = 4_000;

/// The texts that are made of overlapping tokens, about.
const MOST_JOINED: usize = 200_000;

/// A merge by the bytes of its parts, with its rank in a list.
type Ranks<'a> = HashMap<(&'a [u8], &'a [u8]), usize, FixedState>;

/// Gives texts made of tokens that differ: alone, beside others, and overlapping with others.
pub(super) fn each_differing(a: &Engine, b: &Engine, found: &mut Found<'_>) -> Result<bool> {
    let differing: Vec<String> =
        differing(a, b).iter().flat_map(|bytes| as_texts(bytes, a.description())).collect();
    for text in &differing {
        for other in ["", text, " ", "a", "1", "."] {
            if found(&[text, other].concat())? || found(&[other, text].concat())? {
                return Ok(true);
            }
        }
    }
    let mut tokens: BTreeSet<String> = BTreeSet::new();
    for engine in [a, b] {
        let all = engine.description().model.tokens();
        tokens.extend(all.iter().flat_map(|(_, bytes)| as_texts(bytes, engine.description())));
    }
    let reversed: BTreeSet<String> = tokens.iter().map(|token| token.chars().rev().collect()).collect();
    let each = (MOST_JOINED / (differing.len() * 8).max(1)).clamp(3, 2_000);
    let starting = |tokens: &BTreeSet<String>, start: &str| -> Vec<String> {
        let from = tokens.range(start.to_owned()..).take_while(|token| token.starts_with(start));
        from.take(each).cloned().collect()
    };
    for text in &differing {
        for (at, _) in text.char_indices().skip(1) {
            let (left, right) = text.split_at(at);
            for token in starting(&tokens, right) {
                if found(&[left, &token].concat())? {
                    return Ok(true);
                }
            }
            let end: String = left.chars().rev().collect();
            for token in starting(&reversed, &end) {
                let token: String = token.chars().rev().collect();
                if found(&[&token, right].concat())? {
                    return Ok(true);
                }
            }
        }
    }
    let parts = || tokens.iter().take(each);
    for text in &differing {
        for token in parts() {
            if found(&[text, token.as_str()].concat())? || found(&[token, text.as_str()].concat())? {
                return Ok(true);
            }
        }
    }
    // Tokens that are not text by themselves.
    for bytes in self::differing(a, b).iter().filter(|bytes| std::str::from_utf8(bytes).is_err()) {
        if each_around(bytes, 64, found)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The bytes of tokens whose entry in the vocabulary differs, and of what the merges make that differ.
fn differing(a: &Engine, b: &Engine) -> Vec<Vec<u8>> {
    let (entries_a, entries_b) = (entries(a.description()), entries(b.description()));
    let mut found = BTreeSet::new();
    for (own, others) in [(&entries_a, &entries_b), (&entries_b, &entries_a)] {
        let differ = own.iter().filter(|(bytes, entry)| others.get(*bytes) != Some(*entry));
        found.extend(differ.map(|(bytes, _)| bytes.to_vec()));
    }
    let changes = MergeChanges::of(a, b);
    found.extend(changes.results);
    let (few, count) = (MOST_TOKENS, found.len());
    // Of many, some from everywhere.
    found
        .into_iter()
        .enumerate()
        .filter(|(i, _)| count <= few || i * few / count != (i + 1) * few / count)
        .map(|(_, bytes)| bytes)
        .collect()
}

/// What a vocabulary says of a token: id, the bits of its score, and its kind.
type Entry = (TokenId, Option<u64>, Option<u8>);

/// The entries of a vocabulary by their bytes.
fn entries(description: &Description) -> HashMap<&[u8], Entry, FixedState> {
    let model = &description.model;
    let (scores, kinds): (Vec<u64>, &[_]) = match model {
        ModelDescription::Unigram(model) => {
            (model.scores.iter().map(|score| score.to_bits()).collect(), &model.kinds)
        }
        ModelDescription::Bpe(model) => match &model.merges {
            Merges::ByScore { scores, kinds } => {
                (scores.iter().map(|score| u64::from(score.to_bits())).collect(), kinds)
            }
            _ => (Vec::new(), &[]),
        },
        _ => (Vec::new(), &[]),
    };
    let entry = |(i, (id, bytes)): (usize, (TokenId, _))| {
        (bytes, (id, scores.get(i).copied(), kinds.get(i).map(|&kind| kind as u8)))
    };
    model.tokens().iter().enumerate().map(entry).collect()
}

/// The merges that differ between two lists of merges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeChanges {
    /// The ranks in A of merges that B does not have.
    pub only_in_a: Vec<usize>,
    /// The ranks in B of merges that A does not have.
    pub only_in_b: Vec<usize>,
    /// Merges that changed their place among those that both have, as few as explain the two orders: the ranks in A
    /// and in B.
    pub moved: Vec<(usize, usize)>,
    /// The bytes that these merges make.
    results: Vec<Vec<u8>>,
}

impl MergeChanges {
    /// The changes between two engines; none where one of them has no list of merges. Cost: n log n in the merges.
    pub fn of(a: &Engine, b: &Engine) -> Self {
        let (Ok(merges_a), Ok(merges_b)) = (a.merges(), b.merges()) else { return Self::default() };
        let parts = |engine: &'_ Engine,
                     merges: &'_ crate::description::MergeList|
         -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
            let (bpe, added) = (engine.bpe().ok()?, &engine.description().added_tokens);
            let parts: Result<Vec<_>> = bpe.parts_of(merges, added).collect();
            Some(parts.ok()?.into_iter().map(|(left, right)| (left.to_vec(), right.to_vec())).collect())
        };
        let (Some(parts_a), Some(parts_b)) = (parts(a, &merges_a), parts(b, &merges_b)) else {
            return Self::default();
        };
        let of_b: Ranks<'_> = parts_b.iter().enumerate().map(|(i, (l, r))| ((&l[..], &r[..]), i)).collect();
        let mut changes = Self::default();
        let (mut common, mut is_common) = (Vec::new(), vec![false; parts_b.len()]);
        for (i, (left, right)) in parts_a.iter().enumerate() {
            match of_b.get(&(&left[..], &right[..])) {
                None => changes.only_in_a.push(i),
                Some(&rank) => {
                    is_common[rank] = true;
                    common.push((i, rank));
                }
            }
        }
        changes.only_in_b = (0..parts_b.len()).filter(|&rank| !is_common[rank]).collect();
        let ranks: Vec<usize> = common.iter().map(|&(_, rank)| rank).collect();
        let kept = longest_increasing(&ranks);
        changes.moved =
            common.iter().zip(&kept).filter(|(_, kept)| !**kept).map(|(&ranks, _)| ranks).collect();
        let result = |(left, right): &(Vec<u8>, Vec<u8>)| [left.as_slice(), right].concat();
        let in_a = changes
            .only_in_a
            .iter()
            .chain(changes.moved.iter().map(|(rank, _)| rank))
            .map(|&i| result(&parts_a[i]));
        changes.results = in_a.chain(changes.only_in_b.iter().map(|&i| result(&parts_b[i]))).collect();
        changes
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.only_in_a.is_empty() && self.only_in_b.is_empty() && self.moved.is_empty()
    }
}

/// For each number of a row without repeats: is it part of a longest increasing row that is left when the others go?
fn longest_increasing(numbers: &[usize]) -> Vec<bool> {
    // By length: the index of the smallest number that ends an increasing row of that length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(numbers.len());
    for (i, &number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|&end| numbers[end] < number);
        before.push(length.checked_sub(1).map(|length| ends[length]));
        if length == ends.len() {
            ends.push(i);
        } else {
            ends[length] = i;
        }
    }
    let mut kept = vec![false; numbers.len()];
    let mut at = ends.last().copied();
    while let Some(i) = at {
        kept[i] = true;
        at = before[i];
    }
    kept
}

/// The texts that a token of a model may come from: none if its bytes are no text.
fn as_texts(bytes: &[u8], description: &Description) -> Vec<String> {
    let letters =
        description.writes_letters().then(|| byte_alphabet::read(std::str::from_utf8(bytes).ok()?)).flatten();
    let Ok(text) = std::str::from_utf8(letters.as_deref().unwrap_or(bytes)) else { return Vec::new() };
    let mut texts = vec![text.to_owned()];
    if text.contains('▁') {
        texts.push(text.replace('▁', " "));
        texts.push(text.replace('▁', ""));
    }
    for affix in affixes(description) {
        let rest =
            text.strip_prefix(affix).or_else(|| text.strip_suffix(affix)).filter(|rest| !rest.is_empty());
        texts.extend(rest.map(|rest| [rest.to_owned(), ["a", rest].concat()]).into_iter().flatten());
    }
    texts
}

/// What a model writes before or after its tokens.
fn affixes(description: &Description) -> impl Iterator<Item = &str> {
    let (prefix, suffix) = match &description.model {
        ModelDescription::WordPiece(model) => (Some(model.continuing_prefix.as_str()), None),
        ModelDescription::Bpe(model) => match &model.alphabet {
            crate::description::Alphabet::Chars { end_of_word: Some(mark) } => {
                (model.continuing_prefix.as_deref(), Some(mark.symbol.as_str()))
            }
            _ => (model.continuing_prefix.as_deref(), None),
        },
        _ => (None, None),
    };
    [prefix, suffix].into_iter().flatten().filter(|affix| !affix.is_empty())
}
