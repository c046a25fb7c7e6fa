//! What the steps leave alone, whatever is around it.
use unicode_normalization_alignments::char::is_combining_mark;

use super::forms::Form;
use super::outcome::Outcome;
use super::{Normalizers, Step, bert, forms};
use crate::aligned::{AlignedText, Origins, Rewritten};
use crate::charsmap::Charsmap;
use crate::error::Result;
use crate::watch::{Ticker, Unwatched};

impl Normalizers {
    /// The one character that a character becomes, whatever is before it, and whatever follows it if that is kept,
    /// too. `None` where this cannot be said.
    pub(crate) fn kept(&self, c: char) -> Option<char> {
        self.steps.iter().try_fold(c, |c, step| step.kept(c))
    }

    /// The one character that a character becomes beside white space, whatever is on its other side. `None` where this
    /// cannot be said, or where it becomes white space.
    pub(crate) fn kept_beside_space(&self, c: char) -> Option<char> {
        let kept = self.steps.iter().try_fold(c, |c, step| match step {
            Step::Precompiled(map) => map.keeps_beside_space(c).then_some(c),
            _ => step.kept(c),
        });
        kept.filter(|kept| !kept.is_whitespace())
    }

    /// Is this a combining mark that a step drops, whatever is around it, and which changes nothing beside it? False also
    /// where this is not known.
    pub(crate) fn drops_combining_mark(&self, c: char) -> bool {
        for step in &self.steps {
            match step {
                // This only reorders marks among themselves.
                Step::Form(form @ (Form::Nfd | Form::Nfkd), tables)
                    if forms::has_marks_only(*form, *tables, c) => {}
                // What the mark was decomposed into is not ASCII either.
                Step::Replace(replace) if replace.takes_ascii_only() => {}
                Step::StripMarks => return is_combining_mark(c),
                _ => return false,
            }
        }
        false
    }

    /// The maps of characters among the steps.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &Charsmap> {
        self.steps.iter().filter_map(|step| match step {
            Step::Precompiled(precompiled) => Some(precompiled.map()),
            Step::SentencePiece(rules) => rules.map(),
            _ => None,
        })
    }

    /// The character that an ASCII character is normalized to, beside ASCII characters and others of which
    /// [`Self::normalized_alone`] is known, unless the two [may join](Self::may_join). `None` if that depends on its
    /// neighbours otherwise, or is not one character.
    pub(crate) fn kept_in_ascii(&self, c: char) -> Option<char> {
        let (mut kept, mut is_in_pair) = (c, false);
        for step in &self.steps {
            match step {
                // Other characters that become this one before the step are not known to `may_join`.
                Step::Replace(replace) if replace.has_in_pair(kept) && kept == c => is_in_pair = true,
                Step::Precompiled(map) if map.keeps_ascii(kept) => {}
                Step::Precompiled(_) => return None,
                _ => kept = step.kept(kept)?,
            }
        }
        Some(kept).filter(|&kept| kept == c || !is_in_pair)
    }

    /// May these two characters, of which [`Self::kept_in_ascii`] is known, become something else side by side?
    pub(crate) fn may_join(&self, left: char, right: char) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Replace(replace) if replace.has_pair(left, right)))
    }

    /// The normalized form of a character, if it is the same beside any other characters of which this is known too.
    /// `None` for combining marks, and where a step may look at its neighbours.
    pub(crate) fn normalized_alone(&self, c: char) -> Option<String> {
        let mut buffer = Rewritten::default();
        let ticker = &mut Ticker::new(&Unwatched);
        let mut text = c.to_string();
        for step in &self.steps {
            match step {
                // Combining marks are only reordered after the character that they follow.
                Step::Form(form @ (Form::Nfd | Form::Nfkd), tables)
                    if text.chars().next().is_none_or(|c| forms::begins_apart(*form, *tables, c)) => {}
                Step::Lowercase
                | Step::StripMarks
                | Step::BertClean
                | Step::BertIdeographs
                | Step::BertStripMarks => {}
                Step::Precompiled(map) => {
                    text =
                        text.chars().try_fold(String::new(), |text, c| Some(text + &map.mapped_alone(c)?))?;
                    continue;
                }
                _ => {
                    let mut kept = text.chars().map(|c| step.kept(c));
                    text =
                        kept.try_fold(String::new(), |text, c| Some(text + c?.encode_utf8(&mut [0; 4])))?;
                    continue;
                }
            }
            match step
                .apply(AlignedText { text: &text, origins: Origins::Untracked }, &mut buffer, ticker)
                .ok()?
            {
                Outcome::Same => {}
                Outcome::Part(span) => text = text.get(span.start..span.end)?.to_owned(),
                Outcome::New => buffer.piece().text.clone_into(&mut text),
            }
        }
        Some(text)
    }

    /// Is the only step that of SentencePiece, and does it keep every character of this word? It may still put a mark
    /// beside the word. False also where this is not known.
    pub(crate) fn keeps_word(&self, word: &str) -> bool {
        matches!(&self.steps[..], [Step::SentencePiece(rules)] if rules.keeps(word))
    }

    /// Is a text left as it is, and each part of it? False also where this is not known.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub(crate) fn leaves(&self, text: &str, ticker: &mut Ticker<'_>) -> Result<bool> {
        let mut buffer = Rewritten::default();
        for step in &self.steps {
            // What these leave alone, they leave alone in parts.
            let is_known = matches!(
                step,
                Step::Form(..) | Step::Lowercase | Step::StripMarks | Step::BertClean | Step::BertStripMarks
            );
            if !is_known || step.apply(AlignedText::original(text, 0), &mut buffer, ticker)? != Outcome::Same
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Step {
    fn kept(&self, c: char) -> Option<char> {
        match self {
            Self::Form(form, tables) => forms::stays(*form, *tables, c).then_some(c),
            Self::Lowercase => {
                let mut lower = c.to_lowercase();
                lower.next().filter(|_| lower.next().is_none())
            }
            Self::Strip { .. } => Some(c).filter(|c| !c.is_whitespace()),
            Self::StripMarks | Self::BertStripMarks => Some(c).filter(|&c| !is_combining_mark(c)),
            Self::Replace(replace) => replace.of_one(c),
            Self::Prepend(_) => Some(c),
            Self::BertClean => bert::is_kept(c).then_some(c),
            Self::BertIdeographs => (!bert::is_ideograph(c)).then_some(c),
            Self::SentencePiece(rules) => rules.kept(c),
            Self::ByteLevel | Self::Nmt | Self::Precompiled(_) | Self::Hook(_) => None,
        }
    }
}
