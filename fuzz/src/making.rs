//! Small tokenizers, texts and patterns made from bytes: what a file could say, and no file says.
//!
//! Pieces come from a short list, so that tokens, texts and patterns meet. A description that is no
//! tokenizer is made, too; compiling refuses it.
mod models;
mod stages;

use arbitrary::{Arbitrary, Result, Unstructured};
use tokenmill_core::description::{
    self, AddedToken, CallDefaults, CallLimits, ChatTemplates, Description, ModelDescription, Roles, Side,
};
use tokenmill_core::ids::TokenId;

/// What texts, tokens and patterns are made of.
const PIECES: [&str; 56] = [
    "a",
    "b",
    "c",
    "A",
    "s",
    "t",
    "1",
    "23",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "'s",
    "'",
    ".",
    ",",
    "-",
    "##",
    "▁",
    "Ġ",
    "Ċ",
    "Ã",
    "©",
    "</w>",
    "<unk>",
    "<s>",
    "</s>",
    "<0x41>",
    "<0xC3>",
    "<0xA9>",
    "<0xFF>",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{323}",
    "ß",
    "İ",
    "ſ",
    "ﬁ",
    "½",
    "ｱ",
    "ﾞ",
    "中",
    "한",
    "\u{1112}\u{1161}",
    "ا",
    "\u{200d}",
    "🙂",
    "👩‍🚀",
    "\u{fffd}",
    "\u{ad}",
    "\u{0}",
    "\u{7f}",
    "\u{3000}",
    "\u{10ffff}",
];

/// Up to `most` pieces, now and then any character.
fn text_of(from: &mut Unstructured<'_>, most: usize) -> Result<String> {
    let mut text = String::new();
    for _ in 0..from.int_in_range(0..=most)? {
        match from.int_in_range(0..=PIECES.len() + 3)? {
            index if index < PIECES.len() => text.push_str(PIECES[index]),
            index if index == PIECES.len() => {
                let repeated = *from.choose(&PIECES)?;
                text.push_str(&repeated.repeat(from.int_in_range(2..=40)?));
            }
            _ => text.push(from.arbitrary()?),
        }
    }
    Ok(text)
}

/// A text that is not empty.
fn word(from: &mut Unstructured<'_>) -> Result<String> {
    let text = text_of(from, 3)?;
    Ok(if text.is_empty() { "a".to_owned() } else { text })
}

/// Up to `most` of what `make` makes.
fn up_to<T>(
    from: &mut Unstructured<'_>,
    most: usize,
    make: impl Fn(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..from.int_in_range(0..=most)?).map(|_| make(from)).collect()
}

/// A small tokenizer and a text.
#[derive(Debug)]
pub struct Encoding {
    /// The tokenizer.
    pub description: Description,
    /// The text.
    pub text: String,
}

impl<'a> Arbitrary<'a> for Encoding {
    fn arbitrary(from: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self { text: text_of(from, 60)?, description: description(from)? })
    }
}

/// A small tokenizer and ids: its own for the most part.
#[derive(Debug)]
pub struct Decoding {
    /// The tokenizer.
    pub description: Description,
    /// The ids.
    pub ids: Vec<TokenId>,
    /// The lengths of the parts in which they come.
    pub lengths: Vec<usize>,
}

impl<'a> Arbitrary<'a> for Decoding {
    fn arbitrary(from: &mut Unstructured<'a>) -> Result<Self> {
        let lengths = up_to(from, 4, |from| from.int_in_range(0..=8))?;
        let description = description(from)?;
        let tokens = description.model.tokens().ids().iter().copied();
        let known: Vec<_> = tokens.chain(description.added_tokens.iter().map(|token| token.id)).collect();
        let mut ids = Vec::new();
        for _ in 0..from.int_in_range(0..=200)? {
            let is_known = !known.is_empty() && !from.ratio(1, 16)?;
            ids.push(if is_known { *from.choose(&known)? } else { from.arbitrary()? });
        }
        Ok(Self { description, ids, lengths })
    }
}

/// A pattern and a text.
#[derive(Debug)]
pub struct Splitting {
    /// Made of what patterns are made of for the most part, else anything.
    pub pattern: String,
    /// The text.
    pub text: String,
}

impl<'a> Arbitrary<'a> for Splitting {
    fn arbitrary(from: &mut Unstructured<'a>) -> Result<Self> {
        let text = text_of(from, 60)?;
        let pattern = if from.ratio(1, 4)? { from.arbitrary()? } else { pattern(from)? };
        Ok(Self { pattern, text })
    }
}

fn description(from: &mut Unstructured<'_>) -> Result<Description> {
    let model = models::model(from)?;
    let added_tokens = added_tokens(from, &model)?;
    let ids: Vec<TokenId> =
        model.tokens().ids().iter().copied().chain(added_tokens.iter().map(|token| token.id)).collect();
    let role = |from: &mut Unstructured<'_>| -> Result<Option<TokenId>> {
        Ok(if from.ratio(1, 4)? && !ids.is_empty() { Some(*from.choose(&ids)?) } else { None })
    };
    let steps = up_to(from, 3, stages::decoder)?;
    Ok(Description {
        normalizer: up_to(from, 2, stages::normalizer)?,
        pre_tokenizer: up_to(from, 2, stages::pre_tokenizer)?,
        post_processor: up_to(from, 2, |from| stages::post_processor(from, &ids))?,
        decoding: match from.int_in_range(0..=4)? {
            0 => description::Decoding::Spaced,
            1 | 2 => description::Decoding::Bytes,
            _ => description::Decoding::Steps(steps),
        },
        truncation: None,
        padding: None,
        roles: Roles { bos: role(from)?, eos: role(from)?, ..Roles::default() },
        defaults: CallDefaults {
            special_as_text: false,
            clean_up_spaces: from.ratio(1, 8)?,
            limits: limits(from)?,
        },
        chat_templates: ChatTemplates::default(),
        model,
        added_tokens,
    })
}

