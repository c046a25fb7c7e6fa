//! From a path to a compiled tokenizer; formats are told apart by content.
use std::path::Path;

use tokenmill_core::compile::compile;
use tokenmill_core::description::{AddedToken, Description, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::known;

use crate::detect::{self, Kind};
use crate::report::Report;
use crate::{
    contents, folder, gguf, known_files, manifest, sentencepiece, tekken, tiktoken, tokenizer_json,
    vocab_merges, vocab_txt,
};

/// What the caller knows and the file does not say.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The split, for formats that hold none.
    pub split: Option<Split>,
    /// Special tokens with the ids they have, or none for those in the file (or the next free).
    pub special_tokens: Vec<(String, Option<TokenId>)>,
    /// Refuse what is else tolerated and reported.
    pub strict: bool,
}

/// Loads a tokenizer: a tokenizer.json, a tekken.json, a SentencePiece model, a GGUF file, a
/// `.tiktoken` file, a vocab.json (or merges.txt) with the other beside it, a vocab.txt, or a folder
/// that holds one of these.
///
/// # Errors
/// A format error naming file and field; the operating system's for what cannot be read; a
/// manifest error for a folder whose manifest does not fit.
pub fn load(path: &Path, options: &LoadOptions) -> Result<(Engine, Report)> {
    let mut report = Report::new(options.strict);
    let report = &mut report;
    if path.is_dir()
        && let Some(description) = folder::load(path, report)?
    {
        if options.split.is_some() && options.split != description.split() {
            let reason = "the folder holds a split of its own; leave split= out";
            return Err(Error::format(Defect::Inconsistent, reason).at("pre_tokenizer").in_file(path));
        }
        let engine = compile(description).map_err(|error| error.in_file(path))?;
        return finish(engine, path, options, report);
    }
    let path = if path.is_dir() { &file_in(path)? } else { path };
    let engine = if gguf::is_file(path) {
        report.reads(&name_of(path));
        gguf::load(path, options.split.as_ref()).and_then(compile)
    } else {
        contents::read(path).and_then(|bytes| {
            if let (Some(folder), Some(name)) =
                (path.parent(), path.file_name().and_then(|name| name.to_str()))
            {
                manifest::check(folder, name, &bytes)?;
            }
            compile(parse(path, &bytes, options, report)?)
        })
    };
    let engine = engine.map_err(|error| error.in_file(path))?;
    finish(engine, path, options, report)
}

/// Adds what the caller brings.
fn finish(
    engine: Engine,
    path: &Path,
    options: &LoadOptions,
    report: &mut Report,
) -> Result<(Engine, Report)> {
    let report = std::mem::take(report);
    if options.special_tokens.is_empty() {
        return Ok((engine, report));
    }
    let engine = engine.with_special_tokens(&options.special_tokens).and_then(compile);
    Ok((engine.map_err(|error| error.in_file(path))?, report))
}

/// What is looked for in a folder, the fullest first.
const IN_FOLDERS: [&str; 5] = ["tokenizer.json", "tekken.json", "tokenizer.model", "vocab.json", "vocab.txt"];

/// What is taken by its ending, if it is alone.
const ENDINGS: [&str; 3] = ["tiktoken", "model", "gguf"];

fn file_in(folder: &Path) -> Result<std::path::PathBuf> {
    // What was saved there last comes first, whatever else the folder holds.
    let listed = manifest::listed(folder)?.unwrap_or_default();
    for name in listed.iter().map(String::as_str).chain(IN_FOLDERS) {
        // Names come from a file: only those that stay in the folder.
        let is_plain = Path::new(name).file_name() == Some(name.as_ref());
        if is_plain && name != "merges.txt" && folder.join(name).is_file() {
            return Ok(folder.join(name));
        }
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| Error::from(error).in_file(folder))? {
        let path = entry.map_err(|error| Error::from(error).in_file(folder))?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            found.push(path);
        }
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let reason =
                format!("the folder holds no {}, .{} file", IN_FOLDERS.join(", "), ENDINGS.join(", ."));
            Err(Error::format(Defect::Missing, reason).in_file(folder))
        }
        several => {
            let reason = format!(
                "the folder holds {} .{} files; name one of them",
                several.len(),
                ENDINGS.join(", .")
            );
            Err(Error::format(Defect::Unknown, reason).in_file(folder))
        }
    }
}

fn parse(path: &Path, bytes: &[u8], options: &LoadOptions, report: &mut Report) -> Result<Description> {
    report.reads(&name_of(path));
    match detect::kind(path, bytes)? {
        Kind::TokenizerJson => with_own_split(tokenizer_json::parse(bytes, report)?, options),
        Kind::Tekken => with_own_split(tekken::parse(bytes, report)?, options),
        Kind::SentencePiece => with_own_split(sentencepiece::parse(bytes)?, options),
        Kind::VocabTxt => with_own_split(vocab_txt::parse(bytes, report)?, options),
        Kind::Tiktoken => {
            let known = known_files::find(bytes);
            let split = split_of(known, options, "a .tiktoken file")?;
            let mut description = tiktoken::parse(bytes, &split)?;
            add_known(&mut description, known);
            Ok(description)
        }
        Kind::Vocab => {
            let other = path.with_file_name("merges.txt");
            parse_pair(bytes, &read_beside(path, &other)?, &other, options)
        }
        Kind::Merges => {
            let other = path.with_file_name("vocab.json");
            let vocab = read_beside(path, &other)?;
            parse_pair(&vocab, bytes, path, options).map_err(|error| error.in_file(&other))
        }
    }
}

fn with_own_split(description: Description, options: &LoadOptions) -> Result<Description> {
    if options.split.is_some() && options.split != description.split() {
        let reason = "the file holds a split of its own; leave split= out";
        return Err(Error::format(Defect::Inconsistent, reason).at("pre_tokenizer"));
    }
    Ok(description)
}

/// The last part of a path.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The other file of a pair, checked like the first.
fn read_beside(path: &Path, other: &Path) -> Result<Vec<u8>> {
    if !other.is_file() {
        let reason = format!("{} needs {} beside it, which is not there", name_of(path), name_of(other));
        return Err(Error::format(Defect::Missing, reason));
    }
    let bytes = contents::read(other)?;
    if let Some(folder) = other.parent() {
        manifest::check(folder, &name_of(other), &bytes)?;
    }
    Ok(bytes)
}

fn parse_pair(vocab: &[u8], merges: &[u8], merges_path: &Path, options: &LoadOptions) -> Result<Description> {
    let known = known_files::find(vocab);
    let split = split_of(known, options, "vocab.json with merges.txt")?;
    let special: Vec<&str> = options.special_tokens.iter().map(|(content, _)| content.as_str()).collect();
    let in_merges = |error: Error| error.in_file(merges_path);
    let mut description = vocab_merges::parse(vocab, merges, &split, &special, in_merges)?;
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
    for (content, id) in known.special_tokens() {
        if description.added_tokens.iter().any(|token| token.content == content) {
            continue;
        }
        // GPT-2's vocab.json lists its special token among the others.
        let tokens = description.model.tokens();
        if let Some(index) = tokens.index_of(id) {
            if tokens.bytes(index) != content.as_bytes() {
                continue;
            }
            let without = tokens.without(|other| other == id);
            *description.model.tokens_mut() = without.into();
        }
        description.added_tokens.push(AddedToken::special(id, content));
    }
    description.added_tokens.sort_by_key(|token| token.id);
}
