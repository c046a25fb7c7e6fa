//! The split of SentencePiece's trainer: no piece crosses the end of one of these words.
//!
//! In: normalized text, in which each space is a mark. Out: words, each of which begins with a mark or after a
//! user-defined symbol. If asked for, they are also cut where the script changes, and around digits.
use crate::error::Result;
use crate::pretokenize::Scripts;
use crate::special::{LiteralMatcher, TextPart};
use crate::watch::Ticker;

/// The mark that stands for a space.
pub(super) const MARK: char = '\u{2581}';

/// The cuts of one set of options.
#[derive(Debug)]
pub(in super::super) struct Words {
    symbols: LiteralMatcher,
    /// May a symbol be cut at a mark?
    has_marked_symbol: bool,
    scripts: Option<Scripts>,
    split_digits: bool,
}

impl Words {
    pub(in super::super) fn new(symbols: &[String], by_script: bool, split_digits: bool) -> Result<Self> {
        // In normalized text a space of a symbol is a mark.
        let written: Vec<String> = symbols.iter().map(|symbol| symbol.replace(' ', "\u{2581}")).collect();
        Ok(Self {
            has_marked_symbol: written.iter().any(|symbol| symbol.contains(MARK)),
            symbols: LiteralMatcher::new(written.iter().map(String::as_str))?,
            scripts: by_script.then(Scripts::new),
            split_digits,
        })
    }

    /// Calls `each` with every word and where it starts.
    pub(in super::super) fn for_each(
        &self,
        text: &str,
        ticker: &mut Ticker<'_>,
        mut each: impl FnMut(&[u8], usize) -> Result<()>,
    ) -> Result<()> {
        self.symbols.for_each_part(text.as_bytes(), ticker, |part, ticker| {
            let TextPart::Ordinary(span) = part else { return Ok(()) };
            ticker.spend(span.len())?;
            let (text, first) = (&text[span.start..span.end], span.start);
            let (mut start, mut script) = (0, None);
            let mut was_digit = false;
            for (at, char) in text.char_indices() {
                let is_digit = self.split_digits && matches!(char, '0'..='9' | '\u{FF10}'..='\u{FF19}');
                let of_char = match &self.scripts {
                    // A mark may stand before any script.
                    Some(scripts) if char != MARK => scripts.of(text.as_bytes(), at),
                    _ => None,
                };
                let is_other = script.is_some() && of_char.is_some() && script != of_char;
                if at > start && (char == MARK || is_digit || was_digit || is_other) {
                    each(&text.as_bytes()[start..at], first + start)?;
                    (start, script) = (at, None);
                }
                script = of_char.or(script);
                was_digit = is_digit;
            }
            if start < text.len() {
                each(&text.as_bytes()[start..], first + start)?;
            }
            Ok(())
        })
    }

    /// The first mark from here on.
    pub(in super::super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let from = (from..text.len()).find(|&at| text.is_char_boundary(at))?;
        if self.has_marked_symbol { None } else { text[from..].find(MARK).map(|at| from + at) }
    }
}
