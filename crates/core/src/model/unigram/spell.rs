//! Paths to ids: unknown characters become one unknown token, or bytes.
//!
//! In: a path, backwards. Out: its ids in order. This module never changes the path.
use tokenmill_kernels::OutOfMemory;

use super::model::{TICK_BYTES, UNKNOWN, Unigram};
use crate::error;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::output::{Output, SAME_PART};
use crate::model::unknown::unknown_char;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// The kind of path that is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    /// The best path, with the peculiarities of the reference.
    Best,
    /// Any other path: different paths must have different ids.
    Other,
}

impl Unigram {
    /// Writes the ids of a path, which is given backwards: `last` has the edge by which it arrives at each place.
    pub(super) fn spell(
        &self,
        text: &[u8],
        kind: PathKind,
        mut last: impl FnMut(usize) -> u32,
        vocabulary: &Vocabulary,
        mut output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> error::Result<()> {
        // The tokenizers library joins the text of adjacent unknown characters and unknown tokens, and then looks
        // up the joined text.
        let looks_up = kind == PathKind::Best && !self.single_precision;
        let (first_id, first_end) = output.lengths();
        let vocabulary_of_runs = looks_up.then_some(vocabulary);
        let mut at = text.len();
        // The end of the current run of unknown characters.
        let mut run_end = None;
        // The first place whose text cannot be spelled.
        let mut failed_at = None;
        let mut spent = at;
        while at > 0 {
            let edge = last(at);
            let start = self.start_of(text, edge, at);
            let id = if edge == UNKNOWN { None } else { Some(vocabulary.tokens().id(edge as usize)) };
            let bytes = if id.is_none() { self.bytes_of_char(&text[start..at]) } else { None };
            let is_in_run = bytes.is_none() && id.is_none_or(|id| looks_up && Some(id) == self.unk);
            if is_in_run {
                run_end.get_or_insert(at);
            } else if let Some(end) = run_end.take()
                && !self.spell_run(text, at, end, vocabulary_of_runs, &mut output)?
            {
                failed_at = Some(at);
            }
            if let Some(bytes) = bytes {
                spell_char(bytes, &text[start..at], start, &mut output)?;
            } else if let Some(id) = id.filter(|_| !is_in_run) {
                output.push(id, to_u32(at))?;
            }
            at = start;
            if spent - at >= TICK_BYTES {
                ticker.spend(spent - at)?;
                spent = at;
            }
        }
        ticker.spend(spent)?;
        if let Some(end) = run_end
            && !self.spell_run(text, 0, end, vocabulary_of_runs, &mut output)?
        {
            failed_at = Some(0);
        }
        if let Some(at) = failed_at {
            return Err(unknown_char(text, at));
        }
        // The ids were written backwards.
        output.ids[first_id..].reverse();
        if let Some(ends) = output.ends {
            ends[first_end..].reverse();
        }
        Ok(())
    }

    /// Writes the ids of a run of unknown characters, last first; returns whether the run can be spelled.
    fn spell_run(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        vocabulary: Option<&Vocabulary>,
        output: &mut Output<'_>,
    ) -> Result<bool, OutOfMemory> {
        let run = &text[start..end];
        if let Some(id) = vocabulary.and_then(|vocabulary| vocabulary.find_in_text(run)) {
            output.push(id, to_u32(end))?;
            return Ok(true);
        }
        if let Some(bytes) = &self.bytes
            && !self.single_precision
            && run.iter().all(|&byte| bytes[usize::from(byte)] != NO_ID)
        {
            // In the tokenizers library each byte stands for the whole run.
            for &byte in run[1..].iter().rev() {
                output.push(bytes[usize::from(byte)], SAME_PART)?;
            }
            output.push(bytes[usize::from(run[0])], to_u32(end))?;
            return Ok(true);
        }
        if let Some(unk) = self.unk {
            output.push(unk, to_u32(end))?;
        }
        Ok(self.unk.is_some())
    }

    /// The byte tokens, if unknown characters are spelled one by one and this one can be spelled by them.
    fn bytes_of_char(&self, char: &[u8]) -> Option<&[TokenId; 256]> {
        let bytes = self.bytes.as_deref().filter(|_| self.single_precision)?;
        char.iter().all(|&byte| bytes[usize::from(byte)] != NO_ID).then_some(bytes)
    }
}

/// Writes a character as byte tokens, last first: the last one stands for all of it, the others for nothing.
fn spell_char(
    bytes: &[TokenId; 256],
    char: &[u8],
    start: usize,
    output: &mut Output<'_>,
) -> Result<(), OutOfMemory> {
    for (i, &byte) in char.iter().enumerate().rev() {
        let end = if i + 1 == char.len() { start + char.len() } else { start };
        output.push(bytes[usize::from(byte)], to_u32(end))?;
    }
    Ok(())
}
