//! Saves a tokenizer. In: an engine and a path. Out: files, all or none, with the same bytes every time.
use std::ffi::{OsStr, OsString};
use std::path::Path;

use tokenmill_core::compile::compile;
use tokenmill_core::description::{AddedToken, ChatTemplates, Normalizer, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::watch::Watch;

use crate::files::{self, FolderWriter, SavedFile, Snapshot, Source, Target};
use crate::folder::LOSSY;
use crate::manifest::{self, Annotations, Facts, FileEntry, SETTINGS};
use crate::{
    chat_files, dialects, folder, gguf, image, sentencepiece, tekken, tiktoken, tokenizer_json, vocab_merges,
    vocab_txt,
};

/// The files that a save may write into a folder, besides the manifest. They are always read together.
pub(crate) const SAVED: [&str; 9] =
    [TOKENIZER_JSON, folder::CONFIG_NAME, TIKTOKEN, MODEL, VOCAB, MERGES, VOCAB_TXT, GGUF, TEKKEN];

const TOKENIZER_JSON: &str = "tokenizer.json";
const TIKTOKEN: &str = "tokenizer.tiktoken";
const MODEL: &str = "tokenizer.model";
const VOCAB: &str = "vocab.json";
const MERGES: &str = "merges.txt";
const VOCAB_TXT: &str = "vocab.txt";
const GGUF: &str = "tokenizer.gguf";
const TEKKEN: &str = "tekken.json";
const IMAGE: &str = "tokenizer.tokenmill";

/// A format to save in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `tokenizer.json`, the usual format of a folder.
    TokenizerJson,
    /// Ranks only.
    Tiktoken,
    /// `vocab.json` and `merges.txt`.
    VocabMerges,
    /// A SentencePiece model.
    SentencePiece,
    /// The tokens of WordPiece, one on each line.
    VocabTxt,
    /// The keys of llama.cpp, without tensors.
    Gguf,
    /// Ranks after special tokens, as Mistral has them.
    Tekken,
    /// The compiled tokenizer, for this release and this type of machine.
    Image,
}

impl Format {
    /// The format with this name in `save(format=)`.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "tokenizer.json" => Some(Self::TokenizerJson),
            "tiktoken" => Some(Self::Tiktoken),
            "vocab+merges" => Some(Self::VocabMerges),
            "sentencepiece" => Some(Self::SentencePiece),
            "vocab.txt" => Some(Self::VocabTxt),
            "gguf" => Some(Self::Gguf),
            "tekken" => Some(Self::Tekken),
            "image" => Some(Self::Image),
            _ => None,
        }
    }

    fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?;
        if name == VOCAB || name == MERGES {
            return Some(Self::VocabMerges);
        }
        if name == VOCAB_TXT {
            return Some(Self::VocabTxt);
        }
        if name == TEKKEN {
            return Some(Self::Tekken);
        }
        match path.extension()?.to_str()? {
            "json" => Some(Self::TokenizerJson),
            "tiktoken" => Some(Self::Tiktoken),
            "tokenmill" => Some(Self::Image),
            "model" => Some(Self::SentencePiece),
            "gguf" => Some(Self::Gguf),
            _ => None,
        }
    }

    /// The format of a folder: tokenizer.json, unless only a SentencePiece model can hold the tokenizer.
    fn of_folder(engine: &Engine) -> Self {
        let is_sentencepiece = |step: &Normalizer| matches!(step, Normalizer::SentencePiece(_));
        if engine.description().normalizer.iter().any(is_sentencepiece) {
            Self::SentencePiece
        } else {
            Self::TokenizerJson
        }
    }

    /// Is it one file, whatever its name?
    fn is_one_file(self) -> bool {
        !matches!(self, Self::TokenizerJson | Self::VocabMerges)
    }

    /// Does the format hold ids only, without split and special tokens?
    fn is_bare(self) -> bool {
        matches!(self, Self::Tiktoken | Self::VocabMerges)
    }
}

/// Options of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SaveOptions<'a> {
    /// The format; by default the path decides.
    pub format: Option<Format>,
    /// Saves even if the format cannot hold everything.
    pub lossy: bool,
    /// What the manifest says that has no effect on the tokenizer.
    pub annotations: Option<&'a Annotations>,
    /// Was the caller given annotations for this save? Then there must be a manifest.
    pub needs_manifest: bool,
    /// The name that the split was asked for by.
    pub split_name: Option<&'static str>,
}

/// A save: the engine, what its manifest says, and who watches.
struct Saving<'a> {
    engine: &'a Engine,
    options: SaveOptions<'a>,
    watch: &'a dyn Watch,
}

