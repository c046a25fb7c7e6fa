//! The textbook algorithms, slow and obvious: what a fast path has to equal, element by element.
#![forbid(unsafe_code)]

mod chars;
mod encode;
mod pieces;
mod train;
mod train_unigram;
mod train_wordpiece;
mod unigram;
mod wordpiece;

pub use chars::Chars;
pub use encode::{encode, encode_wide};
pub use pieces::{EncodedPiece, ScoredPiece, ScoredPieceKind, encode_pieces};
pub use train::{Learned, Tie, Training, pair_counts, train};
pub use train_unigram::train_unigram;
pub use train_wordpiece::{WordPieceScore, train_wordpiece};
pub use unigram::{Segmentation, best, log_marginal, segmentations};
pub use wordpiece::wordpiece;
