//! Unigram classes that mark spaces: SentencePiece models as transformers represents them.
use serde_json::{Value, json};
use tokenmill_core::description::Side;
use tokenmill_core::error::{Defect, Error, Result};

use super::super::settings::Settings;
use super::super::tokens::Token;
use super::recipe::{Again, Frame, PLAIN, Parts, Recipe, Stages, literals, template};
use crate::tokenizer_json::Kind;

pub(super) type Roles = &'static [(&'static str, &'static str)];

pub(super) const FAIRSEQ: Roles = &[
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("sep_token", "</s>"),
    ("cls_token", "<s>"),
    ("unk_token", "<unk>"),
    ("pad_token", "<pad>"),
    ("mask_token", "<mask>"),
];

const FAIRSEQ_WITHOUT_MASK: Roles = &[
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("sep_token", "</s>"),
    ("cls_token", "<s>"),
    ("unk_token", "<unk>"),
    ("pad_token", "<pad>"),
];

const FAIRSEQ_WITHOUT_BOS: Roles = &[
    ("eos_token", "</s>"),
    ("sep_token", "</s>"),
    ("cls_token", "<s>"),
    ("unk_token", "<unk>"),
    ("pad_token", "<pad>"),
    ("mask_token", "<mask>"),
];

const ALBERT: Roles = &[
    ("bos_token", "[CLS]"),
    ("eos_token", "[SEP]"),
    ("unk_token", "<unk>"),
    ("sep_token", "[SEP]"),
    ("pad_token", "<pad>"),
    ("cls_token", "[CLS]"),
    ("mask_token", "[MASK]"),
];

/// The languages of mBART, followed by those that only its second version has.
const LANGUAGES: [&str; 52] = [
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT",
    "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK",
    "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE",
    "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN",
    "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI",
];

/// The number of languages of the first version.
const FIRST_LANGUAGES: usize = 25;

const UNIGRAM: Recipe =
    Recipe { model: Some(Kind::Unigram), vocabulary: "spiece.model", has_code: true, ..PLAIN };

const FAIRSEQ_UNIGRAM: Recipe = Recipe { vocabulary: "sentencepiece.bpe.model", ..UNIGRAM };

