//! What cuts normalized text into pretokens.
use super::options::{Dialect, TrainModel, TrainOptions, UnigramOptions};
use super::unigram::Words;
use crate::aligned::{AlignedText, Origins, Rewritten};
use crate::description::{PreTokenizer, Split};
use crate::error::Result;
use crate::hooks::Hooks;
use crate::pattern::Splitter;
use crate::pretokenize::PreTokenizers;
use crate::watch::Ticker;

/// A compiled pre-tokenizer.
#[derive(Debug)]
pub(super) enum Cutter {
    /// One split, which keeps all of the text.
    Split(Splitter),
    /// Steps that may drop or rewrite text.
    Steps {
        steps: PreTokenizers,
        /// Is the text cut at each white space, whatever is around it?
        cuts_at_spaces: bool,
    },
    /// What no piece of SentencePiece crosses.
    Words(Words),
}

impl Cutter {
    pub(super) fn compile(options: &TrainOptions) -> Result<Self> {
        if let TrainModel::Unigram(UnigramOptions {
            dialect: Dialect::SentencePiece { split_by_unicode_script, split_digits },
            user_defined_symbols,
            ..
        }) = &options.model
        {
            return Words::new(user_defined_symbols, *split_by_unicode_script, *split_digits)
                .map(Self::Words);
        }
        let steps = options.pre_tokenizer.as_slice();
        if let Some(split) = Split::of_stages(steps) {
            return Ok(Self::Split(Splitter::compile(&split)?));
        }
        let drops_spaces = |step: &PreTokenizer| {
            matches!(step, PreTokenizer::Bert | PreTokenizer::Whitespace | PreTokenizer::WhitespaceSplit)
        };
        Ok(Self::Steps {
            cuts_at_spaces: steps.first().is_some_and(drops_spaces),
            steps: PreTokenizers::compile(steps, &Hooks::default()).map_err(|error| error.at("split"))?,
        })
    }

    /// Calls `each` with every pretoken of a text, and a number that ascends and is less than the bytes of the text:
    /// its start, or for steps the number of pretokens before it.
    pub(super) fn for_each(
        &self,
        text: &str,
        buffers: &mut Vec<Rewritten>,
        ticker: &mut Ticker<'_>,
        mut each: impl FnMut(&[u8], usize) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Split(splitter) => splitter.for_each(text, |span| {
                ticker.spend(splitter.work(span.len()))?;
                each(span.of(text.as_bytes()), span.start)
            }),
            Self::Words(words) => words.for_each(text, ticker, each),
            Self::Steps { steps, .. } => {
                let piece = AlignedText { text, origins: Origins::Untracked };
                let mut number = 0;
                steps.for_each(piece, buffers, ticker, &mut |piece, ticker| {
                    ticker.spend(piece.text.len())?;
                    each(piece.text.as_bytes(), number)?;
                    number += 1;
                    Ok(())
                })
            }
        }
    }

    /// The first place, not before `from`, where a text may be cut without changing its pretokens.
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        match self {
            Self::Split(splitter) => splitter.safe_cut(text, from),
            Self::Steps { cuts_at_spaces: true, .. } => {
                let found = text.as_bytes()[from..].iter().position(|byte| matches!(byte, b' ' | b'\n'));
                found.map(|at| from + at)
            }
            Self::Words(words) => words.safe_cut(text, from),
            Self::Steps { .. } => None,
        }
    }
}
