//! The contents of a model, for readers other than that of SentencePiece itself.
use tokenmill_core::description::PieceKind;
use tokenmill_core::error::{Defect, Error, Result};

use super::message::{self, ModelType};
use crate::report::Report;

/// The pieces and the settings that apply to them.
pub(crate) struct Contents<'a> {
    /// Text, score and kind, in the order of ids.
    pub(crate) pieces: Vec<(String, f32, PieceKind)>,
    /// Is it a Unigram model, not BPE?
    pub(crate) is_unigram: bool,
    pub(crate) byte_fallback: bool,
    /// Ids; negative for none.
    pub(crate) unk_id: i64,
    pub(crate) bos_id: i64,
    pub(crate) eos_id: i64,
    pub(crate) unk_piece: String,
    pub(crate) bos_piece: String,
    pub(crate) eos_piece: String,
    /// The character map, if there is one.
    pub(crate) charsmap: Option<&'a [u8]>,
}

/// Reads the contents of a model.
///
/// # Errors
/// A format error that names the piece or the field.
pub(crate) fn read_contents<'a>(bytes: &'a [u8], report: &mut Report) -> Result<Contents<'a>> {
    let file = message::read(bytes, report)?;
    if file.pieces.is_empty() {
        return Err(Error::format(Defect::Missing, "the file has no pieces").at("pieces"));
    }
    let is_unigram = match file.trainer.model_type {
        ModelType::Unigram => true,
        ModelType::Bpe => false,
        ModelType::Word | ModelType::Char => {
            let reason = "transformers makes nothing of models of words and of characters";
            return Err(Error::format(Defect::Unsupported, reason).at("model_type").at("trainer_spec"));
        }
    };
    let text = |(i, piece): (usize, &message::Piece<'_>)| {
        let text = std::str::from_utf8(piece.text).map_err(|_| {
            let error = Error::format(Defect::Encoding, "the piece is not UTF-8");
            error.at("piece").at_index(i).at("pieces")
        })?;
        Ok((text.to_owned(), piece.score, piece.kind))
    };
    let trainer = &file.trainer;
    Ok(Contents {
        pieces: file.pieces.iter().enumerate().map(text).collect::<Result<_>>()?,
        is_unigram,
        byte_fallback: trainer.byte_fallback,
        unk_id: trainer.unk_id,
        bos_id: trainer.bos_id,
        eos_id: trainer.eos_id,
        unk_piece: trainer.unk_piece.to_owned(),
        bos_piece: trainer.bos_piece.to_owned(),
        eos_piece: trainer.eos_piece.to_owned(),
        charsmap: Some(file.normalizer.charsmap).filter(|charsmap| !charsmap.is_empty()),
    })
}
