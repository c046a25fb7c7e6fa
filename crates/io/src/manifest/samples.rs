//! Which texts the golden vectors of a tokenizer have: they touch every component of it.
//!
//! In: an engine and its plain description, which is one for all notations of the same tokenizer. Out: questions. A
//! choice depends on nothing else, so tokenizers with one fingerprint have the same texts.
use std::collections::BTreeSet;

use tokenmill_core::description::{
    AddedToken, Decoder, Decoding, Description, ModelDescription, Normalizer, Pattern, PreTokenizer,
};
use tokenmill_core::engine::Engine;

use super::golden::{Literals, Question};

/// Texts for every tokenizer: letters of both cases and contractions, digits, white space, punctuation, code,
/// composed and decomposed characters, scripts, emoji, controls, long runs, and what formats write specially.
const TEXTS: [&str; 21] = [
    "",
    "Hello, world!",
    "Don't they'll I'M WE'VE it's o'clock",
    "0 12 345 6789 01234567 3.14 1,000 x2y",
    "  two   spaces\t\ttabs\n\n\nlines\r\n end  \n ",
    "def f(x_1):\n    return x_1[0] != \"\\n\"  # ok\n",
    "HTTPServer camelCase naïve Ångström straße",
    "e\u{301} A\u{30a} ﬁ ① ² ｱ Ⅷ",
    "İI ǅ ß ſ Σς",
    "你好,世界。日本語です 안녕하세요",
    "Привет שלום مرحبا नमस्ते ไทย ١٢٣",
    "👍🏽 👩‍👧 🇩🇪 🦊",
    "a\u{0}b\u{7}\u{200b}c\u{a0}d\u{3000}e\u{ad}\u{feff}",
    "(a+b)²≤∞ → €5 «x» … — ~`^|",
    "\u{2581}\u{2581}x Ġa Ċ <0x0A> ##s a</w>",
    "\u{e000}\u{378}\u{10ffff}\u{fffd}",
    "https://ex.org/a?b=c&d=1 a@b.co",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "                                        ",
    "========================================",
    "\n\n\n\n\n\n\n\n\n\n\n\nx",
];

/// The most added tokens that are in texts; of more than these a sample.
const MOST_ADDED: usize = 48;

/// Added tokens in one text.
const TOGETHER: usize = 8;

/// Ordinary tokens that are in texts, evenly spread over the ids.
const ORDINARY: usize = 32;

/// Longest tokens that are in texts.
const LONGEST: usize = 4;

/// The most characters that a part of the tokenizer contributes to a text.
const MOST_CHARACTERS: usize = 80;

/// The most questions.
const MOST: usize = 60;

/// The questions for a tokenizer.
pub(super) fn questions(engine: &Engine, plain: &Description) -> Vec<Question> {
    let mut questions: Vec<Question> = TEXTS.into_iter().map(Question::of).collect();
    let with_special = |text: &str, pair: Option<&str>| Question {
        pair: pair.map(str::to_owned),
        add_special_tokens: true,
        ..Question::of(text)
    };
    questions.push(with_special("Hello world", None));
    questions.push(with_special("Hello world", Some("How are you?")));
    questions.extend(of_added(&plain.added_tokens));
    questions.extend(of_tokens(engine));
    questions.extend(of_steps(plain));
    let mut seen = BTreeSet::new();
    questions.retain(|question| seen.insert(question.clone()));
    questions.truncate(MOST);
    questions
}

/// Is a part short enough to be in a text?
fn is_short(text: &str) -> bool {
    !text.is_empty() && text.chars().nth(MOST_CHARACTERS).is_none()
}

/// Texts with the literals of added tokens: for each combination of flags one between all kinds of neighbours, and
/// all tokens, or a sample of them, one after the other.
fn of_added(added: &[AddedToken]) -> Vec<Question> {
    let parsed = |text: String| Question { special: Literals::Parse, ..Question::of(text) };
    let added: Vec<&AddedToken> = added.iter().filter(|token| is_short(&token.content)).collect();
    let mut questions = Vec::new();
    let mut flags = BTreeSet::new();
    for AddedToken { content, is_special, single_word, lstrip, rstrip, normalized, .. } in &added {
        if flags.insert((is_special, single_word, lstrip, rstrip, normalized)) && flags.len() <= TOGETHER {
            questions.push(parsed(format!("a{content}b  {content}  c {content}\n{content}{content}.")));
        }
    }
    if let Some(special) = added.iter().find(|token| token.is_special) {
        questions.push(Question::of(format!("a {} b", special.content)));
    }
    for together in spread(&added, MOST_ADDED).chunks(TOGETHER) {
        let literals: Vec<&str> = together.iter().map(|token| token.content.as_str()).collect();
        questions.push(parsed(literals.join(" ")));
    }
    questions
}

