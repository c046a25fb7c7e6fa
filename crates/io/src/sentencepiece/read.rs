//! What a model means.
use std::collections::HashMap;

use tokenmill_core::description::{
    AddedToken, Alphabet, Bpe, CallDefaults, Decoder, Decoding, Description, Merges, Model, Normalizer,
    PieceKind, Roles, SentencePieceRules, TokenList, Unigram,
};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::message::{self, Piece};
use crate::byte_tokens;

/// The unknown token's score lies this far below the lowest.
const UNK_PENALTY: f32 = 10.0;

/// Reads a model.
///
/// # Errors
/// A format error naming the piece or the field.
pub(crate) fn parse(bytes: &[u8]) -> Result<Description> {
    if bytes.is_empty() {
        return Err(Error::format(Defect::Empty, "the file is empty"));
    }
    let file = message::read(bytes)?;
    let unk = check_pieces(&file.pieces, file.trainer.byte_fallback).map_err(|e| e.at("pieces"))?;
    if !file.denormalizer.charsmap.is_empty() {
        let reason = "a map that is applied after decoding is not supported by this version of tokenmill";
        let error = Error::format(Defect::Unsupported, reason);
        return Err(error.at("precompiled_charsmap").at("denormalizer_spec"));
    }
    let mut tokens = TokenList::with_capacity(file.pieces.len(), 0);
    let numbered = || (0..).zip(&file.pieces);
    for (id, piece) in numbered() {
        tokens.push(id, piece.text.as_bytes());
    }
    let kinds: Vec<PieceKind> = file.pieces.iter().map(|piece| piece.kind).collect();
    let model = match file.trainer.model_type {
        1 => Model::Unigram(Unigram {
            tokens: tokens.into(),
            scores: file.pieces.iter().map(|piece| f64::from(piece.score)).collect(),
            kinds,
            unk: Some(unk),
            unk_score: f64::from(lowest_score(&file.pieces) - UNK_PENALTY),
            byte_fallback: file.trainer.byte_fallback,
            single_precision: true,
        }),
        2 => {
            let merges =
                Merges::ByScore { scores: file.pieces.iter().map(|piece| piece.score).collect(), kinds };
            Model::Bpe(Bpe {
                unk: Some(unk),
                fuse_unk: true,
                byte_fallback: file.trainer.byte_fallback,
                ..Bpe::plain(Alphabet::Chars { end_of_word: None }, tokens, merges)
            })
        }
        other => {
            let names = [(3, "word"), (4, "char")];
            let name = names.iter().find(|(number, _)| *number == other);
            let name = name.map_or_else(|| other.to_string(), |(_, name)| (*name).to_owned());
            let reason = format!("the model type {name} is not supported by this version of tokenmill");
            return Err(Error::format(Defect::Unsupported, reason).at("model_type").at("trainer_spec"));
        }
    };
    let of_kind = |kind| numbered().filter(move |(_, piece)| piece.kind == kind);
    let control =
        |name: &str| of_kind(PieceKind::Control).find(|(_, piece)| piece.text == name).map(|(id, _)| id);
    let rules = &file.normalizer;
    let trainer = &file.trainer;
    Ok(Description {
        added_tokens: of_kind(PieceKind::Control)
            .map(|(id, piece)| AddedToken::special(id, piece.text))
            .collect(),
        normalizer: vec![Normalizer::SentencePiece(SentencePieceRules {
            charsmap: rules.charsmap.into(),
            user_defined: of_kind(PieceKind::UserDefined).map(|(_, piece)| piece.text.to_owned()).collect(),
            add_dummy_prefix: rules.add_dummy_prefix,
            remove_extra_whitespaces: rules.remove_extra_whitespaces,
            escape_whitespaces: rules.escape_whitespaces,
            treat_whitespace_as_suffix: trainer.treat_whitespace_as_suffix,
        })],
        pre_tokenizer: Vec::new(),
        model,
        post_processor: Vec::new(),
        decoding: Decoding::Steps(vec![Decoder::SentencePiece {
            unk_surface: trainer.unk_surface.to_owned(),
            add_dummy_prefix: rules.add_dummy_prefix,
            remove_extra_whitespaces: rules.remove_extra_whitespaces,
            treat_whitespace_as_suffix: trainer.treat_whitespace_as_suffix,
        }]),
        truncation: None,
        padding: None,
        roles: Roles {
            bos: control(trainer.bos_piece),
            eos: control(trainer.eos_piece),
            pad: control(trainer.pad_piece),
            ..Roles::default()
        },
        defaults: CallDefaults::default(),
    })
}

/// The lowest score of what text may become; of none at all, the largest number there is.
fn lowest_score(pieces: &[Piece<'_>]) -> f32 {
    let normal = pieces.iter().filter(|piece| piece.kind == PieceKind::Normal);
    normal.map(|piece| piece.score).fold(f32::MAX, f32::min)
}

/// What the library itself asks of the pieces; the id of the unknown one.
fn check_pieces(pieces: &[Piece<'_>], byte_fallback: bool) -> Result<TokenId> {
    if pieces.is_empty() {
        return Err(Error::format(Defect::Missing, "the file has no pieces"));
    }
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(pieces.len());
    let mut unk = None;
    let mut has_byte = [false; 256];
    for (i, piece) in pieces.iter().enumerate() {
        let fault = |defect, reason: String| Err(Error::format(defect, reason).at_index(i));
        if let Some(earlier) = places.insert(piece.text, i) {
            return fault(Defect::Duplicate, format!("{:?} is piece {earlier} already", piece.text));
        }
        match piece.kind {
            PieceKind::Unknown => {
                if let Some(earlier) = unk.replace(i) {
                    return fault(Defect::Duplicate, format!("piece {earlier} is the unknown one already"));
                }
            }
            PieceKind::Byte => {
                let Some(byte) = byte_tokens::byte_of(piece.text) else {
                    let reason = format!("{:?} is no byte; those are written <0x00> to <0xFF>", piece.text);
                    return fault(Defect::Type, reason);
                };
                if !byte_fallback {
                    let reason = "a piece for a byte, but trainer_spec.byte_fallback is not set";
                    return fault(Defect::Inconsistent, reason.to_owned());
                }
                has_byte[usize::from(byte)] = true;
            }
            _ => {}
        }
    }
    if byte_fallback && let Some(byte) = has_byte.iter().position(|&has| !has) {
        let reason = format!("trainer_spec.byte_fallback is set, but there is no piece <0x{byte:02X}>");
        return Err(Error::format(Defect::Missing, reason));
    }
    let Some(unk) = unk else {
        return Err(Error::format(Defect::Missing, "no piece is the unknown one (type 2)"));
    };
    Ok(TokenId::try_from(unk).unwrap_or(TokenId::MAX))
}
