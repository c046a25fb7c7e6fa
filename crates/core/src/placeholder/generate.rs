//! Text of drawn tokens: where it begins, and where it ends.
use tokenmill_kernels::try_alloc;

use super::closing::{close, close_at};
use super::model::{NGramModel, Order};
use super::sentences::{End, Scanner, is_space};
use super::spelling::spell;
use super::walk::Walk;
use crate::error::{Error, Kind, Result};
use crate::ids::TokenId;
use crate::model::Random;
use crate::watch::{Ticker, Watch};

/// Tokens that are drawn to find the start of a sentence.
const TO_FIRST_SENTENCE: usize = 2048;

/// Tokens that are drawn to find the start of a word.
const TO_FIRST_WORD: usize = 64;

/// Tokens that are drawn at most to find the end of a sentence after the amount: a corpus may have none.
const TO_LAST_SENTENCE: usize = 512;

/// Characters that are drawn beyond an exact number of these.
const TO_CLOSE: usize = 64;

/// How much text is wanted, at least 1 of anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// What white space separates.
    Words(usize),
    /// Ids.
    Tokens(usize),
    /// Sentences.
    Sentences(usize),
    /// Unicode characters.
    Characters(usize),
}

impl Amount {
    fn count(self) -> usize {
        let (Self::Words(count) | Self::Tokens(count) | Self::Sentences(count) | Self::Characters(count)) =
            self;
        count
    }

    /// The most tokens that are drawn for it: a corpus may have no sentences, no words, and tokens of no characters.
    fn most_tokens(self) -> usize {
        let each = match self {
            Self::Words(_) | Self::Characters(_) => 64,
            Self::Tokens(_) => 1,
            Self::Sentences(_) => 1024,
        };
        self.count().saturating_mul(each).saturating_add(TO_LAST_SENTENCE)
    }
}

/// What a text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start<'a> {
    /// A text, which has to be spelled by tokens that follow one another in the corpus.
    Text(&'a str),
    /// Ids, the last of which have to be a context of the corpus.
    Ids(&'a [TokenId]),
}

/// What text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// How much of it.
    pub amount: Amount,
    /// Exactly so much, cut and closed; else up to the end of a sentence.
    pub is_exact: bool,
    /// What decides everything that is drawn.
    pub seed: u64,
    /// What it begins with; by default the start of a sentence.
    pub start: Option<Start<'a>>,
}

impl NGramModel {
    /// Draws a text. It ends at the first end of a sentence from the amount on. Where none is found soon, it is cut and
    /// closed as an exact one is; a corpus without white space has no words to count, and its text ends at a number of
    /// tokens.
    ///
    /// # Errors
    /// An argument error for an amount of 0; a vocabulary error for a start that does not occur in the corpus; a format
    /// error if the model is damaged; errors of the watch; out of memory.
    pub fn generate(&self, request: Request<'_>, watch: &dyn Watch) -> Result<String> {
        let Request { amount, is_exact, .. } = request;
        if amount.count() == 0 {
            return Err(Error::argument("an amount of 0 is no text; ask for at least 1"));
        }
        let ticker = &mut Ticker::new(watch);
        let (mut walk, mut text, mut drawn) = self.begin(request, ticker)?;
        let (mut sentences, mut end_of_tokens, mut reached_at) = (0, None, None);
        loop {
            if drawn >= amount.count() && end_of_tokens.is_none() {
                end_of_tokens = Some(text.text.len());
            }
            while let Some(end) = text.next_end() {
                sentences += 1;
                let is_enough = match amount {
                    Amount::Words(count) => !is_exact && end.words >= count,
                    Amount::Tokens(_) => !is_exact && end_of_tokens.is_some_and(|from| end.byte >= from),
                    Amount::Sentences(count) => sentences >= count,
                    Amount::Characters(count) => !is_exact && end.characters >= count,
                };
                if is_enough {
                    text.text.truncate(end.byte);
                    return Ok(text.text);
                }
            }
            let is_reached = match amount {
                Amount::Words(_) => text.scanner.end_of_words().is_some(),
                Amount::Tokens(count) => drawn >= count,
                Amount::Sentences(_) => false,
                // Letters after the last character may take the place of a comma before it.
                Amount::Characters(count) => text.scanner.characters() >= count.saturating_add(TO_CLOSE),
            };
            if is_reached && reached_at.is_none() {
                reached_at = Some(drawn);
            }
            let is_long = |from: usize| is_exact || drawn - from >= TO_LAST_SENTENCE;
            if reached_at.is_some_and(is_long) || drawn >= amount.most_tokens() {
                return text.cut(amount, end_of_tokens);
            }
            text.push(self, walk.next()?)?;
            drawn += 1;
            ticker.spend(64)?;
        }
    }

