//! Decoding: tokens in written form to text.
//!
//! In: a row of tokens, one after another. Out: text. A [`Chain`] is the compiled form of a
//! description's decoder. Each step is a state machine: it takes the elements of a row in parts,
//! emits text as soon as it is certain, and holds the rest back (until it knows whether a token is
//! the last, or whether a run of bytes continues). So a whole row and a stream of tokens share one
//! implementation.
//!
//! Most steps work on elements, and `Fuse` joins all elements into one. A step after `Fuse` gets
//! one long element in many parts; a step that needs the whole element (a regular expression) then
//! emits nothing before the end.
//!
//! The plain form, rows of strings to rows of strings, is in the tests, which compare the two.
mod bpe;
mod byte_fallback;
mod byte_level;
mod cleanup;
mod ctc;
mod denormalize;
mod fuse;
mod literal;
mod metaspace;
mod replace;
mod sentence_piece;
mod strip;
#[cfg(test)]
mod tests;
mod utf8;
mod word_piece;

use tokenmill_kernels::try_alloc;

use crate::description::{Alphabet, Decoder, Decoding, Description, ModelDescription, Pattern};
use crate::error::{Error, Result};
use crate::watch::Ticker;

pub use utf8::incomplete_tail;

/// Maximum number of steps in a chain; each uses some stack.
const STEPS_LIMIT: usize = 256;

/// Maximum factor by which replacing may lengthen a text.
const GROWTH_LIMIT: usize = 1 << 20;

/// The compiled steps of a decoder. Immutable.
#[derive(Debug, Clone)]
pub struct Chain {
    machines: Vec<Machine>,
}

/// The state of one row in a chain.
#[derive(Debug, Clone)]
pub struct Row {
    machines: Vec<Machine>,
}

/// A step with the text that it holds back.
#[derive(Debug, Clone)]
enum Machine {
    Bpe(bpe::Bpe),
    ByteFallback(byte_fallback::ByteFallback),
    ByteLevel(byte_level::ByteLevel),
    Ctc(Box<ctc::Ctc>),
    Denormalize(denormalize::Denormalize),
    Fuse(fuse::Fuse),
    Metaspace(metaspace::Metaspace),
    Regex(replace::Regex),
    Replace(replace::Replace),
    SentencePiece(sentence_piece::SentencePiece),
    Strip(strip::Strip),
    WordPiece(word_piece::WordPiece),
}

/// The interface of a step. The text of an element arrives in parts, which are never empty; `end`
/// closes the element; `finish` closes the row.
trait Step {
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()>;
    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()>;
    fn finish(&mut self, _to: &mut Rest<'_, '_>) -> Result<()> {
        Ok(())
    }
}

/// The steps after the current one, and the output of the last.
struct Rest<'a, 'w> {
    machines: &'a mut [Machine],
    out: &'a mut Vec<u8>,
    ticker: &'a mut Ticker<'w>,
}

impl Chain {
    /// Compiles the steps; `None` if each id decodes to its own bytes, without steps.
    ///
    /// # Errors
    /// A format or pattern error that names the step by its index.
    pub fn compile(decoding: &Decoding, model: &ModelDescription) -> Result<Option<Self>> {
        let steps = match decoding {
            Decoding::Bytes => return Ok(None),
            Decoding::Spaced => {
                return Ok(Some(Self { machines: vec![Machine::Fuse(fuse::Fuse::spaced())] }));
            }
            Decoding::Steps(steps) => steps,
        };
        if steps.len() > STEPS_LIMIT {
            let reason = format!("{} steps of decoding are over the limit of {STEPS_LIMIT}", steps.len());
            return Err(Error::limit(reason, STEPS_LIMIT as u64));
        }
        let mut machines = Vec::with_capacity(steps.len());
        let mut growth = 1_usize;
        for (i, step) in steps.iter().enumerate() {
            let machine = Machine::new(step, model).map_err(|error| error.at_index(i))?;
            growth = growth.saturating_mul(machine.growth());
            if growth > GROWTH_LIMIT {
                let reason = format!("replacing may make a text more than {GROWTH_LIMIT} times longer");
                return Err(Error::limit(reason, GROWTH_LIMIT as u64).at_index(i));
            }
            machines.push(machine);
        }
        Ok(Some(Self { machines }))
    }

    /// The steps of `chain` followed by those that clean up the whole text. For `None` each id
    /// decodes to its own bytes.
    ///
    /// # Errors
    /// None in practice: the patterns are literals.
    pub fn cleaning(chain: Option<Self>, description: &Description) -> Result<Self> {
        let Description { model, .. } = description;
        let mut steps = Vec::new();
        let mut machines = match (chain, model.alphabet()) {
            (Some(chain), _) => chain.machines,
            (None, Some(Alphabet::Bytes)) => vec![Machine::new(&Decoder::ByteLevel, model)?],
            (None, Some(Alphabet::Chars { end_of_word: Some(mark) })) => {
                steps.push((mark.symbol.as_str(), ""));
                Vec::new()
            }
            (None, _) => Vec::new(),
        };
        let replace = |(from, to): (&str, &str)| replace::machine(&Pattern::Literal(from.to_owned()), to);
        for step in steps {
            machines.push(replace(step)?);
        }
        machines.push(Machine::Fuse(fuse::Fuse::default()));
        for rule in cleanup::of_whole_texts() {
            machines.push(replace(rule)?);
        }
        Ok(Self { machines })
    }

