//! Token budgets: encoding as far as a budget goes, in pieces, and in any order.
//!
//! In: an engine, a text and a number of ids. Out: counts and ids, always those that encoding the same text at once
//! gives. Nothing here may approximate, except the two algorithms that say so in their documentation.
pub mod algorithms;
mod appender;
mod cutting;
mod editing;
mod front_text;
mod growing;
mod history;
mod intervals;
mod limit;
mod parts;
mod prefixes;
mod prepender;
mod pretoken_model;
mod pretokens;
mod suffix_counts;
mod suffix_words;
mod suffixes;
#[cfg(test)]
mod tests;
mod words;

pub use appender::Appender;
pub use cutting::{Border, Chunk, ChunkOptions, ChunkStream, Chunks, Oversize};
pub use editing::Edited;
pub use growing::GrowingText;
pub use history::Snapshot;
pub use intervals::{IntervalCounter, Unit};
pub use limit::OVER_LIMIT;
pub use prepender::Prepender;
