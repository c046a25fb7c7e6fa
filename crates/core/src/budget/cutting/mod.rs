//! Cutting texts under a budget of ids.
//!
//! In: a text, a number of ids, and where it may be cut. Out: parts of the text, each with the ids that it has as a
//! text of its own. A part must be the longest, or the earliest, that its budget allows: counts go up and down with
//! the length (`docs/budgets.md`), so that every border counts up to where none can fit any more.
//!
//! `search` finds the longest prefix and the longest suffix, `long` counts all prefixes of a text without cuts,
//! `chunks` cuts a whole text, which `read_ahead` encodes in blocks.
mod border;
mod borders;
mod chunks;
mod found_cuts;
mod long;
mod read_ahead;
mod search;
mod stream;
mod sync;
#[cfg(test)]
mod tests;

pub use border::Border;
pub use chunks::{Chunk, ChunkOptions, Chunks, Oversize};
pub use stream::ChunkStream;
