//! Normalization: text to text, before it is split.
//!
//! Comes in: a segment of the caller's text. Goes out: the same piece, or a part of it, where no
//! step changed more; else a new text that knows where each byte came from.
//!
//! Which bytes a rewritten character stands for: the whole of what it replaces. The tokenizers
//! library often names the first or the last character of it only; the cases are listed in
//! docs/differences.md. A character that is inserted beside others stands for its neighbour, as
//! there.
mod align;
mod bert;
mod byte_level;
mod edit;
mod forms;
mod hook;
mod lowercase;
mod marks;
mod nmt;
mod outcome;
mod precompiled;
mod prepend;
mod replace;
mod sentencepiece;
mod strip;
#[cfg(test)]
pub(crate) mod tests;

use self::forms::Form;
use self::hook::Hook;
use self::outcome::Outcome;
use self::precompiled::Precompiled;
use self::replace::Replace;
use self::sentencepiece::SentencePiece;
use crate::aligned::{AlignedText, Origins, Rewritten};
use crate::description::{Normalizer, UnicodeTables};
use crate::error::Result;
use crate::hooks::Hooks;
use crate::span::Span;
use crate::watch::{Ticker, Unwatched};

/// Steps of normalization, ready to run. Immutable.
#[derive(Debug, Default)]
pub struct Normalizers {
    steps: Vec<Step>,
}

/// One step.
#[derive(Debug)]
enum Step {
    Form(Form, UnicodeTables),
    Lowercase,
    Strip { left: bool, right: bool },
    StripMarks,
    Replace(Replace),
    Prepend(String),
    ByteLevel,
    Nmt,
    BertClean,
    BertIdeographs,
    BertStripMarks,
    Precompiled(Box<Precompiled>),
    SentencePiece(Box<SentencePiece>),
    Hook(Box<Hook>),
}

impl Step {
    /// The steps of a normalizer.
    fn push(normalizer: &Normalizer, hooks: &Hooks, steps: &mut Vec<Self>) -> Result<()> {
        let form = |form, tables: &UnicodeTables| Self::Form(form, *tables);
        steps.push(match normalizer {
            Normalizer::Nfc(tables) => form(Form::Nfc, tables),
            Normalizer::Nfd(tables) => form(Form::Nfd, tables),
            Normalizer::Nfkc(tables) => form(Form::Nfkc, tables),
            Normalizer::Nfkd(tables) => form(Form::Nfkd, tables),
            Normalizer::Lowercase => Self::Lowercase,
            Normalizer::Strip { left, right } => Self::Strip { left: *left, right: *right },
            Normalizer::StripAccents => Self::StripMarks,
            Normalizer::Replace { pattern, content } => Self::Replace(Replace::new(pattern, content)?),
            Normalizer::Prepend(prefix) => Self::Prepend(prefix.clone()),
            Normalizer::ByteLevel => Self::ByteLevel,
            Normalizer::Nmt => Self::Nmt,
            Normalizer::Precompiled(blob) => Self::Precompiled(Box::new(Precompiled::new(blob)?)),
            Normalizer::SentencePiece(rules) => Self::SentencePiece(Box::new(SentencePiece::new(rules)?)),
            Normalizer::Hook(name) => Self::Hook(Box::new(Hook::new(hooks.normalizer(name)?))),
            Normalizer::Bert { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
                if *clean_text {
                    steps.push(Self::BertClean);
                }
                if *handle_chinese_chars {
                    steps.push(Self::BertIdeographs);
                }
                if strip_accents.unwrap_or(*lowercase) {
                    steps.push(Self::Form(Form::Nfd, UnicodeTables::Reference));
                    steps.push(Self::BertStripMarks);
                }
                if *lowercase {
                    steps.push(Self::Lowercase);
                }
                return Ok(());
            }
        });
        Ok(())
    }

    /// What people call it.
    fn name(&self) -> &str {
        match self {
            Self::Form(form, _) => form.name(),
            Self::Lowercase => "Lowercase",
            Self::Strip { .. } => "Strip",
            Self::StripMarks => "StripAccents",
            Self::Replace(_) => "Replace",
            Self::Prepend(_) => "Prepend",
            Self::ByteLevel => "ByteLevel",
            Self::Nmt => "Nmt",
            Self::BertClean => "Bert, clean_text",
            Self::BertIdeographs => "Bert, handle_chinese_chars",
            Self::BertStripMarks => "Bert, strip_accents",
            Self::Hook(hook) => &hook.label,
            Self::Precompiled(_) => "Precompiled",
            Self::SentencePiece(_) => "SentencePiece",
        }
    }