impl Saving<'_> {
    fn facts(&self) -> Result<Facts> {
        let nothing = Annotations::default();
        let annotations = self.options.annotations.unwrap_or(&nothing);
        Facts::of(self.engine, annotations, self.options.split_name, self.watch)
    }

    /// Refuses annotations for a save that writes no manifest.
    fn refuse_manifest(&self) -> Result<()> {
        if !self.options.needs_manifest {
            return Ok(());
        }
        let reason = "a single file has no manifest beside it; save to a folder, or leave manifest= out";
        Err(Error::format(Defect::CannotHold, reason).at("manifest"))
    }
}

/// Saves a tokenizer. A folder, or a path without an ending (one with a digit, as in `qwen2.5`, is part of the name),
/// becomes a folder with a `tokenizer.json` (`tokenizer.model` for a SentencePiece tokenizer) and a manifest; otherwise
/// the name decides the format.
///
/// # Errors
/// A format error that names what the format cannot hold, unless `lossy`; errors of the operating system.
pub fn save(engine: &Engine, path: &Path, options: SaveOptions<'_>, watch: &dyn Watch) -> Result<()> {
    if path.as_os_str().is_empty() {
        return Err(Error::from(std::io::Error::from(std::io::ErrorKind::NotFound)).in_file(path));
    }
    // A folder exists at the path, or the path ends with a slash.
    let is_known_folder =
        path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
    let by_path = if is_known_folder { None } else { Format::of_path(path) };
    // A pipe or a device takes a single file.
    let is_stream = matches!(Target::of(path), Ok(Target::Stream(_)));
    let is_folder = is_known_folder
        || (by_path.is_none()
            && !is_stream
            && !options.format.is_some_and(Format::is_one_file)
            && may_name_folder(path));
    let of_folder = || (is_folder || is_stream).then(|| Format::of_folder(engine));
    let Some(format) = options.format.or(by_path).or_else(of_folder) else {
        let reason = "no format goes by this name; use a folder (with a slash at its end), vocab.txt, a name that ends in .json, .model, .gguf, .tiktoken or .tokenmill, or format=";
        return Err(Error::format(Defect::Unknown, reason).in_file(path));
    };
    if is_folder && format == Format::Image {
        let reason = "an image is one file; save to a name that ends in .tokenmill";
        return Err(Error::format(Defect::CannotHold, reason).in_file(path));
    }
    let (files, converted) =
        contents(engine, is_folder, format, options.lossy).map_err(|error| error.in_file(path))?;
    let saving = Saving { engine: converted.as_ref().unwrap_or(engine), options, watch };
    write(&saving, path, is_folder, format, files).map_err(|error| error.in_file(path))
}

/// The manifest that saving into a new folder writes.
///
/// # Errors
/// As [`save`], but for the operating system.
pub fn manifest_of(engine: &Engine, options: SaveOptions<'_>, watch: &dyn Watch) -> Result<String> {
    let format = options.format.unwrap_or_else(|| Format::of_folder(engine));
    let (files, converted) = contents(engine, true, format, options.lossy)?;
    let saving = Saving { engine: converted.as_ref().unwrap_or(engine), options, watch };
    let text = manifest_text(&files, &[], &saving.facts()?)?;
    String::from_utf8(text).map_err(|error| Error::internal(format!("manifest: {error}")))
}

/// The text of the manifest of these files, of which the first has the vocabulary.
fn manifest_text(files: &[SavedFile], ignored: &[SavedFile], facts: &Facts) -> Result<Vec<u8>> {
    let entry = |(name, bytes): &SavedFile| (name.to_string_lossy().into_owned(), FileEntry::of(bytes));
    let main = files.first().map(|(name, _)| name.to_string_lossy()).unwrap_or_default();
    manifest::write(&main, &files.iter().map(entry).collect(), &ignored.iter().map(entry).collect(), facts)
}

/// May a name be that of a folder? An ending with a digit is a version (`qwen2.5`); other endings are those of
/// files.
fn may_name_folder(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ending.to_string_lossy().chars().any(|c| c.is_ascii_digit()))
}

