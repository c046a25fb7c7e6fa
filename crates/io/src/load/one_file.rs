//! One file, of any format but an image: which format it is, and what it lacks.
//!
//! In: a file, the files beside it, and the caller's options. Out: a description. The split and the special tokens of a
//! format that holds neither come from the caller, or from what is known of a published file.
use std::ffi::OsStr;
use std::path::Path;

use tokenmill_core::description::{AddedToken, Description, Split};
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::image::MAGIC;
use tokenmill_core::pattern::named_splits;

use super::options::LoadOptions;
use crate::files::{self, Snapshot};
use crate::formats::{self, FileFormat};
use crate::report::Report;
use crate::{gguf, known_files, sentencepiece, tekken, tiktoken, tokenizer_json, vocab_merges, vocab_txt};

/// Reads a single file. It is opened and read once, since it may be a pipe. `files` are those of its folder.
pub(super) fn read_file(
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

/// Files that may complete a file of any name.
pub(super) const BESIDE: [&str; 2] = ["vocab.json", "merges.txt"];

/// Parses the bytes of a file; `beside` reads another file of its folder.
pub(super) fn parse(
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
    if bytes.starts_with(&MAGIC) {
        let reason = "the file is a compiled image, which is mapped: give its own path, of a regular file";
        return Err(Error::format(Defect::Unsupported, reason));
    }
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

pub(super) fn with_own_split(
    description: Description,
    options: &LoadOptions,
    what: &str,
) -> Result<Description> {
    if options.split.is_some() && options.split != description.split() {
        let reason = format!("the {what} holds a split of its own; leave split= out");
        return Err(Error::format(Defect::Inconsistent, reason).at("pre_tokenizer"));
    }
    Ok(description)
}

/// The last component of a path.
pub(super) fn name_of(path: &Path) -> String {
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

pub(super) fn not_beside(path: &Path, other: &Path) -> Error {
    let reason = format!("{} needs {} next to it, which does not exist", name_of(path), name_of(other));
    Error::format(Defect::Missing, reason).at(name_of(other))
}

/// Explains a missing merges.txt where only its content made a file a vocab.json.
fn of_a_pair(path: &Path, mut error: Error) -> Error {
    let Kind::Format { defect: Defect::Missing, reason, .. } = &error.kind else { return error };
    if path.file_name() == Some(OsStr::new("vocab.json")) {
        return error;
    }
    let reason =
        format!("the file has no \"model\", as a tokenizer.json has, and is read as a vocab.json: {reason}");
    error.kind = Kind::Format { defect: Defect::Missing, reason, limit: None };
    error
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
    known.map(|known| named_splits::split_from(known.split)).ok_or_else(|| {
        let names = named_splits::NAMES.join(", ");
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
