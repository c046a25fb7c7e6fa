//! Words and sentences of a text that grows at its end.
//!
//! A word is what white space surrounds, as for Python's `str.split`. A sentence ends after a full stop, an
//! exclamation mark or a question mark and the closing quotes and brackets after it, if white space follows; those of
//! Chinese and Japanese need no white space. A full stop after an abbreviation (a capital letter alone, or up to three
//! letters without a vowel that begin with a capital: `M.`, `Mr.`, `Cn.`) ends nothing.

/// What ends a sentence if white space follows.
const ENDS: [char; 4] = ['.', '!', '?', '…'];

/// What ends a sentence, whatever follows.
const WIDE_ENDS: [char; 4] = ['。', '！', '？', '｡'];

/// What may stand between the end of a sentence and the white space after it.
const CLOSERS: [char; 16] =
    ['"', '\'', ')', ']', '}', '”', '’', '“', '»', '›', '」', '』', '）', '】', '》', '〉'];

/// The longest abbreviation, in letters.
const MOST_OF_ABBREVIATION: usize = 3;

/// Does white space of this kind separate words, as for `str.split` of Python?
pub(super) fn is_space(char: char) -> bool {
    char.is_whitespace() || matches!(char, '\u{1c}'..='\u{1f}')
}

/// Does this end a sentence?
pub(super) fn is_end(char: char) -> bool {
    ENDS.contains(&char) || WIDE_ENDS.contains(&char)
}

/// Is this a quote or a bracket that closes?
pub(super) fn is_closer(char: char) -> bool {
    CLOSERS.contains(&char)
}

/// The end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// The byte after it.
    pub(super) byte: usize,
    /// The words up to there.
    pub(super) words: usize,
    /// The characters up to there.
    pub(super) characters: usize,
}

/// Reads a text once, character by character.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    words: usize,
    characters: usize,
    is_in_word: bool,
    /// A sentence ends here if what comes next allows it; true if anything does.
    candidate: Option<(End, bool)>,
    /// The letters since the last other character.
    letters: usize,
    begins_with_capital: bool,
    has_vowel: bool,
    /// The end of the last word of those that are wanted, and how many these are.
    wanted_words: usize,
    end_of_words: Option<usize>,
}

impl Scanner {
    /// A scanner that looks for the end of `wanted_words` words.
    pub(super) fn new(wanted_words: usize) -> Self {
        Self { wanted_words, ..Self::default() }
    }

    /// Reads the character at a byte; returns the end of a sentence that is certain now, before this character.
    pub(super) fn read(&mut self, byte: usize, char: char) -> Option<End> {
        let is_space = is_space(char);
        let found = self.candidate.take().and_then(|(end, is_certain)| {
            // A quote that closes in German opens in Chinese.
            let goes_on = is_end(char) || (is_closer(char) && !(is_certain && char == '“'));
            if is_space || (is_certain && !goes_on) {
                return Some(end);
            }
            if goes_on {
                let (byte, characters) = (byte + char.len_utf8(), end.characters + 1);
                self.candidate = Some((End { byte, characters, ..end }, is_certain));
            }
            None
        });
        if is_space {
            if self.is_in_word && self.words == self.wanted_words && self.end_of_words.is_none() {
                self.end_of_words = Some(byte);
            }
            self.is_in_word = false;
        } else if !self.is_in_word {
            self.is_in_word = true;
            self.words += 1;
        }
        self.characters += 1;
        if self.candidate.is_none() && is_end(char) && !(char == '.' && self.is_abbreviation()) {
            let end = End { byte: byte + char.len_utf8(), words: self.words, characters: self.characters };
            self.candidate = Some((end, WIDE_ENDS.contains(&char)));
        }
        if char.is_alphabetic() {
            if self.letters == 0 {
                (self.begins_with_capital, self.has_vowel) = (char.is_uppercase(), false);
            }
            self.letters += 1;
            self.has_vowel |= "aeiouyAEIOUY".contains(char) || !char.is_ascii();
        } else {
            self.letters = 0;
        }
        found
    }

    fn is_abbreviation(&self) -> bool {
        let is_short = self.letters == 1 || (self.letters <= MOST_OF_ABBREVIATION && !self.has_vowel);
        self.letters > 0 && self.begins_with_capital && is_short
    }

    /// The characters that were read.
    pub(super) fn characters(&self) -> usize {
        self.characters
    }

    /// Where the wanted words end, once that is certain.
    pub(super) fn end_of_words(&self) -> Option<usize> {
        self.end_of_words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let mut scanner = Scanner::default();
        let ends = text.char_indices().filter_map(|(byte, char)| scanner.read(byte, char));
        let mut start = 0;
        ends.map(|end| {
            let sentence = &text[start..end.byte];
            assert_eq!(end.characters, text[..end.byte].chars().count());
            assert_eq!(end.words, text[..end.byte].split_whitespace().count());
            start = end.byte;
            sentence
        })
        .collect()
    }

    #[test]
    fn sentences_end_behind_quotes_and_before_white_space() {
        let text = "Who? \"I.\" No... Yes!\" 3.14 is pi. A Mr. X and Cn. Pompeius, M. Tullius, wait.) End";
        let want = [
            "Who?",
            " \"I.\"",
            " No...",
            " Yes!\"",
            " 3.14 is pi.",
            " A Mr. X and Cn. Pompeius, M. Tullius, wait.)",
        ];
        let found = sentences(text);
        // `I.` is taken for an initial.
        assert_eq!(found[0], want[0]);
        assert_eq!(found[1], " \"I.\" No...");
        assert_eq!(found[2..], want[3..]);
        assert_eq!(sentences("你好。“再见。”他说。a"), ["你好。", "“再见。”", "他说。"]);
        assert!(sentences("no end at all, 1.5").is_empty() && sentences("").is_empty());
    }

    #[test]
    fn words_end_where_white_space_follows() {
        let mut scanner = Scanner::new(2);
        for (byte, char) in "  ab\u{1c}cd  e".char_indices() {
            scanner.read(byte, char);
        }
        assert_eq!((scanner.end_of_words(), scanner.words, scanner.characters()), (Some(7), 3, 10));
    }
}
