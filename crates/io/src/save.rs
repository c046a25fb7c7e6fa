//! From a compiled tokenizer to files: atomic, and the same bytes every time.
use std::path::Path;

use tokenmill_core::description::{Normalizer, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};

use crate::{atomic, folder, manifest, sentencepiece, tiktoken, tokenizer_json, vocab_merges};

/// A format to save in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `tokenizer.json`, which holds everything that part of the house can express.
    TokenizerJson,
    /// Ranks alone.
    Tiktoken,
    /// `vocab.json` and `merges.txt`.
    VocabMerges,
    /// A SentencePiece model.
    SentencePiece,
}

impl Format {
    /// By its name, as `save(format=)` has it.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "tokenizer.json" => Some(Self::TokenizerJson),
            "tiktoken" => Some(Self::Tiktoken),
            "vocab+merges" => Some(Self::VocabMerges),
            "sentencepiece" => Some(Self::SentencePiece),
            _ => None,
        }
    }

    fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?;
        if name == "vocab.json" || name == "merges.txt" {
            return Some(Self::VocabMerges);
        }
        match path.extension()?.to_str()? {
            "json" => Some(Self::TokenizerJson),
            "tiktoken" => Some(Self::Tiktoken),
            "model" => Some(Self::SentencePiece),
            _ => None,
        }
    }

    /// What a folder is given: a tokenizer.json, but for what only a SentencePiece model says.
    fn of_folder(engine: &Engine) -> Self {
        let is_sentencepiece = |step: &Normalizer| matches!(step, Normalizer::SentencePiece(_));
        if engine.description().normalizer.iter().any(is_sentencepiece) {
            Self::SentencePiece
        } else {
            Self::TokenizerJson
        }
    }

    /// Is it one that holds ids alone, neither the split nor the special tokens?
    fn is_bare(self) -> bool {
        matches!(self, Self::Tiktoken | Self::VocabMerges)
    }
}

/// How to save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SaveOptions {
    /// The format; by default the path decides.
    pub format: Option<Format>,
    /// Save although the format cannot hold all of it.
    pub lossy: bool,
}

/// Saves a tokenizer. A path that is a folder, or that names no file format, becomes a folder
/// with a `tokenizer.json` (a `tokenizer.model` for a tokenizer that is a SentencePiece model) and a
/// manifest; else the name decides the format.
///
/// # Errors
/// A format error naming what the format cannot hold, unless `lossy`; the operating system's.
pub fn save(engine: &Engine, path: &Path, options: SaveOptions) -> Result<()> {
    if path.as_os_str().is_empty() {
        return Err(Error::from(std::io::Error::from(std::io::ErrorKind::NotFound)).in_file(path));
    }
    // A folder by what is there, or by a slash at the end of its name.
    let is_known_folder =
        path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
    let by_path = if is_known_folder { None } else { Format::of_path(path) };
    let is_folder = is_known_folder
        || (by_path.is_none()
            && !matches!(options.format, Some(Format::Tiktoken | Format::SentencePiece))
            && path.extension().is_none());
    let of_folder = || is_folder.then(|| Format::of_folder(engine));
    let Some(format) = options.format.or(by_path).or_else(of_folder) else {
        let reason = "no format goes by this name; use a folder (with a slash at its end), a name that ends in .json, .model or .tiktoken, or format=";
        return Err(Error::format(Defect::Unknown, reason).in_file(path));
    };
    write(engine, path, is_folder, format, options.lossy).map_err(|error| error.in_file(path))
}

