//! Training from Python: converts options, and passes texts on in batches.
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tokenmill_core::charsmap::NamedMap;
use tokenmill_core::compile::compile_with_additions;
use tokenmill_core::description::{
    Additions, EndOfWord, EndOfWordForm, Normalizer, PreTokenizer, PrependScheme, Role, SentencePieceRules,
    UnicodeTables,
};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Error, Result};
use tokenmill_core::hooks::Hooks;
use tokenmill_core::pattern::known::name_given;
use tokenmill_core::train::{
    BertTemplate, BpeOptions, Dialect, Score, SpecialIds, Target, TieBreak, TrainAlphabet, TrainModel,
    TrainOptions, Trainer, UnigramOptions, WordPieceOptions,
};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;
use tokenmill_io::corpus::{Documents, Errors, read_files};

use crate::buffer::{Surrogates, Utf8, utf8};
use crate::convert::{self, Given};
use crate::exceptions::{gather, out_of_memory, raise, wrong_type};
use crate::tokenizer::Tokenizer;
use crate::training_report::TrainingReport;
use crate::watch::run_long;

/// Bytes of text per batch.
const BATCH_BYTES: usize = 16 << 20;

/// Trains on files; see `tokenmill.train`.
#[pyfunction]
#[pyo3(signature = (paths, options, progress = None))]
pub(crate) fn train_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Tokenizer> {
    let documents = documents_option(options)?;
    let errors = errors_option(options)?;
    let (mut trainer, roles) = trainer(options)?;
    let trained = run_long(py, progress.as_ref(), |watch| {
        let corpus =
            read_files(&paths, documents, errors, &mut |batch| feed_to(&mut trainer, batch, watch), watch)?;
        let (description, mut report) = trainer.finish(watch)?;
        report.skipped_documents = corpus.skipped;
        report.replaced_documents = corpus.replaced;
        Ok((compile_with_additions(description, &roles, &Hooks::default(), watch)?, report))
    })?;
    finish(py, trained, options)
}

