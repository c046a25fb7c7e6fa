//! The stages around a model.
use arbitrary::{Result, Unstructured};
use tokenmill_core::description::{
    Behavior, Decoder, Normalizer, Pattern, PostProcessor, PreTokenizer, PrependScheme, SentencePieceRules,
    Template, TemplatePiece, TemplateToken, UnicodeTables,
};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::named_splits;

use super::{PIECES, pattern, text_of, word};

fn looked_for(from: &mut Unstructured<'_>) -> Result<Pattern> {
    Ok(match from.int_in_range(0..=3)? {
        0 => Pattern::Literal(text_of(from, 2)?),
        1 => Pattern::Literal((*from.choose(&PIECES)?).to_owned()),
        2 => {
            Pattern::Regex((*from.choose(&[" {2,}", r"\s+", r"\p{M}", "(?=a)", "^ ", "x*", "."])?).to_owned())
        }
        _ => Pattern::Regex(pattern(from)?),
    })
}

fn tables(from: &mut Unstructured<'_>) -> Result<UnicodeTables> {
    Ok(if from.arbitrary()? { UnicodeTables::Reference } else { UnicodeTables::Current })
}

fn scheme(from: &mut Unstructured<'_>) -> Result<PrependScheme> {
    Ok(*from.choose(&[PrependScheme::First, PrependScheme::Never, PrependScheme::Always])?)
}

fn mark(from: &mut Unstructured<'_>) -> Result<char> {
    Ok(if from.ratio(3, 4)? { '▁' } else { from.arbitrary()? })
}

pub(super) fn normalizer(from: &mut Unstructured<'_>) -> Result<Normalizer> {
    Ok(match from.int_in_range(0..=12)? {
        0 => Normalizer::Nfc(tables(from)?),
        1 => Normalizer::Nfd(tables(from)?),
        2 => Normalizer::Nfkc(tables(from)?),
        3 => Normalizer::Nfkd(tables(from)?),
        4 => Normalizer::Lowercase,
        5 => Normalizer::Strip { left: from.arbitrary()?, right: from.arbitrary()? },
        6 => Normalizer::StripAccents,
        7 => Normalizer::Replace { pattern: looked_for(from)?, content: text_of(from, 2)? },
        8 => Normalizer::Prepend(text_of(from, 2)?),
        9 => Normalizer::ByteLevel,
        10 => Normalizer::Nmt,
        11 => Normalizer::Bert {
            clean_text: from.arbitrary()?,
            handle_chinese_chars: from.arbitrary()?,
            strip_accents: from.arbitrary()?,
            lowercase: from.arbitrary()?,
        },
        _ => Normalizer::SentencePiece(SentencePieceRules {
            charsmap: [].into(),
            user_defined: super::up_to(from, 3, word)?,
            add_dummy_prefix: from.arbitrary()?,
            remove_extra_whitespaces: from.arbitrary()?,
            escape_whitespaces: from.arbitrary()?,
            treat_whitespace_as_suffix: from.arbitrary()?,
        }),
    })
}

pub(super) fn pre_tokenizer(from: &mut Unstructured<'_>) -> Result<PreTokenizer> {
    const BEHAVIORS: [Behavior; 5] = [
        Behavior::Removed,
        Behavior::Isolated,
        Behavior::MergedWithPrevious,
        Behavior::MergedWithNext,
        Behavior::Contiguous,
    ];
    Ok(match from.int_in_range(0..=13)? {
        0 => PreTokenizer::PrefixSpace,
        1 => PreTokenizer::ByteAlphabet,
        2 => PreTokenizer::Bert,
        3 => PreTokenizer::Punctuation(*from.choose(&BEHAVIORS)?),
        4 => PreTokenizer::Whitespace,
        5 => PreTokenizer::WhitespaceSplit,
        6 => PreTokenizer::Digits { individual: from.arbitrary()? },
        7 => PreTokenizer::CharDelimiter(if from.arbitrary()? { ' ' } else { from.arbitrary()? }),
        8 => PreTokenizer::FixedLength(*from.choose(&[1, 2, 7, 0, usize::MAX])?),
        9 => PreTokenizer::UnicodeScripts,
        10 => PreTokenizer::Metaspace {
            replacement: mark(from)?,
            prepend: scheme(from)?,
            split: from.arbitrary()?,
        },
        11 => {
            let mut stages = named_splits::split_named(from.choose(&named_splits::NAMES)?).map(|split| split.stages());
            stages.as_mut().and_then(Vec::pop).unwrap_or(PreTokenizer::Whitespace)
        }
        _ => PreTokenizer::Split {
            pattern: looked_for(from)?,
            behavior: *from.choose(&BEHAVIORS)?,
            invert: from.ratio(1, 4)?,
        },
    })
}