    /// The state of a new row.
    pub fn start(&self) -> Row {
        Row { machines: self.machines.clone() }
    }
}

impl Row {
    /// Takes the next token and appends the text that is now certain to `out`, in whole characters.
    ///
    /// # Errors
    /// A pattern that exceeds its limit; errors of the watch.
    #[inline]
    pub fn token(&mut self, written: &str, out: &mut Vec<u8>, ticker: &mut Ticker<'_>) -> Result<()> {
        let before = out.len();
        let mut all = Rest { machines: &mut self.machines, out, ticker };
        all.part(written)?;
        all.end()?;
        let made = out.len() - before;
        ticker.spend(written.len() + made + 1)
    }

    /// Ends the row and appends the rest of its text to `out`.
    ///
    /// # Errors
    /// As [`Self::token`].
    pub fn finish(&mut self, out: &mut Vec<u8>, ticker: &mut Ticker<'_>) -> Result<()> {
        let mut machines = self.machines.as_mut_slice();
        while let Some((first, rest)) = machines.split_first_mut() {
            first.step().finish(&mut Rest { machines: rest, out, ticker })?;
            machines = rest;
        }
        Ok(())
    }
}

impl Machine {
    fn new(step: &Decoder, model: &ModelDescription) -> Result<Self> {
        Ok(match step {
            Decoder::ByteLevel => Self::ByteLevel(byte_level::ByteLevel::default()),
            Decoder::WordPiece { prefix, cleanup } => {
                Self::WordPiece(word_piece::WordPiece::new(prefix, *cleanup))
            }
            Decoder::Metaspace { replacement, prepend, .. } => {
                Self::Metaspace(metaspace::Metaspace::new(*replacement, *prepend))
            }
            Decoder::Bpe { suffix } => Self::Bpe(bpe::Bpe::new(suffix)),
            Decoder::Ctc { pad, delimiter, cleanup } => {
                Self::Ctc(Box::new(ctc::Ctc::new(pad, delimiter, *cleanup)))
            }
            Decoder::Denormalize { map } => Self::Denormalize(denormalize::Denormalize::new(map)?),
            Decoder::ByteFallback => Self::ByteFallback(byte_fallback::ByteFallback::default()),
            Decoder::Fuse => Self::Fuse(fuse::Fuse::default()),
            Decoder::Strip { content, start, stop } => {
                Self::Strip(strip::Strip::new(*content, *start, *stop))
            }
            Decoder::Replace { pattern, content } => replace::machine(pattern, content)?,
            Decoder::SentencePiece { unk_surface, add_dummy_prefix, remove_extra_whitespaces, .. } => {
                Self::SentencePiece(sentence_piece::SentencePiece::new(
                    model,
                    unk_surface,
                    *add_dummy_prefix,
                    *remove_extra_whitespaces,
                ))
            }
        })
    }

    fn step(&mut self) -> &mut dyn Step {
        match self {
            Self::Bpe(step) => step,
            Self::ByteFallback(step) => step,
            Self::ByteLevel(step) => step,
            Self::Ctc(step) => &mut **step,
            Self::Denormalize(step) => step,
            Self::Fuse(step) => step,
            Self::Metaspace(step) => step,
            Self::Regex(step) => step,
            Self::Replace(step) => step,
            Self::SentencePiece(step) => step,
            Self::Strip(step) => step,
            Self::WordPiece(step) => step,
        }
    }

    /// Maximum number of output bytes per input byte.
    fn growth(&self) -> usize {
        match self {
            Self::Denormalize(step) => step.growth(),
            Self::Replace(step) => step.growth(),
            Self::Regex(step) => step.growth(),
            // A prepended space or a U+FFFD lengthens text once per chain; the factors do not multiply.
            _ => 1,
        }
    }
}

impl Rest<'_, '_> {
    #[inline]
    fn part(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        match self.machines.split_first_mut() {
            None => Ok(try_alloc::extend(self.out, text.as_bytes())?),
            Some((first, machines)) => {
                let to = &mut Rest { machines, out: self.out, ticker: self.ticker };
                match first {
                    // Static dispatch for the steps of nearly all files.
                    Machine::Replace(step) => step.part(text, to),
                    Machine::ByteFallback(step) => step.part(text, to),
                    Machine::Fuse(step) => step.part(text, to),
                    Machine::Strip(step) => step.part(text, to),
                    other => other.step().part(text, to),
                }
            }
        }
    }

    #[inline]
    fn end(&mut self) -> Result<()> {
        let Some((first, machines)) = self.machines.split_first_mut() else { return Ok(()) };
        let to = &mut Rest { machines, out: self.out, ticker: self.ticker };
        match first {
            Machine::Replace(step) => step.end(to),
            Machine::ByteFallback(step) => step.end(to),
            Machine::Fuse(step) => step.end(to),
            Machine::Strip(step) => step.end(to),
            other => other.step().end(to),
        }
    }

    /// Emits a whole element.
    fn element(&mut self, text: &str) -> Result<()> {
        self.part(text)?;
        self.end()
    }
}
