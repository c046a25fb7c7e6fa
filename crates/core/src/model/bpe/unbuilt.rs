//! The tokens that merging never gives, and the merges that are never made.
//!
//! In: a compiled model. Out: ids, and ranks. Both rest on one fact: where a token stands in the encoding of a
//! pretoken, no merge crossed its ends, so that the merges inside were those of its own symbols alone. So a token that
//! its own symbols do not merge to occurs nowhere, and a merge that does not come last where its two sides are merged
//! alone is never made. A token must not be reported that some pretoken holds.
use std::collections::{HashMap, HashSet};

use crate::byte_alphabet::byte_token;
use crate::description::{Alphabet, BpeDescription, EndOfWordForm, Merge, MergeList, Merges};
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::general::merge_row;
use super::{Bpe, BpeScratch};

/// A token of more symbols is taken for one that merging gives: its merges would take quadratic time.
const MOST_SYMBOLS: usize = 4096;

/// The tokens that merging their own bytes does not give.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Unbuilt {
    /// Those that no pretoken becomes, nor holds.
    pub never: Vec<TokenId>,
    /// Those that a pretoken becomes only as a whole, by the rule for whole pretokens.
    pub whole_only: Vec<TokenId>,
}

impl Bpe {
    /// The ordinary tokens that merging their own bytes does not give, ascending by id. The unknown token and the
    /// tokens `<0xNN>` that spell bytes are not counted: they come from no merge.
    ///
    /// # Errors
    /// Errors of the watch.
    pub fn unbuilt(
        &self,
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<Unbuilt> {
        let mut found = Unbuilt::default();
        let mut rows = None;
        let mut scratch = BpeScratch::default();
        for (index, (id, bytes)) in vocabulary.tokens().iter().enumerate() {
            ticker.spend(1)?;
            // Several tokens may have one id: it is built if one of them is.
            let bypasses_merges = vocabulary.added_by_id(id).is_some()
                || description.unk == Some(id)
                || (description.byte_fallback && byte_token(bytes).is_some());
            if bypasses_merges || self.is_built.contains(index) {
                continue;
            }
            if !marks_symbols(description) {
                if self.may_become(index) { &mut found.whole_only } else { &mut found.never }.push(id);
                continue;
            }
            // Its symbols are not the characters of its bytes; they follow from the merges that lead to it.
            let Merges::Listed(merges) = &description.merges else { continue };
            if self.may_become(index) {
                continue;
            }
            let rows = rows.get_or_insert_with(|| Rows::new(merges, description, vocabulary));
            let is_built = match rows.symbols(&[id]) {
                Some(row) => {
                    ticker.spend(row.len() * row.len())?;
                    scratch.symbols = row;
                    self.last_rank(description, vocabulary, &mut scratch)?;
                    scratch.symbols == [id]
                }
                None => rows.is_long,
            };
            if !is_built {
                found.never.push(id);
            }
        }
        found.never.dedup();
        found.whole_only.dedup();
        Ok(found)
    }

    /// The ranks of the listed merges that no pretoken makes, ascending; none where merges are not listed.
    ///
    /// # Errors
    /// Errors of the watch.
    pub fn unused_merges(
        &self,
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<Vec<u32>> {
        let Merges::Listed(merges) = &description.merges else { return Ok(Vec::new()) };
        let mut rows = Rows::new(merges, description, vocabulary);
        let plain = !marks_symbols(description);
        let tokens = vocabulary.tokens();
        let built: HashSet<TokenId> = (0..tokens.len())
            .filter(|&index| self.is_built.contains(index))
            .map(|index| tokens.id(index))
            .collect();
        let mut ways: HashMap<TokenId, u32> = HashMap::new();
        for merge in merges.iter() {
            *ways.entry(merge.result).or_default() += 1;
        }
        let mut unused = Vec::new();
        let mut scratch = BpeScratch::default();
        for (rank, merge) in merges.iter().enumerate() {
            ticker.spend(1)?;
            // A token that is built in the only way there is was built by this merge.
            if plain && ways[&merge.result] == 1 && built.contains(&merge.result) {
                continue;
            }
            let is_used = !vocabulary.is_special(merge.result)
                && match rows.symbols(&[merge.left, merge.right]) {
                    Some(row) => {
                        ticker.spend(row.len() * row.len())?;
                        scratch.symbols = row;
                        let last = self.last_rank(description, vocabulary, &mut scratch)?;
                        scratch.symbols == [merge.result] && last == Some(to_u32(rank))
                    }
                    None => rows.is_long,
                };
            if !is_used {
                unused.push(to_u32(rank));
            }
        }
        Ok(unused)
    }

    /// Merges the row in `scratch.symbols`; gives the rank of the last merge.
    fn last_rank(
        &self,
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        scratch: &mut BpeScratch,
    ) -> Result<Option<u32>> {
        let pairs = self.pairs(description, vocabulary)?;
        let mut last = None;
        merge_row(pairs, scratch, |rank| last = Some(rank))?;
        Ok(last)
    }
}

/// Are symbols written otherwise than the text that they stand for: with an end-of-word mark, or a prefix?
fn marks_symbols(description: &BpeDescription) -> bool {
    let prefix = description.continuing_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty());
    prefix || matches!(description.alphabet, Alphabet::Chars { end_of_word: Some(_) })
}

/// The symbols that tokens are merged from, found by undoing merges.
struct Rows<'a> {
    /// By result, the first merge that gives it.
    merged: HashMap<TokenId, Merge>,
    description: &'a BpeDescription,
    vocabulary: &'a Vocabulary,
    /// Was there no row because it would have too many symbols?
    is_long: bool,
}

