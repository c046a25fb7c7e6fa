//! Token budgets: encoding as far as a budget goes, in pieces, and in any order.
//!
//! In: an engine, a text and a number of ids. Out: counts and ids, always those that encoding the same text at once
//! gives. Nothing here may approximate, except the two algorithms that say so in their documentation.
pub mod algorithms;
mod appender;
mod cutting;
mod limit;
mod parts;
mod prefixes;
mod pretokens;
#[cfg(test)]
mod tests;
mod words;

pub use appender::{Appender, Snapshot};
pub use cutting::{Border, Chunk, ChunkOptions, ChunkStream, Chunks, Oversize};
pub use limit::OVER_LIMIT;
