//! The vocabulary of a folder: a tokenizer.json, or an older file.
//!
//! In: files. Out: a [`Source`] in the shape of a tokenizer.json, so that each class needs one
//! implementation. `halves` finds the merges that a vocabulary implies, `pieces` reads
//! SentencePiece models, `ranks` reads files of tiktoken and tekken.
mod file;
mod halves;
mod pieces;
mod ranks;

use tokenmill_core::error::{Defect, Error, Result};

use self::file::{model, of_model};
use super::classes::Recipe;
use super::settings::Settings;
use crate::files::Snapshot;
use crate::report::Report;
use crate::tokenizer_json::{File, Kind, MergeEntries, Model, VocabEntries};
use crate::{formats, vocab_merges, vocab_txt};

/// A vocabulary in the shape of a tokenizer.json.
pub(super) struct Source<'a> {
    /// The content of an equivalent tokenizer.json.
    pub(super) file: File<'a>,
    /// The name of the original file.
    pub(super) name: String,
    /// Are the stages those of `file`, not those of the class?
    pub(super) has_stages: bool,
    /// Default tokens of roles.
    pub(super) roles: Vec<(&'static str, String)>,
}

/// The file of Mistral's own format.
pub(super) const TEKKEN: &str = "tekken.json";

/// Files that are tried before the file of the class if there is no tokenizer.json, in this order.
const GENERAL: [&str; 3] = [TEKKEN, "tokenizer.model", TIKTOKEN];

/// This file is never read as a SentencePiece model.
const TIKTOKEN: &str = "tiktoken.model";

/// The second file of a vocab/merges pair.
const MERGES: &str = "merges.txt";

/// Finds and reads the vocabulary of a folder without a tokenizer.json; `None` if there is none
/// that the class reads.
///
/// # Errors
/// A format error that names file and field; errors of the operating system.
pub(super) fn find(
    files: &Snapshot<'_>,
    recipe: &Recipe,
    settings: &mut Settings,
    report: &mut Report,
) -> Result<Option<Source<'static>>> {
    let is_there = |name: &str| !name.is_empty() && files.has_part(name);
    let names = GENERAL.into_iter().chain([recipe.vocabulary]);
    let Some(name) = names.into_iter().find(|name| is_there(name)) else { return Ok(None) };
    let bytes = files.read(name)?;
    report.set_file(name);
    let in_file = |error: Error| error.in_file(&files.path(name));
    let source = |file| Source { file, name: name.to_owned(), has_stages: false, roles: Vec::new() };
    let source = match name {
        TEKKEN => ranks::tekken(&bytes, report).map(|file| Source { has_stages: true, ..source(file) }),
        "vocab.txt" => words(&bytes, report).map(source),
        "vocab.json" => {
            if !is_there(MERGES) {
                let reason = format!("{name} needs {MERGES} next to it, which does not exist");
                return Err(in_file(Error::format(Defect::Missing, reason)));
            }
            let merges = files.read(MERGES)?;
            report.set_file(MERGES);
            report.add_part("merges");
            report.set_file(name);
            let in_merges = |error: Error| error.in_file(&files.path(MERGES));
            pair(&bytes, &merges, in_merges).map(source)
        }
        _ if name != TIKTOKEN
            && matches!(
                formats::detect(&files.path(name), &bytes),
                Ok(formats::FileFormat::SentencePiece)
            ) =>
        {
            pieces::read(&bytes, recipe, settings, report).map(|read| Source {
                has_stages: !recipe.has_code,
                roles: read.roles,
                ..source(read.file)
            })
        }
        _ => {
            ranks::tiktoken(&bytes, settings, report).map(|file| Source { has_stages: true, ..source(file) })
        }
    };
    source.map(Some).map_err(in_file)
}

/// `vocab.json` and `merges.txt`.
fn pair(vocab: &[u8], merges: &[u8], in_merges: impl Fn(Error) -> Error) -> Result<File<'static>> {
    let vocab = vocab_merges::read_vocab(vocab)?;
    let vocab = vocab.into_iter().map(|(token, id)| (token.into_owned().into(), id)).collect();
    let merges = vocab_merges::read_merges(merges).map_err(in_merges)?;
    let mut entries = MergeEntries::default();
    for line in merges {
        entries.push(line.left, line.right);
    }
    Ok(of_model(Model { merges: Some(entries), ..model(Kind::Bpe, VocabEntries::Object(vocab)) }))
}

/// `vocab.txt`.
fn words(bytes: &[u8], report: &mut Report) -> Result<File<'static>> {
    let tokens = vocab_txt::read(bytes, report)?;
    let tokens = tokens.into_iter().map(|(token, id)| (token.into(), id)).collect();
    Ok(of_model(model(Kind::WordPiece, VocabEntries::Object(tokens))))
}
