//! Classes of byte-level byte-pair encoding.
use serde_json::{Value, json};
use tokenmill_core::description::Side;
use tokenmill_core::error::{Defect, Error, Result};

use super::super::tokens::Token;
use super::languages;
use super::recipe::{Again, Frame, PLAIN, Parts, Recipe, Stages, template};
use crate::tokenizer_json::Kind;

const BERT_LIKE: &[(&str, &str)] = &[
    ("bos_token", "[CLS]"),
    ("eos_token", "[SEP]"),
    ("sep_token", "[SEP]"),
    ("cls_token", "[CLS]"),
    ("unk_token", "[UNK]"),
    ("pad_token", "[PAD]"),
    ("mask_token", "[MASK]"),
];

const ROBERTA_LIKE: &[(&str, &str)] = &[
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("sep_token", "</s>"),
    ("cls_token", "<s>"),
    ("unk_token", "<unk>"),
    ("pad_token", "<pad>"),
    ("mask_token", "<mask>"),
];

const END_OF_TEXT: &[(&str, &str)] =
    &[("unk_token", "<|endoftext|>"), ("bos_token", "<|endoftext|>"), ("eos_token", "<|endoftext|>")];

const QWEN_LIKE: &[(&str, &str)] =
    &[("unk_token", "<|endoftext|>"), ("eos_token", "<|endoftext|>"), ("pad_token", "<|endoftext|>")];

/// The split of Qwen2: cl100k with single digits.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The split of Qwen3.5: marks belong to letters.
const QWEN3_5: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The split of CLIP: white space is dropped.
const CLIP: &str =
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+";

pub(super) const RECIPES: &[Recipe] = &[
    Recipe { name: "GPT2Tokenizer", roles: END_OF_TEXT, ..BYTES },
    Recipe { name: "CodeGenTokenizer", roles: END_OF_TEXT, ..BYTES },
    Recipe {
        name: "BlenderbotTokenizer",
        roles: ROBERTA_LIKE,
        mask: Token::stripping,
        build: Some(|parts| {
            let pre_tokenizer = byte_level(parts.flag("add_prefix_space", true)?, true);
            Ok(Stages { pre_tokenizer, ..bytes(parts)? })
        }),
        ..BYTES
    },
    Recipe {
        name: "RobertaTokenizer",
        roles: ROBERTA_LIKE,
        frame: |parts| {
            Ok(Frame::Roberta {
                cls: "cls_token",
                sep: "sep_token",
                trim_offsets: parts.flag("trim_offsets", true)?,
                add_prefix_space: parts.flag("add_prefix_space", false)?,
            })
        },
        ..BYTES
    },
    Recipe {
        name: "DebertaTokenizer",
        roles: BERT_LIKE,
        frame: |_| template("cls A sep", "cls A sep sep B sep"),
        ..BYTES
    },
    Recipe {
        name: "GPTNeoXTokenizer",
        roles: &[
            ("unk_token", "<|endoftext|>"),
            ("bos_token", "<|endoftext|>"),
            ("eos_token", "<|endoftext|>"),
            ("pad_token", "<|padding|>"),
        ],
        build: Some(|parts| Ok(Stages { normalizer: json!({ "type": "NFC" }), ..bytes(parts)? })),
        frame: |_| Ok(Frame::BosEos),
        ..BYTES
    },
    Recipe {
        name: "CohereTokenizer",
        padding_side: Side::Left,
        roles: &[
            ("unk_token", "<UNK>"),
            ("bos_token", "<BOS_TOKEN>"),
            ("eos_token", "<|END_OF_TURN_TOKEN|>"),
            ("pad_token", "<PAD>"),
            ("cls_token", "<CLS>"),
            ("sep_token", "<SEP>"),
            ("mask_token", "<MASK_TOKEN>"),
        ],
        build: Some(|parts| {
            let digits = json!({ "type": "Digits", "individual_digits": true });
            let bytes = bytes(parts)?;
            Ok(Stages {
                normalizer: json!({ "type": "NFC" }),
                pre_tokenizer: sequence(vec![digits, bytes.pre_tokenizer]),
                ..bytes
            })
        }),
        again: Again::WithFlags,
        ..BYTES
    },
    Recipe {
        name: "Qwen2Tokenizer",
        roles: QWEN_LIKE,
        build: Some(|parts| split_by(parts, QWEN2)),
        again: Again::Plainly,
        ..BYTES
    },
    Recipe {
        name: "Qwen3_5Tokenizer",
        vocabulary: "tokenizer.model",
        roles: QWEN_LIKE,
        build: Some(|parts| split_by(parts, QWEN3_5)),
        ..BYTES
    },
    Recipe {
        name: "WhisperTokenizer",
        roles: END_OF_TEXT,
        build: Some(|parts| {
            let stamps =
                json!({ "type": "Replace", "pattern": { "Regex": r"<\|\d+\.\d+\|>" }, "content": "" });
            let bytes = bytes(parts)?;
            Ok(Stages { decoder: decoders(vec![bytes.decoder, stamps]), ..bytes })
        }),
        frame: whisper_frame,
        ..BYTES
    },
    Recipe {
        name: "CLIPTokenizer",
        roles: &[
            ("unk_token", "<|endoftext|>"),
            ("bos_token", "<|startoftext|>"),
            ("eos_token", "<|endoftext|>"),
            ("pad_token", "<|endoftext|>"),
        ],
        build: Some(clip),
        frame: |_| {
            Ok(Frame::Roberta {
                cls: "bos_token",
                sep: "eos_token",
                trim_offsets: false,
                add_prefix_space: false,
            })
        },
        ..BYTES
    },
];

