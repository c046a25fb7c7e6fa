//! Ways to merge a pretoken, to be read beside one another (`docs/algorithms.md`). Encoding itself takes none of
//! them: it merges short pretokens side by side and long ones by windows (`crate::model::bpe`).
//!
//! In: a text, and the name of an algorithm. Out: ids. [`Algorithm::Heap`], [`Algorithm::Table`] and
//! [`Algorithm::Backtracking`] must give the ids of `encode`; the other two are approximations.
//!
//! All of them work over the tokens that their own bytes merge to, within pretokens; the stages before are those of
//! every call.
mod backtracking;
mod greedy;
mod minimal;
mod table;
#[cfg(test)]
mod tests;

use tokenmill_kernels::try_alloc;

use crate::aligned::AlignedText;
use crate::description::BpeDescription;
use crate::engine::{Engine, PretokenSink, SinkResult, Special, Spelling, Text, UntrustedRanges};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::model::bpe::{Bpe, Matcher};
use crate::watch::{Ticker, Watch};

/// An algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// The definition: of all merges the one of the lowest rank, from a heap. n log n.
    Heap,
    /// The last token of every prefix. Linear in the tokens that the text holds, overlapping ones too.
    Table,
    /// The longest token first, a shorter one where it fails. Linear, and the fastest in ordinary text.
    Backtracking,
    /// The longest token at each place. Gives other ids than encoding.
    Greedy,
    /// As few tokens as possible. Gives other ids than encoding.
    Minimal,
}

impl Algorithm {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Heap, "heap"),
        (Self::Table, "table"),
        (Self::Backtracking, "backtracking"),
        (Self::Greedy, "greedy"),
        (Self::Minimal, "minimal"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(algorithm, _)| *algorithm == self).map_or("", |(_, name)| name)
    }
}

impl Engine {
    /// Encodes a text by an algorithm.
    ///
    /// # Errors
    /// As [`Engine::encode`]; a budget error if the algorithm cannot serve this vocabulary.
    pub fn encode_by(
        &self,
        algorithm: Algorithm,
        text: Text<'_>,
        special: &Special,
        watch: &dyn Watch,
    ) -> Result<Vec<TokenId>> {
        let Some(model) = self.model().as_bpe() else {
            let reason = format!(
                "{} is an algorithm of byte-pair encoding, and this model is another one",
                algorithm.name()
            );
            return Err(Error::budget(None, None, reason));
        };
        let matcher = match algorithm {
            Algorithm::Heap => None,
            _ => Some(self.matcher(model, algorithm, watch)?),
        };
        let mut sink = ByAlgorithm {
            algorithm,
            model,
            matcher,
            description: self.bpe()?,
            scratch: AlgorithmScratch::default(),
            ids: Vec::new(),
        };
        self.encode_pretokens(text, &self.recognizer(special)?, UntrustedRanges::none(), watch, &mut sink)?;
        Ok(sink.ids)
    }

    fn matcher<'a>(&'a self, model: &'a Bpe, algorithm: Algorithm, watch: &dyn Watch) -> Result<Matcher<'a>> {
        let Some(canonical) = model.canonical() else {
            let reason = format!(
                "{} needs merges over all bytes whose ranks agree with one another, and those of this vocabulary do \
                 not (plan() says why); heap serves every vocabulary",
                algorithm.name()
            );
            return Err(Error::budget(None, None, reason));
        };
        canonical.matcher(self.vocabulary(), &mut Ticker::new(watch))
    }
}

/// What an algorithm keeps from one pretoken to the next: memory only.
#[derive(Debug, Default)]
struct AlgorithmScratch {
    /// The row of tokens, as symbols.
    row: Vec<u32>,
    /// A token for each place of the pretoken.
    tokens: Vec<u32>,
    /// A number for each place.
    counts: Vec<u32>,
    /// A bit for each place.
    bits: Vec<u64>,
}

/// Spells each pretoken by an algorithm.
struct ByAlgorithm<'a> {
    algorithm: Algorithm,
    model: &'a Bpe,
    /// `None` for the heap, which needs none.
    matcher: Option<Matcher<'a>>,
    description: &'a BpeDescription,
    scratch: AlgorithmScratch,
    ids: Vec<TokenId>,
}

impl PretokenSink for ByAlgorithm<'_> {
    fn spell(&mut self, pretoken: &[u8], with: &mut Spelling<'_, '_>) -> Result<()> {
        let Spelling { vocabulary, scratch, ticker, .. } = with;
        if let Some(id) = self.model.taken_whole(pretoken, vocabulary) {
            return Ok(try_alloc::push(&mut self.ids, id)?);
        }
        let Some(matcher) = &self.matcher else {
            let tables = (self.description, *vocabulary);
            return self.model.encode_by_heap(pretoken, tables, &mut scratch.bpe, &mut self.ids, ticker);
        };
        self.scratch.row.clear();
        match self.algorithm {
            Algorithm::Heap | Algorithm::Table => {
                table::encode(matcher, pretoken, &mut self.scratch, ticker)?;
            }
            Algorithm::Backtracking => backtracking::encode(matcher, pretoken, &mut self.scratch, ticker)?,
            Algorithm::Greedy => greedy::encode(matcher, pretoken, &mut self.scratch, ticker)?,
            Algorithm::Minimal => minimal::encode(matcher, pretoken, &mut self.scratch, ticker)?,
        }
        try_alloc::reserve(&mut self.ids, self.scratch.row.len())?;
        self.ids.extend(self.scratch.row.iter().map(|&token| matcher.id(token)));
        Ok(())
    }

    fn added(&mut self, _literal: AlignedText<'_>, id: TokenId) -> SinkResult {
        try_alloc::push(&mut self.ids, id)
    }
}

/// Reads a row backwards: `last` has the last token of every prefix, and before it stands what is left of the text
/// without it.
fn read_back(matcher: &Matcher<'_>, last: &[u32], row: &mut Vec<u32>) -> Result<()> {
    let mut end = last.len();
    while end > 0 {
        let token = last[end - 1];
        try_alloc::push(row, token)?;
        end -= matcher.length(token);
    }
    row.reverse();
    Ok(())
}
