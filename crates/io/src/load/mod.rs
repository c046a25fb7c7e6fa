//! Loads a tokenizer. In: a path and the caller's options. Out: an engine and a report. Formats are
//! detected by content.
//!
//! `one_file` reads a file, `folder` what a folder has; an image is mapped.
mod one_file;
mod options;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use tokenmill_core::compile::{compile, compile_watched, compile_with_additions};
use tokenmill_core::description::{Description, ModelDescription};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::hooks::Hooks;
use tokenmill_core::pattern::named_splits;
use tokenmill_core::watch::{Ticker, Watch};

use crate::chat_files;
use crate::files::Snapshot;
use crate::folder::Loaded;
use crate::image::KeptImage;
use crate::main_file::{by_ending, file_in};
use crate::manifest::{self, SETTINGS};
use crate::report::Report;
use crate::save::SAVED;
use crate::{folder, gguf, image, state, tokenizer_json};
use one_file::{BESIDE, name_of, not_beside, parse, read_file, with_own_split};
pub use options::LoadOptions;

/// Loads a tokenizer: a tokenizer.json, a tekken.json, a SentencePiece model, a GGUF file, a
/// `.tiktoken` file, a vocab.json or merges.txt (with the other file next to it), a vocab.txt, an image, or a
/// folder with one of these, but for the image.
///
/// # Errors
/// A format error that names file and field; errors of the operating system; a manifest error for a
/// folder whose files do not match the manifest.
pub fn load(path: &Path, options: &LoadOptions, watch: &dyn Watch) -> Result<(Engine, Report)> {
    let is_folder = path.is_dir();
    let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut report = Report::on_folder(folder, options.strict);
    if let Some(file) = image::find(path) {
        report.set_file(&name_of(path));
        let engine = load_image(&file, options, &mut report, watch).map_err(|error| error.in_file(path))?;
        return Ok((engine, report));
    }
    let files = if is_folder {
        take_folder(path, watch)?
    } else {
        // Files that complete this one are in the same folder.
        let names = path.file_name().into_iter().chain(BESIDE.map(OsStr::new));
        Snapshot::take(folder, names, watch)?
    };
    // A strict load looks at every file.
    let image_dir = options.image_dir.as_ref().filter(|_| !options.strict && (is_folder || path.is_file()));
    let LoadOptions { split, additions, names_all_special, .. } = options;
    // The files may hold several vocabularies, of which the caller names one.
    let named = path.file_name().filter(|_| !is_folder);
    let how = format!("{named:?} {split:?} {additions:?} {names_all_special}");
    let modified = files.modified();
    let kept = match image_dir {
        Some(folder) => KeptImage::of_files(folder, &files, &how)?,
        None => None,
    };
    if let Some(kept) = &kept
        && let Some(loaded) = kept.load(&options.hooks, watch)?
    {
        return Ok(loaded);
    }
    let engine = if is_folder {
        load_folder(&files, options, &mut report, watch)?
    } else {
        load_file(path, &files, options, &mut report, watch)?
    };
    match kept {
        // The name of an image is a hash of all regular files of the snapshot, so nothing else may have been read, and
        // none of them may have changed meanwhile.
        Some(kept)
            if files.used().iter().all(|name| files.has_inside(name))
                && kept.is_of(&files, &how)?
                && files.modified() == modified =>
        {
            kept.keep(engine, report, &options.hooks, watch)
        }
        _ => Ok((engine, report)),
    }
}

/// Loads a single file. `files` are those of its folder.
fn load_file(
    path: &Path,
    files: &Snapshot<'_>,
    options: &LoadOptions,
    report: &mut Report,
    watch: &dyn Watch,
) -> Result<Engine> {
    let engine = read_file(path, files, options, report)
        .and_then(|description| compile_extended(description, options, report, watch))
        .map_err(|error| error.in_file(path))?;
    report_changed(files, report)?;
    take_annotations(files, report)?;
    Ok(engine)
}

