//! The compiled model: its edges, and a walk over the lattice of a pretoken.
//!
//! In: a description, then pretokens. Out: for each place between characters, the edges that end there. This module
//! never chooses among them.
use std::collections::HashMap;

use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::{Automaton, NO_KEY, State};

use crate::byte_alphabet::written_byte;
use crate::description::{PieceKind, UnigramDescription};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::vocabulary::Vocabulary;

/// A compiled Unigram model. Immutable.
#[derive(Debug)]
pub struct Unigram {
    /// The tokens that text may become, by index in the token list.
    pub(super) automaton: Automaton,
    /// By index in the token list.
    pub(super) edges: Vec<Edge>,
    /// Scores, by index, that differ when all paths are looked at: SentencePiece then computes the score of a
    /// user-defined piece from its characters, but for the best path from its bytes.
    over_all_paths: HashMap<u32, f64>,
    pub(super) unk: Option<TokenId>,
    pub(super) unk_score: f64,
    /// The tokens `<0xNN>`, [`NO_ID`] where one is missing; only with byte fallback.
    pub(super) bytes: Option<Box<[TokenId; 256]>>,
    pub(super) single_precision: bool,
}

/// The edge of a token in the lattice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) score: f64,
    /// Its length in bytes.
    length: u32,
    /// The longest other token that ends where this one ends.
    shorter: u32,
}

impl Edge {
    /// Its length in bytes.
    pub(super) fn length(self) -> usize {
        self.length as usize
    }
}

/// The edge of an unknown character.
pub(super) const UNKNOWN: u32 = NO_KEY;

/// The ticker is called once for this many bytes.
pub(super) const TICK_BYTES: usize = 1 << 12;

impl Unigram {
    /// Compiles the model of a valid description.
    pub fn new(description: &UnigramDescription, vocabulary: &Vocabulary) -> Self {
        let tokens = &description.tokens;
        let kind = |index: usize| description.kinds.get(index).copied().unwrap_or_default();
        let spells = |index: &usize| matches!(kind(*index), PieceKind::Normal | PieceKind::UserDefined);
        // A token that is not UTF-8 cannot end between characters, so it is never found.
        let is_text = |index: &usize| std::str::from_utf8(tokens.bytes(*index)).is_ok();
        // Of equal pieces the last one counts.
        let comes_out = |index: &usize| {
            vocabulary.find_index(tokens.bytes(*index)) == Some(*index)
                && !vocabulary.is_special(tokens.id(*index))
        };
        let indices = (0..tokens.len()).filter(spells).filter(is_text).filter(comes_out);
        let automaton = Automaton::new(indices.map(|index| (to_u32(index), tokens.bytes(index))));
        Self::of(description, automaton, description.byte_fallback.then(|| byte_tokens(vocabulary)))
    }

    /// The model with these tables.
    fn of(
        description: &UnigramDescription,
        automaton: Automaton,
        bytes: Option<Box<[TokenId; 256]>>,
    ) -> Self {
        let tokens = &description.tokens;
        let kind = |index: usize| description.kinds.get(index).copied().unwrap_or_default();
        let single = description.single_precision;
        let mut over_all_paths = HashMap::new();
        let edge = |index: usize| {
            let bytes = tokens.bytes(index);
            let score = if single && kind(index) == PieceKind::UserDefined {
                let chars = bytes.iter().filter(|byte| *byte & 0xc0 != 0x80).count();
                over_all_paths.insert(to_u32(index), user_defined_score(chars));
                user_defined_score(bytes.len())
            } else {
                rounded(single, description.scores[index])
            };
            Edge { score, length: to_u32(bytes.len()), shorter: automaton.shorter(to_u32(index)) }
        };
        let edges = (0..tokens.len()).map(edge).collect();
        Self {
            automaton,
            edges,
            over_all_paths,
            unk: description.unk,
            unk_score: rounded(single, description.unk_score),
            bytes,
            single_precision: single,
        }
    }

    /// Appends the tables to an image.
    pub(crate) fn write(&self, image: &mut ImageWriter) {
        self.automaton.write(image);
        if let Some(bytes) = &self.bytes {
            image.array(&bytes[..]);
        }
    }