const BYTES: Recipe =
    Recipe { model: Some(Kind::Bpe), vocabulary: "vocab.json", has_code: true, build: Some(bytes), ..PLAIN };

fn byte_level(add_prefix_space: bool, use_regex: bool) -> Value {
    json!({
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": true,
        "use_regex": use_regex,
    })
}

fn sequence(steps: Vec<Value>) -> Value {
    json!({ "type": "Sequence", "pretokenizers": Value::Array(steps) })
}

fn decoders(steps: Vec<Value>) -> Value {
    json!({ "type": "Sequence", "decoders": Value::Array(steps) })
}

fn bytes(parts: &Parts<'_>) -> Result<Stages> {
    Ok(Stages {
        pre_tokenizer: byte_level(parts.flag("add_prefix_space", false)?, true),
        decoder: byte_level(true, true),
        ..Stages::default()
    })
}

fn split_by(parts: &Parts<'_>, regex: &str) -> Result<Stages> {
    let split =
        json!({ "type": "Split", "pattern": { "Regex": regex }, "behavior": "Isolated", "invert": false });
    let bytes_of = byte_level(parts.flag("add_prefix_space", false)?, false);
    Ok(Stages {
        normalizer: json!({ "type": "NFC" }),
        pre_tokenizer: sequence(vec![split, bytes_of]),
        ..bytes(parts)?
    })
}

/// CLIP decodes ends of words as spaces, and trims the text as Python does.
fn clip(parts: &Parts<'_>) -> Result<Stages> {
    let normalizers = [
        json!({ "type": "NFC" }),
        json!({ "type": "Replace", "pattern": { "Regex": r"\s+" }, "content": " " }),
        json!({ "type": "Lowercase" }),
    ];
    let split =
        json!({ "type": "Split", "pattern": { "Regex": CLIP }, "behavior": "Removed", "invert": true });
    let ends = json!({ "type": "Replace", "pattern": { "String": "</w>" }, "content": " " });
    let blanks = r"\A[\s\x1c-\x1f]+|[\s\x1c-\x1f]+\z";
    let trim = json!({ "type": "Replace", "pattern": { "Regex": blanks }, "content": "" });
    Ok(Stages {
        unk_token: Some(parts.required("unk_token")?),
        end_of_word_suffix: Some("</w>".to_owned()),
        normalizer: json!({ "type": "Sequence", "normalizers": normalizers }),
        pre_tokenizer: sequence(vec![split, byte_level(false, true)]),
        decoder: decoders(vec![byte_level(true, true), ends, trim]),
        ..Stages::default()
    })
}

fn whisper_frame(parts: &Parts<'_>) -> Result<Frame> {
    let mut before = String::from("'<|startoftranscript|>'");
    if let Some(language) = parts.settings.text("language")? {
        let place = languages::whisper(language).ok_or_else(|| {
            let reason = format!("{language:?} is not a language of Whisper");
            Error::format(Defect::Unknown, reason).at("language")
        })?;
        before.extend([" '<|startoftranscript|>'+", &(place + 1).to_string()]);
    }
    match parts.settings.text("task")? {
        None => {}
        Some(task @ ("transcribe" | "translate")) => before.extend([" '<|", task, "|>'"]),
        Some(task) => {
            let reason = format!("{task:?} is neither transcribe nor translate");
            return Err(Error::format(Defect::Type, reason).at("task"));
        }
    }
    if !parts.flag("predict_timestamps", false)? {
        before += " '<|notimestamps|>'";
    }
    Ok(Frame::Template(format!("{before} A eos"), format!("{before} A B:1 eos:1")))
}
