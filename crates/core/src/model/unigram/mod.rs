//! Unigram: of all sequences of tokens that spell a pretoken, the most probable one.
//!
//! In: one pretoken. Out: its ids; for callers that ask, the best sequences, the probability of the text over all
//! sequences, or a random sequence. The best path must be that of the library that the model came from, to the last
//! bit of the sums that decide it.
//!
//! The sequences are the paths of a lattice: its nodes are the places between characters, its edges are tokens. A
//! character that is no token is an unknown edge of its own. The lattice is never built for encoding: an automaton
//! finds the tokens that end at each place, and only the edge by which the best path arrives there is kept, four
//! bytes for each byte of text.
mod best;
mod forward;
mod model;
mod nbest;
mod running_sum;
mod scratch;
mod spell;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use forward::draw;
pub use model::Unigram;
pub use nbest::MAX_PATHS;
pub(crate) use running_sum::{RunningSum, SumScratch};
pub use scratch::UnigramScratch;
pub(crate) use words::{MARK, WordSums};