    /// The tables of an image, for the same description.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(crate) fn read(
        description: &UnigramDescription,
        image: &mut ImageReader,
    ) -> std::result::Result<Self, ImageError> {
        let automaton = Automaton::read(image)?;
        let bytes = if description.byte_fallback { Some(image.copy()?) } else { None };
        Ok(Self::of(description, automaton, bytes))
    }

    /// The unknown token.
    pub fn unknown(&self) -> Option<TokenId> {
        self.unk
    }

    /// Can every text be spelled without an unknown token?
    pub fn is_byte_complete(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| !bytes.contains(&NO_ID))
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.automaton.memory() + size_of::<Edge>() * self.edges.capacity() + 24 * self.over_all_paths.len()
    }

    /// Calls `visit` for every place between characters after the start, and for the end, with the edges that end
    /// there.
    #[inline]
    pub(super) fn for_each_place(
        &self,
        text: &[u8],
        mut visit: impl FnMut(usize, IncomingEdges<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut state = State::START;
        let mut char_start = 0;
        for (i, &byte) in text.iter().enumerate() {
            state = self.automaton.step(state, byte);
            let end = i + 1;
            if text.get(end).is_some_and(|next| next & 0xc0 == 0x80) {
                continue;
            }
            visit(
                end,
                IncomingEdges { model: self, longest: self.automaton.longest(state), char_start, end },
            )?;
            char_start = end;
        }
        Ok(())
    }

    /// The score of an edge of the best path.
    #[inline]
    pub(super) fn score(&self, edge: u32) -> f64 {
        if edge == UNKNOWN { self.unk_score } else { self.edges[edge as usize].score }
    }

    /// The longest token that is a suffix of this text.
    pub(super) fn longest_edge(&self, text: &[u8]) -> Option<u32> {
        let state = text.iter().fold(State::START, |state, &byte| self.automaton.step(state, byte));
        Some(self.automaton.longest(state)).filter(|&edge| edge != NO_KEY)
    }

    /// The score of an edge when all paths are looked at.
    #[inline]
    pub(super) fn score_over_all_paths(&self, edge: u32) -> f64 {
        if !self.over_all_paths.is_empty()
            && let Some(&score) = self.over_all_paths.get(&edge)
        {
            return score;
        }
        self.score(edge)
    }

    /// The start of an edge that ends at `end`.
    #[inline]
    pub(super) fn start_of(&self, text: &[u8], edge: u32, end: usize) -> usize {
        if edge != UNKNOWN {
            return end - self.edges[edge as usize].length as usize;
        }
        let mut start = end - 1;
        while start > 0 && text[start] & 0xc0 == 0x80 {
            start -= 1;
        }
        start
    }
}

/// The edges that end at a place.
#[derive(Clone, Copy)]
pub(super) struct IncomingEdges<'a> {
    model: &'a Unigram,
    longest: u32,
    char_start: usize,
    end: usize,
}

impl IncomingEdges<'_> {
    /// Calls `visit` for each edge with its index, or [`UNKNOWN`], its start, and its score on the best path, the
    /// longest edge first. If the last character is no token, its edge comes last.
    #[inline]
    pub(super) fn for_each(self, mut visit: impl FnMut(u32, usize, f64)) {
        let mut start = self.end;
        let mut at = self.longest;
        while at != NO_KEY {
            let edge = self.model.edges[at as usize];
            start = self.end - edge.length as usize;
            visit(at, start, edge.score);
            at = edge.shorter;
        }
        if start != self.char_start {
            visit(UNKNOWN, self.char_start, self.model.unk_score);
        }
    }
}

/// The score that SentencePiece gives to a user-defined piece: higher than that of nearly every path.
#[allow(clippy::cast_precision_loss)] // lengths of tokens
fn user_defined_score(length: usize) -> f64 {
    rounded(true, 0.1 * (length as f64 - 1.0))
}

/// The score rounded to single precision, if the model uses that.
#[inline]
pub(super) fn rounded(single: bool, score: f64) -> f64 {
    if single { f64::from(score as f32) } else { score }
}

fn byte_tokens(vocabulary: &Vocabulary) -> Box<[TokenId; 256]> {
    let added: HashMap<&str, TokenId> =
        vocabulary.added().iter().map(|token| (token.content.as_str(), token.id)).collect();
    let is_ordinary = |id: &TokenId| !vocabulary.is_special(*id);
    let mut bytes = Box::new([NO_ID; 256]);
    for (byte, id) in bytes.iter_mut().enumerate() {
        let written = written_byte(byte as u8);
        let found = vocabulary.find(written.as_bytes()).or_else(|| added.get(written.as_str()).copied());
        *id = found.filter(is_ordinary).unwrap_or(NO_ID);
    }
    bytes
}
