//! How many bytes of a text the token of each id stands for.
//!
//! In: the description of a model and its vocabulary. Out: for each id the fewest bytes that it stands for in any
//! text. So if the numbers of some ids add up to the length of their text, each of them is exact.
use crate::byte_alphabet::byte_token;
use crate::description::{
    Alphabet, BpeDescription, Description, EndOfWordForm, Merges, ModelDescription, Normalizer,
};
use crate::engine::raw::{Raw, RawSegments};
use crate::ids::TokenId;
use crate::postprocess::white_space_at_ends;
use crate::span::Span;
use crate::vocabulary::Vocabulary;

/// No table is made if there are more ids than this for each token, because of gaps between them.
const MAX_IDS_PER_TOKEN: usize = 4;

/// What an id stands for, in 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenLength(u32);

impl TokenLength {
    /// Not known from the id alone, as for the unknown token.
    const UNKNOWN: Self = Self(u32::MAX);
    /// Set for [`Self::UNKNOWN`] and for bytes of characters, which have no fixed length.
    const NO_LENGTH: u32 = 1 << 31;
    const BEGINS_WORD: u32 = 1 << 30;
    const LENGTH_BITS: u32 = 12;
    const SPACE_BITS: u32 = 9;

    /// A token of `length` bytes, of which the first `leading` and the last `trailing` are not in its span.
    fn new(length: usize, (leading, trailing): (usize, usize)) -> Self {
        let fits = length < 1 << Self::LENGTH_BITS
            && leading < 1 << Self::SPACE_BITS
            && trailing < 1 << Self::SPACE_BITS;
        if !fits {
            return Self::UNKNOWN;
        }
        let spaces = leading | trailing << Self::SPACE_BITS;
        Self(length as u32 | (spaces as u32) << Self::LENGTH_BITS)
    }

    /// A byte of a character that byte tokens spell: the last of them stands for the character, the others for nothing.
    fn byte_of_char(byte: u8) -> Self {
        Self(Self::NO_LENGTH | u32::from(byte))
    }

    fn beginning_word(self) -> Self {
        if self.has_fixed_length() { Self(self.0 | Self::BEGINS_WORD) } else { self }
    }

    /// Is it neither unknown nor a byte of a character?
    #[inline]
    pub(super) fn has_fixed_length(self) -> bool {
        self.0 & Self::NO_LENGTH == 0
    }

    /// The byte of a character that it is.
    pub(super) fn byte(self) -> Option<u8> {
        (!self.has_fixed_length() && self != Self::UNKNOWN).then_some(self.0 as u8)
    }

    /// Its bytes, if it has a fixed length.
    #[inline]
    pub(super) fn length(self) -> usize {
        self.0 as usize & ((1 << Self::LENGTH_BITS) - 1)
    }

    /// The span of a token from `start` to `end`, if it has a fixed length.
    #[inline]
    pub(super) fn trimmed(self, start: usize, end: usize) -> Span {
        let (spaces, mask) = (self.0 as usize >> Self::LENGTH_BITS, (1 << Self::SPACE_BITS) - 1);
        Span { start: start + (spaces & mask), end: end.wrapping_sub(spaces >> Self::SPACE_BITS & mask) }
    }

    /// Does a new pretoken begin with it, wherever it is in a text?
    pub(super) fn begins_word(self) -> bool {
        self.has_fixed_length() && self.0 & Self::BEGINS_WORD != 0
    }
}

/// The lengths of the ids of a tokenizer, where its texts are looked up.
#[derive(Debug)]
pub(in crate::engine) struct LengthTables {
    pretokens: Option<TokenLengths>,
    segments: Option<TokenLengths>,
}

