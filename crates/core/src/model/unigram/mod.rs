//! Unigram: of all rows of tokens that spell a pretoken, the most probable one.
//!
//! Comes in: one pretoken. Goes out: its ids; for callers who ask, the best rows, the probability of the text over
//! all rows, or a row drawn at random. The best path must be that of the library that the model came from, to the
//! last bit of the sums that decide it.
//!
//! The rows are the paths of a lattice: places between characters, tokens as edges. A character that is no token
//! is an edge of its own, unknown. The lattice is never built for encoding: an automaton names the tokens that end
//! at each place, and all that is kept of a place is the edge by which the best path arrives, four bytes for each
//! byte of text.
mod best;
mod forward;
mod model;
mod nbest;
mod scratch;
mod spell;
#[cfg(test)]
mod tests;

pub(crate) use forward::draw;
pub use model::Unigram;
pub use nbest::MAX_PATHS;
pub use scratch::UnigramScratch;
