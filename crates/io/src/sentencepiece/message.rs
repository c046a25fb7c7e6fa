//! The messages of a SentencePiece model, as far as they affect tokenization.
//!
//! Field numbers are those of `sentencepiece_model.proto`. As in that library, an unknown field is
//! skipped, a field with another wire type counts as unknown, and the last of a repeated field
//! counts. An unknown enum value (type of piece, type of model) keeps the previous value, and is
//! reported.
use tokenmill_core::description::PieceKind;
use tokenmill_core::error::{Defect, Error, Result};

use super::wire::{Message, Value};
use crate::report::Report;

/// Maximum number of pieces, and bytes of a piece.
const PIECE_LIMIT: usize = 16 << 20;
const TEXT_LIMIT: usize = 64 << 10;

/// The whole model.
#[derive(Debug, Default)]
pub(super) struct Model<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) trainer: Trainer<'a>,
    pub(super) normalizer: Normalizer<'a>,
    pub(super) denormalizer: Normalizer<'a>,
}

/// A piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Not always valid UTF-8.
    pub(super) text: &'a [u8],
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

/// The algorithm of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelType {
    Unigram,
    Bpe,
    Word,
    Char,
}

impl ModelType {
    fn of(number: u64) -> Option<Self> {
        enumerated(&[Self::Unigram, Self::Bpe, Self::Word, Self::Char], number)
    }
}

/// The training settings that affect tokenization.
#[derive(Debug)]
pub(super) struct Trainer<'a> {
    pub(super) model_type: ModelType,
    pub(super) treat_whitespace_as_suffix: bool,
    pub(super) byte_fallback: bool,
    /// Ids of the unknown, begin and end pieces; negative for none.
    pub(super) unk_id: i64,
    pub(super) bos_id: i64,
    pub(super) eos_id: i64,
    pub(super) unk_surface: &'a str,
    pub(super) unk_piece: &'a str,
    pub(super) bos_piece: &'a str,
    pub(super) eos_piece: &'a str,
    pub(super) pad_piece: &'a str,
}

impl Default for Trainer<'_> {
    fn default() -> Self {
        Self {
            model_type: ModelType::Unigram,
            treat_whitespace_as_suffix: false,
            byte_fallback: false,
            unk_id: 0,
            bos_id: 1,
            eos_id: 2,
            unk_surface: " \u{2047} ",
            unk_piece: "<unk>",
            bos_piece: "<s>",
            eos_piece: "</s>",
            pad_piece: "<pad>",
        }
    }
}

/// The normalization settings.
#[derive(Debug)]
pub(super) struct Normalizer<'a> {
    pub(super) charsmap: &'a [u8],
    pub(super) add_dummy_prefix: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
}

impl Default for Normalizer<'_> {
    fn default() -> Self {
        Self {
            charsmap: &[],
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}

/// A tolerated defect: its kind, the field and what was found.
type Finding = (Defect, &'static str, String);

/// Reads a file.
///
/// # Errors
/// A format error that names the field, or the byte if the file is not a protobuf message.
pub(super) fn read<'a>(bytes: &'a [u8], report: &mut Report) -> Result<Model<'a>> {
    let mut found: Vec<Finding> = Vec::new();
    let mut model = Model::default();
    for field in Message::of_file(bytes).fields() {
        let field = field?;
        let Some(message) = field.value.bytes() else { continue };
        match field.number {
            1 => {
                let index = model.pieces.len();
                if index == PIECE_LIMIT {
                    let reason = format!("more than {PIECE_LIMIT} pieces");
                    return Err(Error::limit(reason, PIECE_LIMIT as u64).at("pieces"));
                }
                let piece = piece(message, &mut found).map_err(|e| e.at_index(index).at("pieces"))?;
                model.pieces.push(piece);
                for (defect, name, reason) in found.drain(..) {
                    report.tolerate(defect, format!("pieces[{index}].{name}"), reason)?;
                }
            }
            2 => {
                trainer(message, &mut model.trainer, &mut found).map_err(|e| e.at("trainer_spec"))?;
                for (defect, name, reason) in found.drain(..) {
                    report.tolerate(defect, format!("trainer_spec.{name}"), reason)?;
                }
            }
            3 => normalizer(message, &mut model.normalizer).map_err(|e| e.at("normalizer_spec"))?,
            5 => normalizer(message, &mut model.denormalizer).map_err(|e| e.at("denormalizer_spec"))?,
            // Field 4 holds self-test samples of that library.
            _ => {}
        }
    }
    Ok(model)
}

