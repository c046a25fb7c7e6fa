//! Encodings with special tokens, a second sequence and padding around them.
use std::sync::Arc;

use tokenmill_kernels::try_alloc;

use crate::description::Truncation;
use crate::error::Result;
use crate::ids::TokenId;
use crate::postprocess::{OutputPart, Slot, Windows, windows};
use crate::span::Span;
use crate::watch::{Ticker, Watch};

use super::{Encoding, Engine};

/// An encoded sequence, with offsets in the unit of the caller's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Ids and what each stands for.
    pub encoding: Encoding,
    /// The offsets of the ids in characters.
    pub offsets: Vec<(usize, usize)>,
}

/// One or two sequences, and the parts of them that make up the output, in order. The windows of a text share their
/// sequences.
#[derive(Debug, Clone)]
pub struct Arranged {
    /// The sequences.
    pub sequences: Arc<[Sequence]>,
    /// The parts of the output.
    pub parts: Vec<OutputPart>,
}

/// One id of an arrangement: the number of its sequence and its place there, or what was added.
#[derive(Debug, Clone, Copy)]
enum Place {
    Token(u8, usize),
    Special,
    Padding,
}

impl Engine {
    /// Puts special tokens around the ids of a text, `ids[start..]`, as the post-processor's template says. Without
    /// special tokens the ids may still change: a template may hold the text twice.
    ///
    /// # Errors
    /// Out of memory.
    pub fn add_special_tokens(&self, ids: &mut Vec<TokenId>, start: usize, adds_special: bool) -> Result<()> {
        self.add_for_special_tokens(ids, start, adds_special, |slot| match *slot {
            Slot::Special { id, .. } => id,
            Slot::Sequence { .. } => 0,
        })
    }

    /// As [`Self::add_special_tokens`], for items that stand for ids: `of_special` has that of a special token.
    pub(super) fn add_for_special_tokens<T: Copy>(
        &self,
        items: &mut Vec<T>,
        start: usize,
        adds_special: bool,
        of_special: impl Fn(&Slot) -> T,
    ) -> Result<()> {
        let slots = self.stages.post_processors.slots(false, adds_special);
        if matches!(slots, [Slot::Sequence { .. }]) {
            return Ok(());
        }
        let count = items.len() - start;
        let added = self.count_with_special_tokens(count, adds_special).saturating_sub(count);
        // `splice` below needs capacity for the items before the text while those after it are already there.
        try_alloc::reserve(items, added + slots.len())?;
        let is_sequence = |slot: &Slot| matches!(slot, Slot::Sequence { .. });
        // A template usually holds the text once. What comes before the text is inserted last, because that moves
        // it.
        let first = slots.iter().position(is_sequence).unwrap_or(slots.len());
        let end = items.len();
        for slot in slots.iter().skip(first + 1) {
            if is_sequence(slot) {
                items.extend_from_within(start..end);
            } else {
                items.push(of_special(slot));
            }
        }
        let replaced = if first == slots.len() { end } else { start };
        items.splice(start..replaced, slots[..first].iter().map(of_special));
        Ok(())
    }

    /// How many ids a text of `count` ids has together with its special tokens.
    pub fn count_with_special_tokens(&self, count: usize, adds_special: bool) -> usize {
        let slots = self.stages.post_processors.slots(false, adds_special);
        let one = |slot: &Slot| if matches!(slot, Slot::Sequence { .. }) { count } else { 1 };
        slots.iter().map(one).sum()
    }

    /// The most ids that a text may have so that it has at most `limit` with special tokens around it, as
    /// [`Self::count_with_special_tokens`] counts them. `None` if these alone are more.
    pub fn most_without_special_tokens(&self, limit: usize, adds_special: bool) -> Option<usize> {
        let with_special = |count: usize| self.count_with_special_tokens(count, adds_special);
        // A template may hold the text more than once.
        let (added, times) = (with_special(0), with_special(1) - with_special(0));
        Some(limit.checked_sub(added)?.checked_div(times).unwrap_or(usize::MAX))
    }

    /// Does a limit cut sequences of these lengths? A limit that leaves no space for the special tokens cuts
    /// nothing here, as in the tokenizers library.
    pub fn is_cut(&self, lengths: &[usize], adds_special: bool, truncation: &Truncation) -> bool {
        let added = if adds_special { self.stages.post_processors.added(lengths.len() > 1) } else { 0 };
        let capacity = truncation.max_length.checked_sub(added);
        capacity.is_some_and(|capacity| lengths.iter().sum::<usize>() > capacity)
    }

    /// The output for sequences of these lengths: the first window, then the overflowing ones.
    ///
    /// # Errors
    /// A wrong argument, as [`windows`] has it.
    pub fn arrange(
        &self,
        lengths: &[usize],
        adds_special: bool,
        truncation: Option<&Truncation>,
        watch: &dyn Watch,
    ) -> Result<Windows> {
        let slots = self.stages.post_processors.slots(lengths.len() > 1, adds_special);
        windows(slots, lengths, truncation, &mut Ticker::new(watch))
    }
}

impl Arranged {
    /// Number of ids.
    pub fn len(&self) -> usize {
        self.parts.iter().map(OutputPart::len).sum()
    }

