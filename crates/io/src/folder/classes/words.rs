//! Classes of WordPiece, and of byte-pair encoding with end-of-word marks.
use serde_json::{Value, json};
use tokenmill_core::error::Result;

use super::super::tokens::Token;
use super::recipe::{Frame, PLAIN, Parts, Recipe, Stages, template};
use crate::tokenizer_json::Kind;

const BERT: &[(&str, &str)] = &[
    ("unk_token", "[UNK]"),
    ("sep_token", "[SEP]"),
    ("pad_token", "[PAD]"),
    ("cls_token", "[CLS]"),
    ("mask_token", "[MASK]"),
];

fn bert_frame(_: &Parts<'_>) -> Result<Frame> {
    template("cls A sep", "cls A sep B:1 sep:1")
}

const WORD_PIECE: Recipe = Recipe {
    model: Some(Kind::WordPiece),
    vocabulary: "vocab.txt",
    has_code: true,
    build: Some(word_piece),
    frame: bert_frame,
    ..PLAIN
};

pub(super) const RECIPES: &[Recipe] = &[
    Recipe { name: "BertTokenizer", roles: BERT, ..WORD_PIECE },
    // The class has no code of its own.
    Recipe { name: "ConvBertTokenizer", has_code: false, roles: BERT, ..WORD_PIECE },
    Recipe {
        name: "SplinterTokenizer",
        roles: &[
            ("unk_token", "[UNK]"),
            ("sep_token", "[SEP]"),
            ("pad_token", "[PAD]"),
            ("cls_token", "[CLS]"),
            ("mask_token", "[MASK]"),
            ("question_token", "[QUESTION]"),
        ],
        // The token of the question depends on the padding side.
        frame: |parts| {
            let pair = match parts.settings.text("padding_side")? {
                Some("left") => "cls A sep B:1 question '.' sep:1",
                _ => "cls A question '.' sep B:1 sep:1",
            };
            template("cls A sep", pair)
        },
        ..WORD_PIECE
    },
    Recipe {
        name: "MPNetTokenizer",
        roles: &[
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
            ("sep_token", "</s>"),
            ("cls_token", "<s>"),
            ("unk_token", "[UNK]"),
            ("pad_token", "<pad>"),
            ("mask_token", "<mask>"),
        ],
        mask: Token::stripping,
        frame: |_| {
            Ok(Frame::Roberta {
                cls: "cls_token",
                sep: "sep_token",
                trim_offsets: true,
                add_prefix_space: false,
            })
        },
        ..WORD_PIECE
    },
    Recipe {
        name: "FunnelTokenizer",
        roles: &[
            ("unk_token", "<unk>"),
            ("sep_token", "<sep>"),
            ("pad_token", "<pad>"),
            ("cls_token", "<cls>"),
            ("mask_token", "<mask>"),
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
        ],
        build: Some(|parts| {
            let prefix = parts.settings.text("wordpieces_prefix")?.unwrap_or("##");
            let normalizer = bert_normalizer(parts, parts.flag("clean_text", true)?)?;
            let decoder = json!({ "type": "WordPiece", "prefix": prefix, "cleanup": true });
            Ok(Stages { normalizer, decoder, ..word_piece(parts)? })
        }),
        frame: |_| template("cls:2 A sep", "cls:2 A sep B:1 sep:1"),
        ..WORD_PIECE
    },
    Recipe {
        name: "OpenAIGPTTokenizer",
        model: Some(Kind::Bpe),
        vocabulary: "vocab.json",
        has_code: true,
        roles: &[("unk_token", "<unk>")],
        build: Some(|parts| {
            Ok(Stages {
                normalizer: json!({
                    "type": "BertNormalizer",
                    "clean_text": true,
                    "handle_chinese_chars": true,
                    "strip_accents": null,
                    "lowercase": true,
                }),
                ..ends_of_words(parts)?
            })
        }),
        ..PLAIN
    },
    Recipe {
        name: "HerbertTokenizer",
        model: Some(Kind::Bpe),
        vocabulary: "vocab.json",
        has_code: true,
        roles: &[
            ("cls_token", "<s>"),
            ("unk_token", "<unk>"),
            ("pad_token", "<pad>"),
            ("mask_token", "<mask>"),
            ("sep_token", "</s>"),
        ],
        build: Some(|parts| {
            Ok(Stages {
                normalizer: json!({
                    "type": "BertNormalizer",
                    "clean_text": true,
                    "handle_chinese_chars": true,
                    "strip_accents": false,
                    "lowercase": false,
                }),
                ..ends_of_words(parts)?
            })
        }),
        frame: |_| Ok(Frame::Bert { cls: 0, sep: 2 }),
        ..PLAIN
    },
];

fn bert_normalizer(parts: &Parts<'_>, clean_text: bool) -> Result<Value> {
    Ok(json!({
        "type": "BertNormalizer",
        "clean_text": clean_text,
        "handle_chinese_chars": parts.flag("tokenize_chinese_chars", true)?,
        "strip_accents": parts.settings.flag("strip_accents")?,
        "lowercase": parts.flag("do_lower_case", true)?,
    }))
}

fn word_piece(parts: &Parts<'_>) -> Result<Stages> {
    Ok(Stages {
        unk_token: Some(parts.required("unk_token")?),
        continuing_prefix: Some("##".to_owned()),
        normalizer: bert_normalizer(parts, true)?,
        pre_tokenizer: json!({ "type": "BertPreTokenizer" }),
        decoder: json!({ "type": "WordPiece", "prefix": "##", "cleanup": true }),
        ..Stages::default()
    })
}

fn ends_of_words(parts: &Parts<'_>) -> Result<Stages> {
    Ok(Stages {
        unk_token: Some(parts.required("unk_token")?),
        end_of_word_suffix: Some("</w>".to_owned()),
        pre_tokenizer: json!({ "type": "BertPreTokenizer" }),
        decoder: json!({ "type": "BPEDecoder", "suffix": "</w>" }),
        ..Stages::default()
    })
}
