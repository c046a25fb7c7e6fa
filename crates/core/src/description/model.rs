//! How a pretoken becomes ids.
use std::sync::Arc;

use super::TokenList;
use crate::ids::TokenId;

/// A model: its tokens, and the rule by which they spell a pretoken.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelDescription {
    /// Neighbours merge by rank.
    Bpe(BpeDescription),
    /// The longest token first, from left to right.
    WordPiece(WordPieceDescription),
    /// A pretoken is a token or unknown.
    WordLevel(WordLevelDescription),
    /// The most probable row of tokens.
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

    /// The ordinary tokens, to be replaced.
    pub fn tokens_mut(&mut self) -> &mut Arc<TokenList> {
        match self {
            Self::Bpe(model) => &mut model.tokens,
            Self::WordPiece(model) => &mut model.tokens,
            Self::WordLevel(model) => &mut model.tokens,
            Self::Unigram(model) => &mut model.tokens,
        }
    }

    /// Leaves tokens out, with what stands beside them in their order.
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

    /// What stands for what the vocabulary cannot spell.
    pub fn unk(&self) -> Option<TokenId> {
        match self {
            Self::Bpe(model) => model.unk,
            Self::WordPiece(model) => model.unk,
            Self::WordLevel(model) => model.unk,
            Self::Unigram(model) => model.unk,
        }
    }

    /// The symbols that merging starts from, for byte-pair encoding.
    pub fn alphabet(&self) -> Option<&Alphabet> {
        match self {
            Self::Bpe(model) => Some(&model.alphabet),
            _ => None,
        }
    }

    /// The model, if it is byte-pair encoding.
    pub fn as_bpe(&self) -> Option<&BpeDescription> {
        match self {
            Self::Bpe(model) => Some(model),
            _ => None,
        }
    }

    /// The model to change, if it is byte-pair encoding.
    pub fn as_bpe_mut(&mut self) -> Option<&mut BpeDescription> {
        match self {
            Self::Bpe(model) => Some(model),
            _ => None,
        }
    }
}

/// Leaves out what is not kept; a list that is empty has nothing beside the tokens.
fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut places = kept.iter();
    list.retain(|_| places.next() != Some(&false));
}

/// Byte-pair encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct BpeDescription {
    /// What a pretoken is broken into before merging.
    pub alphabet: Alphabet,
    /// Ordinary tokens: bytes per id, shared with the engine.
    pub tokens: Arc<TokenList>,
    /// Which neighbours merge, and in which order.
    pub merges: Merges,
    /// A pretoken that is a token as it stands becomes that token, whatever merging would give.
    pub whole_pretokens: bool,
    /// What stands for a symbol that is not in the alphabet; without one that is an error.
    pub unk: Option<TokenId>,
    /// Unknown symbols beside each other become one unknown token.
    pub fuse_unk: bool,
    /// A character that is no symbol becomes the tokens `<0xNN>` of its bytes, if all are there.
    pub byte_fallback: bool,
    /// Put before every symbol of a pretoken but the first, and left out where two merge; `None`
    /// is none. Only over characters.
    pub continuing_prefix: Option<String>,
    /// How probably a merge is passed over, for those who ask for another segmentation each time.
    pub dropout: Option<f32>,
}

impl BpeDescription {
    /// Merges over `alphabet` and nothing special about them.
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
}

/// The symbols that merging starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alphabet {
    /// The bytes of the UTF-8 text.
    Bytes,
    /// Its characters, with a mark for the end of each pretoken where the vocabulary has one.
    Chars {
        /// The mark.
        end_of_word: Option<EndOfWord>,
    },
}

/// The mark for the end of a pretoken in classical BPE. It decodes to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndOfWord {
    /// How it is written, `</w>` by custom.
    pub symbol: String,
    /// Where it stands.
    pub form: EndOfWordForm,
}

/// Where an end-of-word mark stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfWordForm {
    /// It is a symbol of its own after the last character.
    Separate,
    /// It is glued to the last character: `t</w>` is one symbol.
    Suffix,
}

/// Which neighbours merge, and in which order.
#[derive(Debug, Clone, PartialEq)]
pub enum Merges {
    /// These, lowest index first; equal ones leftmost first.
    Listed(Vec<Merge>),
    /// Any two tokens whose joined bytes are a token, lowest id of the result first (the rule
    /// of tiktoken, and of an ordered token list).
    ById,
    /// Any two whose joined characters are a token, highest score of the result first (the rule of
    /// SentencePiece). One score and kind for each token, in their order.
    ByScore {
        /// The scores.
        scores: Vec<f32>,
        /// The kinds.
        kinds: Vec<PieceKind>,
    },
}

/// Two neighbours that become one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Merge {
    /// The left one.
    pub left: TokenId,
    /// The right one.
    pub right: TokenId,
    /// What they become.
    pub result: TokenId,
}

/// What a piece of a SentencePiece model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PieceKind {
    /// An ordinary one.
    #[default]
    Normal,
    /// The unknown one.
    Unknown,
    /// Never produced from text.
    Control,
    /// Always kept whole.
    UserDefined,
    /// In the vocabulary but split again where it comes out.
    Unused,
    /// A byte.
    Byte,
}

/// The longest token first.
#[derive(Debug, Clone, PartialEq)]
pub struct WordPieceDescription {
    /// The tokens as they are written, prefix included.
    pub tokens: Arc<TokenList>,
    /// What a pretoken becomes that cannot be spelled.
    pub unk: Option<TokenId>,
    /// Put before every token of a pretoken but the first, `##` by custom.
    pub continuing_prefix: String,
    /// A pretoken of more characters is unknown.
    pub max_chars: usize,
}

/// Whole pretokens.
#[derive(Debug, Clone, PartialEq)]
pub struct WordLevelDescription {
    /// The tokens.
    pub tokens: Arc<TokenList>,
    /// What any other pretoken becomes.
    pub unk: Option<TokenId>,
}

/// The most probable row of tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramDescription {
    /// The tokens, ids ascending.
    pub tokens: Arc<TokenList>,
    /// The log probability of each, in their order.
    pub scores: Vec<f64>,
    /// What each is, in their order; empty where all are ordinary.
    pub kinds: Vec<PieceKind>,
    /// What stands for a character that no token covers.
    pub unk: Option<TokenId>,
    /// The score of an unknown character.
    pub unk_score: f64,
    /// An unknown run becomes the tokens `<0xNN>` of its bytes, if all are there.
    pub byte_fallback: bool,
    /// Sums as SentencePiece makes them, rounded to single precision after each step and started
    /// over where they are far from 0, unknown characters one by one; else as the tokenizers
    /// library does.
    pub single_precision: bool,
}

impl UnigramDescription {
    /// How far the score of an unknown character is below the lowest of the pieces, in every format that has none of
    /// its own.
    pub const UNK_PENALTY: f32 = 10.0;
}
