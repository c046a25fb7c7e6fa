//! Classes of byte-pair encoding that mark spaces.
use std::collections::HashSet;

use serde_json::{Value, json};
use tokenmill_core::description::Side;
use tokenmill_core::error::Result;

use super::super::tokens::Token;
use super::languages;
use super::pieces::{FAIRSEQ, Roles, language, metaspace, named, normalizers, precompiled, replace};
use super::recipe::{Again, Frame, PLAIN, Parts, Recipe, Stages, literals, template};
use crate::tokenizer_json::Kind;

const LLAMA: Roles = &[("unk_token", "<unk>"), ("bos_token", "<s>"), ("eos_token", "</s>")];

const BPE: Recipe = Recipe { model: Some(Kind::Bpe), has_code: true, ..PLAIN };

pub(super) const RECIPES: &[Recipe] = &[
    Recipe { name: "LlamaTokenizer", padding_side: Side::Left, roles: LLAMA, build: Some(llama), ..BPE },
    Recipe {
        name: "CodeLlamaTokenizer",
        padding_side: Side::Left,
        roles: &[
            ("unk_token", "<unk>"),
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
            ("prefix_token", "▁<PRE>"),
            ("middle_token", "▁<MID>"),
            ("suffix_token", "▁<SUF>"),
            ("eot_token", "▁<EOT>"),
            ("fill_token", "<FILL_ME>"),
        ],
        build: Some(|parts| {
            let scheme = if parts.flag("add_prefix_space", true)? { "first" } else { "never" };
            Ok(Stages {
                unk_token: Some(parts.required("unk_token")?),
                fuse_unk: true,
                byte_fallback: true,
                pre_tokenizer: metaspace(scheme, false),
                decoder: fallback_decoder(true),
                ..Stages::default()
            })
        }),
        frame: |_| Ok(Frame::BosEos),
        adds_bos: true,
        extra: |parts| {
            let own = literals(&["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>", "<FILL_ME>"]);
            Ok(parts.formerly_extra().iter().cloned().chain(own).collect())
        },
        ..BPE
    },
    Recipe {
        name: "GemmaTokenizer",
        padding_side: Side::Left,
        vocabulary: "",
        roles: &[
            ("unk_token", "<unk>"),
            ("bos_token", "<bos>"),
            ("eos_token", "<eos>"),
            ("pad_token", "<pad>"),
            ("mask_token", "<mask>"),
        ],
        build: Some(|parts| {
            Ok(Stages {
                unk_token: Some(parts.required("unk_token")?),
                fuse_unk: true,
                byte_fallback: true,
                normalizer: json!({ "type": "Replace", "pattern": { "String": " " }, "content": "▁" }),
                pre_tokenizer: json!({
                    "type": "Split",
                    "pattern": { "String": " " },
                    "behavior": "MergedWithPrevious",
                    "invert": false,
                }),
                decoder: fallback_decoder(false),
                ..Stages::default()
            })
        }),
        ..BPE
    },
    Recipe {
        name: "NllbTokenizer",
        vocabulary: "sentencepiece.bpe.model",
        arrange: Some(|settings, pieces| {
            let mut arranged = named(settings, &["bos", "pad", "eos", "unk"]);
            let first: HashSet<String> = arranged.iter().map(|(text, _)| text.clone()).collect();
            arranged.extend(pieces.into_iter().filter(|(text, _)| !first.contains(text)));
            Ok(arranged)
        }),
        roles: FAIRSEQ,
        mask: |content| Token { normalized: Some(true), special: true, ..Token::stripping(content) },
        build: Some(spaced_bpe),
        frame: |parts| {
            let language = language(parts, "eng_Latn")?;
            if parts.flag("legacy_behaviour", false)? {
                template(&format!("A eos {language}"), &format!("A B eos {language}"))
            } else {
                template(&format!("{language} A eos"), &format!("{language} A B eos"))
            }
        },
        extra: |parts| {
            Ok(match &parts.settings.formerly_extra {
                Some(given) => given.clone(),
                None => languages::nllb().map(Token::literal).collect(),
            })
        },
        ..BPE
    },
    Recipe {
        name: "ReformerTokenizer",
        vocabulary: "spiece.model",
        roles: &[("eos_token", "</s>"), ("unk_token", "<unk>")],
        build: Some(spaced_bpe),
        again: Again::WithFlags,
        ..BPE
    },
];

fn fallback_decoder(strips: bool) -> Value {
    let mut steps = vec![
        json!({ "type": "Replace", "pattern": { "String": "▁" }, "content": " " }),
        json!({ "type": "ByteFallback" }),
        json!({ "type": "Fuse" }),
    ];
    if strips {
        steps.push(json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 }));
    }
    json!({ "type": "Sequence", "decoders": steps })
}

/// A mark is prepended at the start of the text only, unless the folder asks for the legacy behaviour.
fn llama(parts: &Parts<'_>) -> Result<Stages> {
    let has_prefix = parts.flag("add_prefix_space", true)?;
    let scheme = match (has_prefix, parts.flag("legacy", false)?) {
        (false, _) => "never",
        (true, true) => "always",
        (true, false) => "first",
    };
    Ok(Stages {
        fuse_unk: true,
        byte_fallback: true,
        pre_tokenizer: metaspace(scheme, false),
        decoder: fallback_decoder(has_prefix),
        ..Stages::default()
    })
}

fn spaced_bpe(parts: &Parts<'_>) -> Result<Stages> {
    Ok(Stages {
        unk_token: Some(parts.required("unk_token")?),
        fuse_unk: true,
        normalizer: precompiled(parts)
            .map_or(Value::Null, |map| normalizers(vec![map, replace(" {2,}", " ")])),
        pre_tokenizer: metaspace("always", true),
        decoder: metaspace("always", true),
        ..Stages::default()
    })
}
