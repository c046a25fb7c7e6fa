//! The models: how a pretoken becomes ids.
use std::sync::Arc;

use super::{Merge, MergeList, TokenList};
use crate::ids::TokenId;

/// A model: its tokens, and the rule that spells a pretoken with them.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelDescription {
    /// Neighbours are merged by rank.
    Bpe(BpeDescription),
    /// The longest matching token, from left to right.
    WordPiece(WordPieceDescription),
    /// A pretoken is one token, or unknown.
    WordLevel(WordLevelDescription),
    /// The most probable sequence of tokens.
    Unigram(UnigramDescription),
}

impl ModelDescription {
    /// The ordinary tokens.
    pub fn tokens(&self) -> &Arc<TokenList> {
        match self {
            Self::Bpe(model) => &model.tokens,
            Self::WordPiece(model) => &model.tokens,
            Self::WordLevel(model) => &model.tokens,
            Self::Unigram(model) => &model.tokens,
        }
    }

    /// The ordinary tokens, for replacement.
    pub fn tokens_mut(&mut self) -> &mut Arc<TokenList> {
        match self {
            Self::Bpe(model) => &mut model.tokens,
            Self::WordPiece(model) => &mut model.tokens,
            Self::WordLevel(model) => &mut model.tokens,
            Self::Unigram(model) => &mut model.tokens,
        }
    }

    /// Removes tokens, together with their scores and kinds.
    pub(crate) fn drop_tokens(&mut self, dropped: impl Fn(TokenId, &[u8]) -> bool) {
        let tokens = Arc::clone(self.tokens());
        let kept: Vec<bool> = tokens.iter().map(|(id, bytes)| !dropped(id, bytes)).collect();
        match self {
            Self::Unigram(UnigramDescription { scores, kinds, .. }) => {
                keep(scores, &kept);
                keep(kinds, &kept);
            }
            Self::Bpe(BpeDescription { merges: Merges::ByScore { scores, kinds }, .. }) => {
                keep(scores, &kept);
                keep(kinds, &kept);
            }
            _ => {}
        }
        *self.tokens_mut() = tokens.without(dropped).into();
    }

    /// The id for text that the vocabulary cannot spell.
    pub fn unk(&self) -> Option<TokenId> {
        match self {
            Self::Bpe(model) => model.unk,
            Self::WordPiece(model) => model.unk,
            Self::WordLevel(model) => model.unk,
            Self::Unigram(model) => model.unk,
        }
    }

    /// The id for text that the vocabulary cannot spell, for replacement by the id that its token has now.
    pub(crate) fn unk_mut(&mut self) -> Option<&mut TokenId> {
        match self {
            Self::Bpe(model) => model.unk.as_mut(),
            Self::WordPiece(model) => model.unk.as_mut(),
            Self::WordLevel(model) => model.unk.as_mut(),
            Self::Unigram(model) => model.unk.as_mut(),
        }
    }

    /// Sets the id for text that the vocabulary cannot spell. Nothing changes in a vocabulary with all bytes, which
    /// spells every text, or in a Unigram model, whose unknown token is one of its pieces.
    pub(super) fn set_unk(&mut self, id: TokenId) {
        match self {
            Self::Bpe(model) if !model.has_all_bytes() => model.unk = Some(id),
            Self::Bpe(_) | Self::Unigram(_) => {}
            Self::WordPiece(model) => model.unk = Some(id),
            Self::WordLevel(model) => model.unk = Some(id),
        }
    }

    /// The symbols that merging starts from, for byte-pair encoding.
    pub fn alphabet(&self) -> Option<&Alphabet> {
        match self {
            Self::Bpe(model) => Some(&model.alphabet),
            _ => None,
        }
    }

    /// The byte-pair model; `None` for another.
    pub fn as_bpe(&self) -> Option<&BpeDescription> {
        match self {
            Self::Bpe(model) => Some(model),
            _ => None,
        }
    }

    /// The byte-pair model, mutable; `None` for another.
    pub fn as_bpe_mut(&mut self) -> Option<&mut BpeDescription> {
        match self {
            Self::Bpe(model) => Some(model),
            _ => None,
        }
    }
}

/// Keeps the items of a list that runs parallel to the tokens; an empty list stays empty.
fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut places = kept.iter();
    list.retain(|_| places.next() != Some(&false));
}

/// Byte-pair encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct BpeDescription {
    /// The symbols that a pretoken is broken into before merging.
    pub alphabet: Alphabet,
    /// The ordinary tokens by id, shared with the engine.
    pub tokens: Arc<TokenList>,
    /// Which neighbours merge, and in which order.
    pub merges: Merges,
    /// A pretoken that is a token becomes that token, even if merging gives another result.
    pub whole_pretokens: bool,
    /// The id for a symbol that is not in the alphabet; without one, such a symbol is an error.
    pub unk: Option<TokenId>,
    /// Adjacent unknown symbols become one unknown token.
    pub fuse_unk: bool,
    /// A character that is not a symbol becomes the tokens `<0xNN>` of its bytes, if all of them exist.
    pub byte_fallback: bool,
    /// Prefix of every symbol of a pretoken except the first; dropped where two symbols merge. Only
    /// for characters.
    pub continuing_prefix: Option<String>,
    /// Probability of skipping a merge, for callers who sample segmentations.
    pub dropout: Option<f32>,
}