    /// Writes the normalized text into `to`, or says that there is no need.
    fn apply(&self, from: AlignedText<'_>, to: &mut Rewritten, ticker: &mut Ticker<'_>) -> Result<Outcome> {
        match self {
            Self::Form(form, tables) => forms::apply(*form, *tables, from, to, ticker),
            Self::Lowercase => lowercase::apply(from, to, ticker),
            Self::Strip { left, right } => Ok(strip::apply(from, *left, *right)),
            Self::StripMarks => marks::apply(from, to, ticker),
            Self::Replace(replace) => replace.apply(from, to, ticker),
            Self::Prepend(prefix) => Ok(prepend::apply(prefix, from, to)),
            Self::ByteLevel => byte_level::apply(from, to, ticker),
            Self::Nmt => nmt::apply(from, to, ticker),
            Self::BertClean => bert::clean(from, to, ticker),
            Self::BertIdeographs => bert::space_ideographs(from, to, ticker),
            Self::BertStripMarks => bert::strip_marks(from, to, ticker),
            Self::Precompiled(map) => map.apply(from, to, ticker),
            Self::SentencePiece(rules) => rules.apply(from, to, ticker),
            Self::Hook(hook) => hook.apply(from, to, ticker),
        }
    }
}

impl Normalizers {
    /// Makes the steps of a description ready; functions of the caller's are found in `hooks`.
    ///
    /// # Errors
    /// A format or pattern error naming the step, its number first.
    pub fn compile(normalizers: &[Normalizer], hooks: &Hooks) -> Result<Self> {
        let mut steps = Vec::with_capacity(normalizers.len());
        for (i, normalizer) in normalizers.iter().enumerate() {
            Step::push(normalizer, hooks, &mut steps).map_err(|e| e.at_index(i))?;
        }
        Ok(Self { steps })
    }

    /// What people call the steps.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(Step::name)
    }

    /// Can no text be an error? A pattern has limits, and a function of the caller's may do anything.
    pub fn never_fails(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step, Step::Hook(_) | Step::Replace(_)))
    }

    /// Is there nothing to do?
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Normalizes a piece, into `buffers` where anything changes.
    ///
    /// # Errors
    /// Those of a step (a pattern's limit), and of the watch.
    ///
    /// Cost: linear in the text, n log n in runs of combining marks; text that a step leaves as it
    /// is is only read.
    pub fn apply<'a>(
        &self,
        piece: AlignedText<'a>,
        buffers: &'a mut [Rewritten; 2],
        ticker: &mut Ticker<'_>,
    ) -> Result<AlignedText<'a>> {
        self.apply_telling(piece, buffers, ticker, &mut |_, _| Ok(()))
    }

    /// As [`Self::apply`], and tells each step that changes the text, by name, with what it left.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_telling<'a>(
        &self,
        piece: AlignedText<'a>,
        buffers: &'a mut [Rewritten; 2],
        ticker: &mut Ticker<'_>,
        tell: &mut dyn FnMut(&str, &str) -> Result<()>,
    ) -> Result<AlignedText<'a>> {
        let mut changed = false;
        let mut part = Span::new(0, piece.text.len());
        for step in &self.steps {
            let [now, next] = &mut *buffers;
            let from = if changed { now.piece() } else { piece }.slice(part);
            match step.apply(from, next, ticker)? {
                Outcome::Same => continue,
                Outcome::Part(kept) => {
                    let is_whole = kept.len() == part.len();
                    part = Span::new(part.start + kept.start, part.start + kept.end);
                    if is_whole {
                        continue;
                    }
                }
                Outcome::New => {
                    buffers.swap(0, 1);
                    buffers[0].check()?;
                    changed = true;
                    part = Span::new(0, buffers[0].piece().text.len());
                }
            }
            let left = if changed { buffers[0].piece() } else { piece }.slice(part);
            tell(step.name(), left.text)?;
        }
        Ok(if changed { buffers[0].piece() } else { piece }.slice(part))
    }

    /// What a literal becomes when it is normalized.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_to(&self, literal: &str) -> Result<String> {
        let mut buffers = Default::default();
        let piece = AlignedText { text: literal, origins: Origins::Untracked };
        Ok(self.apply(piece, &mut buffers, &mut Ticker::new(&Unwatched))?.text.to_owned())
    }
}
