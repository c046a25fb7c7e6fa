//! Golden vectors: texts with the ids, offsets and text that a tokenizer makes of them.
use serde::{Deserialize, Serialize};
use tokenmill_core::engine::{
    Arranged, DecodeOptions, Engine, Sequence, Special, Text, UntrustedRanges, char_offsets,
};
use tokenmill_core::error::{Error, Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::watch::Watch;

/// What is encoded, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) pair: Option<String>,
    /// The meaning of a special token's literal.
    pub(super) special: Literals,
    pub(super) add_special_tokens: bool,
}

/// As `special=` of `encode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Literals {
    #[default]
    Text,
    Parse,
}

impl Literals {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_false(value: &bool) -> bool {
    !value
}

/// A text, and what the tokenizer makes of it, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Vector {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pair: Option<String>,
    #[serde(default, skip_serializing_if = "Literals::is_text")]
    special: Literals,
    #[serde(default, skip_serializing_if = "is_false")]
    add_special_tokens: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<TokenId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offsets: Option<Vec<(usize, usize)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decoded: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unknown_token: Option<String>,
}

/// What a tokenizer makes of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) ids: Option<Vec<TokenId>>,
    /// In characters of the text; of the pair for its ids; (0, 0) for what was added.
    pub(super) offsets: Option<Vec<(usize, usize)>>,
    /// The text of the ids, special tokens included; U+FFFD for what is not UTF-8.
    pub(super) decoded: Option<String>,
    /// What the vocabulary cannot spell, where it has no unknown token. Then there is nothing else.
    pub(super) unknown_token: Option<String>,
}

impl Vector {
    fn of(question: Question, answer: Answer) -> Self {
        let Question { text, pair, special, add_special_tokens } = question;
        let Answer { ids, offsets, decoded, unknown_token } = answer;
        Self { text, pair, special, add_special_tokens, ids, offsets, decoded, unknown_token }
    }

    /// The question and its answer.
    pub(super) fn parts(&self) -> (Question, Answer) {
        let Self { text, pair, special, add_special_tokens, ids, offsets, decoded, unknown_token } =
            self.clone();
        (
            Question { text, pair, special, add_special_tokens },
            Answer { ids, offsets, decoded, unknown_token },
        )
    }
}

impl Question {
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), pair: None, special: Literals::Text, add_special_tokens: false }
    }

    /// What an engine makes of the text.
    ///
    /// # Errors
    /// As [`Engine::encode`] and [`Engine::decode`], but for characters that the vocabulary cannot spell.
    pub(super) fn answer(&self, engine: &Engine, watch: &dyn Watch) -> Result<Answer> {
        self.encode(engine, watch).or_else(|error| match &error.kind {
            Kind::UnknownToken { symbol, .. } => {
                Ok(Answer { unknown_token: Some(symbol.clone()), ..Answer::default() })
            }
            _ => Err(error),
        })
    }

    fn encode(&self, engine: &Engine, watch: &dyn Watch) -> Result<Answer> {
        let special = match self.special {
            Literals::Text => Special::Text,
            Literals::Parse => Special::Parse,
        };
        let recognizer = engine.recognizer(&special)?;
        let sequence = |text: &str| -> Result<Sequence> {
            let none = UntrustedRanges::none();
            let encoding = engine.encode_with_offsets(Text::Str(text), &recognizer, none, watch)?;
            let offsets = char_offsets(Text::Str(text), &encoding.byte_offsets, watch)?;
            Ok(Sequence { encoding, offsets })
        };
        let texts = std::iter::once(self.text.as_str()).chain(self.pair.as_deref());
        let sequences = texts.map(sequence).collect::<Result<Vec<_>>>()?;
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.encoding.ids.len()).collect();
        let mut windows = engine.arrange(&lengths, self.add_special_tokens, None, watch)?;
        // Without truncation there is one window.
        let parts = if windows.is_empty() { Vec::new() } else { windows.swap_remove(0) };
        let arranged = Arranged { sequences: sequences.into(), parts };
        let ids: Vec<TokenId> = arranged.ids().collect();
        let decoded = engine.decode(&ids, DecodeOptions::default(), watch)?;
        let decoded = String::from_utf8_lossy(&decoded).into_owned();
        let (offsets, decoded) = (Some(arranged.offsets().collect()), Some(decoded));
        Ok(Answer { ids: Some(ids), offsets, decoded, unknown_token: None })
    }
}

/// The vectors of an engine for these questions. One that the engine cannot answer, such as one that a caller's
/// function refuses, is left out.
///
/// # Errors
/// Cancellation; a lack of memory.
pub(super) fn vectors(questions: Vec<Question>, engine: &Engine, watch: &dyn Watch) -> Result<Vec<Vector>> {
    let mut vectors = Vec::with_capacity(questions.len());
    for question in questions {
        match question.answer(engine, watch) {
            Ok(answer) => vectors.push(Vector::of(question, answer)),
            Err(error) if stops(&error) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(vectors)
}

/// Does this error say nothing about the text?
pub(super) fn stops(error: &Error) -> bool {
    matches!(
        error.kind,
        Kind::Cancelled
            | Kind::Memory { .. }
            | Kind::MemoryEstimate { .. }
            | Kind::Internal(_)
            | Kind::Raised { is_interrupt: true, .. }
    )
}
