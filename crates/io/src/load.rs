//! From a path to a compiled tokenizer; formats are told apart by content.
use std::path::Path;

use tokenmill_core::compile::compile;
use tokenmill_core::description::{Description, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::known;

use crate::{contents, known_files, manifest, tiktoken, tokenizer_json, vocab_merges};

/// What the caller knows and the file does not say.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The split, for formats that hold none.
    pub split: Option<Split>,
    /// Special tokens with the ids they have, or none for those in the file (or the next free).
    pub special_tokens: Vec<(String, Option<TokenId>)>,
}

/// Loads a tokenizer: a tokenizer.json, a `.tiktoken` file, a vocab.json (or merges.txt) with
/// the other beside it, or a folder that holds one of these.
///
/// # Errors
/// A format error naming file and field; the operating system's for what cannot be read; a
/// manifest error for a folder whose manifest does not fit.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Engine> {
    let path = if path.is_dir() { &file_in(path)? } else { path };
    let engine = contents::read(path)
        .and_then(|bytes| {
            if let (Some(folder), Some(name)) =
                (path.parent(), path.file_name().and_then(|name| name.to_str()))
            {
                manifest::check(folder, name, &bytes)?;
            }
            compile(parse(path, &bytes, options)?)
        })
        .map_err(|error| error.in_file(path))?;
    if options.special_tokens.is_empty() {
        return Ok(engine);
    }
    compile(engine.with_special_tokens(&options.special_tokens)?).map_err(|error| error.in_file(path))
}

fn file_in(folder: &Path) -> Result<std::path::PathBuf> {
    // What was saved there last comes first, whatever else the folder holds.
    let listed = manifest::listed(folder)?.unwrap_or_default();
    for name in listed.iter().map(String::as_str).chain(["tokenizer.json", "vocab.json"]) {
        // Names come from a file: only those that stay in the folder.
        let is_plain = Path::new(name).file_name() == Some(name.as_ref());
        if is_plain && name != "merges.txt" && folder.join(name).is_file() {
            return Ok(folder.join(name));
        }
    }
    let mut ranks = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| Error::from(error).in_file(folder))? {
        let path = entry.map_err(|error| Error::from(error).in_file(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "tiktoken") {
            ranks.push(path);
        }
    }
    match ranks.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let reason = "the folder holds no tokenizer.json, vocab.json or .tiktoken file";
            Err(Error::format(Defect::Missing, reason).in_file(folder))
        }
        several => {
            let reason = format!("the folder holds {} .tiktoken files; name one of them", several.len());
            Err(Error::format(Defect::Unknown, reason).in_file(folder))
        }
    }
}

fn parse(path: &Path, bytes: &[u8], options: &LoadOptions) -> Result<Description> {
    let text = contents::text(bytes)?;
    if text.trim_start().starts_with('{') && !vocab_merges::is_like_vocab(text) {
        let description = tokenizer_json::parse(bytes)?;
        if options.split.as_ref().is_some_and(|split| *split != description.split) {
            let reason = "the file holds a split of its own; leave split= out";
            return Err(Error::format(Defect::Inconsistent, reason).at("pre_tokenizer"));
        }
        return Ok(description);
    }
    if vocab_merges::is_like_vocab(text) {
        let other = path.with_file_name("merges.txt");
        return parse_pair(bytes, &read_beside(path, &other)?, &other, options);
    }
    if tiktoken::is_like(text) {
        let known = known_files::find(bytes);
        let split = split_of(known, options, "a .tiktoken file")?;
        let mut description = tiktoken::parse(bytes, split)?;
        add_known(&mut description, known);
        return Ok(description);
    }
    let named_merges = path.file_name().is_some_and(|name| name == "merges.txt");
    if named_merges || text.starts_with("#version") {
        let other = path.with_file_name("vocab.json");
        let vocab = read_beside(path, &other)?;
        return parse_pair(&vocab, bytes, path, options).map_err(|error| error.in_file(&other));
    }
    Err(Error::format(
        Defect::WrongKind,
        "this is none of the formats that tokenmill reads: tokenizer.json, .tiktoken (base64 and rank on each line), \
         vocab.json with merges.txt",
    ))
}

/// The other file of a pair, checked like the first.
fn read_beside(path: &Path, other: &Path) -> Result<Vec<u8>> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !other.is_file() {
        let reason = format!("{} needs {} beside it, which is not there", name(path), name(other));
        return Err(Error::format(Defect::Missing, reason));
    }
    let bytes = contents::read(other)?;
    if let Some(folder) = other.parent() {
        manifest::check(folder, &name(other), &bytes)?;
    }
    Ok(bytes)
}

fn parse_pair(vocab: &[u8], merges: &[u8], merges_path: &Path, options: &LoadOptions) -> Result<Description> {
    let known = known_files::find(vocab);
    let split = split_of(known, options, "vocab.json with merges.txt")?;
    let special: Vec<&str> = options.special_tokens.iter().map(|(content, _)| content.as_str()).collect();
    let in_merges = |error: Error| error.in_file(merges_path);
    let mut description = vocab_merges::parse(vocab, merges, split, &special, in_merges)?;
    add_known(&mut description, known);
    Ok(description)
}

fn split_of(known: Option<&known_files::Known>, options: &LoadOptions, format: &str) -> Result<Split> {
    if let Some(split) = &options.split {
        return Ok(split.clone());
    }
    known.map(|known| known::split_from(known.split)).ok_or_else(|| {
        let names = known::NAMES.join(", ");
        let reason = format!(
            "{format} does not say how text is split, and this one is not a published file whose split is known; pass \
             split= ({names}, or a regular expression)"
        );
        Error::format(Defect::Unknown, reason).at("split")
    })
}

/// Special tokens of a published file. What the caller brings is added to them: a literal that is
/// among them keeps its id.
fn add_known(description: &mut Description, known: Option<&known_files::Known>) {
    let Some(known) = known else { return };
    for &(content, id) in known.special_tokens {
        if description.added_tokens.iter().any(|token| token.content == content) {
            continue;
        }
        // GPT-2's vocab.json lists its special token among the others.
        if let Some(index) = description.model.tokens.index_of(id) {
            if description.model.tokens.bytes(index) != content.as_bytes() {
                continue;
            }
            description.model.tokens = description.model.tokens.without(|other| other == id).into();
        }
        let token =
            tokenmill_core::description::AddedToken { id, content: content.to_owned(), is_special: true };
        description.added_tokens.push(token);
    }
}
