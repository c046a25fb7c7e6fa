//! Builds a description from a model.
use std::collections::HashMap;

use tokenmill_core::charsmap::Charsmap;
use tokenmill_core::description::{
    AddedToken, Alphabet, BpeDescription, CallDefaults, ChatTemplates, Decoder, Decoding, Description,
    Merges, ModelDescription, Normalizer, PieceKind, Roles, SentencePieceRules, TokenList,
    UnigramDescription,
};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::message::{self, ModelType, Piece, Trainer};
use crate::byte_tokens;
use crate::report::Report;

/// Reads a model.
///
/// # Errors
/// A format error that names the piece or the field.
pub(crate) fn parse(bytes: &[u8], report: &mut Report) -> Result<Description> {
    if bytes.is_empty() {
        return Err(Error::format(Defect::Empty, "the file is empty"));
    }
    let file = message::read(bytes, report)?;
    let unk = check_pieces(&file.pieces, &file.trainer, report)?;
    check_map(file.normalizer.charsmap, "normalizer_spec", report)?;
    let mut tokens = TokenList::with_capacity(file.pieces.len(), 0);
    let numbered = || (0..).zip(&file.pieces);
    for (id, piece) in numbered() {
        tokens.push(id, piece.text);
    }
    let kinds: Vec<PieceKind> = file.pieces.iter().map(|piece| piece.kind).collect();
    let model = match file.trainer.model_type {
        ModelType::Unigram => ModelDescription::Unigram(UnigramDescription {
            tokens: tokens.into(),
            // Adding 0 removes the sign of a zero, which has no effect on sums.
            scores: file.pieces.iter().map(|piece| f64::from(piece.score) + 0.0).collect(),
            kinds,
            unk,
            unk_score: f64::from(lowest_score(&file.pieces) - UnigramDescription::UNK_PENALTY),
            byte_fallback: file.trainer.byte_fallback,
            single_precision: true,
        }),
        ModelType::Bpe | ModelType::Char => {
            if file.trainer.model_type == ModelType::Char {
                check_characters(&file.pieces).map_err(|e| e.at("pieces"))?;
            }
            let merges =
                Merges::ByScore { scores: file.pieces.iter().map(|piece| piece.score).collect(), kinds };
            ModelDescription::Bpe(BpeDescription {
                unk,
                fuse_unk: true,
                byte_fallback: file.trainer.byte_fallback,
                ..BpeDescription::plain(Alphabet::Chars { end_of_word: None }, tokens, merges)
            })
        }
        ModelType::Word => {
            let reason = "models of words are not supported by this version of tokenmill";
            return Err(Error::format(Defect::Unsupported, reason).at("model_type").at("trainer_spec"));
        }
    };
    let of_kind = |kind| numbered().filter(move |(_, piece)| piece.kind == kind);
    // Pieces that are matched in text were checked to be UTF-8.
    let texts =
        |kind| of_kind(kind).filter_map(|(id, piece)| Some((id, std::str::from_utf8(piece.text).ok()?)));
    let control = |name: &str| texts(PieceKind::Control).find(|(_, text)| *text == name).map(|(id, _)| id);
    let rules = &file.normalizer;
    let trainer = &file.trainer;
    Ok(Description {
        added_tokens: texts(PieceKind::Control).map(|(id, text)| AddedToken::special(id, text)).collect(),
        normalizer: vec![Normalizer::SentencePiece(SentencePieceRules {
            charsmap: rules.charsmap.into(),
            user_defined: texts(PieceKind::UserDefined).map(|(_, text)| text.to_owned()).collect(),
            add_dummy_prefix: rules.add_dummy_prefix,
            remove_extra_whitespaces: rules.remove_extra_whitespaces,
            escape_whitespaces: rules.escape_whitespaces,
            treat_whitespace_as_suffix: trainer.treat_whitespace_as_suffix,
        })],
        pre_tokenizer: Vec::new(),
        model,
        post_processor: Vec::new(),
        decoding: Decoding::Steps(decoders(&file, report)?),
        truncation: None,
        padding: None,
        roles: Roles {
            bos: control(trainer.bos_piece),
            eos: control(trainer.eos_piece),
            pad: control(trainer.pad_piece),
            ..Roles::default()
        },
        defaults: CallDefaults::default(),
        chat_templates: ChatTemplates::default(),
    })
}

