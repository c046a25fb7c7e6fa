//! Loads a tokenizer. In: a path and the caller's options. Out: an engine and a report. Formats are
//! detected by content.
use std::ffi::{OsStr, OsString};
use std::path::Path;

use tokenmill_core::compile::{compile, compile_with_additions};
use tokenmill_core::description::{AddedToken, Additions, Description, ModelDescription, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::hooks::Hooks;
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::known;
use tokenmill_core::watch::{Ticker, Watch};

use crate::chat_files;
use crate::files::{self, Snapshot};
use crate::folder::Loaded;
use crate::formats::{self, FileFormat};
use crate::main_file::file_in;
use crate::manifest::{self, SETTINGS};
use crate::report::Report;
use crate::save::SAVED;
use crate::{
    folder, gguf, known_files, sentencepiece, tekken, tiktoken, tokenizer_json, vocab_merges, vocab_txt,
};

/// Options of loading, and information that the file may lack.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The split, for formats that do not store one.
    pub split: Option<Split>,
    /// Special tokens, roles, and bos and eos around texts.
    pub additions: Additions,
    /// Are these all special tokens? A published file then gets none of those that its library adds.
    pub names_all_special: bool,
    /// Turns everything that would be tolerated and reported into an error.
    pub strict: bool,
    /// The hooks that files may name.
    pub hooks: Hooks,
}

/// Loads a tokenizer: a tokenizer.json, a tekken.json, a SentencePiece model, a GGUF file, a
/// `.tiktoken` file, a vocab.json or merges.txt (with the other file next to it), a vocab.txt, or a
/// folder with one of these.
///
/// # Errors
/// A format error that names file and field; errors of the operating system; a manifest error for a
/// folder whose files do not match the manifest.
pub fn load(path: &Path, options: &LoadOptions, watch: &dyn Watch) -> Result<(Engine, Report)> {
    let is_folder = path.is_dir();
    let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut report = Report::on_folder(folder, options.strict);
    let engine = if is_folder {
        load_folder(&take_folder(path, watch)?, options, &mut report, watch)?
    } else {
        // Files that complete this one are in the same folder.
        let names = path.file_name().into_iter().chain(BESIDE.map(OsStr::new));
        let files = Snapshot::take(folder, names, watch)?;
        let engine = read_file(path, &files, options, &mut report)
            .and_then(|description| compile_extended(description, options, &mut report, watch))
            .map_err(|error| error.in_file(path))?;
        report_changed(&files, &mut report)?;
        take_annotations(&files, &mut report)?;
        engine
    };
    Ok((engine, report))
}

