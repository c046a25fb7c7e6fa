//! Normalization: rewrites text before it is split.
//!
//! In: a segment of the caller's text. Out: the same text or a part of it if no step changed more,
//! else a new text with the origin of each byte.
//!
//! A rewritten character stands for all of the text that it replaces. The tokenizers library often
//! names only its first or last character; docs/differences.md lists the cases. An inserted
//! character stands for its neighbour, as in that library.
mod align;
mod bert;
mod byte_level;
mod clusters;
mod edit;
mod forms;
mod hook;
mod kept;
mod letters;
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

pub(crate) use self::bert::is_ideograph;
pub(crate) use self::clusters::{BesideSpace, joins_letter_after};
use self::forms::Form;
use self::hook::Hook;
pub(crate) use self::letters::{is_letter, is_plain_ideograph, may_follow_letter};
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

/// The edition of Unicode that the tables of the normal forms are from: major, minor, update.
pub fn edition(tables: UnicodeTables) -> (u64, u64, u64) {
    match tables {
        UnicodeTables::Reference => unicode_normalization_alignments::UNICODE_VERSION,
        UnicodeTables::Current => {
            let (major, minor, update) = unicode_normalization::UNICODE_VERSION;
            (major.into(), minor.into(), update.into())
        }
    }
}

/// The compiled steps of a normalizer. Immutable.
#[derive(Debug, Default)]
pub struct Normalizers {
    steps: Vec<Step>,
}

/// A compiled step.
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
    /// Appends the compiled steps of a normalizer.
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

    /// The display name of the step.
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

    /// Writes the normalized text into `to`, unless the outcome needs no new text.
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
    /// Compiles the steps of a description; `hooks` holds the caller's functions.
    ///
    /// # Errors
    /// A format or pattern error that names the step by its index.
    pub fn compile(normalizers: &[Normalizer], hooks: &Hooks) -> Result<Self> {
        let mut steps = Vec::with_capacity(normalizers.len());
        for (i, normalizer) in normalizers.iter().enumerate() {
            Step::push(normalizer, hooks, &mut steps).map_err(|e| e.at_index(i))?;
        }
        Ok(Self { steps })
    }

    /// The display names of the steps.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(Step::name)
    }

    /// Is every text normalized without an error? Patterns have limits, and hooks may return errors.
    pub fn never_fails(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step, Step::Hook(_) | Step::Replace(_)))
    }

    /// Are there no steps?
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Normalizes a piece; uses `buffers` if a step changes it.
    ///
    /// # Errors
    /// Errors of a step (the limit of a pattern, a hook); errors of the watch; out of memory.
    ///
    /// Cost: linear in the text, n log n in runs of combining marks. Text that a step does not
    /// change is only read.
    pub fn apply<'a>(
        &self,
        piece: AlignedText<'a>,
        buffers: &'a mut [Rewritten; 2],
        ticker: &mut Ticker<'_>,
    ) -> Result<AlignedText<'a>> {
        self.apply_telling(piece, buffers, ticker, &mut |_, _| Ok(()))
    }

    /// As [`Self::apply`], and calls `tell` after each step that changed the text, with the name of
    /// the step and its output.
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

    /// The normalized form of a literal.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_to(&self, literal: &str) -> Result<String> {
        let mut buffers = Default::default();
        let piece = AlignedText { text: literal, origins: Origins::Untracked };
        Ok(self.apply(piece, &mut buffers, &mut Ticker::new(&Unwatched))?.text.to_owned())
    }
}