/// The decoder steps of a model.
fn decoders(file: &message::Model<'_>, report: &mut Report) -> Result<Vec<Decoder>> {
    let (rules, trainer, after) = (&file.normalizer, &file.trainer, &file.denormalizer);
    let mut steps = vec![Decoder::SentencePiece {
        unk_surface: trainer.unk_surface.to_owned(),
        add_dummy_prefix: rules.add_dummy_prefix,
        remove_extra_whitespaces: rules.remove_extra_whitespaces,
        treat_whitespace_as_suffix: trainer.treat_whitespace_as_suffix,
    }];
    // Without a map SentencePiece ignores the other settings.
    if !after.charsmap.is_empty() {
        let flags = [
            ("add_dummy_prefix", after.add_dummy_prefix),
            ("remove_extra_whitespaces", after.remove_extra_whitespaces),
            ("escape_whitespaces", after.escape_whitespaces),
        ];
        if let Some((name, _)) = flags.iter().find(|(_, is_set)| *is_set) {
            let reason = "changing spaces after decoding is not supported by this version of tokenmill";
            return Err(Error::format(Defect::Unsupported, reason).at(*name).at("denormalizer_spec"));
        }
        check_map(after.charsmap, "denormalizer_spec", report)?;
        steps.push(Decoder::Denormalize { map: after.charsmap.into() });
    }
    Ok(steps)
}

/// Checks a character map, unless it is empty.
fn check_map(map: &[u8], spec: &str, report: &mut Report) -> Result<()> {
    if map.is_empty() {
        return Ok(());
    }
    Charsmap::parse(map).map_err(|error| error.at("precompiled_charsmap").at(spec))?;
    report.tolerate_map(map, || format!("{spec}.precompiled_charsmap"))
}

/// A character model is a BPE model without merges, so no piece may be the result of one.
fn check_characters(pieces: &[Piece<'_>]) -> Result<()> {
    let is_longer = |piece: &Piece<'_>| {
        matches!(piece.kind, PieceKind::Normal | PieceKind::Unused)
            && String::from_utf8_lossy(piece.text).chars().nth(1).is_some()
    };
    pieces.iter().position(is_longer).map_or(Ok(()), |i| {
        let reason = format!(
            "{:?} is longer than a character, in a model of characters",
            String::from_utf8_lossy(pieces[i].text)
        );
        Err(Error::format(Defect::Unsupported, reason).at_index(i))
    })
}