/// The tokenizer of a pickle's state. `image_dir` is as in [`LoadOptions`].
///
/// # Errors
/// A format error for truncated or damaged bytes, another version, or other data; as
/// [`compile_watched`](tokenmill_core::compile::compile_watched).
pub fn load_state(
    bytes: &[u8],
    hooks: &Hooks,
    image_dir: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Engine> {
    let kept = image_dir.map(|folder| KeptImage::of_state(folder, bytes));
    if let Some(kept) = &kept
        && let Some((engine, _)) = kept.load(hooks, watch)?
    {
        return Ok(engine);
    }
    let engine = compile_watched(state::parse(bytes)?, hooks, watch)?;
    match kept {
        Some(kept) => Ok(kept.keep(engine, Report::default(), hooks, watch)?.0),
        None => Ok(engine),
    }
}

/// The files of a folder that belong to a tokenizer, or may.
///
/// # Errors
/// As [`Snapshot::take`].
pub(crate) fn take_folder<'w>(path: &Path, watch: &'w dyn Watch) -> Result<Snapshot<'w>> {
    let templates = chat_files::in_folder(path)?;
    // Of names that are not UTF-8, a snapshot has those of templates alone.
    let by_ending: Vec<String> =
        by_ending(path)?.into_iter().filter_map(|name| name.into_string().ok()).collect();
    let names = SAVED.into_iter().chain(SETTINGS).chain(by_ending.iter().map(String::as_str)).map(OsStr::new);
    Snapshot::take(path, names.chain(templates.iter().map(OsString::as_os_str)), watch)
}

/// Loads a folder from its files.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_folder(
    files: &Snapshot<'_>,
    options: &LoadOptions,
    report: &mut Report,
    watch: &dyn Watch,
) -> Result<Engine> {
    let path = files.folder();
    let (loaded, templates) = folder::load(files, report)?;
    // A GGUF file has templates of its own.
    let with_templates = |description: Description| {
        if templates.is_empty() {
            return description;
        }
        Description { chat_templates: templates, ..description }
    };
    let engine = match loaded {
        Loaded::Described(description) => with_own_split(*description, options, "folder")
            .map(with_templates)
            .and_then(|description| compile_extended(description, options, report, watch))
            .map_err(|error| error.in_file(path))?,
        Loaded::File(named) => {
            let path = file_in(files)?;
            let options = LoadOptions {
                names_all_special: !named.special_tokens.is_empty(),
                additions: named.overridden_by(&options.additions),
                ..options.clone()
            };
            read_file(&path, files, &options, report)
                .map(with_templates)
                .and_then(|description| compile_extended(description, &options, report, watch))
                .map_err(|error| error.in_file(&path))?
        }
    };
    report_changed(files, report)?;
    note_settings(files, report);
    take_annotations(files, report)?;
    Ok(engine)
}

/// Takes over what the manifest says without effect on the tokenizer, if the vocabulary is read from the file that it
/// speaks of.
fn take_annotations(files: &Snapshot<'_>, report: &mut Report) -> Result<()> {
    let Some(manifest) = files.manifest()? else { return Ok(()) };
    let changed = files.changed();
    if !files.used().iter().any(|name| manifest.is_main(name) && !changed.contains(name)) {
        return Ok(());
    }
    let (annotations, split) = manifest.annotations();
    if let Some(name) = split.and_then(named_splits::name_given) {
        report.set_split_name(name);
    }
    report.set_annotations(annotations);
    Ok(())
}

/// Reports files that were read although they were changed after the last save.
fn report_changed(files: &Snapshot<'_>, report: &mut Report) -> Result<()> {
    for name in files.changed() {
        report.set_file(&name);
        let reason = format!(
            "the file was changed after tokenmill saved it ({} has the hash of what was saved); the change is read, \
             unless strict=True",
            manifest::NAME
        );
        report.tolerate(Defect::Inconsistent, "sha256", reason)?;
    }
    Ok(())
}

