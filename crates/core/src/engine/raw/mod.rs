//! Lookups before normalization: a text is cut as it comes, and its parts are looked up by their raw bytes.
//!
//! In: a description, then texts. Out: parts of a text whose ids do not depend on the rest of the text. Joined, their
//! ids must be those of the text. Only parts that miss the cache go through the stages.
//!
//! `segments` is for models that take a text as one pretoken and change only its spaces; `words` is for
//! pre-tokenizers that cut at white space, `edges` says beside which characters, `finder` finds them, and `plain` splits most of the words
//! that miss, those of ASCII by `ascii_cuts`; `pieces` is for pre-tokenizers that split, and then do more. A tokenizer has segments, words, pieces, or none of them.
mod ascii_cuts;
mod edges;
mod finder;
mod pieces;
mod plain;
mod scratch;
mod segments;
mod words;

use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter};

use crate::aligned::{AlignedText, Origins};
use crate::description::Description;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::normalize::Normalizers;
use crate::pretokenize::{Emit, PreTokenizers};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;
use edges::MARK;
pub(super) use finder::{WordFinder, WordSpans};
pub(super) use pieces::{Pieces, RawPieces};
pub(super) use scratch::WordScratch;
pub(super) use segments::{FirstSegment, MAX_SPACED, RawSegments};
pub(super) use words::{RawWords, Words};

/// How texts are cut before they are normalized.
#[derive(Debug)]
pub(crate) enum Raw {
    Segments(Box<RawSegments>),
    Words(Box<RawWords>),
    Pieces(Box<RawPieces>),
}

/// A part of a text that missed, and what spells it.
#[derive(Debug, Clone, Copy)]
pub(super) enum RawPart<'a> {
    Segment(&'a RawSegments),
    Word(Words<'a>),
    Piece(Pieces<'a>),
}

impl RawPart<'_> {
    /// Passes the pretokens of a word or a piece to `emit`.
    ///
    /// # Errors
    /// Those of the stages and of `emit`, positioned in the part if origins are given; an internal error for a segment.
    pub(super) fn for_each_pretoken(
        self,
        part: (&str, Option<Origins<'_>>),
        scratch: &mut WordScratch,
        ticker: &mut Ticker<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        match self {
            Self::Word(words) => words.for_each_pretoken(part, scratch, ticker, emit),
            Self::Piece(pieces) => pieces.for_each_pretoken(part, scratch, ticker, emit),
            Self::Segment(_) => Err(Error::internal("a segment is spelled as a whole")),
        }
    }
}

impl Raw {
    /// `None` if a text must be normalized as a whole. It is used only where no added token is searched for in
    /// normalized text.
    ///
    /// # Errors
    /// Those of the watch.
    pub(crate) fn new(
        description: &Description,
        (normalizers, pre_tokenizers): (&Normalizers, &PreTokenizers),
        (model, vocabulary): (&Model, &Vocabulary),
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<Self>> {
        if let Some(segments) = RawSegments::new(description, model, vocabulary, ticker)? {
            return Ok(Some(Self::Segments(Box::new(segments))));
        }
        let stages = (normalizers, pre_tokenizers);
        let words = RawWords::new(description, (model, vocabulary), stages);
        let words = words.map(|words| Self::Words(Box::new(words)));
        let pieces = || RawPieces::new(description, model).map(|pieces| Self::Pieces(Box::new(pieces)));
        Ok(words.or_else(pieces))
    }

    /// Appends the tables to an image.
    pub(super) fn write(raw: Option<&Self>, image: &mut ImageWriter) {
        match raw {
            None => image.number(0),
            Some(Self::Segments(segments)) => {
                image.number(1);
                segments.write(image);
            }
            // They need no table of the vocabulary.
            Some(Self::Words(_)) => image.number(2),
            Some(Self::Pieces(_)) => image.number(3),
        }
    }

    /// As [`Self::new`], with the tables of an image.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(crate) fn read(
        description: &Description,
        stages: (&Normalizers, &PreTokenizers),
        (model, vocabulary): (&Model, &Vocabulary),
        image: &mut ImageReader,
    ) -> std::result::Result<Option<Self>, ImageError> {
        Ok(match image.number_below(4)? {
            0 => None,
            1 => Some(Self::Segments(Box::new(RawSegments::read(description, image)?))),
            3 => {
                let pieces = RawPieces::new(description, model);
                Some(Self::Pieces(Box::new(pieces.ok_or(ImageError::Inconsistent("texts have no pieces"))?)))
            }
            _ => {
                let words = RawWords::new(description, (model, vocabulary), stages);
                Some(Self::Words(Box::new(words.ok_or(ImageError::Inconsistent("texts have no words"))?)))
            }
        })
    }

    /// May the ids of a part depend on the parts before it?
    pub(super) fn looks_back(&self) -> bool {
        matches!(self, Self::Words(words) if words.are_summed())
    }

    /// May parts of this text be looked up? `follows` says that the text continues a longer one.
    pub(super) fn takes(&self, text: &str, follows: bool) -> bool {
        !self.looks_back() || (!follows && !text.contains(MARK))
    }

    /// The first part of a text between added tokens, in front of which something may be put.
    pub(super) fn first(&self, piece: AlignedText<'_>) -> FirstSegment {
        match self {
            Self::Segments(segments) => segments.first(piece),
            Self::Words(_) | Self::Pieces(_) => FirstSegment::Plain,
        }
    }

    /// The first place inside a text, from a byte on, where it may be cut before it goes through these normalizers.
    pub(super) fn safe_cut(&self, (text, normalizers): (&str, &Normalizers), from: usize) -> Option<usize> {
        match self {
            Self::Segments(segments) => segments.safe_cut(text, from),
            Self::Words(words) => words.finder().safe_cut((text, normalizers), from),
            Self::Pieces(pieces) => pieces.splitter().safe_cut(text, from),
        }
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Segments(segments) => segments.memory(),
            Self::Words(words) => words.memory(),
            Self::Pieces(_) => size_of::<RawPieces>(),
        }
    }
}

#[cfg(test)]
mod tests;
