//! Models: one pretoken to ids.
//!
//! In: a pretoken. Out: ids, and where the part of the pretoken that each stands for ends. A model must never
//! depend on another one, nor on the text around a pretoken.
pub mod bpe;
mod output;
mod random;
pub mod unigram;
mod unknown;
pub mod wordlevel;
pub mod wordpiece;

use tokenmill_kernels::image::{ImageReader, ImageWriter};

use crate::description::ModelDescription;
use crate::error::Result;
use crate::ids::TokenId;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};
use output::Output;
pub use output::SAME_PART;
pub use random::Random;

/// A compiled model. Immutable.
#[derive(Debug)]
pub enum Model {
    /// Byte-pair encoding: neighbours merge by rank.
    Bpe(bpe::Bpe),
    /// WordPiece: the longest token first.
    WordPiece(Box<wordpiece::WordPiece>),
    /// Whole pretokens are tokens.
    WordLevel(wordlevel::WordLevel),
    /// Unigram: the most probable sequence of tokens.
    Unigram(Box<unigram::Unigram>),
}

/// The mutable state of a model, reused from pretoken to pretoken.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The ids of the pretoken.
    pub ids: Vec<TokenId>,
    /// For each id, where the bytes of the pretoken that it stands for end, or [`SAME_PART`]; they start where the
    /// bytes of the id before end. Filled only where [`Self::wants_ends`] is set.
    pub ends: Vec<u32>,
    /// Does the caller ask for ends?
    pub wants_ends: bool,
    /// A segment with its spaces written as marks.
    pub segment: Vec<u8>,
    /// The buffers of merging.
    pub bpe: bpe::BpeScratch,
    wordpiece: wordpiece::WordPieceScratch,
    /// The buffers of a Unigram model.
    pub unigram: unigram::UnigramScratch,
}

impl Scratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * (self.ids.capacity() + self.ends.capacity())
            + self.segment.capacity()
            + self.bpe.memory()
            + self.wordpiece.memory()
            + self.unigram.memory()
    }
}

impl Model {
    /// Compiles the model of a valid description. A model never gives special tokens, except the unknown token.
    ///
    /// # Errors
    /// A format error naming the field; errors of the watch.
    pub fn new(
        description: &ModelDescription,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        match description {
            ModelDescription::Bpe(model) => bpe::Bpe::new(model, vocabulary, ticker).map(Self::Bpe),
            ModelDescription::WordPiece(model) => {
                Ok(Self::WordPiece(Box::new(wordpiece::WordPiece::new(model, vocabulary))))
            }
            ModelDescription::WordLevel(model) => Ok(Self::WordLevel(wordlevel::WordLevel::new(model))),
            ModelDescription::Unigram(model) => {
                Ok(Self::Unigram(Box::new(unigram::Unigram::new(model, vocabulary))))
            }
        }
    }

    /// Appends the tables to an image.
    pub(crate) fn write(&self, image: &mut ImageWriter) {
        match self {
            Self::Bpe(model) => model.write(image),
            Self::WordPiece(model) => model.write(image),
            Self::WordLevel(_) => {}
            Self::Unigram(model) => model.write(image),
        }
    }

    /// The tables of an image, for the same description.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(crate) fn read(
        description: &ModelDescription,
        vocabulary: &Vocabulary,
        image: &mut ImageReader,
    ) -> Result<Self> {
        Ok(match description {
            ModelDescription::Bpe(model) => Self::Bpe(bpe::Bpe::read(model, vocabulary, image)?),
            ModelDescription::WordPiece(model) => {
                Self::WordPiece(Box::new(wordpiece::WordPiece::read(model, image)?))
            }
            ModelDescription::WordLevel(model) => Self::WordLevel(wordlevel::WordLevel::new(model)),
            ModelDescription::Unigram(model) => {
                Self::Unigram(Box::new(unigram::Unigram::read(model, image)?))
            }
        })
    }

    /// The id of a pretoken with these bytes, if it becomes exactly one token.
    pub fn spells_as_one(&self, pretoken: &[u8], vocabulary: &Vocabulary) -> Option<TokenId> {
        let mut scratch = Scratch::default();
        self.encode(pretoken, vocabulary, &mut scratch, &mut Ticker::new(&Unwatched)).ok()?;
        if let [id] = scratch.ids[..] { Some(id) } else { None }
    }

    /// Spells a pretoken into `scratch.ids` and, if wanted, `scratch.ends`.
    ///
    /// # Errors
    /// An unknown-token error, whose position is a byte of the pretoken; cancellation.
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
                let output = Output { ids, ends };
                model.encode(pretoken, vocabulary, &mut scratch.wordpiece, output, ticker)
            }
            Self::WordLevel(model) => model.encode(pretoken, vocabulary, Output { ids, ends }),
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
