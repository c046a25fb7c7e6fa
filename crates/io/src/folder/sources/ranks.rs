//! Rank files: those of tiktoken, and tekken.json.
use serde_json::json;
use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{Split, TokenList};
use tokenmill_core::error::{Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::sorting;

use super::super::settings::Settings;
use super::file::{model, of_model};
use super::halves::Halves;
use crate::report::Report;
use crate::tokenizer_json::{AddedTokenEntry, File, Kind, MergeEntries, Model, VocabEntries};
use crate::{tekken, tiktoken};

/// The default split of a rank file: that of cl100k.
const SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Maximum number of reserved tokens between the ranks and an id that the folder names.
const RESERVED_LIMIT: u64 = 1 << 20;

/// Reads a rank file of tiktoken. If the folder names ids after the ranks, reserved tokens fill the gap.
pub(super) fn tiktoken(bytes: &[u8], settings: &Settings, report: &mut Report) -> Result<File<'static>> {
    let by_id = &settings.tokens.by_id;
    let named: Vec<TokenId> = by_id.keys().filter_map(|&id| TokenId::try_from(id).ok()).collect();
    let description = tiktoken::parse(bytes, &Split::Whole, &named, report)?;
    let tokens = description.model.tokens();
    let first = tokens.len() as u64;
    let last = by_id.keys().next_back().copied().filter(|&last| last >= first);
    let mut names: Vec<String> = Vec::new();
    if let Some(last) = last {
        if last - first > RESERVED_LIMIT {
            let reason = format!("{last} is more than {RESERVED_LIMIT} after the {first} ranks");
            let error = Error::limit(reason, RESERVED_LIMIT);
            return Err(error.at("added_tokens_decoder"));
        }
        names.extend((first..=last).map(|id| {
            by_id.get(&id).map_or_else(|| format!("<|reserved_token_{id}|>"), |token| token.content.clone())
        }));
    }
    for token in &settings.tokens.extra {
        if !names.contains(&token.content) {
            names.push(token.content.clone());
        }
    }
    let mut file = of_ranks(tokens, &[], SPLIT)?;
    file.added_tokens = names.into_iter().map(special).collect();
    Ok(file)
}

/// Reads a tekken.json as transformers does, without Mistral's own library.
pub(super) fn tekken(bytes: &[u8], report: &mut Report) -> Result<File<'static>> {
    let description = tekken::parse(bytes, report)?;
    let Some(Split::Pattern(split)) = description.split() else {
        return Err(Error::internal("a tekken.json without a pattern"));
    };
    let named: Vec<(TokenId, &str)> =
        description.added_tokens.iter().map(|token| (token.id, token.content.as_str())).collect();
    let mut file = of_ranks(description.model.tokens(), &named, &split)?;
    file.added_tokens = named.iter().map(|(_, name)| special((*name).to_owned())).collect();
    Ok(file)
}

fn special(content: String) -> AddedTokenEntry {
    AddedTokenEntry {
        id: None,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
    }
}

/// Merges are ranked by their results; for the same result, the merge with the lower first half first.
fn of_ranks(tokens: &TokenList, named: &[(TokenId, &str)], split: &str) -> Result<File<'static>> {
    let mut halves = Halves::of(tokens.iter());
    let mut vocab = Vec::with_capacity(tokens.len() + named.len());
    let mut merges = MergeEntries::default();
    // The tokens are in the order of their ids, which are the ranks.
    for (id, token) in tokens.iter() {
        vocab.push((byte_alphabet::write(token).into(), id));
        let mut cuts = halves.cut(token)?;
        sorting::sort_by_key(&mut cuts, |cut| cut.id);
        for cut in cuts {
            cut.put_merge(&mut merges, byte_alphabet::write);
        }
    }
    vocab.extend(named.iter().map(|(id, name)| ((*name).to_owned().into(), *id)));
    let bytes = |use_regex: bool, trim_offsets: bool, add_prefix_space: bool| {
        json!({
            "type": "ByteLevel",
            "add_prefix_space": add_prefix_space,
            "trim_offsets": trim_offsets,
            "use_regex": use_regex,
        })
    };
    let cut =
        json!({ "type": "Split", "pattern": { "Regex": split }, "behavior": "Isolated", "invert": false });
    let model = Model {
        merges: Some(merges),
        fuse_unk: Some(false),
        ignore_merges: Some(true),
        ..model(Kind::Bpe, VocabEntries::Object(vocab))
    };
    Ok(File {
        pre_tokenizer: Some(json!({ "type": "Sequence", "pretokenizers": [cut, bytes(false, true, false)] })),
        post_processor: Some(bytes(true, false, true)),
        decoder: Some(bytes(true, true, true)),
        ..of_model(model)
    })
}
