//! The messages of a SentencePiece model, as far as they decide what it does.
//!
//! Field numbers are those of `sentencepiece_model.proto`. As in that library a field that is not
//! known is passed over, one that is written in another way than expected is not known, and of one
//! that is there several times the last counts.
use tokenmill_core::description::PieceKind;
use tokenmill_core::error::{Defect, Error, Result};

use super::wire::{Message, Value};

/// Pieces, and bytes of one piece, that a file may have.
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
    pub(super) text: &'a str,
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

/// How it was trained, as far as it decides how it runs.
#[derive(Debug)]
pub(super) struct Trainer<'a> {
    pub(super) model_type: u64,
    pub(super) treat_whitespace_as_suffix: bool,
    pub(super) byte_fallback: bool,
    pub(super) unk_surface: &'a str,
    pub(super) unk_piece: &'a str,
    pub(super) bos_piece: &'a str,
    pub(super) eos_piece: &'a str,
    pub(super) pad_piece: &'a str,
}

impl Default for Trainer<'_> {
    fn default() -> Self {
        Self {
            model_type: 1,
            treat_whitespace_as_suffix: false,
            byte_fallback: false,
            unk_surface: " \u{2047} ",
            unk_piece: "<unk>",
            bos_piece: "<s>",
            eos_piece: "</s>",
            pad_piece: "<pad>",
        }
    }
}

/// How text is normalized.
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

/// Reads a file.
///
/// # Errors
/// A format error naming the field, or the byte where it is no protobuf message.
pub(super) fn read(bytes: &[u8]) -> Result<Model<'_>> {
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
                model.pieces.push(piece(message).map_err(|e| e.at_index(index).at("pieces"))?);
            }
            2 => trainer(message, &mut model.trainer).map_err(|e| e.at("trainer_spec"))?,
            3 => normalizer(message, &mut model.normalizer).map_err(|e| e.at("normalizer_spec"))?,
            5 => normalizer(message, &mut model.denormalizer).map_err(|e| e.at("denormalizer_spec"))?,
            // 4 is texts with what they become, for tests of that library.
            _ => {}
        }
    }
    Ok(model)
}

fn piece(message: Message<'_>) -> Result<Piece<'_>> {
    let mut piece = Piece { text: "", score: 0.0, kind: PieceKind::Normal };
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => {
                let Some(text) = field.value.bytes() else { continue };
                if text.bytes.len() > TEXT_LIMIT {
                    let reason = format!("{} bytes are more than a piece can have", text.bytes.len());
                    return Err(Error::limit(reason, TEXT_LIMIT as u64).at("piece"));
                }
                piece.text = text.text().map_err(|e| e.at("piece"))?;
            }
            2 => set(&mut piece.score, field.value.float()),
            3 => {
                let Some(kind) = field.value.varint() else { continue };
                piece.kind = kind_of(kind).ok_or_else(|| {
                    let reason = format!("{kind} is no type of piece; they go from 1 to 6");
                    Error::format(Defect::Type, reason).at("type")
                })?;
            }
            _ => {}
        }
    }
    if piece.text.is_empty() {
        return Err(Error::format(Defect::Empty, "the piece is empty").at("piece"));
    }
    if !piece.score.is_finite() {
        let reason = format!("{} is no score", piece.score);
        return Err(Error::format(Defect::Range, reason).at("score"));
    }
    Ok(piece)
}

/// The kinds in the order of their numbers, from 1 on.
pub(super) const KINDS: [PieceKind; 6] = [
    PieceKind::Normal,
    PieceKind::Unknown,
    PieceKind::Control,
    PieceKind::UserDefined,
    PieceKind::Unused,
    PieceKind::Byte,
];

fn kind_of(number: u64) -> Option<PieceKind> {
    KINDS.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

fn trainer<'a>(message: Message<'a>, trainer: &mut Trainer<'a>) -> Result<()> {
    for field in message.fields() {
        let field = field?;
        let value = field.value;
        match field.number {
            3 => set(&mut trainer.model_type, value.varint()),
            24 => set(&mut trainer.treat_whitespace_as_suffix, value.flag()),
            35 => set(&mut trainer.byte_fallback, value.flag()),
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

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// An empty name is that of the default.
fn set_name<'a>(field: &mut &'a str, value: Option<&'a str>) {
    set(field, value.filter(|name| !name.is_empty()));
}

fn text<'a>(value: Value<'a>, name: &str) -> Result<Option<&'a str>> {
    value.bytes().map(Message::text).transpose().map_err(|e| e.at(name))
}
