//! A hash table from short pretokens to their ids. A lookup usually reads one cache line and follows no pointer.
//!
//! In: keys and, once for each key, its ids. Out: the ids of the keys that are in the table. A key is the
//! pretoken itself, up to 15 bytes, with its length in the sixteenth byte, so different pretokens never have the
//! same key. An entry stores up to three ids next to its key, and a bucket of two entries is one cache line of 64
//! bytes. An entry can be replaced, and all entries can be cleared at once, but none is removed singly. A lookup
//! probes a bounded number of buckets. The pretokens of a text are looked up [in batches](lookup).
pub mod lookup;
mod number_table;
mod table;

pub use self::number_table::NumberTable;
pub use self::table::{INLINE, Key, SHORT, ShortTable, Value, hash, key_at};
