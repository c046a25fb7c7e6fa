//! Draws one token after another.
use super::model::{NGramModel, Order, damaged};
use crate::error::Result;
use crate::model::Random;

/// A context of a model, and the random numbers that decide what follows.
pub(super) struct Walk<'m> {
    model: &'m NGramModel,
    random: Random,
    context: usize,
    /// The last token of the context.
    last: u32,
}

impl<'m> Walk<'m> {
    /// Begins at a context that occurs: each place of the rows is as likely as the others.
    pub(super) fn anywhere(model: &'m NGramModel, mut random: Random) -> Result<Self> {
        let place = random.below(model.successors.len() as u64) as usize;
        let context = part_with(place, model.context_count(), |context| model.offsets.get(context));
        Self::at(model, random, context)
    }

    /// Begins at a context.
    pub(super) fn at(model: &'m NGramModel, random: Random, context: usize) -> Result<Self> {
        let last = match model.order {
            Order::Two => context as u32,
            Order::Three => model.second(context)?,
        };
        Ok(Self { model, random, context, last })
    }

    /// Begins with a token: of the contexts that begin with it, each is drawn as often as it occurs. Returns the
    /// second token of the context, too.
    pub(super) fn from_token(
        model: &'m NGramModel,
        mut random: Random,
        token: u32,
    ) -> Result<(Self, Option<u32>)> {
        if model.order == Order::Two {
            return Ok((Self::at(model, random, token as usize)?, None));
        }
        let contexts = model.contexts_of_first(token)?;
        let weight = |context: usize| -> Result<u64> {
            let row = model.row(context)?;
            Ok(u64::from(model.count(row.end - 1)?))
        };
        let mut sum = 0;
        for context in contexts.clone() {
            sum += weight(context)?;
        }
        let mut left = random.below(sum);
        let mut chosen = contexts.start;
        for context in contexts {
            chosen = context;
            let own = weight(context)?;
            if left < own {
                break;
            }
            left -= own;
        }
        let walk = Self::at(model, random, chosen)?;
        let second = walk.last;
        Ok((walk, Some(second)))
    }

    /// The tokens of the context.
    pub(super) fn context_tokens(&self) -> Vec<u32> {
        match self.model.order {
            Order::Two => vec![self.last],
            Order::Three => {
                let symbols = self.model.decoder.len();
                let first = part_with(self.context, symbols, |first| self.model.first_offsets.get(first));
                vec![first as u32, self.last]
            }
        }
    }

    /// Draws the next token: each successor as often as it follows in the corpus.
    ///
    /// # Errors
    /// A format error if the model is damaged.
    pub(super) fn next(&mut self) -> Result<u32> {
        let model = self.model;
        let row = model.row(self.context)?;
        let total = model.count(row.end - 1)?;
        if total == 0 {
            return Err(damaged("counts", row.end - 1));
        }
        let drawn = self.random.below(total.into()) as u32;
        let (mut from, mut to) = (row.start, row.end - 1);
        while from < to {
            let middle = usize::midpoint(from, to);
            if model.count(middle)? <= drawn { from = middle + 1 } else { to = middle }
        }
        let next = model.successor(from)?;
        self.context = match model.order {
            Order::Two => next as usize,
            Order::Three => {
                model.context_of_pair(self.last, next)?.ok_or_else(|| damaged("successors", from))?
            }
        };
        self.last = next;
        Ok(next)
    }
}

/// The part that a place belongs to: the last of `count` parts that begins at it or before.
fn part_with(place: usize, count: usize, start: impl Fn(usize) -> Option<u32>) -> usize {
    let (mut from, mut to) = (0, count);
    while to - from > 1 {
        let middle = usize::midpoint(from, to);
        if start(middle).is_some_and(|start| start as usize <= place) { from = middle } else { to = middle }
    }
    from
}
