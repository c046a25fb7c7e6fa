//! Merging by the naive rule over a vocabulary that grows.
//!
//! In: a byte-pair model, and bytes. Out: the row of tokens that merging leaves, and, on request, new tokens and merges
//! after all others. Nothing here is fast: it runs once for each new token. Tests compare it with the engine.
use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::description::{Alphabet, BpeDescription, Merge, Merges, PieceKind, TokenList};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId};
use crate::watch::Ticker;

/// A vocabulary that grows at its end.
pub(super) struct Merger<'a> {
    model: &'a BpeDescription,
    /// Ordinary tokens that text may become, and the new ones.
    ids: HashMap<Vec<u8>, TokenId, FixedState>,
    bytes: HashMap<TokenId, Vec<u8>, FixedState>,
    /// Rank and result of each listed pair.
    ranks: HashMap<(TokenId, TokenId), (usize, TokenId), FixedState>,
    next: TokenId,
    /// New tokens in the order of their ids.
    pub(super) tokens: Vec<(TokenId, Vec<u8>)>,
    /// New merges, lowest rank first; none where tokens say what merges.
    pub(super) merges: Vec<Merge>,
    /// The bytes of tokens that were there and that text becomes only by new merges.
    pub(super) reached: Vec<Vec<u8>>,
}

