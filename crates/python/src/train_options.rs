//! The options of training: from the dict that `tokenmill.train` makes to those of the core.
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tokenmill_core::description::{
    Additions, EndOfWord, EndOfWordForm, Normalizer, PreTokenizer, PrependScheme, Role, SentencePieceRules,
    UnicodeTables,
};
use tokenmill_core::error::Error;
use tokenmill_core::ids::NO_ID;
use tokenmill_core::train::{
    Base, BertTemplate, BpeOptions, CharacterOptions, Dialect, Score, SpecialIds, Target, TieBreak,
    TrainAlphabet, TrainModel, TrainOptions, UnigramOptions, WordPieceOptions, reserved_token,
};
use tokenmill_io::NamedMap;
use tokenmill_io::corpus::{Documents, Errors};
use tokenmill_io::memory;

use crate::argument_values::{self, Given};
use crate::exceptions::{raise, wrong_type};
use crate::tokenizer::Tokenizer;

/// The options of a training run.
pub(crate) fn train_options(options: &Bound<'_, PyDict>, additions: &Additions) -> PyResult<TrainOptions> {
    let py = options.py();
    let target = match (number(options, "vocab_size")?, number(options, "num_merges")?) {
        // Nothing is learned, so that any size will do.
        (None, None) if flag(options, "counts_only")?.unwrap_or(false) => Target::VocabSize(NO_ID as usize),
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
        && let Some(at) = special_tokens.iter().position(|(content, _)| content == unk)
    {
        special_tokens[..=at].rotate_right(1);
    }
    let reserved = (0..number(options, "reserved_tokens")?.unwrap_or(0)).map(reserved_token);
    let threads = Given(options.get_item("num_threads")?);
    let return_ids = flag(options, "return_ids")?.unwrap_or(false);
    if let TrainModel::Bpe(BpeOptions { base: Some(base), .. }) = &model {
        let base = base.description();
        return Ok(TrainOptions {
            target,
            normalizer: base.normalizer.clone(),
            pre_tokenizer: base.pre_tokenizer.clone(),
            special_tokens: base.added_tokens.iter().map(|token| token.content.clone()).collect(),
            special_ids,
            pad_vocab_to_multiple_of: number(options, "pad_vocab_to_multiple_of")?,
            num_threads: argument_values::threads(&threads, Error::training::<String>)?,
            return_ids,
            memory: None,
            model,
        });
    }
    Ok(TrainOptions {
        target,
        normalizer: if is_sentencepiece(&model) {
            rules_option(options)?
        } else {
            normalizer_option(options)?
        },
        model,
        pre_tokenizer: pre_tokenizer_option(options)?,
        special_tokens: special_tokens.into_iter().map(|(content, _)| content).chain(reserved).collect(),
        special_ids,
        pad_vocab_to_multiple_of: number(options, "pad_vocab_to_multiple_of")?,
        num_threads: argument_values::threads(&threads, Error::training::<String>)?,
        return_ids,
        memory: if return_ids { memory::available() } else { None },
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
        characters: character_options(options)?,
        whole_characters: flag(options, "whole_characters")?.unwrap_or(false),
        base: base_option(options)?,
    })
}

/// The tokenizer that training goes on from.
fn base_option(options: &Bound<'_, PyDict>) -> PyResult<Option<Arc<Base>>> {
    let Some(given) = options.get_item("base")?.filter(|value| !value.is_none()) else { return Ok(None) };
    let Ok(base) = given.cast::<Tokenizer>() else {
        return Err(wrong_type("base", "Tokenizer or None", &given));
    };
    let base = Base::new(base.get().engine()).map_err(|error| raise(options.py(), error))?;
    Ok(Some(Arc::new(base)))
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
        characters: character_options(options)?,
    })
}

/// Is it trained for SentencePiece?
pub(crate) fn is_sentencepiece(model: &TrainModel) -> bool {
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
    Ok(UnigramOptions {
        dialect,
        unk_token: optional(options, "unk_token")?,
        byte_fallback: flag(options, "byte_fallback")?.unwrap_or(false),
        user_defined_symbols: texts_option(options, "user_defined_symbols")?,
        characters: character_options(options)?,
        max_token_length: number(options, "max_token_length")?.unwrap_or(16),
    })
}

/// Which characters an alphabet has.
fn character_options(options: &Bound<'_, PyDict>) -> PyResult<CharacterOptions> {
    let coverage = match options.get_item("character_coverage")?.filter(|value| !value.is_none()) {
        None => 1.0,
        Some(value) => {
            value.extract().map_err(|_| wrong_type("character_coverage", "float or None", &value))?
        }
    };
    Ok(CharacterOptions {
        coverage,
        limit: number(options, "limit_alphabet")?,
        initial: optional(options, "initial_alphabet")?.unwrap_or_default().chars().collect(),
    })
}

/// A list of texts.
fn texts_option(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<String>> {
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(Vec::new()) };
    argument_values::texts(&value, name, "a list of str")?
        .enumerate()
        .map(|(i, item)| {
            let item = item?;
            argument_values::string(&item, || format!("{name}[{i}]"))
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
        split => Ok(argument_values::split(options.py(), split)?.split.stages()),
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
    let number = argument_values::number(&value, || name.to_owned())?;
    // 2^48 of anything exceeds memory; the sum of two such numbers still fits.
    usize::try_from(number).ok().filter(|&number| number < 1 << 48).map(Some).ok_or_else(|| {
        let what = if number < 0 { "negative" } else { "too large" };
        raise(options.py(), Error::training(format!("{name}={value} is {what}")))
    })
}

/// A text that must be there.
pub(crate) fn text_option(options: &Bound<'_, PyDict>, name: &str) -> PyResult<String> {
    // A missing option counts as None.
    let value = options.get_item(name)?.unwrap_or_else(|| options.py().None().into_bound(options.py()));
    argument_values::string(&value, || name.to_owned())
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

/// The column of a table that has the texts.
pub(crate) fn column_option(options: &Bound<'_, PyDict>) -> PyResult<Option<String>> {
    optional(options, "column")
}

/// What a document is.
pub(crate) fn documents_option(options: &Bound<'_, PyDict>) -> PyResult<Documents> {
    match text_option(options, "documents")?.as_str() {
        "file" => Ok(Documents::File),
        "lines" => Ok(Documents::Lines),
        other => Err(wrong(options.py(), "documents", other, "\"file\" or \"lines\"")),
    }
}

/// What happens to text that is not UTF-8.
pub(crate) fn errors_option(options: &Bound<'_, PyDict>) -> PyResult<Errors> {
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