/// The lowest score of the pieces that text may become; without such pieces the largest number.
fn lowest_score(pieces: &[Piece<'_>]) -> f32 {
    let normal = pieces.iter().filter(|piece| piece.kind == PieceKind::Normal);
    normal.map(|piece| piece.score).fold(f32::MAX, f32::min)
}

/// The checks of SentencePiece itself, and the defects that it tolerates. Returns the id of the
/// unknown piece.
fn check_pieces(pieces: &[Piece<'_>], trainer: &Trainer<'_>, report: &mut Report) -> Result<Option<TokenId>> {
    let missing = |reason: String| Err(Error::format(Defect::Missing, reason).at("pieces"));
    if pieces.is_empty() {
        return missing("the file has no pieces".to_owned());
    }
    let mut places: HashMap<&[u8], usize> = HashMap::with_capacity(pieces.len());
    let mut unk = None;
    let mut has_byte = [false; 256];
    for (i, piece) in pieces.iter().enumerate() {
        let fault = |defect, reason: String| Err(Error::format(defect, reason).at_index(i).at("pieces"));
        let shown = || String::from_utf8_lossy(piece.text);
        if let Some(earlier) = places.insert(piece.text, i) {
            let reason = format!("{:?} is also piece {earlier}", shown());
            let is_control = |i: usize| matches!(pieces[i].kind, PieceKind::Control | PieceKind::Unknown);
            let is_searched = |i: usize| !is_control(i) && pieces[i].kind != PieceKind::Byte;
            let differ = (is_control(i) && is_searched(earlier)) || (is_searched(i) && is_control(earlier));
            if !(differ && trainer.model_type == ModelType::Unigram) {
                return fault(Defect::Duplicate, reason);
            }
            report.tolerate(Defect::Duplicate, format!("pieces[{i}]"), reason)?;
        }
        check_text(piece, i, report)?;
        check_score(piece, trainer.model_type, i, report)?;
        match piece.kind {
            PieceKind::Unknown => {
                if let Some(earlier) = unk.replace(i) {
                    return fault(Defect::Duplicate, format!("piece {earlier} is an unknown piece too"));
                }
            }
            PieceKind::Byte => {
                let byte = std::str::from_utf8(piece.text).ok().and_then(byte_tokens::byte_of);
                let Some(byte) = byte else {
                    let reason =
                        format!("{:?} is not a byte piece; these are written <0x00> to <0xFF>", shown());
                    return fault(Defect::Type, reason);
                };
                if !trainer.byte_fallback {
                    let reason = "a piece for a byte, but trainer_spec.byte_fallback is not set";
                    return fault(Defect::Inconsistent, reason.to_owned());
                }
                has_byte[usize::from(byte)] = true;
            }
            _ => {}
        }
    }
    if trainer.byte_fallback
        && let Some(byte) = has_byte.iter().position(|&has| !has)
    {
        return missing(format!("trainer_spec.byte_fallback is set, but there is no piece <0x{byte:02X}>"));
    }
    let comes_of_text = |piece: &Piece<'_>| {
        matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused)
    };
    if trainer.model_type == ModelType::Unigram && !pieces.iter().any(comes_of_text) {
        let reason =
            "no piece is an ordinary one, so that all text is bytes or unknown; sentencepiece refuses that";
        report.tolerate(Defect::Empty, "pieces", reason)?;
    }
    let reason = "no piece is the unknown one (type 2)";
    match unk {
        None if !trainer.byte_fallback => missing(reason.to_owned()),
        None => {
            let reason = format!("{reason}; no text needs it, there is a piece for every byte");
            report.tolerate(Defect::Missing, "pieces", reason).map(|()| None)
        }
        Some(unk) => Ok(TokenId::try_from(unk).ok()),
    }
}

/// A piece that is not UTF-8 never occurs in text and can only be decoded. A piece with a zero byte
/// was accepted until sentencepiece 0.2.3.
fn check_text(piece: &Piece<'_>, i: usize, report: &mut Report) -> Result<()> {
    let field = || format!("pieces[{i}].piece");
    if std::str::from_utf8(piece.text).is_err() {
        let is_searched = matches!(piece.kind, PieceKind::Control | PieceKind::UserDefined);
        if is_searched {
            let reason = "is not UTF-8, but a piece that text is searched for";
            return Err(Error::format(Defect::Encoding, reason).at("piece").at_index(i).at("pieces"));
        }
        report.tolerate(Defect::Encoding, field(), "is not UTF-8: no text becomes it")?;
    }
    if piece.text.contains(&0) {
        report.tolerate(Defect::Range, field(), "has a zero byte, which sentencepiece 0.2.3 refuses")?;
    }
    Ok(())
}

/// Unigram models add scores; BPE models only compare them.
fn check_score(piece: &Piece<'_>, model_type: ModelType, i: usize, report: &mut Report) -> Result<()> {
    if piece.score.is_finite() {
        return Ok(());
    }
    let reason = format!("{} is no score", piece.score);
    if model_type == ModelType::Bpe && !piece.score.is_nan() {
        return report.tolerate(Defect::Range, format!("pieces[{i}].score"), reason);
    }
    Err(Error::format(Defect::Range, reason).at("score").at_index(i).at("pieces"))
}