impl LengthTables {
    /// For texts whose parts are looked up as `raw` says, with offsets that leave out white space if `trims`.
    pub(in crate::engine) fn new(
        description: &Description,
        vocabulary: &Vocabulary,
        raw: Option<&Raw>,
        trims: bool,
    ) -> Self {
        let segments = match raw {
            Some(Raw::Segments(segments)) if !trims => {
                TokenLengths::in_segments(description, vocabulary, segments)
            }
            _ => None,
        };
        Self { pretokens: TokenLengths::in_pretokens(description, vocabulary, trims), segments }
    }

    /// In pretokens, if their ids tile them.
    pub(super) fn in_pretokens(&self) -> Option<&TokenLengths> {
        self.pretokens.as_ref()
    }

    /// In raw segments, if their ids tile them.
    pub(super) fn in_segments(&self) -> Option<&TokenLengths> {
        self.segments.as_ref()
    }

    /// Heap bytes held.
    pub(in crate::engine) fn memory(&self) -> usize {
        [&self.pretokens, &self.segments].into_iter().flatten().map(TokenLengths::memory).sum()
    }
}

/// The lengths of all ids.
#[derive(Debug)]
pub(super) struct TokenLengths(Vec<TokenLength>);

impl TokenLengths {
    /// In pretokens. `None` if the ids of a pretoken do not tile it, or if there are few tokens with large ids.
    pub(super) fn in_pretokens(
        description: &Description,
        vocabulary: &Vocabulary,
        trims: bool,
    ) -> Option<Self> {
        let in_bytes = description.is_byte_level();
        let form = TokenForm::of(&description.model)?;
        let mut lengths = Self::unknown(vocabulary)?;
        for (id, token) in vocabulary.tokens().iter() {
            let Some(length) = form.length(token) else { continue };
            // White space at the ends of a token with an affix is not counted here.
            if trims && length != token.len() {
                continue;
            }
            let spaces = if trims {
                white_space_at_ends(token, in_bytes, || vocabulary.written(id).unwrap_or_default())
            } else {
                (0, 0)
            };
            lengths.set(id, TokenLength::new(length, spaces));
        }
        lengths.forget_unknown(&description.model);
        Some(lengths)
    }

    /// In raw segments. `None` if a space of the text may become more than one token.
    pub(super) fn in_segments(
        description: &Description,
        vocabulary: &Vocabulary,
        segments: &RawSegments,
    ) -> Option<Self> {
        let mut buffer = [0; 4];
        let mark = segments.mark().encode_utf8(&mut buffer).as_bytes();
        vocabulary.find(mark)?;
        let rewrites = description.normalizer.iter().any(|step| matches!(step, Normalizer::SentencePiece(_)));
        let mut lengths = Self::unknown(vocabulary)?;
        let mut buffer = Vec::new();
        for (id, token) in vocabulary.tokens().iter() {
            let length = match byte_token(token) {
                Some(byte) if rewrites => TokenLength::byte_of_char(byte),
                Some(_) => TokenLength::new(1, (0, 0)),
                None => {
                    let Some(raw) = segments.raw_of(token, &mut buffer) else { continue };
                    let length = TokenLength::new(raw.len(), (0, 0));
                    if segments.splits() && token.starts_with(mark) {
                        length.beginning_word()
                    } else {
                        length
                    }
                }
            };
            lengths.set(id, length);
        }
        lengths.forget_unknown(&description.model);
        Some(lengths)
    }

    fn unknown(vocabulary: &Vocabulary) -> Option<Self> {
        let count = vocabulary.max_id()? as usize + 1;
        let is_worth_it = count / MAX_IDS_PER_TOKEN <= vocabulary.len() + (1 << 16);
        is_worth_it.then(|| Self(vec![TokenLength::UNKNOWN; count]))
    }

    fn set(&mut self, id: TokenId, length: TokenLength) {
        if let Some(place) = self.0.get_mut(id as usize) {
            *place = length;
        }
    }

    /// The unknown token stands for any text.
    fn forget_unknown(&mut self, model: &ModelDescription) {
        if let Some(unk) = model.unk() {
            self.set(unk, TokenLength::UNKNOWN);
        }
    }