    /// Draws ids: a context, or the start that is given, and what follows it.
    ///
    /// # Errors
    /// As [`Self::generate`].
    pub fn generate_ids(
        &self,
        count: usize,
        seed: u64,
        start: Option<Start<'_>>,
        watch: &dyn Watch,
    ) -> Result<Vec<TokenId>> {
        let ticker = &mut Ticker::new(watch);
        let (mut walk, mut symbols) = if let Some(start) = start {
            self.start(seed, start, ticker)?
        } else {
            let walk = Walk::anywhere(self, Random::new(seed))?;
            let symbols = walk.context_tokens();
            (walk, symbols)
        };
        while symbols.len() < count {
            try_alloc::push(&mut symbols, walk.next()?)?;
            ticker.spend(64)?;
        }
        symbols.truncate(count);
        try_alloc::collect(symbols.into_iter().map(|symbol| self.decoder.id(symbol)))
    }

    /// The text to begin with, and the number of its tokens.
    fn begin(&self, request: Request<'_>, ticker: &mut Ticker<'_>) -> Result<(Walk<'_>, Growing, usize)> {
        let Request { amount, is_exact, seed, start } = request;
        let mut text = Growing::new(amount.count());
        let Some(start) = start else { return self.begin_with_sentence(seed, text, ticker) };
        let (walk, mut symbols) = self.start(seed, start, ticker)?;
        if let (Amount::Tokens(count), true) = (amount, is_exact) {
            symbols.truncate(count);
        }
        for &symbol in &symbols {
            text.push(self, symbol)?;
        }
        Ok((walk, text, symbols.len()))
    }

    /// Draws up to the first end of a sentence, and begins after it, be it inside a token. Without any, a word has to
    /// do.
    fn begin_with_sentence(
        &self,
        seed: u64,
        mut text: Growing,
        ticker: &mut Ticker<'_>,
    ) -> Result<(Walk<'_>, Growing, usize)> {
        let mut walk = Walk::anywhere(self, Random::new(seed))?;
        for _ in 0..TO_FIRST_SENTENCE {
            text.push(self, walk.next()?)?;
            ticker.spend(64)?;
            // The first word may have begun before, so that an abbreviation could not be told.
            if let Some(end) = text.next_end().filter(|end| end.words > 1) {
                return Ok((walk, text.starting_at(end.byte), 1));
            }
        }
        let mut text = text.starting_at(usize::MAX);
        for _ in 0..TO_FIRST_WORD {
            text.push(self, walk.next()?)?;
            if let Some(space) = text.text.find(is_space) {
                return Ok((walk, text.starting_at(space), 1));
            }
        }
        Ok((walk, text.starting_at(usize::MAX), 0))
    }

    /// The tokens of a start, and a walk from its end.
    fn start(&self, seed: u64, start: Start<'_>, ticker: &mut Ticker<'_>) -> Result<(Walk<'_>, Vec<u32>)> {
        let mut symbols = match start {
            Start::Text(text) => spell(self, text, ticker)?,
            Start::Ids(ids) => self.symbols_of(ids)?,
        };
        let random = Random::new(seed);
        let Some(&last) = symbols.last() else {
            return Err(Error::argument("start= has no ids; leave it out to begin with a sentence"));
        };
        if let (Order::Three, &[.., first, second]) = (self.order, symbols.as_slice()) {
            let Some(context) = self.context_of_pair(first, second)? else {
                let id = self.decoder.id(second)?;
                let reason = "does not follow the id before it anywhere in the corpus".to_owned();
                let position = Some(symbols.len() - 1);
                return Err(Kind::Vocabulary { id: Some(id.into()), position, reason }.into());
            };
            return Ok((Walk::at(self, random, context)?, symbols));
        }
        let (walk, second) = Walk::from_token(self, random, last)?;
        if let Some(second) = second {
            try_alloc::push(&mut symbols, second)?;
        }
        Ok((walk, symbols))
    }

