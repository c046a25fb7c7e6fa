//! Models: one pretoken to ids.
//!
//! Comes in: a pretoken. Goes out: ids, and where the part of the pretoken that each stands for
//! ends. The models know nothing of each other and nothing of what surrounds a pretoken.
pub mod bpe;
mod random;
pub mod unigram;
pub mod wordlevel;
pub mod wordpiece;

use crate::description::Model as Description;
use crate::error::{Error, Kind, Place, Result};
use crate::ids::TokenId;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};
pub use random::Random;

/// A compiled model. Immutable.
#[derive(Debug)]
pub enum Model {
    /// Neighbours merge by rank.
    Bpe(bpe::Bpe),
    /// The longest token first.
    WordPiece(Box<wordpiece::WordPiece>),
    /// Whole pretokens.
    WordLevel(wordlevel::WordLevel),
    /// The most probable row of tokens.
    Unigram(Box<unigram::Unigram>),
}

/// In place of an end: the id stands for the same part of the pretoken as the one before it.
pub const SAME_PART: u32 = u32::MAX;

/// The mutable state of a model, reused from pretoken to pretoken.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The ids of the pretoken.
    pub ids: Vec<TokenId>,
    /// For each id, where the bytes of the pretoken that it stands for end; they start where those
    /// of the id before end, or [`SAME_PART`]. Filled only where [`Self::wants_ends`] is set.
    pub ends: Vec<u32>,
    /// Does the caller ask for ends?
    pub wants_ends: bool,
    /// What merging needs.
    pub bpe: bpe::Scratch,
    wordpiece: wordpiece::Scratch,
    /// What the paths of a Unigram model need.
    pub unigram: unigram::Scratch,
}

impl Scratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * (self.ids.capacity() + self.ends.capacity())
            + self.bpe.memory()
            + self.wordpiece.memory()
            + self.unigram.memory()
    }
}

impl Model {
    /// Compiles the model of a valid description. Special tokens never come out of a text, but for
    /// the unknown one.
    ///
    /// # Errors
    /// A format error naming the field; those of the watch.
    pub fn new(description: &Description, vocabulary: &Vocabulary, ticker: &mut Ticker<'_>) -> Result<Self> {
        match description {
            Description::Bpe(model) => bpe::Bpe::new(model, vocabulary, ticker).map(Self::Bpe),
            Description::WordPiece(model) => {
                Ok(Self::WordPiece(Box::new(wordpiece::WordPiece::new(model, vocabulary))))
            }
            Description::WordLevel(model) => Ok(Self::WordLevel(wordlevel::WordLevel::new(model))),
            Description::Unigram(model) => {
                Ok(Self::Unigram(Box::new(unigram::Unigram::new(model, vocabulary))))
            }
        }
    }

    /// The id that a pretoken of these bytes becomes, where it becomes just one.
    pub fn spells_as_one(&self, pretoken: &[u8], vocabulary: &Vocabulary) -> Option<TokenId> {
        let mut scratch = Scratch::default();
        self.encode(pretoken, vocabulary, &mut scratch, &mut Ticker::new(&Unwatched)).ok()?;
        if let [id] = scratch.ids[..] { Some(id) } else { None }
    }

    /// Spells a pretoken: `scratch.ids` and, if wanted, `scratch.ends` are what it becomes.
    ///
    /// # Errors
    /// An unknown-token error, whose place is a byte of the pretoken; cancellation.
    #[inline]
    pub fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        scratch.ids.clear();
        scratch.ends.clear();
        let ends = scratch.wants_ends.then_some(&mut scratch.ends);
        let ids = &mut scratch.ids;
        match self {
            Self::Bpe(model) => model.encode(pretoken, vocabulary, &mut scratch.bpe, ids, ends, ticker),
            Self::WordPiece(model) => {
                model.encode(pretoken, vocabulary, &mut scratch.wordpiece, ids, ends, ticker)
            }
            Self::WordLevel(model) => model.encode(pretoken, vocabulary, ids, ends),
            Self::Unigram(model) => {
                model.encode(pretoken, vocabulary, &mut scratch.unigram, ids, ends, ticker)
            }
        }
    }

    /// The model, if it is byte-pair encoding.
    pub fn as_bpe(&self) -> Option<&bpe::Bpe> {
        match self {
            Self::Bpe(model) => Some(model),
            _ => None,
        }
    }

    /// The model, if it is Unigram.
    pub fn as_unigram(&self) -> Option<&unigram::Unigram> {
        match self {
            Self::Unigram(model) => Some(model),
            _ => None,
        }
    }

    /// Can every text be spelled without an unknown token?
    pub fn is_byte_complete(&self) -> bool {
        match self {
            Self::Bpe(model) => model.is_byte_complete(),
            Self::Unigram(model) => model.is_byte_complete(),
            Self::WordPiece(_) | Self::WordLevel(_) => false,
        }
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        match self {
            Self::Bpe(model) => model.memory(),
            Self::WordPiece(model) => model.memory(),
            Self::WordLevel(_) => 0,
            Self::Unigram(model) => model.memory(),
        }
    }
}

/// The error of a character that cannot be spelled.
fn unknown_char(pretoken: &[u8], at: usize) -> Error {
    let rest = pretoken[at..].utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let symbol = match rest.chars().next() {
        Some(char) => char.to_string(),
        None => pretoken.get(at).map_or_else(String::new, |byte| format!("0x{byte:02X}")),
    };
    Kind::UnknownToken { symbol, position: Place::Byte(at) }.into()
}

/// The error of a pretoken that is no token, or too long to be looked at.
fn unknown_pretoken(pretoken: &[u8]) -> Error {
    /// Characters of it that a message shows.
    const SHOWN: usize = 100;
    let text = String::from_utf8_lossy(&pretoken[..pretoken.len().min(8 * SHOWN)]);
    let symbol = text.chars().take(SHOWN).collect();
    Kind::UnknownToken { symbol, position: Place::Byte(0) }.into()
}
