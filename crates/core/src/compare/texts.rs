//! Texts that are likely to show a difference. In: two descriptions. Out: texts made of what differs between them, and
//! texts that touch what any stage looks at.
//!
//! Every function gives its texts to `found`, one by one, until that returns true, and returns whether it did.
use std::collections::BTreeSet;

use super::around::Found;
use crate::description::{Description, ModelDescription, Normalizer, Pattern, PreTokenizer};
use crate::error::Result;

/// Texts in which scripts, digits, punctuation, white space, marks and contractions meet.
pub(super) const SENTENCES: [&str; 14] = [
    "The quick brown fox doesn't jump over 12345 lazy dogs, does it? I'LL say: they've won!",
    "  two  spaces,\tone tab,\r\n\r\nand lines.\n\n\n  Indented\n",
    "for (int i = 0; i < 1_000_000; ++i) { x[i] += 0x1F; } // naïve: \"quoted\" 'text'",
    "Ünïcödé ÀÉÎÕÜ ß ẞ İ ı ﬁ Ǆ ǅ ǆ Ａｂｃ １２３ ²³ ½ Ⅷ ① ℌ K Å",
    "e\u{301}a\u{308}\u{323}o\u{302}\u{301} Å\u{30a} 각 \u{1112}\u{1161}\u{11ab} が \u{304b}\u{3099}",
    "你好，世界。こんにちは、ﾊﾝｶｸ。안녕하세요 สวัสดี नमस्ते مرحبا שלום Привет Γειά",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ☺️ 🤷‍♀️ ™ © € £ ¥ § ¶ † … – — “quotes” ‘single’ «guillemets»",
    "don't can't I'm you're we'd she'll they've o'clock ROCK'N'ROLL it’s l’été",
    "a.b,c;d:e!f?g(h)i[j]k{l}m/n\\o|p@q#r$s%t^u&v*w-x_y=z+~`<>'\"",
    "1 12 123 1234 12345 3.14 1,000,000 1e-9 2024-01-31 12:30 +49 (0)30",
    "zero\u{200b}width\u{200d}join\u{feff}bom\u{ad}soft\u{a0}nbsp\u{3000}wide\u{2028}line\u{85}next\u{202e}rtl",
    "\0\u{1}\u{7f}\u{80}\u{9f}\u{fffd}\u{fffe}\u{e000}\u{10ffff}\u{378}",
    "Hello , world ! do n't I 'm ( yes ) . \" no \" ' s ' ve 're [ x ] n't",
    "aaaaaaaaaaaaaaaaaaaaaaaa          --------------------========================",
];

/// Characters of every class that a stage looks at.
const CHARACTERS: &str = "abxzABXéÉßıİſǅʰªﬁ1203٣²½Ⅷ①。 \t\n\r\u{b}\u{85}\u{a0}\u{3000}\u{2028}\u{200b}\u{200d}\u{feff}\
    \0\u{1}\u{ad}.,;:!?'’\"-_/\\()<>@#$%&*+=^`~|▁Ġ\u{301}\u{308}\u{345}\u{903}\u{20dd}漢字かカｶ한ᄒา和ا😀🇩👍\u{fe0f}€©™\u{378}\u{e000}";
const FEW: &str = "aBé1٣² \t\n.,'-_▁漢か\u{301}😀sA2";
const FEWER: &str = "aB1 \n.'é漢\u{301}-s";
const FEWEST: &str = "aB1 \n.'";

/// All texts of up to two characters of every class and of `extra`, and of up to six of fewer classes.
pub(super) fn each_short(extra: &str, found: &mut Found<'_>) -> Result<bool> {
    let alphabet = |most: &str, extra: &str| -> Vec<char> {
        let chars: BTreeSet<char> = extra.chars().collect();
        most.chars().filter(|c| !chars.contains(c)).chain(chars.iter().copied()).collect()
    };
    let many = alphabet(CHARACTERS, extra);
    let few: String = extra.chars().take(8).collect();
    if found("")? || each_row_of(&many, 1, found)? || each_row_of(&many, 2, found)? {
        return Ok(true);
    }
    for (most, length) in [(FEW, 3), (FEWER, 4), (FEWEST, 5)] {
        if each_row_of(&alphabet(most, if length == 3 { &few } else { "" }), length, found)? {
            return Ok(true);
        }
    }
    each_row_of(&alphabet("a1 \n", ""), 6, found)
}

