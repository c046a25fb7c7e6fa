//! Raw pieces: what the first steps of pre-tokenization cut a text into, looked up before the other steps see it.
//!
//! In: a description, then texts. Out: where the pieces of a text end, and the pretokens of a piece that missed the
//! cache. No normalizer may change the text, the first steps must only split, and each of the others must look at a
//! piece alone.
//!
//! Falcon splits again when bytes are written as letters: digits, and letters that count as digits, from all else. That
//! may cut a character, so it is no split of the text. But what it makes of a piece depends on the piece alone.
use crate::aligned::{AlignedText, Origins};
use crate::description::Description;
use crate::error::Result;
use crate::model::Model;
use crate::pattern::Splitter;
use crate::pretokenize::{Emit, PreTokenizers, only_splits};
use crate::watch::Ticker;

use super::edges::looks_around;
use super::scratch::WordScratch;

/// How the pieces of a text are found.
#[derive(Debug)]
pub(crate) struct RawPieces {
    splitter: Splitter,
    /// How many steps of pre-tokenization the splitter stands for.
    done: usize,
}

/// The steps that a piece goes through before the model.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Pieces<'a> {
    pub(in crate::engine) raw: &'a RawPieces,
    pub(in crate::engine) pre_tokenizers: &'a PreTokenizers,
}

impl RawPieces {
    /// `None` if the first step does more than split, or no scanner runs the first ones, or a later one looks beyond a
    /// piece.
    pub(super) fn new(description: &Description, model: &Model) -> Option<Self> {
        let steps = &description.pre_tokenizer;
        // With canonical merges the miss queue would merge the bytes of pieces as if they were pretokens.
        let is_canonical = model.as_bpe().is_some_and(|bpe| bpe.canonical().is_some());
        let done = steps.iter().take_while(|step| only_splits(std::slice::from_ref(step)).is_some()).count();
        let (first, rest) = steps.split_at(done);
        if is_canonical
            || !description.normalizer.is_empty()
            || first.is_empty()
            || rest.is_empty()
            || rest.iter().any(looks_around)
        {
            return None;
        }
        let splitter = Splitter::compile_steps(&only_splits(first)?).ok()??;
        splitter.is_scanner().then_some(Self { splitter, done })
    }

    /// What finds the pieces.
    pub(in crate::engine) fn splitter(&self) -> &Splitter {
        &self.splitter
    }
}

impl Pieces<'_> {
    /// Passes the pretokens of a piece to `emit`.
    ///
    /// # Errors
    /// Those of the steps and of `emit`, positioned in the piece if origins are given.
    pub(super) fn for_each_pretoken(
        self,
        (piece, origins): (&str, Option<Origins<'_>>),
        scratch: &mut WordScratch,
        ticker: &mut Ticker<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let piece = AlignedText { text: piece, origins: origins.unwrap_or(Origins::Untracked) };
        self.pre_tokenizers.for_each_after(self.raw.done, piece, &mut scratch.pretokenized, ticker, emit)
    }
}