impl<'a> Rows<'a> {
    fn new(merges: &MergeList, description: &'a BpeDescription, vocabulary: &'a Vocabulary) -> Self {
        let mut merged = HashMap::with_capacity(merges.len());
        for merge in merges.iter() {
            merged.entry(merge.result).or_insert(merge);
        }
        Self { merged, description, vocabulary, is_long: false }
    }

    /// The symbols of these tokens; `None` if one of them is neither a symbol nor merged from symbols.
    fn symbols(&mut self, tokens: &[TokenId]) -> Option<Vec<TokenId>> {
        self.is_long = false;
        let mut row = Vec::new();
        let mut rest: Vec<TokenId> = tokens.iter().rev().copied().collect();
        // A merge of an empty token could lead back to itself, so the steps are counted.
        let mut steps = 0;
        while let Some(id) = rest.pop() {
            steps += 1;
            if steps > 2 * MOST_SYMBOLS {
                self.is_long = true;
                return None;
            }
            if self.is_symbol(id) {
                row.push(id);
            } else {
                let merge = self.merged.get(&id)?;
                rest.extend([merge.right, merge.left]);
            }
        }
        Some(row)
    }

    /// Does merging start from this token?
    fn is_symbol(&self, id: TokenId) -> bool {
        let tokens = self.vocabulary.tokens();
        tokens.index_of(id).is_some_and(|index| {
            let bytes = tokens.bytes(index);
            match &self.description.alphabet {
                Alphabet::Bytes => bytes.len() == 1,
                Alphabet::Chars { end_of_word } => {
                    let mut bytes = bytes;
                    if let Some(prefix) = &self.description.continuing_prefix {
                        bytes = bytes.strip_prefix(prefix.as_bytes()).unwrap_or(bytes);
                    }
                    if let Some(mark) = end_of_word {
                        let symbol = mark.symbol.as_bytes();
                        match mark.form {
                            EndOfWordForm::Separate if bytes == symbol => return true,
                            EndOfWordForm::Separate => {}
                            EndOfWordForm::Suffix => bytes = bytes.strip_suffix(symbol).unwrap_or(bytes),
                        }
                    }
                    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().count() == 1)
                }
            }
        })
    }
}