fn piece<'a>(message: Message<'a>, found: &mut Vec<Finding>) -> Result<Piece<'a>> {
    let mut piece = Piece { text: b"", score: 0.0, kind: PieceKind::Normal };
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => {
                let Some(text) = field.value.bytes() else { continue };
                if text.bytes.len() > TEXT_LIMIT {
                    let reason = format!("{} bytes are more than a piece can have", text.bytes.len());
                    return Err(Error::limit(reason, TEXT_LIMIT as u64).at("piece"));
                }
                piece.text = text.bytes;
            }
            2 => set(&mut piece.score, field.value.float()),
            3 => {
                let Some(number) = field.value.varint() else { continue };
                if let Some(kind) = enumerated(&PieceKind::ALL, number) {
                    piece.kind = kind;
                } else {
                    let reason = format!("{number} is not a type of piece (1 to 6); ignored");
                    found.push((Defect::Type, "type", reason));
                }
            }
            _ => {}
        }
    }
    if piece.text.is_empty() {
        return Err(Error::format(Defect::Empty, "the piece is empty").at("piece"));
    }
    Ok(piece)
}

/// The value with this number; the first has number 1. Only the low 32 bits count.
fn enumerated<T: Copy>(values: &[T], number: u64) -> Option<T> {
    let index = usize::try_from(number & u64::from(u32::MAX)).ok()?.checked_sub(1)?;
    values.get(index).copied()
}

fn trainer<'a>(message: Message<'a>, trainer: &mut Trainer<'a>, found: &mut Vec<Finding>) -> Result<()> {
    for field in message.fields() {
        let field = field?;
        let value = field.value;
        match field.number {
            3 => {
                let Some(number) = value.varint() else { continue };
                if let Some(model_type) = ModelType::of(number) {
                    trainer.model_type = model_type;
                } else {
                    let reason = format!("{number} is not a type of model (1 to 4); ignored");
                    found.push((Defect::Type, "model_type", reason));
                }
            }
            24 => set(&mut trainer.treat_whitespace_as_suffix, value.flag()),
            35 => set(&mut trainer.byte_fallback, value.flag()),
            40 => set(&mut trainer.unk_id, value.varint().map(int32)),
            41 => set(&mut trainer.bos_id, value.varint().map(int32)),
            42 => set(&mut trainer.eos_id, value.varint().map(int32)),
            44 => set(&mut trainer.unk_surface, text(value, "unk_surface")?),
            45 => set_name(&mut trainer.unk_piece, text(value, "unk_piece")?),
            46 => set_name(&mut trainer.bos_piece, text(value, "bos_piece")?),
            47 => set_name(&mut trainer.eos_piece, text(value, "eos_piece")?),
            48 => set_name(&mut trainer.pad_piece, text(value, "pad_piece")?),
            _ => {}
        }
    }
    Ok(())
}

fn normalizer<'a>(message: Message<'a>, normalizer: &mut Normalizer<'a>) -> Result<()> {
    for field in message.fields() {
        let field = field?;
        let value = field.value;
        match field.number {
            2 => set(&mut normalizer.charsmap, value.bytes().map(|message| message.bytes)),
            3 => set(&mut normalizer.add_dummy_prefix, value.flag()),
            4 => set(&mut normalizer.remove_extra_whitespaces, value.flag()),
            5 => set(&mut normalizer.escape_whitespaces, value.flag()),
            _ => {}
        }
    }
    Ok(())
}

/// A signed 32-bit number: the low bits of the varint.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // that is the encoding
fn int32(written: u64) -> i64 {
    i64::from(written as u32 as i32)
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// An empty name means the default.
fn set_name<'a>(field: &mut &'a str, value: Option<&'a str>) {
    set(field, value.filter(|name| !name.is_empty()));
}

fn text<'a>(value: Value<'a>, name: &str) -> Result<Option<&'a str>> {
    value.bytes().map(Message::text).transpose().map_err(|e| e.at(name))
}
