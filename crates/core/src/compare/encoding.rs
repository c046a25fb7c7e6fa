//! A text through both pipelines. In: a text and a way to call. Out: whether the results differ.
use tokenmill_kernels::try_alloc;

use crate::engine::{Encoding, Engine, Recognizer, Special, Text, UntrustedRanges};
use crate::error::{Kind, Result};
use crate::ids::TokenId;
use crate::postprocess::Slot;
use crate::watch::Ticker;

/// The way in which a text is encoded, and what of the result is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The ids; literals of special tokens are ordinary text.
    Text,
    /// The ids; literals of special tokens are these.
    Parsed,
    /// The ids with special tokens around them; literals of special tokens are these.
    Special,
    /// The ids of the text as a pair with itself, with special tokens; of each its type, and which of both it is of.
    Pair,
    /// The offsets and the pretokens of the ids; literals of special tokens are these.
    Offsets,
}

impl Call {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Parsed => "parsed",
            Self::Special => "special",
            Self::Pair => "pair",
            Self::Offsets => "offsets",
        }
    }
}

/// Two engines that the same texts are given to.
pub(super) struct Both<'a> {
    sides: [Side<'a>; 2],
}

/// An engine with what finds its added tokens, and memory for ids.
struct Side<'a> {
    engine: &'a Engine,
    as_text: Recognizer<'a>,
    parsed: Recognizer<'a>,
    ids: Vec<TokenId>,
}

impl<'a> Side<'a> {
    fn new(engine: &'a Engine) -> Result<Self> {
        let (as_text, parsed) = (engine.recognizer(&Special::Text)?, engine.recognizer(&Special::Parse)?);
        Ok(Self { engine, as_text, parsed, ids: Vec::new() })
    }

    /// The ids of a text; false if it cannot be encoded.
    fn encode(&mut self, text: &str, is_parsed: bool, ticker: &Ticker<'_>) -> Result<bool> {
        self.ids.clear();
        let recognizer = if is_parsed { &self.parsed } else { &self.as_text };
        let (text, trusted) = (Text::Str(text), UntrustedRanges::none());
        let done = self.engine.encode_untrusted(text, recognizer, trusted, ticker.watch(), &mut self.ids);
        Ok(settled(done)?.is_some())
    }

    /// The ids with special tokens around them, each with its type, and whether it is of the first or the second text.
    fn framed(&self, is_pair: bool) -> Result<Vec<(TokenId, u32, Option<bool>)>> {
        let mut framed = Vec::new();
        for slot in self.engine.post_processors().slots(is_pair, true) {
            match *slot {
                Slot::Special { id, type_id } => try_alloc::push(&mut framed, (id, type_id, None))?,
                Slot::Sequence { type_id, second } => {
                    try_alloc::reserve(&mut framed, self.ids.len())?;
                    framed.extend(self.ids.iter().map(|&id| (id, type_id, Some(second))));
                }
            }
        }
        Ok(framed)
    }

    fn offsets(&self, text: &str, ticker: &Ticker<'_>) -> Result<Option<Encoding>> {
        let (text, trusted) = (Text::Str(text), UntrustedRanges::none());
        settled(self.engine.encode_with_offsets(text, &self.parsed, trusted, ticker.watch()))
    }
}

impl<'a> Both<'a> {
    pub(super) fn new(a: &'a Engine, b: &'a Engine) -> Result<Self> {
        Ok(Self { sides: [Side::new(a)?, Side::new(b)?] })
    }

    /// Do the results of a call differ? That one of both cannot encode a text is a difference, too.
    ///
    /// # Errors
    /// Those that have nothing to do with the text: errors of the watch, out of memory.
    pub(super) fn differ(&mut self, text: &str, call: Call, ticker: &mut Ticker<'_>) -> Result<bool> {
        ticker.spend(text.len() + 64)?;
        let [a, b] = &mut self.sides;
        if call == Call::Offsets {
            return Ok(a.offsets(text, ticker)? != b.offsets(text, ticker)?);
        }
        let is_parsed = call != Call::Text;
        let encoded = (a.encode(text, is_parsed, ticker)?, b.encode(text, is_parsed, ticker)?);
        Ok(match (encoded, call) {
            ((true, true), Call::Special | Call::Pair) => {
                let is_pair = call == Call::Pair;
                let (a, b) = (a.framed(is_pair)?, b.framed(is_pair)?);
                if is_pair { a != b } else { a.iter().map(|(id, ..)| id).ne(b.iter().map(|(id, ..)| id)) }
            }
            ((true, true), _) => a.ids != b.ids,
            (encoded, _) => encoded.0 != encoded.1,
        })
    }

    /// The ids of a text on one side, for decoding; `None` if it cannot be encoded.
    pub(super) fn ids(
        &mut self,
        side: usize,
        text: &str,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<&[TokenId]>> {
        ticker.spend(text.len() + 64)?;
        let side = &mut self.sides[side];
        Ok(side.encode(text, true, ticker)?.then_some(&side.ids))
    }
}

/// A result, or `None` for an error that says something about the text or the ids.
pub(super) fn settled<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind {
            Kind::UnknownToken { .. }
            | Kind::Pattern { .. }
            | Kind::SpecialToken { .. }
            | Kind::Vocabulary { .. }
            | Kind::Format { .. } => Ok(None),
            _ => Err(error),
        },
    }
}