impl BpeDescription {
    /// Merges over `alphabet`, with all options off.
    pub fn plain(alphabet: Alphabet, tokens: impl Into<Arc<TokenList>>, merges: Merges) -> Self {
        Self {
            alphabet,
            tokens: tokens.into(),
            merges,
            whole_pretokens: false,
            unk: None,
            fuse_unk: false,
            byte_fallback: false,
            continuing_prefix: None,
            dropout: None,
        }
    }

    /// Is the alphabet bytes, and is each of the 256 a token?
    fn has_all_bytes(&self) -> bool {
        self.alphabet == Alphabet::Bytes && (0..=u8::MAX).all(|byte| self.tokens.find(&[byte]).is_some())
    }
}

/// The symbols that merging starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alphabet {
    /// The bytes of the UTF-8 text.
    Bytes,
    /// The characters of the text, with an optional mark for the end of each pretoken.
    Chars {
        /// The mark.
        end_of_word: Option<EndOfWord>,
    },
}

/// The end-of-word mark of classical BPE. It decodes to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndOfWord {
    /// The written form, usually `</w>`.
    pub symbol: String,
    /// Whether the mark is a symbol of its own.
    pub form: EndOfWordForm,
}

/// The form of an end-of-word mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfWordForm {
    /// A symbol of its own after the last character.
    Separate,
    /// Part of the last character: `t</w>` is one symbol.
    Suffix,
}

/// Which neighbours merge, and in which order.
#[derive(Debug, Clone, PartialEq)]
pub enum Merges {
    /// The listed merges, lowest index first; equal merges leftmost first.
    Listed(MergeList),
    /// Any two tokens whose joined bytes are a token, lowest id of the result first (as in
    /// tiktoken, and for an ordered token list).
    ById,
    /// Any two tokens whose joined characters are a token, highest score of the result first (as in
    /// SentencePiece). One score and one kind per token, in their order.
    ByScore {
        /// The scores.
        scores: Vec<f32>,
        /// The kinds.
        kinds: Vec<PieceKind>,
    },
}

impl Merges {
    /// The listed merges, lowest index first.
    pub fn listed(merges: impl IntoIterator<Item = Merge>) -> Self {
        Self::Listed(merges.into_iter().collect())
    }
}

/// The kind of a piece in a SentencePiece model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PieceKind {
    /// An ordinary piece.
    #[default]
    Normal,
    /// The unknown piece.
    Unknown,
    /// Never produced from text.
    Control,
    /// Always kept whole.
    UserDefined,
    /// In the vocabulary, but split again when merging produces it.
    Unused,
    /// A byte piece.
    Byte,
}

impl PieceKind {
    /// All kinds, in the order of their numbers in a SentencePiece model, where the first one is 1.
    pub const ALL: [Self; 6] =
        [Self::Normal, Self::Unknown, Self::Control, Self::UserDefined, Self::Unused, Self::Byte];
}

/// WordPiece: the longest matching token first.
#[derive(Debug, Clone, PartialEq)]
pub struct WordPieceDescription {
    /// The tokens in written form, prefix included.
    pub tokens: Arc<TokenList>,
    /// The id for a pretoken that cannot be spelled.
    pub unk: Option<TokenId>,
    /// Prefix of every token of a pretoken except the first, usually `##`.
    pub continuing_prefix: String,
    /// A pretoken with more characters is unknown.
    pub max_chars: usize,
}

/// WordLevel: whole pretokens.
#[derive(Debug, Clone, PartialEq)]
pub struct WordLevelDescription {
    /// The tokens.
    pub tokens: Arc<TokenList>,
    /// The id for any other pretoken.
    pub unk: Option<TokenId>,
}

/// Unigram: the most probable sequence of tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramDescription {
    /// The tokens, ids ascending.
    pub tokens: Arc<TokenList>,
    /// The log probability of each token, in their order.
    pub scores: Vec<f64>,
    /// The kind of each token, in their order; empty if all are ordinary.
    pub kinds: Vec<PieceKind>,
    /// The id for a character that no token covers.
    pub unk: Option<TokenId>,
    /// The score of an unknown character.
    pub unk_score: f64,
    /// A run of unknown characters becomes the tokens `<0xNN>` of its bytes, if all of them exist.
    pub byte_fallback: bool,
    /// Sums are computed as in SentencePiece: rounded to single precision after each step,
    /// restarted far from 0, with unknown characters one by one. Otherwise as in the tokenizers
    /// library.
    pub single_precision: bool,
}

impl UnigramDescription {
    /// Difference between the lowest score of the pieces and the score of an unknown character, in
    /// formats that do not store the latter.
    pub const UNK_PENALTY: f32 = 10.0;
}
