//! Writes a SentencePiece model.
//!
//! The output is read again and must be the same tokenizer, so the reader alone defines what a
//! model can hold.
use tokenmill_core::description::{
    Decoder, Decoding, Description, Merges, ModelDescription, Normalizer, PieceKind, SentencePieceRules,
};
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::ids::TokenId;

use super::read::parse;
use super::wire::Writer;
use crate::report::Report;

/// Writes a model; the same bytes every time.
///
/// # Errors
/// A format error that names what a model cannot hold.
pub(crate) fn write(description: &Description) -> Result<Vec<u8>> {
    let (model_type, scores, kinds, byte_fallback) = model(&description.model)?;
    let [Normalizer::SentencePiece(rules)] = description.normalizer.as_slice() else {
        return cannot("normalizer", "holds the normalization of SentencePiece and no other");
    };
    let steps = match &description.decoding {
        Decoding::Steps(steps) => steps.as_slice(),
        _ => &[],
    };
    let (unk_surface, after) = match steps {
        [Decoder::SentencePiece { unk_surface, .. }] => (unk_surface, None),
        [Decoder::SentencePiece { unk_surface, .. }, Decoder::Denormalize { map }] => {
            (unk_surface, Some(map))
        }
        _ => return cannot("decoder", "holds the decoding of SentencePiece and no other"),
    };
    let mut out = Writer::default();
    for ((_, bytes), (score, kind)) in description.model.tokens().iter().zip(scores.iter().zip(kinds)) {
        let mut piece = Writer::default();
        piece.bytes(1, bytes);
        piece.float(2, *score);
        if let Some(number) =
            PieceKind::ALL.iter().position(|known| known == kind).filter(|&number| number > 0)
        {
            piece.varint(3, number as u64 + 1);
        }
        out.bytes(1, &piece.0);
    }
    out.bytes(2, &trainer(description, model_type, byte_fallback, rules, unk_surface));
    let mut normalizer = Writer::default();
    normalizer.bytes(2, &rules.charsmap);
    normalizer.flag(3, rules.add_dummy_prefix);
    normalizer.flag(4, rules.remove_extra_whitespaces);
    normalizer.flag(5, rules.escape_whitespaces);
    out.bytes(3, &normalizer.0);
    if let Some(map) = after {
        let mut denormalizer = Writer::default();
        denormalizer.bytes(2, map);
        (3..=5).for_each(|number| denormalizer.flag(number, false));
        out.bytes(5, &denormalizer.0);
    }
    same(&parse(&out.0, &mut Report::default()).map_err(refused)?, description)?;
    Ok(out.0)
}

fn cannot<T>(field: &str, what: &str) -> Result<T> {
    let reason = format!("a SentencePiece model {what}; save as tokenizer.json");
    Err(Error::format(Defect::CannotHold, reason).at(field))
}

/// An error of the reader means that a model cannot hold the tokenizer.
fn refused(mut error: Error) -> Error {
    if let Kind::Format { defect, reason, .. } = &mut error.kind {
        *defect = Defect::CannotHold;
        *reason = format!("a SentencePiece model cannot hold this: {reason}");
    }
    error
}

/// Number of the model type, scores, kinds, byte fallback.
fn model(model: &ModelDescription) -> Result<(u64, Vec<f32>, &[PieceKind], bool)> {
    match model {
        ModelDescription::Unigram(model) if model.single_precision => {
            #[allow(clippy::cast_possible_truncation)] // they were read as such; the check is in `same`
            let scores = model.scores.iter().map(|&score| score as f32).collect();
            Ok((1, scores, &model.kinds, model.byte_fallback))
        }
        ModelDescription::Bpe(model) => match &model.merges {
            Merges::ByScore { scores, kinds } => Ok((2, scores.clone(), kinds, model.byte_fallback)),
            _ => cannot("model", "holds merges by score and no others"),
        },
        _ => cannot("model", "holds pieces with scores as that library counts them, and no other model"),
    }
}

fn trainer(
    description: &Description,
    model_type: u64,
    byte_fallback: bool,
    rules: &SentencePieceRules,
    unk_surface: &str,
) -> Vec<u8> {
    let tokens = description.model.tokens();
    let mut trainer = Writer::default();
    trainer.varint(3, model_type);
    trainer.varint(4, tokens.len() as u64);
    trainer.flag(24, rules.treat_whitespace_as_suffix);
    trainer.flag(35, byte_fallback);
    let roles = &description.roles;
    let named =
        [(description.model.unk(), "<unk>"), (roles.bos, "<s>"), (roles.eos, "</s>"), (roles.pad, "<pad>")];
    for (number, (id, _)) in (40..).zip(named) {
        trainer.int32(number, id.map_or(-1, |id: TokenId| i32::try_from(id).unwrap_or(-1)));
    }
    trainer.bytes(44, unk_surface.as_bytes());
    for (number, (id, default)) in (45..).zip(named) {
        let piece = id.and_then(|id| tokens.index_of(id)).map(|index| tokens.bytes(index));
        trainer.bytes(number, piece.unwrap_or(default.as_bytes()));
    }
    trainer.0
}

fn same(read: &Description, written: &Description) -> Result<()> {
    let parts = [
        ("model", read.model == written.model),
        ("added_tokens", read.added_tokens == written.added_tokens),
        ("normalizer", read.normalizer == written.normalizer),
        ("pre_tokenizer", read.pre_tokenizer == written.pre_tokenizer),
        ("post_processor", read.post_processor == written.post_processor),
        ("decoder", read.decoding == written.decoding),
        ("roles", read.roles == written.roles),
        ("truncation", read.truncation == written.truncation),
        ("padding", read.padding == written.padding),
        ("defaults", read.defaults == written.defaults),
    ];
    match parts.iter().find(|(_, same)| !same) {
        None => Ok(()),
        Some((name, _)) => cannot(name, "cannot hold this as it is"),
    }
}
