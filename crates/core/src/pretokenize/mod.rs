//! Pre-tokenization: normalized text to pretokens.
//!
//! In: a piece of text without added tokens. Out: non-empty pretokens in order. Each step refines
//! the pieces of the step before, and may rewrite them into a buffer of its own, so that no piece
//! allocates.
//!
//! Every step produces the pieces and offsets of tokenizers 0.23.3.
mod behavior;
mod between;
mod byte_level;
mod characters;
mod fixed_length;
mod hook;
mod metaspace;
mod only_splits;
mod scripts;
mod split;
#[cfg(test)]
mod tests;

pub(crate) use self::between::{Between, CharClass};
use self::characters::Characters;
use self::metaspace::Metaspace;
pub(crate) use self::only_splits::only_splits;
pub(crate) use self::scripts::Scripts;
use self::split::Split;
use crate::aligned::{AlignedText, Rewritten};
use crate::description::PreTokenizer;
use crate::error::{Defect, Error, Kind, Place, Result};
use crate::hooks::{Hooks, SplitHook};
use crate::span::Span;
use crate::watch::Ticker;

/// The most steps: each takes some stack while a text is cut.
pub(crate) const STEPS_LIMIT: usize = 128;

/// The compiled steps of a pre-tokenizer. Immutable.
#[derive(Debug, Default)]
pub struct PreTokenizers {
    steps: Vec<Step>,
}

/// A compiled step.
#[derive(Debug)]
enum Step {
    Split(Split),
    Characters(Characters),
    Scripts(Scripts),
    FixedLength(usize),
    PrefixSpace,
    ByteAlphabet,
    Metaspace(Metaspace),
    Hook(SplitHook),
}

/// Receives the pretokens.
pub type Emit<'a> = dyn FnMut(AlignedText<'_>, &mut Ticker<'_>) -> Result<()> + 'a;

impl Step {
    fn new(step: &PreTokenizer, hooks: &Hooks) -> Result<Self> {
        Ok(match step {
            PreTokenizer::Split { pattern, behavior, invert } => {
                Self::Split(Split::new(pattern, *behavior, *invert)?)
            }
            PreTokenizer::PrefixSpace => Self::PrefixSpace,
            PreTokenizer::ByteAlphabet => Self::ByteAlphabet,
            PreTokenizer::Bert => Self::Characters(Characters::bert()),
            PreTokenizer::Punctuation(behavior) => Self::Characters(Characters::punctuation(*behavior)),
            PreTokenizer::Whitespace => Self::Characters(Characters::words()),
            PreTokenizer::WhitespaceSplit => Self::Characters(Characters::white_space()),
            PreTokenizer::Digits { individual } => Self::Characters(Characters::digits(*individual)),
            PreTokenizer::CharDelimiter(delimiter) => Self::Characters(Characters::delimiter(*delimiter)),
            PreTokenizer::FixedLength(0) => {
                return Err(Error::format(Defect::Range, "pieces of no characters").at("length"));
            }
            PreTokenizer::FixedLength(length) => Self::FixedLength(*length),
            PreTokenizer::UnicodeScripts => Self::Scripts(Scripts::new()),
            PreTokenizer::Metaspace { replacement, prepend, split } => {
                Self::Metaspace(Metaspace { replacement: *replacement, prepend: *prepend, split: *split })
            }
            PreTokenizer::Hook(name) => Self::Hook(hooks.splitter(name)?),
        })
    }

    /// Cuts a piece and passes every part to `emit`.
    fn apply(
        &self,
        piece: AlignedText<'_>,
        buffer: &mut Rewritten,
        ticker: &mut Ticker<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        match self {
            Self::Split(step) => {
                // An error of a later step already has its position.
                let mut is_ours = true;
                let split = step.for_each(piece.text, ticker, |span, t| {
                    emit(piece.slice(span), t).inspect_err(|_| is_ours = false)
                });
                split.map_err(|error| if is_ours { of_split(error, piece) } else { error })
            }
            Self::Characters(step) => step.for_each(piece.text, ticker, |span, t| emit(piece.slice(span), t)),
            Self::Scripts(step) => step.for_each(piece.text, ticker, |span, t| emit(piece.slice(span), t)),
            Self::FixedLength(length) => {
                fixed_length::for_each(piece.text, *length, ticker, |span, t| emit(piece.slice(span), t))
            }
            Self::PrefixSpace => byte_level::prefix_space(piece, buffer, ticker, emit),
            Self::ByteAlphabet => byte_level::byte_alphabet(piece, buffer, ticker, emit),
            Self::Metaspace(step) => step.apply(piece, buffer, ticker, emit),
            Self::Hook(hook) => hook::apply(hook, piece, ticker, emit),
        }
    }
}

impl PreTokenizers {
    /// Compiles the steps of a description; `hooks` holds the caller's functions.
    ///
    /// # Errors
    /// A format or pattern error that names the step by its index.
    pub fn compile(steps: &[PreTokenizer], hooks: &Hooks) -> Result<Self> {
        let steps = steps.iter().enumerate();
        let steps = steps
            .map(|(i, step)| Step::new(step, hooks).map_err(|e| e.at_index(i)))
            .collect::<Result<_>>()?;
        Ok(Self { steps })
    }

    /// Does a step need the origin of a piece in the caller's text? If so, origins are tracked even
    /// without offsets in the output.
    pub fn needs_origins(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Metaspace(step) if step.needs_origins()))
    }

    /// Passes every pretoken of a piece to `emit`, in order. `buffers` has one buffer per step;
    /// missing ones are created.
    ///
    /// # Errors
    /// Errors of `emit`, of a pattern that exceeds its limit, and of the watch.
    pub fn for_each(
        &self,
        piece: AlignedText<'_>,
        buffers: &mut Vec<Rewritten>,
        ticker: &mut Ticker<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        self.for_each_after(0, piece, buffers, ticker, emit)
    }

    /// As [`Self::for_each`], for a piece that the first `done` steps left.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    pub fn for_each_after(
        &self,
        done: usize,
        piece: AlignedText<'_>,
        buffers: &mut Vec<Rewritten>,
        ticker: &mut Ticker<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        buffers.resize_with(self.steps.len().max(buffers.len()), Rewritten::default);
        run(self.steps.get(done..).unwrap_or_default(), piece, buffers, ticker, emit)
    }
}

/// Moves the position of a pattern error from the piece to the text that the piece came from.
pub(crate) fn of_split(error: Error, piece: AlignedText<'_>) -> Error {
    let is_split = matches!(error.kind, Kind::Pattern { .. });
    error.placed(|place| match place {
        Place::Byte(at) if is_split => Place::Byte(piece.origins.span(Span::new(at, at)).start),
        _ => place,
    })
}

fn run(
    steps: &[Step],
    piece: AlignedText<'_>,
    buffers: &mut [Rewritten],
    ticker: &mut Ticker<'_>,
    emit: &mut Emit<'_>,
) -> Result<()> {
    if piece.text.is_empty() {
        return Ok(());
    }
    let Some((step, rest)) = steps.split_first() else { return emit(piece, ticker) };
    let (buffer, buffers) =
        buffers.split_first_mut().ok_or_else(|| Error::internal("a buffer is missing"))?;
    step.apply(piece, buffer, ticker, &mut |part, ticker| run(rest, part, buffers, ticker, emit))
}
