//! The merges that a vocabulary implies: all ways to cut a token into two others.
use std::collections::HashMap;

use tokenmill_core::error::{Error, Result};
use tokenmill_core::ids::TokenId;

use crate::tokenizer_json::MergeEntries;

/// Maximum total size in bytes of the halves of all tokens.
const HALVES_LIMIT: usize = 256 << 20;

/// A vocabulary to cut tokens by.
pub(super) struct Halves<'a> {
    ids: HashMap<&'a [u8], TokenId>,
    /// Is there a token of this length? If not, halves of this length are not looked up.
    has_length: Vec<bool>,
    /// Remaining budget in bytes.
    left: usize,
}

impl<'a> Halves<'a> {
    pub(super) fn of(tokens: impl Iterator<Item = (TokenId, &'a [u8])>) -> Self {
        let ids: HashMap<&[u8], TokenId> = tokens.map(|(id, token)| (token, id)).collect();
        let longest = ids.keys().map(|token| token.len()).max().unwrap_or(0);
        let mut has_length = vec![false; longest + 1];
        for token in ids.keys() {
            has_length[token.len()] = true;
        }
        Self { ids, has_length, left: HALVES_LIMIT }
    }

    /// The ways to cut a token of the vocabulary, shortest first half first.
    pub(super) fn cut(&mut self, token: &'a [u8]) -> Result<Vec<Cut<'a>>> {
        let mut found = Vec::new();
        for at in 1..token.len() {
            if !self.has_length[at] || !self.has_length[token.len() - at] {
                continue;
            }
            let (first, second) = token.split_at(at);
            if let Some(&id) = self.ids.get(first)
                && self.ids.contains_key(second)
            {
                self.left = self.left.checked_sub(token.len()).ok_or_else(|| {
                    let reason = "the tokens can be cut into others in more ways than a vocabulary has";
                    Error::limit(reason, HALVES_LIMIT as u64)
                })?;
                found.push(Cut { id, first, second });
            }
        }
        Ok(found)
    }
}

/// A token cut in two.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    /// The id of the first half.
    pub(super) id: TokenId,
    first: &'a [u8],
    second: &'a [u8],
}

impl Cut<'_> {
    /// Adds the merge that joins the halves, in written form.
    pub(super) fn put_merge(&self, merges: &mut MergeEntries, written: impl Fn(&[u8]) -> String) {
        merges.push(&written(self.first), &written(self.second));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_cut_everywhere_that_both_halves_are_tokens() {
        let tokens = [&b"a"[..], b"b", b"ab", b"abb", b"bb"];
        let mut halves = Halves::of((0..).zip(tokens));
        assert_eq!(
            halves.cut(b"abb").unwrap(),
            [Cut { id: 0, first: b"a", second: b"bb" }, Cut { id: 2, first: b"ab", second: b"b" }]
        );
        assert_eq!(halves.cut(b"a").unwrap(), []);
        halves.left = 2;
        assert_eq!(halves.cut(b"ab").unwrap().len(), 1);
        assert!(halves.cut(b"ab").is_err());
    }
}