pub(super) const RECIPES: &[Recipe] = &[
    Recipe {
        name: "T5Tokenizer",
        arrange: Some(|settings, mut pieces| {
            pieces.extend((0..sentinels(settings)?).rev().map(|i| (sentinel(i), 0.0)));
            Ok(pieces)
        }),
        roles: &[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")],
        build: Some(|parts| unigram(2, precompiled(parts).unwrap_or_default(), true, "always")),
        frame: |_| template("A eos", "A eos B eos"),
        extra: t5_extra,
        ..UNIGRAM
    },
    Recipe {
        name: "AlbertTokenizer",
        roles: ALBERT,
        build: Some(|parts| {
            let steps =
                accents(parts, !parts.flag("keep_accents", false)?, parts.flag("do_lower_case", true)?);
            unigram(1, normalizers(steps), true, scheme(parts)?)
        }),
        frame: |parts| {
            // The class needs these tokens before it adds others.
            for role in ["cls_token", "sep_token"] {
                let literal = parts.required(role)?;
                if (parts.piece)(&literal).is_none() {
                    let reason = format!("{literal:?} is not among the pieces, but AlbertTokenizer needs it");
                    return Err(Error::format(Defect::Missing, reason).at(role));
                }
            }
            Ok(Frame::UnlessKept("cls A sep".to_owned(), "cls A sep B:1 sep:1".to_owned()))
        },
        ..UNIGRAM
    },
    // The class has no code of its own, so the stages are those of the file.
    Recipe { name: "FNetTokenizer", has_code: false, roles: ALBERT, ..UNIGRAM },
    Recipe {
        name: "RemBertTokenizer",
        vocabulary: "sentencepiece.model",
        roles: ALBERT,
        build: Some(|parts| {
            let mut steps =
                accents(parts, !parts.flag("keep_accents", true)?, parts.flag("do_lower_case", false)?);
            steps.insert(2, replace(" {2,}", " "));
            unigram(2, normalizers(steps), false, scheme(parts)?)
        }),
        // A frame of the class is used if the file has none.
        frame: |parts| {
            if parts.has_frame { template("cls A sep", "cls A sep B:1 sep:1") } else { Ok(Frame::BosEos) }
        },
        again: Again::WithFlags,
        ..UNIGRAM
    },
    Recipe {
        name: "XLNetTokenizer",
        padding_side: Side::Left,
        roles: &[
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
            ("unk_token", "<unk>"),
            ("sep_token", "<sep>"),
            ("pad_token", "<pad>"),
            ("cls_token", "<cls>"),
            ("mask_token", "<mask>"),
        ],
        mask: Token::stripping,
        build: Some(|parts| {
            let steps = accents(parts, true, parts.flag("do_lower_case", false)?);
            unigram(parts.settings.count("unk_id")?.unwrap_or(0), normalizers(steps), true, "always")
        }),
        frame: |_| template("A sep cls:2", "A sep B:1 sep:1 cls:2"),
        extra: |parts| unless_given(parts, &["<eop>", "<eod>"]),
        ..UNIGRAM
    },
    Recipe {
        name: "XLMRobertaTokenizer",
        arrange: Some(|settings, pieces| {
            let first = named(settings, &["bos", "pad", "eos", "unk"]);
            Ok(replace_first(first, pieces, 3).chain(named(settings, &["mask"])).collect())
        }),
        roles: FAIRSEQ,
        build: Some(|parts| unigram(3, precompiled(parts).unwrap_or_default(), true, scheme(parts)?)),
        frame: |_| template("bos A eos", "bos A eos eos B eos"),
        ..FAIRSEQ_UNIGRAM
    },
    Recipe {
        name: "CamembertTokenizer",
        follows_model: true,
        arrange: Some(|settings, pieces| {
            let mut first = named(settings, &["pad", "unk"]);
            first.insert(0, ("<s>NOTUSED".to_owned(), 0.0));
            first.insert(2, ("</s>NOTUSED".to_owned(), 0.0));
            first.push(("<unk>NOTUSED".to_owned(), -100.0));
            Ok(replace_first(first, pieces, 1).chain(named(settings, &["mask"])).collect())
        }),
        roles: FAIRSEQ,
        mask: |content| Token { special: true, ..Token::stripping(content) },
        build: Some(|parts| {
            let unk = parts.required("unk_token")?;
            let unk = (parts.piece)(&unk).map_or(0, |(place, _)| place);
            unigram(unk, precompiled(parts).unwrap_or_default(), true, scheme(parts)?)
        }),
        frame: |_| template("bos A eos", "bos A eos eos B eos"),
        extra: |parts| unless_given(parts, &["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"]),
        ..FAIRSEQ_UNIGRAM
    },
    Recipe {
        name: "BarthezTokenizer",
        follows_model: true,
        roles: FAIRSEQ,
        mask: Token::stripping,
        build: Some(|parts| unigram(3, normalizers(tidy(false)), false, scheme(parts)?)),
        ..FAIRSEQ_UNIGRAM
    },
    Recipe {
        name: "XGLMTokenizer",
        vocabulary: "",
        roles: FAIRSEQ_WITHOUT_MASK,
        build: Some(|parts| unigram(3, single_spaces(parts), false, scheme(parts)?)),
        frame: |_| template("eos A", "eos A eos eos B"),
        extra: |parts| {
            let mut extra = parts.formerly_extra().to_vec();
            for i in 0..7 {
                let word = format!("<madeupword{i}>");
                if !extra.iter().any(|token| token.content == word) {
                    extra.push(Token::literal(word));
                }
            }
            Ok(extra)
        },
        ..UNIGRAM
    },
    Recipe {
        name: "MBartTokenizer",
        arrange: Some(|settings, pieces| {
            let first = named(settings, &["bos", "pad", "eos", "unk"]);
            Ok(with_languages(settings, first, pieces, &LANGUAGES[..FIRST_LANGUAGES]))
        }),
        roles: FAIRSEQ,
        mask: Token::stripping,
        build: Some(|_| unigram(3, Value::Null, true, "always")),
        frame: |parts| {
            let language = language(parts, "en_XX")?;
            template(&format!("A eos {language}"), &format!("A B eos {language}"))
        },
        extra: |parts| {
            let mut extra = literals(&LANGUAGES[..FIRST_LANGUAGES]);
            for token in parts.formerly_extra() {
                if !extra.iter().any(|known| known.content == token.content) {
                    extra.push(token.clone());
                }
            }
            Ok(extra)
        },
        ..FAIRSEQ_UNIGRAM
    },
    Recipe {
        name: "MBart50Tokenizer",
        arranges_file: true,
        arrange: Some(|settings, pieces| {
            if pieces.iter().any(|(text, _)| LANGUAGES.contains(&text.as_str())) {
                return Ok(pieces);
            }
            let first = named(settings, &["cls", "pad", "eos", "unk"]);
            Ok(with_languages(settings, first, pieces, &LANGUAGES))
        }),
        roles: FAIRSEQ_WITHOUT_BOS,
        mask: Token::stripping,
        build: Some(|parts| unigram(3, single_spaces(parts), false, "always")),
        frame: |parts| {
            let language = language(parts, "en_XX")?;
            template(&format!("{language} A eos"), &format!("{language} A B eos"))
        },
        extra: |parts| Ok(parts.formerly_extra().iter().cloned().chain(literals(&LANGUAGES)).collect()),
        ..FAIRSEQ_UNIGRAM
    },
    Recipe {
        name: "PegasusTokenizer",
        arrange: Some(|settings, pieces| {
            let mask = settings.literal_or("mask_token", "<mask_1>");
            let sentence = match settings.text("mask_token_sent")? {
                None if settings.has("mask_token_sent") => None,
                given => Some(given.unwrap_or("<mask_2>").to_owned()),
            };
            let sentence = sentence.filter(|sentence| mask.as_ref() != Some(sentence));
            let mut first = named(settings, &["pad", "eos"]);
            first.extend(mask.into_iter().chain(sentence).map(|text| (text, 0.0)));
            first.extend((2..pegasus_offset(settings)?).map(|i| (format!("<unk_{i}>"), -100.0)));
            Ok(replace_first(first, pieces, 2).collect())
        }),
        roles: &[
            ("pad_token", "<pad>"),
            ("eos_token", "</s>"),
            ("unk_token", "<unk>"),
            ("mask_token", "<mask_2>"),
        ],
        build: Some(|parts| {
            let unk = parts.required("unk_token")?;
            let Some((place @ 1.., 0.0)) = (parts.piece)(&unk) else {
                let reason = format!("{unk:?} is no piece with the score 0 after the first");
                return Err(Error::format(Defect::Missing, reason).at("unk_token"));
            };
            let mut steps = vec![replace(" {2,}", " ")];
            steps.insert(0, precompiled(parts).unwrap_or_else(|| replace(r"\n", " ")));
            unigram(place, normalizers(steps), false, "always")
        }),
        frame: |_| template("A eos", "A B eos"),
        extra: |parts| {
            let sentence = parts.settings.text("mask_token_sent")?;
            let sentence = if parts.settings.has("mask_token_sent") { sentence } else { Some("<mask_1>") };
            let is_given =
                parts.formerly_extra().iter().any(|token| Some(token.content.as_str()) == sentence);
            let sentence = sentence.filter(|_| !is_given).map(Token::literal);
            let offset = pegasus_offset(parts.settings)?;
            Ok(sentence
                .into_iter()
                .chain((2..offset).map(|i| Token::literal(format!("<unk_{i}>"))))
                .collect())
        },
        ..UNIGRAM
    },
    Recipe {
        name: "BigBirdTokenizer",
        roles: &[
            ("unk_token", "<unk>"),
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
            ("pad_token", "<pad>"),
            ("sep_token", "[SEP]"),
            ("mask_token", "[MASK]"),
            ("cls_token", "[CLS]"),
        ],
        mask: Token::stripping,
        build: Some(|parts| unigram(unk_id(parts, 100)?, replace(" {2,}", "▁"), false, scheme(parts)?)),
        frame: |_| template("cls A sep", "cls A sep B:1 sep:1"),
        ..UNIGRAM
    },
    Recipe {
        name: "DebertaV2Tokenizer",
        vocabulary: "spm.model",
        roles: &[
            ("bos_token", "[CLS]"),
            ("eos_token", "[SEP]"),
            ("unk_token", "[UNK]"),
            ("sep_token", "[SEP]"),
            ("pad_token", "[PAD]"),
            ("cls_token", "[CLS]"),
            ("mask_token", "[MASK]"),
        ],
        build: Some(|parts| {
            let scheme = if parts.flag("add_prefix_space", true)? { "always" } else { "first" };
            let unk = unk_id(parts, parts.settings.count("unk_id")?.unwrap_or(1))?;
            let normalizer = normalizers(tidy(parts.flag("do_lower_case", false)?));
            let mut stages = unigram(unk, normalizer, false, scheme)?;
            if parts.flag("split_by_punct", false)? {
                let punctuation = json!({ "type": "Punctuation", "behavior": "Isolated" });
                stages.pre_tokenizer = sequence(vec![punctuation, stages.pre_tokenizer]);
            }
            Ok(stages)
        }),
        frame: |_| template("cls A sep", "cls A sep B:1 sep:1"),
        ..UNIGRAM
    },
];

/// The tokens of roles, as pieces.
pub(super) fn named(settings: &Settings, parts: &[&str]) -> Vec<(String, f64)> {
    let of = |part: &&str| {
        let default = FAIRSEQ.iter().find(|(role, _)| role.strip_suffix("_token") == Some(part))?.1;
        // A null in the folder is written as Python writes it.
        Some((settings.literal_or(&format!("{part}_token"), default).unwrap_or("None".to_owned()), 0.0))
    };
    parts.iter().filter_map(of).collect()
}

/// Puts `first` before the pieces, in place of the first `replaced` pieces.
fn replace_first(
    first: Vec<(String, f64)>,
    pieces: Vec<(String, f64)>,
    replaced: usize,
) -> impl Iterator<Item = (String, f64)> {
    first.into_iter().chain(pieces.into_iter().skip(replaced))
}

fn with_languages(
    settings: &Settings,
    first: Vec<(String, f64)>,
    pieces: Vec<(String, f64)>,
    languages: &[&str],
) -> Vec<(String, f64)> {
    let languages = languages.iter().map(|name| ((*name).to_owned(), 0.0));
    replace_first(first, pieces, 3).chain(languages).chain(named(settings, &["mask"])).collect()
}

pub(super) fn metaspace(scheme: &str, split: bool) -> Value {
    json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split })
}