fn write(engine: &Engine, path: &Path, is_folder: bool, format: Format, lossy: bool) -> Result<()> {
    if format.is_bare() && !lossy {
        refuse_loss(engine, format)?;
    }
    // Everything is made before anything is written.
    let files = match format {
        Format::TokenizerJson => {
            let mut files = vec![("tokenizer.json", tokenizer_json::write(engine)?)];
            let config = match folder::write(engine.description()) {
                Err(_) if lossy => None,
                config => config?,
            };
            match config {
                Some(config) if is_folder => files.push((folder::CONFIG_NAME, config)),
                Some(_) if !lossy => return Err(refuse_roles(engine)),
                _ => {}
            }
            files
        }
        Format::Tiktoken => vec![("tokenizer.tiktoken", tiktoken::write(engine)?)],
        Format::SentencePiece => vec![("tokenizer.model", sentencepiece::write(engine.description())?)],
        Format::VocabMerges => {
            let (vocab, merges) = vocab_merges::write(engine)?;
            vec![("vocab.json", vocab), ("merges.txt", merges)]
        }
    };
    // A manifest beside a single file that lists it must go on fitting.
    let beside = path.parent().map(manifest::listed).transpose()?.flatten().unwrap_or_default();
    let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let is_listed = !is_folder && file_name.is_some_and(|name| beside.contains(&name));
    let names: Vec<(String, &[u8])> = files
        .iter()
        .map(|(name, bytes)| {
            let single = !is_folder && format != Format::VocabMerges;
            let own = path.file_name().filter(|_| single).map(|name| name.to_string_lossy().into_owned());
            (own.unwrap_or_else(|| (*name).to_owned()), bytes.as_slice())
        })
        .collect();
    let manifest =
        if is_folder || is_listed { Some((manifest::NAME, manifest::write(&names, engine)?)) } else { None };
    if is_folder {
        std::fs::create_dir_all(path)?;
    }
    let place = |name: &str| match (is_folder, format) {
        (true, _) => path.join(name),
        (false, _) if name == manifest::NAME => path.with_file_name(name),
        (false, Format::VocabMerges) => path.with_file_name(name),
        (false, _) => path.to_owned(),
    };
    let files: Vec<_> = files.into_iter().chain(manifest).map(|(name, bytes)| (place(name), bytes)).collect();
    atomic::write(&files)
}

/// What to do where a format cannot hold all of a tokenizer.
pub(crate) const LOSSY: &str = "pass lossy=True to save without it";

/// A tokenizer.json alone does not say which tokens play which part.
fn refuse_roles(engine: &Engine) -> Error {
    let roles = engine.description().roles.named().into_iter();
    let names: Vec<&str> = roles.filter_map(|(name, id)| id.map(|_| name)).collect();
    let (field, what) = if names.is_empty() {
        ("defaults", "what holds for calls that do not say otherwise".to_owned())
    } else {
        ("roles", format!("which tokens are {}", names.join(", ")))
    };
    let reason = format!("a tokenizer.json alone cannot hold {what}; save to a folder, or {LOSSY}");
    Error::format(Defect::CannotHold, reason).at(field)
}

/// Formats of ids alone hold neither the split nor the special tokens.
fn refuse_loss(engine: &Engine, format: Format) -> Result<()> {
    let name = if format == Format::Tiktoken { "a .tiktoken file" } else { "vocab.json with merges.txt" };
    let description = engine.description();
    let mut lost = Vec::new();
    if !description.normalizer.is_empty() {
        let hook = description.normalizer_hooks().next();
        let what = hook.map_or("the normalizer".to_owned(), |(_, hook)| format!("the normalizer ({hook})"));
        lost.push(("normalizer", what));
    }
    if Split::of_stages(&description.pre_tokenizer) != Some(Split::Whole) {
        let hook = description.splitter_hooks().next();
        let what = hook.map_or("the split".to_owned(), |(_, hook)| format!("the split ({hook})"));
        lost.push(("split", what));
    }
    if !description.added_tokens.is_empty() {
        let names: Vec<&str> =
            description.added_tokens.iter().take(4).map(|token| token.content.as_str()).collect();
        let more = if description.added_tokens.len() > 4 { ", ..." } else { "" };
        lost.push(("added_tokens", format!("the special tokens ({}{more})", names.join(", "))));
    }
    if lost.is_empty() {
        lost.push(("split", "that there is no split".to_owned()));
    }
    let what: Vec<&str> = lost.iter().map(|(_, what)| what.as_str()).collect();
    let reason = format!(
        "{name} cannot hold {}; save as tokenizer.json, or pass lossy=True and give them to load() again",
        what.join(" and ")
    );
    Err(Error::format(Defect::CannotHold, reason).at(lost[0].0))
}