/// All texts of some characters, up to a length at which there are `most` of them.
pub(super) fn each_up_to(alphabet: &[char], most: usize, found: &mut Found<'_>) -> Result<bool> {
    let mut length = 1;
    while !alphabet.is_empty() && length <= 24 && alphabet.len().saturating_pow(length) <= most {
        if each_row_of(alphabet, length, found)? {
            return Ok(true);
        }
        length += 1;
    }
    Ok(false)
}

fn each_row_of(alphabet: &[char], length: u32, found: &mut Found<'_>) -> Result<bool> {
    let mut text = String::new();
    for number in 0..alphabet.len().pow(length) {
        text.clear();
        let mut rest = number;
        for _ in 0..length {
            text.push(alphabet[rest % alphabet.len()]);
            rest /= alphabet.len();
        }
        if found(&text)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs of a character, up to and beyond the numbers that the descriptions hold.
pub(super) fn each_run(a: &Description, b: &Description, found: &mut Found<'_>) -> Result<bool> {
    let mut lengths: BTreeSet<usize> = (1..=20).collect();
    for description in [a, b] {
        for number in numbers(description) {
            lengths.extend([number.saturating_sub(1), number, number + 1]);
        }
    }
    for length in lengths.into_iter().filter(|&length| length <= 20_000) {
        for run in ["a", "1", " ", "\n", ".", "ab", "é", "漢", "a1", "😀"] {
            if found(&run.repeat(length))? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The numbers that say how long something may be.
fn numbers(description: &Description) -> Vec<usize> {
    let mut numbers = Vec::new();
    if let ModelDescription::WordPiece(model) = &description.model {
        numbers.push(model.max_chars);
    }
    for step in &description.pre_tokenizer {
        match step {
            PreTokenizer::FixedLength(length) => numbers.push(*length),
            PreTokenizer::Split { pattern: Pattern::Regex(pattern), .. } => {
                let digits = pattern.split(|c: char| !c.is_ascii_digit());
                numbers.extend(digits.filter_map(|digits| digits.parse::<usize>().ok()));
            }
            _ => {}
        }
    }
    numbers
}

/// The characters of the literals that the steps of the descriptions name.
pub(super) fn characters_of_steps(a: &Description, b: &Description) -> String {
    let mut chars = BTreeSet::new();
    for text in literals_of_steps(a).iter().chain(&literals_of_steps(b)) {
        chars.extend(text.chars().filter(|c| !"\\[](){}?*+|".contains(*c)));
    }
    chars.into_iter().take(40).collect()
}

/// The literals of the steps, alone and among other characters.
pub(super) fn each_literal_of_steps(a: &Description, b: &Description, found: &mut Found<'_>) -> Result<bool> {
    for literal in literals_of_steps(a).iter().chain(&literals_of_steps(b)) {
        for before in ["", "a", " ", "1", "."] {
            for after in ["", "a", " ", "1", "."] {
                if found(&[before, literal, after].concat())?
                    || found(&[literal, before, literal, after].concat())?
                {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn literals_of_steps(description: &Description) -> Vec<String> {
    let mut literals = Vec::new();
    let mut of_pattern = |pattern: &Pattern| match pattern {
        Pattern::Literal(text) => literals.push(text.clone()),
        // What lies between the signs of the pattern.
        Pattern::Regex(regex) => literals.extend(
            regex
                .split(|c: char| "\\[](){}?*+|^$.".contains(c))
                .filter(|part| !part.is_empty())
                .map(str::to_owned),
        ),
    };
    for step in &description.normalizer {
        if let Normalizer::Replace { pattern, .. } = step {
            of_pattern(pattern);
        }
    }
    for step in &description.pre_tokenizer {
        if let PreTokenizer::Split { pattern, .. } = step {
            of_pattern(pattern);
        }
    }
    for step in &description.normalizer {
        match step {
            Normalizer::Replace { content, .. } => literals.push(content.clone()),
            Normalizer::Prepend(text) => literals.push(text.clone()),
            Normalizer::SentencePiece(rules) => literals.extend(rules.user_defined.iter().take(100).cloned()),
            _ => {}
        }
    }
    for step in &description.pre_tokenizer {
        match step {
            PreTokenizer::CharDelimiter(char) | PreTokenizer::Metaspace { replacement: char, .. } => {
                literals.push(char.to_string());
            }
            _ => {}
        }
    }
    literals
}