/// Trains on an iterable of str, each a document. `weights` says how often each counts; see `tokenmill.train`.
#[pyfunction]
#[pyo3(signature = (texts, options, progress = None, weights = None))]
pub(crate) fn train_texts(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
    weights: Option<Vec<u64>>,
) -> PyResult<Tokenizer> {
    // Each text is a document, so the option is only checked.
    documents_option(options)?;
    let errors = errors_option(options)?;
    let (mut trainer, roles) = trainer(options)?;
    let (mut skipped, mut replaced) = (0, 0);
    let (mut batch, mut batch_weights): (Vec<String>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    let feed = |trainer: &mut Trainer, batch: &[String], weights: &[u64]| {
        let documents = gather(batch.iter().map(|text| Ok(text.as_str())))?;
        run_long(py, progress.as_ref(), |watch| {
            trainer.feed_weighted(&documents, weights, watch).map_err(Error::without_place)
        })
    };
    for (index, item) in convert::texts(texts, "texts", "an iterable of str")?.enumerate() {
        let item = item?;
        let weight = weights.as_ref().and_then(|weights| weights.get(index).copied());
        let Ok(string) = item.cast::<PyString>() else {
            return Err(wrong_type(&format!("texts[{index}]"), "str", &item));
        };
        let text = match utf8(string, Surrogates::Refuse)? {
            Utf8::Borrowed(text) => try_alloc::copy_text(text).map_err(out_of_memory)?,
            Utf8::Copied { text, .. } => text,
            Utf8::Refused(at) => match errors {
                Errors::Strict => {
                    let reason = format!(
                        "text {index} holds a surrogate at character {at}, which is no text; pass errors=\"replace\" or \
                         \"skip\""
                    );
                    return Err(raise(py, Error::training(reason)));
                }
                Errors::Skip => {
                    skipped += weight.unwrap_or(1);
                    continue;
                }
                Errors::Replace => {
                    replaced += weight.unwrap_or(1);
                    match utf8(string, Surrogates::Replace)? {
                        Utf8::Copied { text, .. } => text,
                        Utf8::Borrowed(_) | Utf8::Refused(_) => String::new(),
                    }
                }
            },
        };
        bytes += text.len() + 64;
        try_alloc::push(&mut batch, text).map_err(out_of_memory)?;
        if let Some(weight) = weight {
            try_alloc::push(&mut batch_weights, weight).map_err(out_of_memory)?;
        }
        if bytes >= BATCH_BYTES {
            feed(&mut trainer, &batch, &batch_weights)?;
            batch.clear();
            batch_weights.clear();
            bytes = 0;
        }
    }
    feed(&mut trainer, &batch, &batch_weights)?;
    drop(batch);
    let trained = run_long(py, progress.as_ref(), |watch| {
        let (description, mut report) = trainer.finish(watch)?;
        report.skipped_documents = skipped;
        report.replaced_documents = replaced;
        Ok((compile_with_additions(description, &roles, &Hooks::default(), watch)?, report))
    })?;
    finish(py, trained, options)
}

/// Counts documents. The position of an error is dropped: it would count within a document, not in the caller's
/// input.
fn feed_to(trainer: &mut Trainer, documents: &[&str], watch: &dyn Watch) -> Result<()> {
    trainer.feed(documents, watch).map_err(Error::without_place)
}

fn finish(
    py: Python<'_>,
    (engine, report): (Engine, tokenmill_core::train::TrainingReport),
    options: &Bound<'_, PyDict>,
) -> PyResult<Tokenizer> {
    let report = Py::new(py, TrainingReport::new(report, engine.description()))?;
    let split = text_option(options, "split")?;
    Ok(Tokenizer::new(py, engine, Some(report))?.with_split_name(name_given(&split)))
}

/// A trainer, and the roles that its tokens get at the end.
fn trainer(options: &Bound<'_, PyDict>) -> PyResult<(Trainer, Additions)> {
    let py = options.py();
    let additions = convert::additions(options)?;
    if let Some((role, _)) = additions.roles.iter().find(|(_, literal)| literal.is_empty()) {
        let error = Error::training(format!("the {} token must not be empty", role.name()));
        return Err(raise(py, error.at(format!("{}_token", role.name()))));
    }
    for (role, adds) in [(Role::Bos, additions.adds_bos), (Role::Eos, additions.adds_eos)] {
        if adds == Some(true) && !additions.roles.iter().any(|(other, _)| *other == role) {
            let name = role.name();
            let reason = format!("add_{name}_token=True needs the token; give {name}_token too");
            return Err(raise(py, Error::training(reason)));
        }
    }
    let options = train_options(options, &additions)?;
    let is_of_model = |role: &(Role, String)| role.0 == Role::Unk && options.unk_token().is_some();
    let mut roles = Additions { special_tokens: Vec::new(), ..additions };
    // A model with an unknown token stores it. If that is the only role, it is not set, so that every format can
    // hold the tokenizer. A SentencePiece model holds it in no other way.
    if roles.roles.iter().all(is_of_model) || is_sentencepiece(&options.model) {
        roles.roles.retain(|role| !is_of_model(role));
    }
    let trainer = Trainer::new(options).map_err(|error| raise(py, error))?;
    Ok((trainer, roles))
}

fn train_options(options: &Bound<'_, PyDict>, additions: &Additions) -> PyResult<TrainOptions> {
    let py = options.py();
    let target = match (number(options, "vocab_size")?, number(options, "num_merges")?) {
        (Some(size), None) => Target::VocabSize(size),
        (None, Some(merges)) => Target::NumMerges(merges),
        _ => return Err(raise(py, Error::training("give exactly one of vocab_size and num_merges"))),
    };
    let special_ids = match text_option(options, "special_ids")?.as_str() {
        "first" => SpecialIds::First,
        "last" => SpecialIds::Last,
        other => return Err(wrong(py, "special_ids", other, "\"first\" or \"last\"")),
    };
    let model = model_option(options, additions)?;
    let mut special_tokens = additions.all_special_tokens();
    // SentencePiece has the unknown piece first, unless it is listed.
    if let TrainModel::Unigram(UnigramOptions { unk_token: Some(unk), .. }) = &model
        && is_sentencepiece(&model)
        && additions.special_tokens.iter().all(|(content, _)| content != unk)
    {
        special_tokens.sort_by_key(|(content, _)| content != unk);
    }
    let threads = Given(options.get_item("num_threads")?);
    Ok(TrainOptions {
        target,
        normalizer: if is_sentencepiece(&model) {
            rules_option(options)?
        } else {
            normalizer_option(options)?
        },
        model,
        pre_tokenizer: pre_tokenizer_option(options)?,
        special_tokens: special_tokens.into_iter().map(|(content, _)| content).collect(),
        special_ids,
        num_threads: convert::threads(&threads, Error::training::<String>)?,
    })
}

fn tie_break(py: Python<'_>, name: &str) -> PyResult<TieBreak> {
    Ok(match name {
        "lexicographic" => TieBreak::Lexicographic,
        "lexicographic-largest" => TieBreak::LexicographicLargest,
        "first-seen" => TieBreak::FirstSeen,
        "token-id" => TieBreak::TokenId,
        "huggingface" => TieBreak::HuggingFace,
        other => {
            let known = "\"lexicographic\", \"lexicographic-largest\", \"first-seen\", \"token-id\" or \"huggingface\"";
            return Err(wrong(py, "tie_break", other, known));
        }
    })
}

fn model_option(options: &Bound<'_, PyDict>, additions: &Additions) -> PyResult<TrainModel> {
    match text_option(options, "model")?.as_str() {
        "bpe" => bpe_options(options).map(TrainModel::Bpe),
        "wordpiece" => wordpiece_options(options, additions).map(TrainModel::WordPiece),
        "unigram" => unigram_options(options).map(TrainModel::Unigram),
        other => Err(wrong(options.py(), "model", other, "\"bpe\", \"wordpiece\" or \"unigram\"")),
    }
}

/// The smallest count of a merge.
fn min_frequency(options: &Bound<'_, PyDict>) -> PyResult<u64> {
    Ok(number(options, "min_frequency")?.unwrap_or(2) as u64)
}

fn bpe_options(options: &Bound<'_, PyDict>) -> PyResult<BpeOptions> {
    let py = options.py();
    let tie_break = match optional(options, "tie_break")?.as_deref() {
        None => TieBreak::Lexicographic,
        Some(name) => tie_break(py, name)?,
    };
    let alphabet = match optional(options, "alphabet")?.as_deref() {
        None | Some("bytes") => TrainAlphabet::Bytes,
        Some("chars") => TrainAlphabet::Chars,
        Some(other) => return Err(wrong(py, "alphabet", other, "\"bytes\" or \"chars\"")),
    };
    let form = match optional(options, "end_of_word_form")?.as_deref() {
        None | Some("separate") => EndOfWordForm::Separate,
        Some("suffix") => EndOfWordForm::Suffix,
        Some(other) => return Err(wrong(py, "end_of_word_form", other, "\"separate\" or \"suffix\"")),
    };
    Ok(BpeOptions {
        tie_break,
        min_frequency: min_frequency(options)?,
        max_token_length: number(options, "max_token_length")?,
        alphabet,
        end_of_word: optional(options, "end_of_word")?.map(|symbol| EndOfWord { symbol, form }),
        // A byte alphabet spells every text, so the unknown token is only a role there.
        unk_token: optional(options, "unk_token")?.filter(|_| alphabet == TrainAlphabet::Chars),
    })
}

fn wordpiece_options(options: &Bound<'_, PyDict>, additions: &Additions) -> PyResult<WordPieceOptions> {
    let py = options.py();
    let Some(unk_token) = optional(options, "unk_token")? else {
        let reason = "WordPiece needs an unknown token, such as \"[UNK]\"";
        return Err(raise(py, Error::training(reason).at("unk_token")));
    };
    let score = match text_option(options, "score")?.as_str() {
        "frequency" => Score::Frequency,
        "likelihood" => Score::Likelihood,
        other => return Err(wrong(py, "score", other, "\"frequency\" or \"likelihood\"")),
    };
    let token =
        |role: Role| additions.roles.iter().find(|(other, _)| *other == role).map(|(_, token)| token.clone());
    let template = match (optional(options, "post_processor")?.as_deref(), token(Role::Cls), token(Role::Sep))
    {
        (None, ..) => None,
        (Some("BertProcessing"), Some(cls), Some(sep)) => Some(BertTemplate { cls, sep }),
        (Some("BertProcessing"), ..) => {
            let reason = "BertProcessing puts tokens around a text; give cls_token and sep_token too";
            return Err(raise(py, Error::training(reason).at("post_processor")));
        }
        (Some(other), ..) => return Err(wrong(py, "post_processor", other, "\"BertProcessing\"")),
    };
    Ok(WordPieceOptions {
        unk_token,
        min_frequency: min_frequency(options)?,
        max_token_length: number(options, "max_token_length")?,
        score,
        continuing_prefix: text_option(options, "continuing_subword_prefix")?,
        max_chars: number(options, "max_input_chars_per_word")?.unwrap_or(100),
        template,
    })
}

fn is_sentencepiece(model: &TrainModel) -> bool {
    matches!(model, TrainModel::Unigram(UnigramOptions { dialect: Dialect::SentencePiece { .. }, .. }))
}

fn unigram_options(options: &Bound<'_, PyDict>) -> PyResult<UnigramOptions> {
    let dialect = match text_option(options, "dialect")?.as_str() {
        "sentencepiece" => Dialect::SentencePiece {
            split_by_unicode_script: flag(options, "split_by_unicode_script")?.unwrap_or(true),
            split_digits: flag(options, "split_digits")?.unwrap_or(false),
        },
        "tokenizers" => Dialect::Tokenizers,
        other => return Err(wrong(options.py(), "dialect", other, "\"sentencepiece\" or \"tokenizers\"")),
    };
    let character_coverage = match options.get_item("character_coverage")?.filter(|value| !value.is_none()) {
        None => 1.0,
        Some(value) => {
            value.extract().map_err(|_| wrong_type("character_coverage", "float or None", &value))?
        }
    };
    Ok(UnigramOptions {
        dialect,
        unk_token: optional(options, "unk_token")?,
        byte_fallback: flag(options, "byte_fallback")?.unwrap_or(false),
        user_defined_symbols: texts_option(options, "user_defined_symbols")?,
        character_coverage,
        initial_alphabet: optional(options, "initial_alphabet")?.unwrap_or_default().chars().collect(),
        max_token_length: number(options, "max_token_length")?.unwrap_or(16),
    })
}

/// A list of texts.
fn texts_option(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<String>> {
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(Vec::new()) };
    convert::texts(&value, name, "a list of str")?
        .enumerate()
        .map(|(i, item)| {
            let item = item?;
            convert::string(&item, || format!("{name}[{i}]"))
        })
        .collect()
}

fn pre_tokenizer_option(options: &Bound<'_, PyDict>) -> PyResult<Vec<PreTokenizer>> {
    match text_option(options, "split")?.as_str() {
        "BertPreTokenizer" => Ok(vec![PreTokenizer::Bert]),
        "Metaspace" => Ok(vec![PreTokenizer::Metaspace {
            replacement: '\u{2581}',
            prepend: PrependScheme::Always,
            split: true,
        }]),
        split => Ok(convert::split(options.py(), split)?.split.stages()),
    }
}

fn optional(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<String>> {
    match options.get_item(name)?.filter(|value| !value.is_none()) {
        None => Ok(None),
        Some(value) => match value.cast::<PyString>() {
            Ok(text) => text.extract().map(Some),
            Err(_) => Err(wrong_type(name, "str or None", &value)),
        },
    }
}

/// A non-negative count.
fn number(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<usize>> {
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
    let number = convert::number(&value, || name.to_owned())?;
    // 2^48 of anything exceeds memory; the sum of two such numbers still fits.
    usize::try_from(number).ok().filter(|&number| number < 1 << 48).map(Some).ok_or_else(|| {
        let what = if number < 0 { "negative" } else { "too large" };
        raise(options.py(), Error::training(format!("{name}={value} is {what}")))
    })
}

fn text_option(options: &Bound<'_, PyDict>, name: &str) -> PyResult<String> {
    // A missing option counts as None.
    let value = options.get_item(name)?.unwrap_or_else(|| options.py().None().into_bound(options.py()));
    convert::string(&value, || name.to_owned())
}

fn normalizer_option(options: &Bound<'_, PyDict>) -> PyResult<Vec<Normalizer>> {
    let name: Option<String> = optional(options, "normalizer")?;
    let form = match name.as_deref() {
        None => return Ok(Vec::new()),
        Some("NFC") => Normalizer::Nfc,
        Some("NFD") => Normalizer::Nfd,
        Some("NFKC") => Normalizer::Nfkc,
        Some("NFKD") => Normalizer::Nfkd,
        Some("BertNormalizer") => {
            return Ok(vec![Normalizer::Bert {
                clean_text: flag(options, "clean_text")?.unwrap_or(true),
                handle_chinese_chars: flag(options, "handle_chinese_chars")?.unwrap_or(true),
                strip_accents: flag(options, "strip_accents")?,
                lowercase: flag(options, "lowercase")?.unwrap_or(true),
            }]);
        }
        Some(other) => {
            let known = "\"NFC\", \"NFD\", \"NFKC\", \"NFKD\" or \"BertNormalizer\"";
            return Err(wrong(options.py(), "normalizer", other, known));
        }
    };
    Ok(vec![form(UnicodeTables::Current)])
}

/// The normalization of SentencePiece, whose rules go by a name.
fn rules_option(options: &Bound<'_, PyDict>) -> PyResult<Vec<Normalizer>> {
    let name = text_option(options, "normalizer")?;
    let charsmap = match NamedMap::from_name(&name) {
        Some(map) => map.blob(),
        None if name == "identity" => Arc::default(),
        None => {
            let known =
                "SentencePiece's rules: \"nmt_nfkc\", \"nfkc\", \"nmt_nfkc_cf\", \"nfkc_cf\" or \"identity\"";
            return Err(wrong(options.py(), "normalizer", &name, known));
        }
    };
    Ok(vec![Normalizer::SentencePiece(SentencePieceRules {
        charsmap,
        user_defined: texts_option(options, "user_defined_symbols")?,
        add_dummy_prefix: flag(options, "add_dummy_prefix")?.unwrap_or(true),
        remove_extra_whitespaces: flag(options, "remove_extra_whitespaces")?.unwrap_or(true),
        escape_whitespaces: true,
        treat_whitespace_as_suffix: false,
    })])
}

fn flag(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<bool>> {
    match options.get_item(name)?.filter(|value| !value.is_none()) {
        None => Ok(None),
        Some(value) => match value.extract() {
            Ok(flag) => Ok(Some(flag)),
            Err(_) => Err(wrong_type(name, "bool or None", &value)),
        },
    }
}

fn documents_option(options: &Bound<'_, PyDict>) -> PyResult<Documents> {
    match text_option(options, "documents")?.as_str() {
        "file" => Ok(Documents::File),
        "lines" => Ok(Documents::Lines),
        other => Err(wrong(options.py(), "documents", other, "\"file\" or \"lines\"")),
    }
}

fn errors_option(options: &Bound<'_, PyDict>) -> PyResult<Errors> {
    match text_option(options, "errors")?.as_str() {
        "strict" => Ok(Errors::Strict),
        "replace" => Ok(Errors::Replace),
        "skip" => Ok(Errors::Skip),
        other => Err(wrong(options.py(), "errors", other, "\"strict\", \"replace\" or \"skip\"")),
    }
}

fn wrong(py: Python<'_>, name: &str, value: &str, known: &str) -> PyErr {
    raise(py, Error::training(format!("{name}={value:?} is none of {known}")))
}