    fn symbols_of(&self, ids: &[TokenId]) -> Result<Vec<u32>> {
        try_alloc::collect(ids.iter().enumerate().map(|(position, &id)| {
            self.decoder.symbol(id).ok_or_else(|| {
                let reason = "does not occur in the corpus of this model".to_owned();
                Kind::Vocabulary { id: Some(id.into()), position: Some(position), reason }.into()
            })
        }))
    }
}

/// A text that tokens are appended to, and what was read of it.
struct Growing {
    text: String,
    /// The start of a character whose other bytes are in the next token.
    pending: Vec<u8>,
    scanner: Scanner,
    wanted_words: usize,
    /// The bytes that the scanner has read.
    scanned: usize,
}

impl Growing {
    fn new(wanted_words: usize) -> Self {
        let scanner = Scanner::new(wanted_words);
        Self { text: String::new(), pending: Vec::new(), scanner, wanted_words, scanned: 0 }
    }

    /// Appends a token. White space at the start of the text is left out, bytes that are no text become U+FFFD.
    fn push(&mut self, model: &NGramModel, symbol: u32) -> Result<()> {
        model.decoder.append(symbol, &mut self.pending)?;
        self.take(false)
    }

    /// Takes the characters that are complete, or all that is left.
    fn take(&mut self, is_last: bool) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        while !rest.is_empty() {
            let (valid, invalid) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, 0),
                Err(error) => {
                    let valid = std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default();
                    (valid, error.error_len().unwrap_or(0))
                }
            };
            try_alloc::push_text(&mut self.text, valid)?;
            rest = &rest[valid.len()..];
            if !rest.is_empty() {
                if invalid == 0 && !is_last {
                    try_alloc::extend(&mut self.pending, rest)?;
                    break;
                }
                try_alloc::push_text(&mut self.text, "\u{fffd}")?;
                rest = if invalid == 0 { &[] } else { &rest[invalid..] };
            }
        }
        if self.scanned == 0 {
            let spaces = self.text.len() - self.text.trim_start_matches(is_space).len();
            self.text.drain(..spaces);
        }
        Ok(())
    }

    /// The text from a byte on, to be read anew.
    fn starting_at(mut self, byte: usize) -> Self {
        let rest = self.text.get(byte..).unwrap_or_default().trim_start_matches(is_space);
        let start = self.text.len() - rest.len();
        self.text.drain(..start);
        Self { scanner: Scanner::new(self.wanted_words), scanned: 0, ..self }
    }

    /// Cuts the text where the amount is reached, if it is, and closes it.
    fn cut(mut self, amount: Amount, end_of_tokens: Option<usize>) -> Result<String> {
        let end = match amount {
            Amount::Words(_) => self.scanner.end_of_words(),
            Amount::Tokens(_) => end_of_tokens,
            Amount::Sentences(_) => None,
            Amount::Characters(count) => return close_at(&self.text, count),
        };
        match end {
            Some(end) if end < self.text.len() => self.text.truncate(end),
            _ => self.take(true)?,
        }
        close(&mut self.text)?;
        Ok(self.text)
    }

    /// Reads on to the next end of a sentence.
    fn next_end(&mut self) -> Option<End> {
        let rest = &self.text[self.scanned..];
        for (byte, char) in rest.char_indices() {
            let place = self.scanned + byte;
            if let Some(end) = self.scanner.read(place, char) {
                self.scanned = place + char.len_utf8();
                return Some(end);
            }
        }
        self.scanned = self.text.len();
        None
    }
}
