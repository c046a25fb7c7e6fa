//! The ids of the text that was learned from.
//!
//! They are what `encode` gives for it. Encoding merges the adjacent pair with the earliest merge, the leftmost one
//! first, until no pair has a merge. Training makes its merges one after the other, each over the whole pretoken, from
//! the left and without overlap. That is the same:
//!
//! - Behind merge (a, b) there is no a before b any more, in a run of equal parts (`aaa`) neither: from the left, one
//!   part at most is left over. And there never is again, because a later merge puts a new token in the place of two, and
//!   changes no other neighbours than its own. So the earliest merge that encoding finds never comes before one that it
//!   made: it makes the merges in the order of training.
//! - While encoding makes one merge, its result is a new token, and no pair that has this token comes as early. So the
//!   pairs it takes are those of the text as it was before, the leftmost first, none that overlaps one taken: the same
//!   as in one pass.
//!
//! A pair that a limit refuses (`min_frequency`, `max_token_length`, the end-of-word mark) has no merge in either.
use tokenmill_kernels::try_alloc;

use super::{FENCE, Learner};
use crate::description::TokenList;
use crate::error::Result;
use crate::ids::TokenId;
use crate::watch::Ticker;

/// A special token of the text.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Special {
    pub(in super::super) id: TokenId,
    /// The number of pretokens before it.
    pub(in super::super) after: usize,
}

impl Learner {
    /// Number of tokens: alphabet and merges.
    pub(in super::super) fn vocab_size(&self) -> usize {
        self.tokens.len()
    }

    /// Alphabet and merges, and the ids of all pretokens, one after the other, with the special tokens between them.
    pub(in super::super) fn into_tokens_and_ids(
        self,
        specials: impl ExactSizeIterator<Item = Special>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(TokenList, Vec<TokenId>)> {
        let Self { cells, lens, tokens, first_id, .. } = self;
        let length = |symbol: u32| lens[symbol as usize] as usize;
        let (mut count, mut at) = (specials.len(), 1);
        while let Some(cell) = cells.get(at) {
            ticker.spend(2)?;
            let is_token = cell.symbol != FENCE;
            count += usize::from(is_token);
            at += if is_token { length(cell.symbol) } else { 1 };
        }
        let mut ids = try_alloc::vec(count)?;
        let mut specials = specials.peekable();
        let (mut pretokens, mut at) = (0, 1);
        loop {
            while let Some(special) = specials.next_if(|special| special.after == pretokens) {
                ids.push(special.id);
            }
            while let Some(symbol) = cells.get(at).map(|cell| cell.symbol).filter(|&symbol| symbol != FENCE) {
                ticker.spend(2)?;
                ids.push(first_id + symbol);
                at += length(symbol);
            }
            at += 1;
            pretokens += 1;
            if at >= cells.len() && specials.peek().is_none() {
                return Ok((tokens, ids));
            }
        }
    }
}