impl<'a> Merger<'a> {
    /// A merger for a model, whose new tokens have ids from `next` on.
    ///
    /// # Errors
    /// A format error for a model whose tokens are not the bytes that they are made of.
    pub(super) fn new(
        model: &'a BpeDescription,
        next: TokenId,
        is_special: &dyn Fn(TokenId) -> bool,
    ) -> Result<Self> {
        let has_prefix = model.continuing_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty());
        if has_prefix || matches!(model.alphabet, Alphabet::Chars { end_of_word: Some(_) }) {
            let reason = "tokens of this model are written with a mark for the start or the end of a word, so that their \
                          bytes do not say what they are made of; nothing can be added to it";
            return Err(Error::format(Defect::CannotHold, reason).at("model"));
        }
        if let Some((_, id)) = model.tokens.first_shared_id() {
            let reason = "is the id of several tokens; nothing can be added to such a vocabulary";
            return Err(Error::vocabulary(Some(id.into()), reason));
        }
        let spells = |index: usize| match &model.merges {
            Merges::ByScore { kinds, .. } => {
                !matches!(kinds[index], PieceKind::Unknown | PieceKind::Control | PieceKind::Byte)
            }
            _ => true,
        };
        let tokens = model.tokens.iter().enumerate();
        let tokens = tokens.filter(|&(index, (id, _))| spells(index) && !is_special(id));
        let ids: HashMap<Vec<u8>, TokenId, FixedState> =
            tokens.map(|(_, (id, bytes))| (bytes.to_vec(), id)).collect();
        let bytes = ids.iter().map(|(bytes, &id)| (id, bytes.clone())).collect();
        let ranks = match &model.merges {
            Merges::Listed(merges) => {
                let pair = |(rank, merge): (usize, Merge)| ((merge.left, merge.right), (rank, merge.result));
                // Of a pair that is listed twice the first counts.
                merges.iter().enumerate().rev().map(pair).collect()
            }
            _ => HashMap::default(),
        };
        let (tokens, merges, reached) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { model, ids, bytes, ranks, next, tokens, merges, reached })
    }

    fn is_listed(&self) -> bool {
        matches!(self.model.merges, Merges::Listed(_))
    }

    /// The token with these bytes, if text may become it.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<TokenId> {
        self.ids.get(bytes).copied()
    }

    /// Adds a token after all others.
    ///
    /// # Errors
    /// A vocabulary error when there are no ids left, or for the bytes of a token that no text becomes.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Result<TokenId> {
        if let Some(index) = self.model.tokens.find(bytes) {
            let reason = "is a special token or one that no text becomes, and a new one needs its bytes";
            return Err(Error::vocabulary(Some(self.model.tokens.id(index).into()), reason));
        }
        let id = self.next;
        if id == NO_ID {
            return Err(Error::vocabulary(None, "there is no id after the largest for a new token"));
        }
        self.next += 1;
        self.ids.insert(bytes.to_vec(), id);
        self.bytes.insert(id, bytes.to_vec());
        self.tokens.push((id, bytes.to_vec()));
        Ok(id)
    }

    /// Adds a merge after all others, unless tokens say what merges.
    pub(super) fn add_merge(&mut self, left: TokenId, right: TokenId, result: TokenId) {
        if self.is_listed() {
            let rank = self.ranks.len() + self.merges.len();
            self.ranks.entry((left, right)).or_insert((rank, result));
            self.merges.push(Merge { left, right, result });
        }
    }

    /// Adds a token with these bytes, and what is needed so that they are merged to it: tokens for characters that are
    /// none, and merges of its leftmost two symbols, one after the other.
    ///
    /// # Errors
    /// As [`Self::add`]; a vocabulary error for bytes that the alphabet cannot have.
    pub(super) fn build(&mut self, token: &[u8], ticker: &mut Ticker<'_>) -> Result<()> {
        for symbol in self.symbols(token)? {
            if self.find(symbol).is_none() {
                self.add(symbol)?;
            }
        }
        let mut row = self.row(token)?;
        self.merge(&mut row, ticker)?;
        while let &[left, right, ..] = row.as_slice() {
            let joined = [self.bytes[&left].as_slice(), self.bytes[&right].as_slice()].concat();
            let result = match self.find(&joined) {
                Some(id) if self.is_listed() => {
                    self.reached.push(joined);
                    id
                }
                Some(id) => {
                    let reason = "is a token that merging does not make, and that stands where a new one needs another";
                    return Err(Error::vocabulary(Some(id.into()), reason));
                }
                None => self.add(&joined)?,
            };
            self.add_merge(left, right, result);
            self.merge(&mut row, ticker)?;
        }
        Ok(())
    }

    /// The symbols that merging starts from.
    fn symbols<'t>(&self, token: &'t [u8]) -> Result<Vec<&'t [u8]>> {
        if self.model.alphabet == Alphabet::Bytes {
            return Ok(token.chunks(1).collect());
        }
        let Ok(text) = std::str::from_utf8(token) else {
            let reason = format!("{} is not UTF-8, but the model works on characters", token.escape_ascii());
            return Err(Error::vocabulary(None, reason));
        };
        let ends = text.char_indices().map(|(at, char)| &token[at..at + char.len_utf8()]);
        Ok(ends.collect())
    }

    fn row(&self, token: &[u8]) -> Result<Vec<TokenId>> {
        let find =
            |symbol: &[u8]| self.find(symbol).ok_or_else(|| Error::internal("a symbol without a token"));
        self.symbols(token)?.into_iter().map(find).collect()
    }

    /// Merges a row by the rule: lowest rank first, leftmost first.
    fn merge(&self, row: &mut Vec<TokenId>, ticker: &mut Ticker<'_>) -> Result<()> {
        loop {
            ticker.spend(8 * row.len() + 1)?;
            let pairs = row.windows(2).enumerate();
            let ranked =
                pairs.filter_map(|(at, pair)| self.rank(pair[0], pair[1]).map(|(rank, id)| (rank, at, id)));
            let Some((_, at, id)) = ranked.min_by_key(|&(rank, at, _)| (rank, at)) else { return Ok(()) };
            row[at] = id;
            row.remove(at + 1);
        }
    }

    /// The rank of a pair and what it becomes.
    fn rank(&self, left: TokenId, right: TokenId) -> Option<(i64, TokenId)> {
        if self.is_listed() {
            return self.ranks.get(&(left, right)).map(|&(rank, id)| (rank as i64, id));
        }
        let id = self.find(&[self.bytes[&left].as_slice(), self.bytes[&right].as_slice()].concat())?;
        let Merges::ByScore { scores, .. } = &self.model.merges else { return Some((i64::from(id), id)) };
        // A new piece has a lower score than all before it.
        let rank = match self.model.tokens.index_of(id) {
            Some(index) => -order_of(scores[index]),
            None => (1 << 40) + i64::from(id),
        };
        Some((rank, id))
    }
}

/// A number that orders scores.
fn order_of(score: f32) -> i64 {
    let bits = i64::from((score + 0.0).to_bits() as i32);
    if bits < 0 { i64::from(i32::MIN) - bits } else { bits }
}

/// The list with more tokens at its end, whose ids are larger than all others.
pub(super) fn with_tokens(tokens: &TokenList, new: &[(TokenId, Vec<u8>)]) -> TokenList {
    let mut all = tokens.clone();
    for (id, bytes) in new {
        all.push(*id, bytes);
    }
    all
}