/// Texts with what the steps of a tokenizer look for.
fn of_steps(plain: &Description) -> Vec<Question> {
    let mut literals: Vec<String> = Vec::new();
    let mut add = |pattern: &Pattern| {
        if let Pattern::Literal(text) = pattern {
            literals.push(text.clone());
        }
    };
    for step in &plain.normalizer {
        match step {
            Normalizer::Replace { pattern, .. } => add(pattern),
            Normalizer::SentencePiece(rules) => {
                rules.user_defined.iter().take(LONGEST).for_each(|text| add(&Pattern::Literal(text.clone())));
            }
            _ => {}
        }
    }
    for step in &plain.pre_tokenizer {
        match step {
            PreTokenizer::Split { pattern, .. } => add(pattern),
            PreTokenizer::CharDelimiter(delimiter) => add(&Pattern::Literal(delimiter.to_string())),
            PreTokenizer::Metaspace { replacement, .. } => add(&Pattern::Literal(replacement.to_string())),
            _ => {}
        }
    }
    if let Decoding::Steps(steps) = &plain.decoding {
        for step in steps {
            match step {
                Decoder::Replace { pattern, .. } => add(pattern),
                Decoder::Strip { content, .. } => add(&Pattern::Literal(content.to_string())),
                Decoder::Bpe { suffix } => add(&Pattern::Literal(suffix.clone())),
                Decoder::WordPiece { prefix, .. } => add(&Pattern::Literal(prefix.clone())),
                Decoder::Ctc { pad, delimiter, .. } => {
                    add(&Pattern::Literal(pad.clone()));
                    add(&Pattern::Literal(delimiter.clone()));
                }
                _ => {}
            }
        }
    }
    if let ModelDescription::WordPiece(model) = &plain.model
        && model.max_chars <= 2 * MOST_CHARACTERS
    {
        // A pretoken of the most characters, and one that is longer.
        let word = "a".repeat(model.max_chars);
        literals.push(format!("{word} {word}"));
    }
    literals.retain(|text| !text.is_empty() && text.chars().nth(4 * MOST_CHARACTERS).is_none());
    let mut seen = BTreeSet::new();
    literals.retain(|text| seen.insert(text.clone()));
    let around = |text: &String| Question::of(format!("{text}a{text}b {text}{text}"));
    literals.iter().take(2 * TOGETHER).map(around).collect()
}

/// Texts of ordinary tokens: some of all ids, and the longest.
fn of_tokens(engine: &Engine) -> Vec<Question> {
    let vocabulary = engine.vocabulary();
    let text = |id: &u32| {
        let bytes = vocabulary.decoded(*id)?;
        let text = std::str::from_utf8(bytes).ok().filter(|text| is_short(text))?;
        // SentencePiece writes a space like this.
        Some(text.replace('\u{2581}', " "))
    };
    let ids: Vec<u32> =
        vocabulary.ids().into_iter().filter(|&id| vocabulary.added_by_id(id).is_none()).collect();
    let spread = spread(&ids, ORDINARY);
    let some: Vec<String> = spread.iter().filter_map(text).collect();
    let mut questions: Vec<Question> =
        some.chunks(TOGETHER).map(|texts| Question::of(texts.concat())).collect();
    questions.extend(some.chunks(2 * TOGETHER).map(|texts| Question::of(texts.join(" "))));
    let mut longest: Vec<(usize, u32)> = Vec::with_capacity(LONGEST + 1);
    for &id in &ids {
        let length = vocabulary.decoded(id).map_or(0, <[u8]>::len);
        let is_longer = longest.last().is_none_or(|&(shortest, _)| length > shortest);
        if (is_longer || longest.len() < LONGEST) && text(&id).is_some() {
            let at = longest.partition_point(|&(other, _)| other >= length);
            longest.insert(at, (length, id));
            longest.truncate(LONGEST);
        }
    }
    let longest: Vec<String> = longest.iter().filter_map(|(_, id)| text(id)).collect();
    questions.extend(longest.chunks(2).map(|texts| Question::of(texts.join(" "))));
    questions
}

/// At most `most` of the items, the first and the last among them, evenly spaced.
fn spread<T: Copy>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most {
        return items.to_vec();
    }
    (0..most).map(|i| items[i * (items.len() - 1) / (most - 1)]).collect()
}