fn added_tokens(from: &mut Unstructured<'_>, model: &ModelDescription) -> Result<Vec<AddedToken>> {
    let tokens = model.tokens();
    let mut next = tokens.ids().last().map_or(0, |&id| id.saturating_add(1));
    let mut added: Vec<AddedToken> = Vec::new();
    for _ in 0..from.int_in_range(0..=4)? {
        // One of the vocabulary, or a new one after it.
        let of_model = if from.ratio(1, 3)? && !tokens.is_empty() {
            let index = from.choose_index(tokens.len())?;
            std::str::from_utf8(tokens.bytes(index)).ok().map(|text| (tokens.id(index), text.to_owned()))
        } else {
            None
        };
        let (id, content) = match of_model {
            Some(known) => known,
            None => {
                next += 1;
                (next - 1, word(from)?)
            }
        };
        if added.iter().any(|token| token.id == id || token.content == content) {
            continue;
        }
        added.push(AddedToken {
            id,
            content,
            is_special: from.arbitrary()?,
            single_word: from.ratio(1, 4)?,
            lstrip: from.ratio(1, 4)?,
            rstrip: from.ratio(1, 4)?,
            normalized: from.ratio(1, 3)?,
        });
    }
    added.sort_by_key(|token| token.id);
    Ok(added)
}

/// A split pattern, most of the time one that is valid.
fn pattern(from: &mut Unstructured<'_>) -> Result<String> {
    let mut pattern = String::new();
    for i in 0..from.int_in_range(1..=5)? {
        if i > 0 {
            pattern.push('|');
        }
        for _ in 0..from.int_in_range(1..=4)? {
            pattern.push_str(&atom(from)?);
            pattern.push_str(from.choose(&REPEATS)?);
        }
        if from.ratio(1, 4)? {
            pattern.push_str(from.choose(&[
                "(?!\\S)",
                "$",
                "\\z",
                "(?=a)",
                "(?<=a)",
                "\\b",
                "(?![^\\n])",
            ])?);
        }
    }
    Ok(pattern)
}

const REPEATS: [&str; 14] = ["", "", "", "", "?", "*", "+", "?+", "*+", "++", "{1,3}", "{2}", "{1,3}+", "+?"];

const ATOMS: [&str; 36] = [
    r"\s",
    r"\S",
    r"\d",
    r"\w",
    r"\W",
    r"\p{L}",
    r"\p{N}",
    r"\p{Lu}",
    r"\p{Ll}",
    r"\p{M}",
    r"\p{P}",
    r"\p{Han}",
    r"\P{L}",
    ".",
    " ",
    "'",
    "a",
    "s",
    r"\n",
    r"\r\n",
    r"[^\s\p{L}\p{N}]",
    r"[^\r\n\p{L}\p{N}]",
    r"[\p{Lu}\p{Lt}]",
    r"[\p{Ll}\p{M}]",
    r"[\r\n]",
    r"[\r\n/]",
    "[a-z]",
    "[^a-c]",
    r"[\p{L}&&[^\p{Han}]]",
    r"[^\S\n]",
    "(?i:[sdmt])",
    "(?i:'s|'t|ll)",
    r"(?:\p{L}|\s)",
    r"(?>\s+)",
    "(a|b)",
    r"\1",
];

fn atom(from: &mut Unstructured<'_>) -> Result<String> {
    Ok(match from.int_in_range(0..=ATOMS.len() + 4)? {
        index if index < ATOMS.len() => ATOMS[index].to_owned(),
        index if index == ATOMS.len() => {
            let mut class = "[".to_owned();
            if from.ratio(1, 3)? {
                class.push('^');
            }
            for _ in 0..from.int_in_range(1..=3)? {
                let low: char = from.arbitrary()?;
                let high = char::from_u32(u32::from(low).saturating_add(from.int_in_range(0..=300)?));
                class.push_str(&format!(
                    "\\x{{{:x}}}-\\x{{{:x}}}",
                    u32::from(low),
                    u32::from(high.unwrap_or(low))
                ));
            }
            class.push(']');
            class
        }
        index if index == ATOMS.len() + 1 => format!("\\x{{{:x}}}", u32::from(from.arbitrary::<char>()?)),
        index if index == ATOMS.len() + 2 => from.arbitrary::<char>()?.to_string(),
        _ => fancy_regex::escape(from.choose(&PIECES)?).into_owned(),
    })
}

fn limits(from: &mut Unstructured<'_>) -> Result<Option<CallLimits>> {
    let mut side = || Ok(if from.ratio(1, 2)? { Side::Left } else { Side::Right });
    let (padding_side, truncation_side) = (side()?, side()?);
    let max_length = from.ratio(1, 2)?.then(|| from.int_in_range(0..=100)).transpose()?;
    let limits = CallLimits { padding_side, truncation_side, max_length };
    Ok((limits != CallLimits::default()).then_some(limits))
}