/// Notes the settings in a folder that the last save did not write.
fn note_settings(files: &Snapshot<'_>, report: &mut Report) {
    let (later, ignored) = files.other_settings();
    for name in later {
        report.note(format!("{name} came after the last save; it is read"));
    }
    for name in ignored {
        report.note(format!("{name} belongs to a tokenizer that was saved here before; it is not read"));
    }
}

/// Loads an image. It is compiled again only if the caller has additions.
fn load_image(file: &File, options: &LoadOptions, report: &mut Report, watch: &dyn Watch) -> Result<Engine> {
    let (engine, _) = image::load(file, &options.hooks, watch)?;
    report.add_parts(engine.description());
    if options.split.is_none() && options.additions.is_empty() {
        return Ok(engine);
    }
    let description = with_own_split(engine.description().clone(), options, "image")?;
    if options.additions.is_empty() {
        return Ok(engine);
    }
    compile_extended(description, options, report, watch)
}

/// Compiles a description with the caller's special tokens and hooks.
fn compile_extended(
    description: Description,
    options: &LoadOptions,
    report: &mut Report,
    watch: &dyn Watch,
) -> Result<Engine> {
    find_shadowed(&description, options, report, watch)?;
    compile_with_additions(description, &options.additions, &options.hooks, watch)
}

/// Loads a tokenizer.json from memory. `scores` are exact scores of a Unigram vocabulary, by id:
/// the tokenizers library, and so this reader, may read a score with an error of one bit.
///
/// # Errors
/// A format error that names the field.
pub fn load_tokenizer_json(json: &[u8], scores: Option<&[f64]>) -> Result<(Engine, Report)> {
    let mut report = Report::new(false);
    let mut description = tokenizer_json::parse(json, &mut report)?;
    match (&mut description.model, scores) {
        (ModelDescription::Unigram(model), Some(scores)) => {
            tokenizer_json::set_scores(model, scores).map_err(|error| error.at("model"))?;
        }
        (_, None) => {}
        (_, Some(_)) => {
            let reason = "scores are those of a Unigram model, and this one is another";
            return Err(Error::argument(reason));
        }
    }
    Ok((compile(description)?, report))
}

/// Parses a file in memory; the format is detected as in [`load`]. `beside` are the files of the
/// same folder by name, needed only for vocab.json and merges.txt. The caller's special tokens are
/// not added.
///
/// # Errors
/// A format error that names file and field.
pub fn parse_bytes(
    name: &str,
    bytes: &[u8],
    beside: &[(&str, &[u8])],
    options: &LoadOptions,
) -> Result<(Description, Report)> {
    let mut report = Report::new(options.strict);
    report.set_file(name);
    let path = Path::new(name);
    let find = |other: &Path| {
        let found = beside.iter().find(|(name, _)| Path::new(name) == other);
        found.map(|(_, bytes)| bytes.to_vec()).ok_or_else(|| not_beside(path, other))
    };
    let description = if bytes.starts_with(gguf::MAGIC) {
        gguf::parse(bytes, options.split.as_ref(), &mut report).inspect(|found| report.add_parts(found))
    } else {
        parse(path, bytes, &find, options, &mut report)
    };
    Ok((description.map_err(|error| error.in_file(path))?, report))
}

/// Reports special tokens whose literals are ordinary tokens too: the ids of a text then depend on
/// the reader.
fn find_shadowed(
    description: &Description,
    options: &LoadOptions,
    report: &mut Report,
    watch: &dyn Watch,
) -> Result<()> {
    let tokens = description.model.tokens();
    if !options.additions.special_tokens.is_empty() {
        tokens.prepare_to_find(&mut Ticker::new(watch))?;
    }
    for (content, id) in &options.additions.special_tokens {
        let ordinary = tokens.find(content.as_bytes()).map(|index| tokens.id(index));
        if let (Some(ordinary), Some(special)) = (ordinary, *id)
            && ordinary != special
        {
            let reason = format!("{content:?} is {special} as a special token, and {ordinary} as text");
            report.tolerate(Defect::Duplicate, "special_tokens", reason)?;
        }
    }
    Ok(())
}
