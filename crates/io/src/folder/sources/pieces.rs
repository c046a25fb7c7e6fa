//! SentencePiece models as transformers reads them: pieces and scores, or pieces and the merges
//! that they imply. The rules of SentencePiece itself are ignored.
use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokenmill_core::description::PieceKind;
use tokenmill_core::error::{Defect, Error, Result};

use super::super::classes::Recipe;
use super::super::settings::Settings;
use super::super::tokens::Token;
use super::file::{model, of_model};
use super::halves::Halves;
use crate::report::Report;
use crate::sentencepiece::{Contents, read_contents};
use crate::tokenizer_json::{File, Kind, MergeEntries, Model, VocabEntries};

/// The file, and the tokens of roles.
pub(super) struct Read {
    pub(super) file: File<'static>,
    pub(super) roles: Vec<(&'static str, String)>,
}

/// Reads a model for a class. User-defined pieces become additional special tokens.
pub(super) fn read(
    bytes: &[u8],
    recipe: &Recipe,
    settings: &mut Settings,
    report: &mut Report,
) -> Result<Read> {
    let contents = read_contents(bytes, report)?;
    let kind = match recipe.model {
        None if contents.is_unigram => Kind::Unigram,
        None => Kind::Bpe,
        Some(kind @ (Kind::Bpe | Kind::Unigram)) => kind,
        Some(kind) => {
            let reason = format!("{} makes a {} model, but this file has none", recipe.name, kind.name());
            return Err(Error::format(Defect::Unsupported, reason).at("model_type").at("trainer_spec"));
        }
    };
    if recipe.follows_model && !contents.is_unigram {
        let reason = format!("{} reads pieces with scores, and these are merges", recipe.name);
        return Err(Error::format(Defect::Unsupported, reason).at("model_type").at("trainer_spec"));
    }
    let stands_for_itself = |kind| matches!(kind, PieceKind::Control | PieceKind::UserDefined);
    let tokens = contents.pieces.iter().filter(|(_, _, kind)| stands_for_itself(*kind));
    settings.formerly_extra = Some(
        tokens
            .map(|(text, _, kind)| Token {
                has_flags: true,
                special: *kind == PieceKind::Control,
                normalized: Some(false),
                ..Token::literal(text)
            })
            .collect(),
    );
    let scored: Vec<(String, f64)> =
        contents.pieces.iter().map(|(text, score, _)| (text.clone(), f64::from(*score))).collect();
    let mut entry = if kind == Kind::Bpe {
        let merges = merges(&scored)?;
        let pieces: Vec<String> = match recipe.arrange {
            Some(arrange) => arrange(settings, scored)?.into_iter().map(|(text, _)| text).collect(),
            None => scored.into_iter().map(|(text, _)| text).collect(),
        };
        let vocab = pieces.into_iter().map(Cow::Owned).zip(0..).collect();
        Model { merges: Some(merges), ..model(kind, VocabEntries::Object(vocab)) }
    } else {
        settings.set("unk_id", json!(contents.unk_id));
        let pieces = match recipe.arrange {
            Some(arrange) => arrange(settings, scored)?,
            None => scored,
        };
        model(kind, VocabEntries::List(pieces))
    };
    let precompiled = contents
        .charsmap
        .map(|charsmap| json!({ "type": "Precompiled", "precompiled_charsmap": STANDARD.encode(charsmap) }));
    if recipe.has_code {
        let file = File { normalizer: precompiled, ..of_model(entry) };
        return Ok(Read { file, roles: Vec::new() });
    }
    if kind == Kind::Unigram && !settings.tokens.by_id.is_empty() {
        let reason =
            format!("{} names tokens by id for merges alone, and these are pieces with scores", recipe.name);
        return Err(Error::format(Defect::Unsupported, reason).at("model_type").at("trainer_spec"));
    }
    rename(&mut entry, settings);
    entry.byte_fallback = Some(contents.byte_fallback);
    if kind == Kind::Bpe {
        entry.fuse_unk = Some(true);
        entry.unk_token = Some(contents.unk_piece.clone());
    } else {
        entry.unk_id = usize::try_from(contents.unk_id).ok();
    }
    Ok(Read { roles: roles(&contents), file: around(entry, precompiled, contents.byte_fallback) })
}

/// Merges in the order of the ids of their results; for the same result, the merge with the shorter
/// first half first. Scores are ignored.
fn merges(pieces: &[(String, f64)]) -> Result<MergeEntries> {
    let bytes = || pieces.iter().map(|(text, _)| text.as_bytes());
    let mut halves = Halves::of((0..).zip(bytes()));
    let mut merges = MergeEntries::default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for piece in bytes() {
        let cuts = halves.cut(piece).map_err(|error| error.at("pieces"))?;
        for cut in cuts {
            cut.put_merge(&mut merges, text);
        }
    }
    Ok(merges)
}

/// Replaces pieces by the tokens that the folder names by id.
fn rename(entry: &mut Model<'_>, settings: &Settings) {
    let Some(VocabEntries::Object(vocab)) = &mut entry.vocab else { return };
    let mut texts: HashSet<String> = vocab.iter().map(|(text, _)| text.clone().into_owned()).collect();
    for (&id, token) in &settings.tokens.by_id {
        // The index of a piece is its id.
        let Some((text, _)) = usize::try_from(id).ok().and_then(|id| vocab.get_mut(id)) else { continue };
        if texts.insert(token.content.clone()) {
            texts.remove(&**text);
            *text = Cow::Owned(token.content.clone());
        }
    }
}

fn roles(contents: &Contents<'_>) -> Vec<(&'static str, String)> {
    let named = [
        ("bos_token", contents.bos_id, &contents.bos_piece),
        ("eos_token", contents.eos_id, &contents.eos_piece),
        ("unk_token", contents.unk_id, &contents.unk_piece),
    ];
    named.into_iter().filter(|(_, id, _)| *id >= 0).map(|(role, _, piece)| (role, piece.clone())).collect()
}

/// The stages of a model without a class: no prefix, and no white space removed.
fn around(entry: Model<'static>, precompiled: Option<Value>, byte_fallback: bool) -> File<'static> {
    let mark =
        |from: &str, to: &str| json!({ "type": "Replace", "pattern": { "String": from }, "content": to });
    let normalizers: Vec<Value> = precompiled.into_iter().chain([mark(" ", "▁")]).collect();
    let mut decoders = vec![mark("▁", " ")];
    if byte_fallback {
        decoders.extend([json!({ "type": "ByteFallback" }), json!({ "type": "Fuse" })]);
    }
    File {
        normalizer: Some(json!({ "type": "Sequence", "normalizers": normalizers })),
        decoder: Some(json!({ "type": "Sequence", "decoders": decoders })),
        ..of_model(entry)
    }
}
