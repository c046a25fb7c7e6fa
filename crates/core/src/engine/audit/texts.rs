//! Hostile texts: kinds that have slowed tokenizers down before, and kinds made from the engine's own tables.
//!
//! In: an engine. Out: recipes for texts of any length, the same in every run.
use crate::description::{Pattern, PreTokenizer};
use crate::model::Random;

use super::super::Engine;

/// A kind of text, of any length.
#[derive(Debug, Clone)]
pub(super) struct Hostile {
    /// Its name in the report.
    pub(super) kind: &'static str,
    recipe: Recipe,
}

#[derive(Debug, Clone)]
enum Recipe {
    /// A unit repeated between a start and an end.
    Repeated { before: &'static str, unit: String, after: &'static str },
    /// Parts drawn at random, with a fixed seed. None is empty.
    Drawn(Vec<String>),
    /// Parts in order, and again from the first; none is empty.
    InTurn(Vec<String>),
}

/// The most bytes of a part: only a few longer ones would fit into a text.
const LONGEST_PART: usize = 4 << 10;

impl Hostile {
    // There are fifty of them, and not one has to be fast.
    #[inline(never)]
    fn repeated(kind: &'static str, unit: &str) -> Self {
        Self::between(kind, "", unit, "")
    }

    #[inline(never)]
    fn between(kind: &'static str, before: &'static str, unit: &str, after: &'static str) -> Self {
        Self { kind, recipe: Recipe::Repeated { before, unit: unit.to_owned(), after } }
    }

    fn drawn(kind: &'static str, chars: impl IntoIterator<Item = char>) -> Self {
        Self::drawn_of(kind, &mut chars.into_iter())
    }

    #[inline(never)]
    fn drawn_of(kind: &'static str, chars: &mut dyn Iterator<Item = char>) -> Self {
        Self { kind, recipe: Recipe::Drawn(chars.map(String::from).collect()) }
    }

    /// A text of this kind of at most `bytes` bytes, and nearly as many.
    pub(super) fn text(&self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes);
        match &self.recipe {
            Recipe::Repeated { before, unit, after } => {
                text.push_str(before);
                let left = bytes.saturating_sub(before.len() + after.len());
                text.push_str(&unit.repeat(left / unit.len().max(1)));
                text.push_str(after);
            }
            Recipe::Drawn(parts) => {
                let mut random = Random::new(1);
                fill(&mut text, bytes, || parts.get(random.bits() as usize % parts.len().max(1)));
            }
            Recipe::InTurn(parts) => {
                let mut turn = parts.iter().cycle();
                fill(&mut text, bytes, || turn.next());
            }
        }
        text
    }
}

fn fill<'a>(text: &mut String, bytes: usize, mut next: impl FnMut() -> Option<&'a String>) {
    while let Some(part) = next()
        && text.len() + part.len() <= bytes
    {
        text.push_str(part);
    }
}

/// Texts that have slowed tokenizers down before.
fn known() -> Vec<Hostile> {
    let base64 = || ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("+/".chars());
    let punctuation = || ('!'..='/').chain(':'..='@').chain('['..='`').chain('{'..='~');
    let marks = ["\u{301}", "\u{323}", "\u{31B}", "\u{345}"].map(str::to_owned).to_vec();
    vec![
        Hostile::repeated("one letter", "a"),
        Hostile::between("one letter, and at the end another character", "", "a", "!"),
        Hostile::repeated("one capital letter", "A"),
        Hostile::repeated("blanks", " "),
        Hostile::between("blanks, and at the end a letter", "", " ", "a"),
        Hostile::repeated("blanks and letters in turn", " a"),
        Hostile::repeated("line ends", "\n"),
        Hostile::between("line ends, then blanks and a letter", "\n\n", " ", "a"),
        Hostile::repeated("blanks and line ends in turn", " \n"),
        Hostile::repeated("tabs", "\t"),
        Hostile::repeated("digits", "1234567890"),
        Hostile::repeated("digits and letters in turn", "1a"),
        Hostile::repeated("one punctuation mark", "="),
        Hostile::drawn("random punctuation", punctuation()),
        Hostile::drawn("random letters", 'a'..='z'),
        Hostile::drawn("random letters, small and capital", ('a'..='z').chain('A'..='Z')),
        Hostile::repeated("small and capital letters in turn", "aB"),
        Hostile::drawn("base64", base64()),
        Hostile::repeated("apostrophes", "'"),
        Hostile::repeated("contractions", "'s't're've'll"),
        Hostile::repeated("letters and apostrophes in turn", "a'"),
        Hostile::drawn("words of random letters", ('a'..='z').chain("     ".chars())),
        Hostile::repeated("one Chinese character", "中"),
        Hostile::drawn("random Chinese characters", '\u{4E00}'..='\u{9FA5}'),
        Hostile::drawn("random characters of all scripts", ('\u{A1}'..='\u{D7FF}').step_by(37)),
        Hostile::between("one combining mark", "a", "\u{301}", ""),
        Hostile {
            kind: "combining marks against their order",
            recipe: Recipe::InTurn(marks.iter().rev().cloned().collect()),
        },
        Hostile { kind: "random combining marks", recipe: Recipe::Drawn(marks) },
        Hostile::repeated("letters of Hangul that compose", "\u{1112}\u{1161}\u{11AB}"),
        Hostile::repeated("characters that normal forms make long", "\u{FDFA}"),
        Hostile::repeated("joined emoji", "\u{1F469}\u{200D}"),
        Hostile::repeated("zero bytes", "\0"),
    ]
}

