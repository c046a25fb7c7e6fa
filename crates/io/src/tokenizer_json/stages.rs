//! The stages and settings of a tokenizer as JSON for people and for comparisons: what a tokenizer.json says of them,
//! and the same for what that format cannot hold. Tokens, merges and scores are not listed.
use serde_json::{Map, Value, json};
use tokenmill_core::description::{
    Alphabet, Decoder, Decoding, Merges, ModelDescription, Normalizer, PostProcessor, PreTokenizer, Side,
};
use tokenmill_core::engine::Engine;

use super::{decoders, limits, normalizers, post_processors, pre_tokenizers};
use crate::known_files::sha256;

/// One JSON object: `added_tokens`, a list of objects; `normalizer`, `pre_tokenizer`, `post_processor` and `decoder`,
/// lists of steps, without those that change nothing; `model`, an object with what is beside the tokens; then the
/// settings `truncation`, `padding`, `roles` and `defaults`. Two tokenizers with equal canonical descriptions have
/// equal objects.
pub fn stages(engine: &Engine) -> String {
    let description = engine.canonical().without_idle_parts();
    let added: Vec<Value> = description
        .added_tokens
        .iter()
        .map(|token| {
            json!({
                "id": token.id,
                "content": token.content,
                "special": token.is_special,
                "single_word": token.single_word,
                "lstrip": token.lstrip,
                "rstrip": token.rstrip,
                "normalized": token.normalized,
            })
        })
        .collect();
    let roles: Map<String, Value> =
        description.roles.named().into_iter().map(|(name, id)| (name.to_owned(), json!(id))).collect();
    let side = |side: Side| if side == Side::Left { "left" } else { "right" };
    let defaults = json!({
        "special_as_text": description.defaults.special_as_text,
        "limits": description.defaults.limits.map(|limits| json!({
            "padding_side": side(limits.padding_side),
            "truncation_side": side(limits.truncation_side),
            "max_length": limits.max_length,
        })),
    });
    json!({
        "added_tokens": added,
        "normalizer": description.normalizer.iter().map(normalizer).collect::<Vec<_>>(),
        "pre_tokenizer": description.pre_tokenizer.iter().map(pre_tokenizer).collect::<Vec<_>>(),
        "model": model(&description.model),
        "post_processor": description.post_processor.iter().map(post_processor).collect::<Vec<_>>(),
        "decoder": decoding(&description.decoding, description.defaults.clean_up_spaces),
        "truncation": limits::write_truncation(description.truncation.as_ref()),
        "padding": limits::write_padding(description.padding.as_ref()),
        "roles": roles,
        "defaults": defaults,
    })
    .to_string()
}

/// What a format cannot write, by its own name.
fn other(step: &dyn std::fmt::Debug) -> Value {
    json!({ "type": format!("{step:?}") })
}

fn normalizer(step: &Normalizer) -> Value {
    match step {
        Normalizer::Precompiled(map) => json!({ "type": "Precompiled", "sha256": sha256(map) }),
        Normalizer::SentencePiece(rules) => json!({
            "type": "SentencePiece",
            "charsmap_sha256": (!rules.charsmap.is_empty()).then(|| sha256(&rules.charsmap)),
            "user_defined": rules.user_defined,
            "add_dummy_prefix": rules.add_dummy_prefix,
            "remove_extra_whitespaces": rules.remove_extra_whitespaces,
            "escape_whitespaces": rules.escape_whitespaces,
            "treat_whitespace_as_suffix": rules.treat_whitespace_as_suffix,
        }),
        step => normalizers::write(std::slice::from_ref(step)).unwrap_or_else(|_| other(step)),
    }
}

fn pre_tokenizer(step: &PreTokenizer) -> Value {
    match step {
        PreTokenizer::ByteAlphabet => json!({ "type": "ByteAlphabet" }),
        step => pre_tokenizers::write(std::slice::from_ref(step)).unwrap_or_else(|_| other(step)),
    }
}

fn post_processor(step: &PostProcessor) -> Value {
    post_processors::write(std::slice::from_ref(step))
}

fn decoding(decoding: &Decoding, cleans_up: bool) -> Value {
    let mut steps = match decoding {
        Decoding::Bytes => vec![json!({ "type": "Bytes" })],
        Decoding::Spaced => vec![json!({ "type": "Spaced" })],
        Decoding::Steps(steps) => steps.iter().map(decoder).collect(),
    };
    if cleans_up {
        steps.push(json!({ "type": "CleanUpSpaces" }));
    }
    json!(steps)
}

fn decoder(step: &Decoder) -> Value {
    match step {
        Decoder::SentencePiece {
            unk_surface,
            add_dummy_prefix,
            remove_extra_whitespaces,
            treat_whitespace_as_suffix,
        } => json!({
            "type": "SentencePiece",
            "unk_surface": unk_surface,
            "add_dummy_prefix": add_dummy_prefix,
            "remove_extra_whitespaces": remove_extra_whitespaces,
            "treat_whitespace_as_suffix": treat_whitespace_as_suffix,
        }),
        Decoder::Denormalize { map } => json!({ "type": "Denormalize", "sha256": sha256(map) }),
        step => decoders::write(&Decoding::Steps(vec![step.clone()])).unwrap_or_else(|_| other(step)),
    }
}

/// What of a model is beside its tokens; of lists as long as the vocabulary the hash.
fn model(model: &ModelDescription) -> Value {
    let single =
        |scores: &[f32]| sha256(&scores.iter().flat_map(|score| score.to_le_bytes()).collect::<Vec<u8>>());
    let double =
        |scores: &[f64]| sha256(&scores.iter().flat_map(|score| score.to_le_bytes()).collect::<Vec<u8>>());
    match model {
        ModelDescription::Bpe(bpe) => {
            let alphabet = match &bpe.alphabet {
                Alphabet::Bytes => json!("bytes"),
                Alphabet::Chars { end_of_word: None } => json!("characters"),
                Alphabet::Chars { end_of_word: Some(mark) } => {
                    json!({ "end_of_word": mark.symbol, "form": format!("{:?}", mark.form) })
                }
            };
            let merges = match &bpe.merges {
                Merges::Listed(_) => json!("listed"),
                Merges::ById => json!("by id"),
                Merges::ByScore { scores, kinds } => {
                    json!({ "scores_sha256": single(scores), "kinds_sha256": sha256(format!("{kinds:?}").as_bytes()) })
                }
            };
            json!({
                "type": "BPE",
                "alphabet": alphabet,
                "merges": merges,
                "whole_pretokens": bpe.whole_pretokens,
                "unk": bpe.unk,
                "fuse_unk": bpe.fuse_unk,
                "byte_fallback": bpe.byte_fallback,
                "continuing_prefix": bpe.continuing_prefix,
                "dropout": bpe.dropout,
            })
        }
        ModelDescription::WordPiece(model) => json!({
            "type": "WordPiece",
            "unk": model.unk,
            "continuing_prefix": model.continuing_prefix,
            "max_chars": model.max_chars,
        }),
        ModelDescription::WordLevel(model) => json!({ "type": "WordLevel", "unk": model.unk }),
        ModelDescription::Unigram(model) => json!({
            "type": "Unigram",
            "unk": model.unk,
            "unk_score": model.unk_score,
            "byte_fallback": model.byte_fallback,
            "single_precision": model.single_precision,
            "scores_sha256": double(&model.scores),
            "kinds_sha256": sha256(format!("{:?}", model.kinds).as_bytes()),
        }),
    }
}
