//! The textbook algorithms, slow and obvious: what a fast path has to equal, element by element.
#![forbid(unsafe_code)]

mod encode;
mod train;

pub use encode::encode;
pub use train::{Learned, Tie, Training, pair_counts, train};