    /// Are there no ids?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.parts.iter().flat_map(|part| {
            (0..part.len()).map(move |i| match part {
                OutputPart::Tokens { second, range, .. } => Place::Token(u8::from(*second), range.start + i),
                OutputPart::Special { .. } => Place::Special,
                OutputPart::Padding { .. } => Place::Padding,
            })
        })
    }

    fn of_tokens<'a, T: 'a>(
        &'a self,
        of: impl Fn(&Sequence, usize) -> T + 'a,
        other: impl Fn() -> T + 'a,
    ) -> impl Iterator<Item = T> + 'a {
        self.places().map(move |place| match place {
            Place::Token(sequence, index) => of(&self.sequences[usize::from(sequence)], index),
            Place::Special | Place::Padding => other(),
        })
    }

    /// The ids.
    pub fn ids(&self) -> impl Iterator<Item = TokenId> {
        self.parts.iter().flat_map(move |part| {
            (0..part.len()).map(move |i| match *part {
                OutputPart::Tokens { second, range, .. } => {
                    self.sequences[usize::from(second)].encoding.ids[range.start + i]
                }
                OutputPart::Special { id, .. } | OutputPart::Padding { id, .. } => id,
            })
        })
    }

    /// The type of each id.
    pub fn type_ids(&self) -> impl Iterator<Item = u32> {
        let of = |part: &OutputPart| match part {
            OutputPart::Tokens { type_id, .. }
            | OutputPart::Special { type_id, .. }
            | OutputPart::Padding { type_id, .. } => *type_id,
        };
        self.parts.iter().flat_map(move |part| std::iter::repeat_n(of(part), part.len()))
    }

    /// `(start, end)` in characters; `(0, 0)` for what was added.
    pub fn offsets(&self) -> impl Iterator<Item = (usize, usize)> {
        self.of_tokens(|sequence, index| sequence.offsets[index], || (0, 0))
    }

    /// `(start, end)` in bytes; `(0, 0)` for what was added.
    pub fn byte_offsets(&self) -> impl Iterator<Item = Span> {
        self.of_tokens(|sequence, index| sequence.encoding.byte_offsets[index], || Span::new(0, 0))
    }

    /// The number of the word in its sequence; `None` for what was added.
    pub fn word_ids(&self) -> impl Iterator<Item = Option<u32>> {
        self.of_tokens(|sequence, index| Some(sequence.encoding.words[index]), || None)
    }

    /// The number of the sequence; `None` for what was added.
    pub fn sequence_ids(&self) -> impl Iterator<Item = Option<u8>> {
        let of = |place| match place {
            Place::Token(sequence, _) => Some(sequence),
            Place::Special | Place::Padding => None,
        };
        self.places().map(of)
    }

    /// 1 for what was added, 0 for ids of the text.
    pub fn special_tokens_mask(&self) -> impl Iterator<Item = u8> {
        self.of_tokens(|_, _| 0, || 1)
    }

    /// 0 for padding, 1 for everything else.
    pub fn attention_mask(&self) -> impl Iterator<Item = u8> {
        self.places().map(|place| u8::from(!matches!(place, Place::Padding)))
    }

    /// What an id at an index stands for: its sequence and its place there.
    fn token_at(&self, index: usize) -> Option<(&Sequence, usize)> {
        let mut before = 0;
        for part in &self.parts {
            if index - before < part.len() {
                let OutputPart::Tokens { second, range, .. } = part else { return None };
                return Some((self.sequences.get(usize::from(*second))?, range.start + index - before));
            }
            before += part.len();
        }
        None
    }

    /// The characters that the id at an index stands for.
    pub fn token_to_chars(&self, index: usize) -> Option<(usize, usize)> {
        self.token_at(index).map(|(sequence, index)| sequence.offsets[index])
    }

    /// The word of the id at an index.
    pub fn token_to_word(&self, index: usize) -> Option<u32> {
        self.token_at(index).map(|(sequence, index)| sequence.encoding.words[index])
    }

    /// The indices of the ids of a sequence that `wanted` holds for: the first, and one past the
    /// last.
    fn find(&self, sequence: usize, wanted: impl Fn(&Sequence, usize) -> bool) -> Option<(usize, usize)> {
        let found = |(index, place): (usize, Place)| match place {
            Place::Token(of, at) if usize::from(of) == sequence && wanted(&self.sequences[sequence], at) => {
                Some(index)
            }
            _ => None,
        };
        let mut all = self.places().enumerate().filter_map(found);
        let first = all.next()?;
        Some((first, all.last().unwrap_or(first) + 1))
    }

    /// The index of the first id that stands for a character of a sequence.
    pub fn char_to_token(&self, character: usize, sequence: usize) -> Option<usize> {
        let holds = |sequence: &Sequence, index: usize| {
            let (start, end) = sequence.offsets[index];
            start <= character && character < end
        };
        self.find(sequence, holds).map(|(first, _)| first)
    }

    /// The indices of the ids of a word of a sequence: the first, and one past the last.
    pub fn word_to_tokens(&self, word: u32, sequence: usize) -> Option<(usize, usize)> {
        self.find(sequence, |sequence, index| sequence.encoding.words[index] == word)
    }
}