fn named(from: &mut Unstructured<'_>, ids: &[TokenId]) -> Result<(String, TokenId)> {
    Ok((word(from)?, if ids.is_empty() { 0 } else { *from.choose(ids)? }))
}

pub(super) fn post_processor(from: &mut Unstructured<'_>, ids: &[TokenId]) -> Result<PostProcessor> {
    Ok(match from.int_in_range(0..=3)? {
        0 => {
            let (name, id) = named(from, ids)?;
            let piece = |from: &mut Unstructured<'_>| -> Result<TemplatePiece> {
                Ok(match from.int_in_range(0..=3)? {
                    0 => TemplatePiece::Special { name: name.clone(), type_id: 1 },
                    1 => TemplatePiece::Sequence { second: true, type_id: from.arbitrary()? },
                    _ => TemplatePiece::Sequence { second: false, type_id: 0 },
                })
            };
            PostProcessor::Template(Template {
                single: super::up_to(from, 4, piece)?,
                pair: super::up_to(from, 4, piece)?,
                special_tokens: vec![TemplateToken {
                    name: name.clone(),
                    ids: vec![id, id],
                    tokens: vec![name; 2],
                }],
            })
        }
        1 => PostProcessor::Bert { sep: named(from, ids)?, cls: named(from, ids)? },
        2 => PostProcessor::Roberta {
            sep: named(from, ids)?,
            cls: named(from, ids)?,
            trim_offsets: from.arbitrary()?,
            add_prefix_space: from.arbitrary()?,
        },
        _ => {
            PostProcessor::ByteLevel { trim_offsets: from.arbitrary()?, add_prefix_space: from.arbitrary()? }
        }
    })
}

pub(super) fn decoder(from: &mut Unstructured<'_>) -> Result<Decoder> {
    Ok(match from.int_in_range(0..=9)? {
        0 => Decoder::ByteLevel,
        1 => Decoder::WordPiece { prefix: text_of(from, 1)?, cleanup: from.arbitrary()? },
        2 => {
            Decoder::Metaspace { replacement: mark(from)?, prepend: scheme(from)?, split: from.arbitrary()? }
        }
        3 => Decoder::Bpe { suffix: text_of(from, 1)? },
        4 => {
            Decoder::Ctc { pad: text_of(from, 1)?, delimiter: text_of(from, 1)?, cleanup: from.arbitrary()? }
        }
        5 => Decoder::ByteFallback,
        6 => Decoder::Fuse,
        7 => Decoder::Strip {
            content: *from.choose(&[' ', 'a', '▁'])?,
            start: *from.choose(&[0, 1, 2, usize::MAX])?,
            stop: *from.choose(&[0, 1, 2, usize::MAX])?,
        },
        8 => Decoder::Replace { pattern: looked_for(from)?, content: text_of(from, 2)? },
        _ => Decoder::SentencePiece {
            unk_surface: text_of(from, 2)?,
            add_dummy_prefix: from.arbitrary()?,
            remove_extra_whitespaces: from.arbitrary()?,
            treat_whitespace_as_suffix: from.arbitrary()?,
        },
    })
}
