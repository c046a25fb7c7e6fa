//! The pieces of a vocabulary in training, and where they occur.
//!
//! Pieces are numbered in the order of their bytes. `longest` has, for each position of the text, the longest piece that
//! begins there, and each piece names its own longest proper prefix that is a piece. All pieces that begin at a position
//! are found by following these prefixes. Every character is a piece, so every text can be spelled.
use tokenmill_kernels::try_alloc;

use super::segments::Segments;
use crate::error::Result;

/// No piece.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Its probability.
    pub(super) probability: f64,
    /// Its longest proper prefix that is a piece; [`NONE`] for a character.
    pub(super) prefix: u32,
    /// Its length in characters.
    pub(super) length: u32,
}

#[derive(Debug, Default)]
pub(super) struct Pieces {
    all: Vec<Piece>,
    /// The natural logarithms of the probabilities.
    scores: Vec<f64>,
    /// A position at which each piece begins.
    positions: Vec<u32>,
    /// The longest piece that begins at each position.
    longest: Vec<u32>,
}

impl Pieces {
    pub(super) fn new(all: Vec<Piece>, positions: Vec<u32>, longest: Vec<u32>) -> Result<Self> {
        let scores = try_alloc::filled(0.0, all.len())?;
        Ok(Self { all, scores, positions, longest })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, piece: u32) -> &Piece {
        &self.all[piece as usize]
    }

    pub(super) fn score(&self, piece: u32) -> f64 {
        self.scores[piece as usize]
    }

    pub(super) fn is_char(&self, piece: u32) -> bool {
        self.get(piece).prefix == NONE
    }

    /// Its bytes.
    pub(super) fn bytes<'a>(&self, piece: u32, segments: &'a Segments) -> &'a [u8] {
        segments.bytes(self.positions[piece as usize], self.get(piece).length as usize)
    }

    /// A position at which the piece begins.
    pub(super) fn position(&self, piece: u32) -> usize {
        self.positions[piece as usize] as usize
    }

    /// All pieces that begin at a position, the longest first.
    #[inline]
    pub(super) fn at(&self, position: usize) -> At<'_> {
        At { all: &self.all, next: self.longest[position] }
    }

    /// Sets the score of each piece.
    pub(super) fn set_scores(&mut self, scores: impl Iterator<Item = f64>) {
        for ((piece, score), new) in self.all.iter_mut().zip(&mut self.scores).zip(scores) {
            *score = new;
            piece.probability = libm::exp(new);
        }
    }

    /// Removes the pieces for which `is_kept` is false. It must be true for characters.
    ///
    /// # Errors
    /// If memory cannot be allocated.
    pub(super) fn retain(&mut self, is_kept: &[bool]) -> Result<()> {
        // The new number of each piece; for a removed one, that of its longest kept prefix. Prefixes have lower numbers.
        let mut numbers: Vec<u32> = try_alloc::vec(self.all.len())?;
        let mut count = 0;
        for (old, &is_kept) in is_kept.iter().enumerate() {
            let piece = self.all[old];
            let prefix = if piece.prefix == NONE { NONE } else { numbers[piece.prefix as usize] };
            if !is_kept {
                numbers.push(prefix);
                continue;
            }
            numbers.push(count);
            let new = count as usize;
            self.all[new] = Piece { prefix, ..piece };
            self.scores[new] = self.scores[old];
            self.positions[new] = self.positions[old];
            count += 1;
        }
        self.all.truncate(count as usize);
        self.scores.truncate(count as usize);
        self.positions.truncate(count as usize);
        for longest in &mut self.longest {
            *longest = numbers[*longest as usize];
        }
        Ok(())
    }
}

/// Iterates over the pieces that begin at a position.
pub(super) struct At<'a> {
    all: &'a [Piece],
    next: u32,
}

impl<'a> Iterator for At<'a> {
    type Item = (u32, &'a Piece);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let number = self.next;
        let piece = self.all.get(number as usize)?;
        self.next = piece.prefix;
        Some((number, piece))
    }
}