/// All kinds of text for an engine, those made from its own tables first.
pub(super) fn all(engine: &Engine) -> Vec<Hostile> {
    let mut texts = of_added_tokens(engine);
    texts.extend(of_patterns(engine));
    texts.extend(of_tokens(engine));
    texts.extend(known());
    // A tokenizer without such characters or tokens gives an empty unit, which cannot be repeated.
    texts.retain(|hostile| !hostile.text(LONGEST_PART).is_empty());
    texts
}

/// The text without its last character.
fn shortened(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next_back();
    chars.as_str()
}

fn of_added_tokens(engine: &Engine) -> Vec<Hostile> {
    let added = engine.vocabulary().added();
    let contents: Vec<&str> = added.iter().map(|token| token.content.as_str()).collect();
    let Some(longest) = contents.iter().copied().max_by_key(|content| content.len()) else { return vec![] };
    let first = longest.chars().next().map(String::from).unwrap_or_default();
    // The search reads nearly all of it before it finds that it is no token.
    let nested = format!("{}{}", shortened(longest), first);
    let all = || contents.iter().take(1000).map(|&content| content.to_owned());
    let blank = |content: String| format!("{content}  ");
    let begun = all().map(|content| shortened(&content).to_owned()).filter(|content| !content.is_empty());
    vec![
        Hostile { kind: "added tokens in turn", recipe: Recipe::InTurn(all().collect()) },
        Hostile {
            kind: "added tokens and blanks in turn",
            recipe: Recipe::InTurn(all().map(blank).collect()),
        },
        Hostile::repeated("an added token without its last character", shortened(longest)),
        Hostile::repeated("an added token that begins again before it ends", &nested),
        Hostile::repeated("the first character of an added token", &first),
        Hostile {
            kind: "added tokens without their last characters",
            recipe: Recipe::InTurn(begun.collect()),
        },
    ]
}

/// Characters that the split matches, and runs of them that end with one that it does not match.
fn of_patterns(engine: &Engine) -> Vec<Hostile> {
    let mut asked = Vec::new();
    for step in &engine.description.pre_tokenizer {
        if let PreTokenizer::Split { pattern: Pattern::Regex(pattern) | Pattern::Literal(pattern), .. } = step
        {
            let mut is_escaped = false;
            for char in pattern.chars() {
                let is_literal = char.is_alphanumeric() && !is_escaped;
                is_escaped = char == '\\' && !is_escaped;
                if is_literal && !asked.contains(&char) && asked.len() < 6 {
                    asked.push(char);
                }
            }
        }
    }
    let each = asked.iter().map(char::to_string).flat_map(|char| {
        [
            Hostile::repeated("a character of the pattern", &char),
            Hostile::between("a character of the pattern, and at the end another", "", &char, "\u{A4}"),
        ]
    });
    let mut texts: Vec<Hostile> = each.collect();
    texts.push(Hostile::drawn("random characters of the pattern", asked.iter().copied()));
    texts
}

/// Texts of the vocabulary's own tokens.
fn of_tokens(engine: &Engine) -> Vec<Hostile> {
    let tokens = engine.vocabulary().tokens();
    let texts = || {
        let texts = tokens.iter().filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok());
        texts.filter(|text| !text.is_empty() && text.len() <= LONGEST_PART)
    };
    let longest = texts().max_by_key(|text| text.len()).unwrap_or_default();
    let letters = texts().filter(|text| text.chars().all(char::is_alphabetic));
    let word = letters.max_by_key(|text| text.len()).unwrap_or_default();
    let middle = word.char_indices().nth(word.chars().count() / 2).map_or(0, |(at, _)| at);
    let turned = format!("{}{}", &word[middle..], &word[..middle]);
    let step = (tokens.len() / 2000).max(1);
    let some: Vec<String> = texts().step_by(step).map(str::to_owned).collect();
    vec![
        Hostile::repeated("the longest token", longest),
        Hostile::repeated("the longest token without its last character", shortened(longest)),
        Hostile::repeated("the longest word", word),
        Hostile::repeated("the longest word without its last character", shortened(word)),
        Hostile::repeated("the longest word from its middle on", &turned),
        Hostile { kind: "tokens in turn", recipe: Recipe::InTurn(some.clone()) },
        Hostile { kind: "random tokens", recipe: Recipe::Drawn(some) },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::description::{AddedToken, Alphabet, BpeDescription, Description, Merges, Split, TokenList};

    #[test]
    fn texts_are_nearly_as_long_as_was_asked_and_the_same_every_time() {
        let mut tokens: Vec<(u32, Vec<u8>)> = (0..=255).map(|byte| (byte, vec![byte as u8])).collect();
        tokens.push((256, b"word".to_vec()));
        let plain = BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(tokens), Merges::ById);
        let mut description = Description::of_bpe(&Split::Pattern("xy|z".to_owned()), plain);
        description.added_tokens = vec![AddedToken::special(300, "<|end|>")];
        let engine = compile(description).unwrap();
        let texts = all(&engine);
        for text in &texts {
            let long = text.text(1000);
            assert!((980..=1000).contains(&long.len()), "{text:?}: {}", long.len());
            assert_eq!(long, text.text(1000));
        }
        let of = |kind: &str| texts.iter().find(|text| text.kind == kind).unwrap().text(16);
        assert_eq!(of("an added token that begins again before it ends"), "<|end|<<|end|<");
        assert_eq!(of("a character of the pattern"), "x".repeat(16));
        assert_eq!(of("the longest word from its middle on"), "rdwordwordwordwo");
    }
}
