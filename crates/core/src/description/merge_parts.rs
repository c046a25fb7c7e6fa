//! The bytes that a merge joins.
//!
//! A merge is three ids. If each id has one token, the parts are these tokens. If several tokens
//! share an id, only some pairs join to the result, and these are searched for.
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{AddedToken, BpeDescription, Merge, MergeList, TokenList};
use crate::error::{Defect, Error, Result};
use crate::ids::TokenId;

/// The left and right part of a merge.
pub type MergeParts<'a> = (&'a [u8], &'a [u8]);

/// The parts of the merges whose ids are shared.
type Found<'a> = HashMap<Merge, MergeParts<'a>, FixedState>;

impl BpeDescription {
    /// The bytes of the two parts of each merge, in written form: the right part includes the
    /// prefix of continuing tokens. A part may be an added token, as the unknown token often is.
    ///
    /// # Errors
    /// A format error at the index of a merge whose parts do not join to its result.
    pub fn parts_of<'a>(
        &'a self,
        merges: &'a MergeList,
        added: &'a [AddedToken],
    ) -> impl Iterator<Item = Result<MergeParts<'a>>> + 'a {
        let mut found: Option<Found<'a>> = None;
        merges.iter().enumerate().map(move |(i, merge)| {
            if let Some(parts) = self.plain_parts(&merge, added) {
                return parts.map_err(|error| error.at_index(i));
            }
            let found = found.get_or_insert_with(|| self.find_parts(merges, added));
            found.get(&merge).copied().ok_or_else(|| self.fault(&merge, added).at_index(i))
        })
    }

    fn prefix(&self) -> &str {
        self.continuing_prefix.as_deref().unwrap_or_default()
    }

    /// The parts if each id has one token, else `None`.
    fn plain_parts<'a>(&'a self, merge: &Merge, added: &'a [AddedToken]) -> Option<Result<MergeParts<'a>>> {
        let part = |id, others: &'a [AddedToken]| {
            let tokens = self.tokens.indices_of(id);
            if tokens.is_empty() {
                let found = others.binary_search_by_key(&id, |token| token.id).ok();
                return found.map(|i| others[i].content.as_bytes());
            }
            (tokens.len() == 1).then(|| self.tokens.bytes(tokens.start))
        };
        let (left, right) = (part(merge.left, added)?, part(merge.right, added)?);
        let result = part(merge.result, &[])?;
        // As in the reference, the prefix is cut off by its length, without a comparison.
        let rest = right.get(self.prefix().len()..).unwrap_or(right);
        let joins =
            result.len() == left.len() + rest.len() && result.starts_with(left) && result.ends_with(rest);
        Some(if joins { Ok((left, right)) } else { Err(not_joined(merge)) })
    }

    /// All ways to cut the results of merges whose ids are shared.
    fn find_parts<'a>(&'a self, merges: &MergeList, added: &'a [AddedToken]) -> Found<'a> {
        let contents = added.iter().map(|token| (token.id, token.content.as_bytes()));
        let mut by_bytes: HashMap<&[u8], Vec<TokenId>, FixedState> = HashMap::default();
        for (id, bytes) in self.tokens.iter().chain(contents) {
            let ids = by_bytes.entry(bytes).or_default();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let lengths = Lengths::of(by_bytes.keys().map(|bytes| bytes.len()));
        let prefix = self.prefix().as_bytes();
        let mut results: Vec<TokenId> = merges
            .iter()
            .filter(|merge| self.plain_parts(merge, added).is_none())
            .map(|merge| merge.result)
            .collect();
        results.sort_unstable();
        results.dedup();
        let mut found = Found::default();
        let mut written = prefix.to_vec();
        for result in results {
            for index in self.tokens.indices_of(result) {
                let bytes = self.tokens.bytes(index);
                for cut in 0..=bytes.len() {
                    let (left, rest) = bytes.split_at(cut);
                    if !lengths.has(left.len()) || !lengths.has(prefix.len() + rest.len()) {
                        continue;
                    }
                    written.truncate(prefix.len());
                    written.extend_from_slice(rest);
                    let (Some((left, lefts)), Some((right, rights))) =
                        (by_bytes.get_key_value(left), by_bytes.get_key_value(written.as_slice()))
                    else {
                        continue;
                    };
                    for &left_id in lefts {
                        for &right_id in rights {
                            let merge = Merge { left: left_id, right: right_id, result };
                            found.entry(merge).or_insert((*left, *right));
                        }
                    }
                }
            }
        }
        found
    }

    fn fault(&self, merge: &Merge, added: &[AddedToken]) -> Error {
        let is_token = |id| self.tokens.index_of(id).is_some();
        let is_added = |id| added.iter().any(|token| token.id == id);
        let parts = [merge.left, merge.right].into_iter().find(|&id| !is_token(id) && !is_added(id));
        match parts.or(Some(merge.result).filter(|&id| !is_token(id))) {
            Some(id) => Error::format(Defect::Merge, format!("id {id} is not an ordinary token")),
            None => not_joined(merge),
        }
    }
}

fn not_joined(merge: &Merge) -> Error {
    Error::format(Defect::Merge, format!("token {} is not its two parts joined", merge.result))
}

/// The set of token lengths. There are few, so most cuts of a long token need no lookup: a token of
/// a megabyte costs its length times the number of lengths, not its square.
pub(crate) struct Lengths(Vec<bool>);

impl Lengths {
    pub(crate) fn of(lengths: impl Iterator<Item = usize>) -> Self {
        let mut known = Vec::new();
        for length in lengths {
            if known.len() <= length {
                known.resize(length + 1, false);
            }
            known[length] = true;
        }
        Self(known)
    }

    /// The lengths of the tokens in a list.
    pub(crate) fn of_tokens(tokens: &TokenList) -> Self {
        Self::of(tokens.iter().map(|(_, bytes)| bytes.len()))
    }

    pub(crate) fn has(&self, length: usize) -> bool {
        self.0.get(length) == Some(&true)
    }
}