/// The files of a tokenizer, that with the vocabulary first; all are produced before any is written. With them the
/// engine of what they say, where that is not the given one.
fn contents(
    engine: &Engine,
    is_folder: bool,
    format: Format,
    lossy: bool,
) -> Result<(Vec<SavedFile>, Option<Engine>)> {
    if format.is_bare() && !lossy {
        refuse_loss(engine, format)?;
    }
    let description = engine.description();
    let nearest = match format {
        Format::TokenizerJson if lossy => dialects::of_tokenizers(description),
        Format::SentencePiece | Format::Gguf if lossy => dialects::of_sentencepiece(description),
        _ => None,
    };
    let converted = nearest.map(compile).transpose()?;
    let engine = converted.as_ref().unwrap_or(engine);
    let templates = &engine.description().chat_templates;
    let of_templates = chat_files::files(templates);
    let nothing = ChatTemplates::default();
    let in_config = if is_folder && of_templates.is_none() { templates } else { &nothing };
    let mut files = match format {
        Format::TokenizerJson => {
            let mut files = vec![(TOKENIZER_JSON, tokenizer_json::write(engine)?)];
            let config = match folder::write(engine.description(), in_config, is_folder) {
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
        Format::Tiktoken => vec![(TIKTOKEN, tiktoken::write(engine)?)],
        Format::SentencePiece => vec![(MODEL, sentencepiece::write(engine.description())?)],
        Format::VocabTxt => vec![(VOCAB_TXT, vocab_txt::write(engine.description(), lossy)?)],
        Format::Gguf => vec![(GGUF, gguf::write(engine, lossy)?)],
        Format::Tekken => vec![(TEKKEN, tekken::write(engine, lossy)?)],
        Format::Image => vec![(IMAGE, image::write(engine, &[])?)],
        Format::VocabMerges => {
            let (vocab, merges) = vocab_merges::write(engine)?;
            vec![(VOCAB, vocab), (MERGES, merges)]
        }
    }
    .into_iter()
    .map(|(name, bytes)| (name.into(), bytes))
    .collect::<Vec<SavedFile>>();
    match of_templates {
        // They are in the file.
        _ if matches!(format, Format::Gguf | Format::Image) => {}
        Some(of_templates) if is_folder => files.extend(of_templates),
        // These are saved in tokenizer_config.json.
        None if is_folder && format == Format::TokenizerJson => {}
        _ if templates.is_empty() || lossy => {}
        _ => return Err(refuse_templates(engine, is_folder)),
    }
    Ok((files, converted))
}

fn write(
    saving: &Saving<'_>,
    path: &Path,
    is_folder: bool,
    format: Format,
    files: Vec<SavedFile>,
) -> Result<()> {
    if is_folder {
        std::fs::create_dir_all(path)?;
        return write_folder(path, files, saving);
    }
    if format == Format::VocabMerges {
        // Both files have fixed names, whichever of them the path names.
        return write_files(parent(path), files, saving);
    }
    let Some((_, bytes)) = files.into_iter().next() else { return Ok(()) };
    match Target::of(path)? {
        Target::Stream(path) => {
            saving.refuse_manifest()?;
            files::write_to_stream(&path, &bytes, saving.watch)
        }
        Target::File(target) => {
            // A link is saved under its own name if the manifest next to it lists that name, else
            // at its target.
            let is_listed = |path: &Path| -> Result<bool> {
                let listed = Snapshot::take(parent(path), [], saving.watch)?.listed()?.unwrap_or_default();
                Ok(path.file_name().is_some_and(|name| listed.iter().any(|known| name == known.as_str())))
            };
            let path = if target == path || is_listed(path)? { path } else { &target };
            write_files(parent(path), vec![(path.file_name().unwrap_or_default().to_owned(), bytes)], saving)
        }
    }
}

/// Saves files with a new manifest. Chat templates of the tokenizer that was saved here before are removed, since
/// other programs read every template that they find.
fn write_folder(folder: &Path, mut files: Vec<SavedFile>, saving: &Saving<'_>) -> Result<()> {
    let watch = saving.watch;
    // Hooks are called for it, so nothing is locked yet.
    let facts = saving.facts()?;
    let writer = FolderWriter::new(folder, watch)?;
    let mut ignored = other_settings(folder, &files, watch);
    let before = Snapshot::take(folder, [], watch)?;
    let is_stale = |name: &str| chat_files::is_template(name) && before.is_as_saved(name);
    let names = ignored.iter().map(|(name, _)| name);
    let stale: Vec<OsString> = names.filter(|name| name.to_str().is_some_and(is_stale)).cloned().collect();
    files.push((manifest::NAME.into(), manifest_text(&files, &ignored, &facts)?));
    writer.replace(&files)?;
    if stale.is_empty() {
        return Ok(());
    }
    // The save has taken effect, so these belong to another tokenizer.
    writer.remove(&stale)?;
    ignored.retain(|(name, _)| !stale.contains(name));
    files.pop();
    let manifest = manifest_text(&files, &ignored, &facts)?;
    writer.replace(&[(manifest::NAME.into(), manifest)])
}

/// The settings and chat templates in a folder that a save does not write: they belong to another tokenizer. Files
/// that cannot be read are left out.
fn other_settings(folder: &Path, files: &[SavedFile], watch: &dyn Watch) -> Vec<SavedFile> {
    let settings =
        SETTINGS.into_iter().map(OsString::from).chain(chat_files::in_folder(folder).unwrap_or_default());
    let others = settings.filter(|name| files.iter().all(|(saved, _)| saved != name));
    let read = |name: &OsStr| {
        let path = folder.join(name);
        let source = path.is_file().then(|| Source::open(&path, watch))?;
        files::read_rest(source.ok()?, Vec::new()).ok()
    };
    others.filter_map(|name| Some((name.clone(), read(&name)?))).collect()
}

/// Saves files. If the folder has a manifest that lists them, it is updated.
fn write_files(folder: &Path, mut files: Vec<SavedFile>, saving: &Saving<'_>) -> Result<()> {
    let watch = saving.watch;
    let is_listed = || -> Result<bool> {
        let listed = Snapshot::take(folder, [], watch)?.listed()?.unwrap_or_default();
        Ok(files.iter().any(|(name, _)| listed.iter().any(|known| name == known.as_str())))
    };
    // As in `write_folder`; what is listed is asked again under the lock.
    let facts = if is_listed()? { Some(saving.facts()?) } else { None };
    let writer = FolderWriter::new(folder, watch)?;
    if is_listed()? {
        let facts = facts.map_or_else(|| saving.facts(), Ok)?;
        let ignored = other_settings(folder, &files, watch);
        files.push((manifest::NAME.into(), manifest_text(&files, &ignored, &facts)?));
    } else {
        saving.refuse_manifest()?;
    }
    writer.replace(&files)
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// A lone tokenizer.json does not store roles.
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

/// A single file does not store chat templates.
fn refuse_templates(engine: &Engine, is_folder: bool) -> Error {
    let names: Vec<&str> = engine.description().chat_templates.iter().map(|(name, _)| name).collect();
    let what = format!("the chat templates ({})", names.join(", "));
    let reason = if is_folder {
        format!(
            "files beside this format cannot hold {what} under these names, or with their line ends; {LOSSY}"
        )
    } else {
        format!("a single file cannot hold {what}; save to a folder, or {LOSSY}")
    };
    Error::format(Defect::CannotHold, reason).at("chat_templates")
}

/// Formats with ids only store neither the split nor the special tokens.
fn refuse_loss(engine: &Engine, format: Format) -> Result<()> {
    let name = if format == Format::Tiktoken { "a .tiktoken file" } else { "vocab.json with merges.txt" };
    let description = engine.description();
    let mut lost = Vec::new();
    if !description.normalizer.is_empty() {
        let hook = description.normalizer_hooks().next();
        let what = hook.map_or("the normalizer".to_owned(), |(_, hook)| format!("the normalizer ({hook})"));
        lost.push(("normalizer".to_owned(), what));
    }
    // Special tokens can be given to load() again, but not what they do to the text beside them: this comes before
    // what can be given.
    let is_plain = |token: &AddedToken| !(token.lstrip || token.rstrip || token.single_word);
    if let Some((index, token)) = description.added_tokens.iter().enumerate().find(|(_, t)| !is_plain(t)) {
        let does =
            if token.single_word { "stands only as a word of its own" } else { "takes the space beside it" };
        lost.push((format!("added_tokens[{index}]"), format!("that {:?} {does}", token.content)));
    }
    if Split::of_stages(&description.pre_tokenizer) != Some(Split::Whole) {
        let hook = description.splitter_hooks().next();
        let what = hook.map_or("the split".to_owned(), |(_, hook)| format!("the split ({hook})"));
        lost.push(("split".to_owned(), what));
    }
    if !description.added_tokens.is_empty() {
        let names: Vec<&str> =
            description.added_tokens.iter().take(4).map(|token| token.content.as_str()).collect();
        let more = if description.added_tokens.len() > 4 { ", ..." } else { "" };
        lost.push(("added_tokens".to_owned(), format!("the special tokens ({}{more})", names.join(", "))));
    }
    if lost.is_empty() {
        lost.push(("split".to_owned(), "that there is no split".to_owned()));
    }
    let what: Vec<&str> = lost.iter().map(|(_, what)| what.as_str()).collect();
    let reason = format!(
        "{name} cannot hold {}; save as tokenizer.json, or pass lossy=True and give them to load() again",
        what.join(" and ")
    );
    Err(Error::format(Defect::CannotHold, reason).at(lost.swap_remove(0).0))
}