/// The files of a folder that belong to a tokenizer, or may.
///
/// # Errors
/// As [`Snapshot::take`].
pub(crate) fn take_folder<'w>(path: &Path, watch: &'w dyn Watch) -> Result<Snapshot<'w>> {
    let templates = chat_files::in_folder(path)?;
    let names = SAVED.into_iter().chain(SETTINGS).map(OsStr::new);
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
    if let Some(name) = split.and_then(known::name_given) {
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

/// Reads a single file. It is opened and read once, since it may be a pipe. `files` are those of its folder.
fn read_file(
    path: &Path,
    files: &Snapshot<'_>,
    options: &LoadOptions,
    report: &mut Report,
) -> Result<Description> {
    let name = path.file_name().unwrap_or_default();
    let mut source = files.source(name)?;
    report.set_file(&name_of(path));
    let start = files::start(&mut source, gguf::MAGIC.len() as u64)?;
    if start == gguf::MAGIC {
        files.note_used(&name_of(path));
        let description = gguf::load(source, start, options.split.as_ref(), report)?;
        report.add_parts(&description);
        return Ok(description);
    }
    let bytes = files::read_rest(source, start)?;
    if let Some(name) = name.to_str() {
        files.check(name, &bytes)?;
    }
    parse(path, &bytes, &|other| read_beside(path, other, files), options, report)
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

/// Files that may complete a file of any name.
const BESIDE: [&str; 2] = ["vocab.json", "merges.txt"];

/// Parses the bytes of a file; `beside` reads another file of its folder.
fn parse(
    path: &Path,
    bytes: &[u8],
    beside: &dyn Fn(&Path) -> Result<Vec<u8>>,
    options: &LoadOptions,
    report: &mut Report,
) -> Result<Description> {
    let whole = |description: Description, report: &mut Report| {
        report.add_parts(&description);
        with_own_split(description, options, "file")
    };
    match formats::detect(path, bytes)? {
        FileFormat::TokenizerJson => whole(tokenizer_json::parse(bytes, report)?, report),
        FileFormat::Tekken => whole(tekken::parse(bytes, report)?, report),
        FileFormat::SentencePiece => whole(sentencepiece::parse(bytes, report)?, report),
        FileFormat::VocabTxt => {
            report.add_part("vocabulary");
            with_own_split(vocab_txt::parse(bytes, report)?, options, "file")
        }
        FileFormat::Tiktoken => {
            let known = known_files::find(bytes);
            let doubt = if known.is_none() { doubt_of_name(path, bytes) } else { None };
            let split = split_of(known, options, "a .tiktoken file", doubt.as_deref(), report)?;
            if let Some(reason) = doubt {
                report.tolerate(Defect::Inconsistent, "sha256", reason)?;
            }
            report.add_part("vocabulary");
            let beside = options.additions.special_tokens.iter().filter_map(|&(_, id)| id);
            let of_library = known.filter(|_| !options.names_all_special);
            let own = of_library.into_iter().flat_map(known_files::Known::special_tokens).map(|(_, id)| id);
            let special: Vec<TokenId> = beside.chain(own).collect();
            let mut description = tiktoken::parse(bytes, &split, &special, report)?;
            add_known(&mut description, known, options, report);
            Ok(description)
        }
        FileFormat::Vocab => {
            let other = path.with_file_name("merges.txt");
            let merges = beside(&other).map_err(|error| of_a_pair(path, error))?;
            parse_pair((path, bytes), (&other, &merges), options, report)
        }
        FileFormat::Merges => {
            let other = path.with_file_name("vocab.json");
            parse_pair((&other, &beside(&other)?), (path, bytes), options, report)
        }
    }
}

fn with_own_split(description: Description, options: &LoadOptions, what: &str) -> Result<Description> {
    if options.split.is_some() && options.split != description.split() {
        let reason = format!("the {what} holds a split of its own; leave split= out");
        return Err(Error::format(Defect::Inconsistent, reason).at("pre_tokenizer"));
    }
    Ok(description)
}

/// The last component of a path.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads the other file of a pair, checked like the first.
fn read_beside(path: &Path, other: &Path, files: &Snapshot<'_>) -> Result<Vec<u8>> {
    let name = name_of(other);
    if !files.has(&name) {
        return Err(not_beside(path, other));
    }
    files.read(&name)
}

fn not_beside(path: &Path, other: &Path) -> Error {
    let reason = format!("{} needs {} next to it, which does not exist", name_of(path), name_of(other));
    Error::format(Defect::Missing, reason).at(name_of(other))
}

/// Explains a missing merges.txt where only its content made a file a vocab.json.
fn of_a_pair(path: &Path, error: Error) -> Error {
    let Kind::Format { defect: Defect::Missing, reason, .. } = &error.kind else { return error };
    if path.file_name() == Some(OsStr::new("vocab.json")) {
        return error;
    }
    let reason =
        format!("the file has no \"model\", as a tokenizer.json has, and is read as a vocab.json: {reason}");
    Error { kind: Kind::Format { defect: Defect::Missing, reason, limit: None }, ..error }
}

/// The reason to doubt a file: it has the name of a published file, but another sha256.
fn doubt_of_name(path: &Path, bytes: &[u8]) -> Option<String> {
    let name = name_of(path);
    let expected = known_files::sha256_of_name(&name)?;
    let found = known_files::sha256(bytes);
    Some(format!(
        "the file is named like the published {name}, but its sha256 is {found} and not {expected}: damaged, or \
         another file?"
    ))
}

/// Parses a vocab/merges pair, each with its path.
fn parse_pair(
    (vocab_path, vocab): (&Path, &[u8]),
    (merges_path, merges): (&Path, &[u8]),
    options: &LoadOptions,
    report: &mut Report,
) -> Result<Description> {
    let known = known_files::find(vocab);
    let split = split_of(known, options, "vocab.json with merges.txt", None, report)?;
    let special = options.additions.all_special_tokens();
    let special: Vec<&str> = special.iter().map(|(content, _)| content.as_str()).collect();
    let in_vocab = |error: Error| error.in_file(vocab_path);
    report.set_file(&name_of(vocab_path));
    report.add_part("vocabulary");
    let written = vocab_merges::parse_vocab(vocab, report).map_err(in_vocab)?;
    report.set_file(&name_of(merges_path));
    report.add_part("merges");
    let merges = vocab_merges::parse_merges(merges, &written, report).map_err(|e| e.in_file(merges_path))?;
    let mut description = vocab_merges::describe(&written, merges, &split, &special).map_err(in_vocab)?;
    add_known(&mut description, known, options, report);
    Ok(description)
}

/// The split of a file that does not contain one. `doubt` is the reason to doubt that it is the published file of
/// its name, for the error.
fn split_of(
    known: Option<&known_files::Known>,
    options: &LoadOptions,
    format: &str,
    doubt: Option<&str>,
    report: &mut Report,
) -> Result<Split> {
    if let Some(split) = &options.split {
        return Ok(split.clone());
    }
    if let Some(known) = known {
        report.set_split_name(known.split);
    }
    known.map(|known| known::split_from(known.split)).ok_or_else(|| {
        let names = known::NAMES.join(", ");
        let reason = match doubt {
            Some(doubt) => format!(
                "{doubt} If it is another file, pass split= ({names}, or a regular expression), since {format} does \
                 not say how text is split"
            ),
            None => format!(
                "{format} does not say how text is split, and this one is not a published file whose split is known; \
                 pass split= ({names}, or a regular expression)"
            ),
        };
        Error::format(Defect::Unknown, reason).at("split")
    })
}

/// Adds the special tokens of a published file. The caller's tokens are added later. A literal or an id that the caller
/// gives is left out here: later releases of a model keep the file of ranks and rename special tokens.
fn add_known(
    description: &mut Description,
    known: Option<&known_files::Known>,
    options: &LoadOptions,
    report: &mut Report,
) {
    let Some(known) = known else { return };
    let split = options.split.is_none().then(|| format!("the split ({})", known.split));
    let special = (!options.names_all_special).then(|| "the special tokens".to_owned());
    let parts: Vec<String> = split.into_iter().chain(special).collect();
    if !parts.is_empty() {
        report.note(format!("{}: known by the sha256 of the published file", parts.join(" and ")));
    }
    if options.names_all_special {
        return;
    }
    let is_given = |content: &str, id: TokenId| {
        let mut given =
            options.additions.special_tokens.iter().filter_map(|(literal, id)| Some((literal, (*id)?)));
        given.any(|(literal, own)| own == id || literal == content)
    };
    for (content, id) in known.special_tokens() {
        if is_given(&content, id) || description.added_tokens.iter().any(|token| token.content == content) {
            continue;
        }
        // GPT-2's vocab.json lists its special token among the ordinary ones.
        let tokens = description.model.tokens();
        if tokens.index_of(id).is_some() {
            let is_it = |other, bytes: &[u8]| other == id && bytes == content.as_bytes();
            let without = tokens.without(is_it);
            if without.len() == tokens.len() {
                continue;
            }
            *description.model.tokens_mut() = without.into();
        }
        description.added_tokens.push(AddedToken::special(id, content));
    }
    AddedToken::sort_by_id(&mut description.added_tokens);
}
