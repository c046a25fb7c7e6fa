//! A hash table from short pretokens to their ids: one lookup reads one cache line and follows no pointer.
//!
//! In come keys and, once, their ids; out go the ids of keys that are in the table. A key is the pretoken itself,
//! up to 15 bytes, and its length in the sixteenth byte: different pretokens never have the same key. An entry
//! holds up to three ids next to its key, and two entries share a line of 64 bytes. Entries are never removed one
//! by one, and a lookup probes a bounded number of buckets. The pretokens of a text are looked up [in
//! batches](lookup).
mod key;
pub mod lookup;
mod number_table;
mod table;

pub use self::key::{Key, SHORT, hash, key_at};
pub use self::number_table::NumberTable;
pub use self::table::{INLINE, ShortTable, Value};