fn sequence(steps: Vec<Value>) -> Value {
    json!({ "type": "Sequence", "pretokenizers": Value::Array(steps) })
}

pub(super) fn normalizers(steps: Vec<Value>) -> Value {
    json!({ "type": "Sequence", "normalizers": Value::Array(steps) })
}

pub(super) fn replace(regex: &str, content: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "Regex": regex }, "content": content })
}

pub(super) fn precompiled(parts: &Parts<'_>) -> Option<Value> {
    parts.charsmap.map(|charsmap| json!({ "type": "Precompiled", "precompiled_charsmap": charsmap }))
}

/// The prepend scheme of the metaspace step.
fn scheme(parts: &Parts<'_>) -> Result<&'static str> {
    Ok(if parts.flag("add_prefix_space", true)? { "always" } else { "never" })
}

pub(super) fn language(parts: &Parts<'_>, default: &str) -> Result<String> {
    Ok(format!("'{}'", parts.settings.text("src_lang")?.unwrap_or(default)))
}

/// The index of the unknown piece if its score is 0, else `default`.
fn unk_id(parts: &Parts<'_>, default: usize) -> Result<usize> {
    Ok(match (parts.piece)(&parts.required("unk_token")?) {
        Some((place, 0.0)) => place,
        _ => default,
    })
}

#[allow(clippy::unnecessary_wraps)] // a recipe's whole rule
fn unless_given(parts: &Parts<'_>, contents: &[&str]) -> Result<Vec<Token>> {
    Ok(parts.settings.formerly_extra.clone().unwrap_or_else(|| literals(contents)))
}

#[allow(clippy::unnecessary_wraps)] // the last step of recipes
fn unigram(unk_id: usize, normalizer: Value, splits_spaces: bool, scheme: &str) -> Result<Stages> {
    let metaspace = metaspace(scheme, true);
    Ok(Stages {
        unk_id: Some(unk_id),
        normalizer,
        pre_tokenizer: if splits_spaces {
            sequence(vec![json!({ "type": "WhitespaceSplit" }), metaspace.clone()])
        } else {
            metaspace.clone()
        },
        decoder: metaspace,
        ..Stages::default()
    })
}

/// ALBERT's quotes, then accents and case.
fn accents(parts: &Parts<'_>, strips: bool, lowers: bool) -> Vec<Value> {
    let quotes = |from: &str| json!({ "type": "Replace", "pattern": { "String": from }, "content": "\"" });
    let mut steps = vec![quotes("``"), quotes("''")];
    if strips {
        steps.extend([json!({ "type": "NFKD" }), json!({ "type": "StripAccents" })]);
    }
    if lowers {
        steps.push(json!({ "type": "Lowercase" }));
    }
    steps.extend(precompiled(parts));
    steps
}

/// Collapses white space to single spaces, and strips it at the end.
fn tidy(lowers: bool) -> Vec<Value> {
    let lower = lowers.then(|| json!({ "type": "Lowercase" }));
    lower
        .into_iter()
        .chain([
            replace(r"\s{2,}|[\n\r\t]", " "),
            json!({ "type": "NFC" }),
            json!({ "type": "Strip", "strip_left": false, "strip_right": true }),
        ])
        .collect()
}

fn single_spaces(parts: &Parts<'_>) -> Value {
    normalizers(precompiled(parts).into_iter().chain([replace(" {2,}", " ")]).collect())
}

/// The number of sentinels in the folder's settings.
fn sentinels(settings: &Settings) -> Result<usize> {
    Ok(settings.count("extra_ids")?.unwrap_or(100).min(1 << 16))
}

fn sentinel(number: usize) -> String {
    format!("<extra_id_{number}>")
}

/// The offset of the pieces of Pegasus.
fn pegasus_offset(settings: &Settings) -> Result<usize> {
    Ok(settings.count("offset")?.unwrap_or(103).min(1 << 16))
}

/// The sentinels; the settings have their number.
fn t5_extra(parts: &Parts<'_>) -> Result<Vec<Token>> {
    let count = sentinels(parts.settings)?;
    let sentinels = (0..count).map(|i| Token::literal(sentinel(i)));
    let given = parts.formerly_extra();
    let among = given.iter().filter(|token| token.content.contains("<extra_id_")).count();
    if among > 0 && count > 0 && among != count {
        let reason = format!("{count} sentinels, but {among} are listed");
        return Err(Error::format(Defect::Inconsistent, reason).at("extra_ids"));
    }
    Ok(if among > 0 { given.to_vec() } else { given.iter().cloned().chain(sentinels).collect() })
}