    /// What an id stands for.
    #[inline]
    pub(super) fn get(&self, id: TokenId) -> TokenLength {
        self.0.get(id as usize).copied().unwrap_or(TokenLength::UNKNOWN)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<TokenLength>()
    }
}

/// May a byte token or the unknown token merge with others? Then the length of a token says nothing about its text.
fn merges_unknown(model: &BpeDescription) -> bool {
    let is_unknown = |id: TokenId| {
        let token = || model.tokens.index_of(id).map(|index| model.tokens.bytes(index));
        Some(id) == model.unk || (model.byte_fallback && token().and_then(byte_token).is_some())
    };
    match &model.merges {
        _ if model.unk.is_none() && !model.byte_fallback => false,
        Merges::Listed(merges) => {
            merges.iter().any(|merge| is_unknown(merge.left) || is_unknown(merge.right))
        }
        // Such symbols are written after all merges.
        Merges::ByScore { .. } => false,
        Merges::ById => true,
    }
}

/// How the written form of a token differs from the text that it stands for.
enum TokenForm<'a> {
    /// As the text that they stand for, or as a byte of it.
    Plain { byte_tokens: ByteTokens },
    /// With a prefix, but for the first of a pretoken.
    Prefixed(&'a [u8]),
    /// With a suffix, if a pretoken ends there.
    Suffixed(&'a [u8]),
}

/// What the tokens `<0xNN>` stand for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteTokens {
    /// The text that they are written as.
    Text,
    /// A byte.
    Byte,
    Unknown,
}

impl<'a> TokenForm<'a> {
    /// `None` for a model whose ids may leave gaps in a pretoken, or overlap.
    fn of(model: &'a ModelDescription) -> Option<Self> {
        let byte_tokens = |falls_back: bool, of_fallback: ByteTokens| {
            if falls_back { of_fallback } else { ByteTokens::Text }
        };
        Some(match model {
            // The prefix is not part of what symbols merge to, and a mark of its own stands for nothing.
            ModelDescription::Bpe(bpe) if bpe.continuing_prefix.is_some() || merges_unknown(bpe) => {
                return None;
            }
            ModelDescription::Bpe(bpe) => match &bpe.alphabet {
                Alphabet::Bytes => {
                    Self::Plain { byte_tokens: byte_tokens(bpe.byte_fallback, ByteTokens::Unknown) }
                }
                Alphabet::Chars { end_of_word: None } => {
                    Self::Plain { byte_tokens: byte_tokens(bpe.byte_fallback, ByteTokens::Byte) }
                }
                Alphabet::Chars { end_of_word: Some(end) } if end.form == EndOfWordForm::Separate => {
                    return None;
                }
                Alphabet::Chars { end_of_word: Some(_) } if bpe.byte_fallback => return None,
                Alphabet::Chars { end_of_word: Some(end) } => Self::Suffixed(end.symbol.as_bytes()),
            },
            ModelDescription::WordPiece(model) => Self::Prefixed(model.continuing_prefix.as_bytes()),
            ModelDescription::WordLevel(_) => Self::Plain { byte_tokens: ByteTokens::Text },
            ModelDescription::Unigram(model) => {
                Self::Plain { byte_tokens: byte_tokens(model.byte_fallback, ByteTokens::Unknown) }
            }
        })
    }

    /// The fewest bytes that a token stands for; `None` if the token does not say.
    fn length(&self, token: &[u8]) -> Option<usize> {
        match *self {
            Self::Plain { byte_tokens: ByteTokens::Byte } if byte_token(token).is_some() => Some(1),
            Self::Plain { byte_tokens: ByteTokens::Unknown } if byte_token(token).is_some() => None,
            Self::Plain { .. } => Some(token.len()),
            Self::Prefixed(prefix) => Some(token.strip_prefix(prefix).unwrap_or(token).len()),
            Self::Suffixed(suffix) => Some(token.strip_suffix(suffix).unwrap_or(token).len()),
        }
    }
}
