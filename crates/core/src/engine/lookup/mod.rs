//! Pretokens to ids: through a cache, in batches, and by the model where the cache misses.
//!
//! In: text without added tokens, and the split that cuts it. Out: ids into a sink. The steps for each pretoken:
//!
//! 1. It gets a key: up to 15 bytes are the key themselves; of longer ones `keys` makes a hash, or says that they are
//!    not cached.
//! 2. `batch` prefetches the entry of each key as it is pushed, and looks all of them up when it is full.
//! 3. `cache` has its ids, which are copied; or it misses, and `speller` may spell the pretoken at once.
//! 4. `misses` holds the others, of one text between two added tokens. Those that may be cached are looked up in
//!    `static_table`. What is not found there is merged as a whole beside others of about its length, if it has at
//!    most 62 bytes and the vocabulary allows it; else `speller` spells it by itself: by its segments, through cache
//!    and static table, where it may be divided, or else by the model. A segment that is in neither goes to the model directly.
//! 5. `cache` gets the ids, if `admission` admits them. What was found in the static table outside the queue is not
//!    cached.
//!
//! `encoder` runs these steps for one text; for a single pretoken it asks the cache, the static table and the model,
//! without a batch. A pretoken that hardly ever repeats (above 128 bytes, or above 15 in Hangul or a script without
//! spaces), and a text that is not split, is cut into segments where the vocabulary allows it; each segment takes these
//! steps.
//!
//! Parts of a text that is not normalized yet are looked up in the same way: raw segments, words and pieces, which
//! `engine::raw` finds. A mark in the keys of words and pieces keeps them apart from pretokens, and a miss goes through
//! the stages before the model.
//!
//! Nothing here knows an engine or added tokens. All of it belongs to one worker, but for the model, the vocabulary,
//! the static table and the budget of the caches, which threads share. A cache never changes a result.
mod admission;
mod batch;
mod cache;
mod encoder;
mod keys;
mod misses;
mod speller;
mod static_table;
#[cfg(test)]
pub(super) mod tests;

pub(super) use batch::{LookupBatch, PREFETCH_BYTES};
pub(super) use cache::{CacheBudget, DEFAULT_CACHE_BYTES, PretokenCache};
pub(super) use encoder::PretokenEncoder;
pub(super) use keys::{is_cacheable, key_of, key_of_long_word};
pub(super) use misses::MissQueue;
pub(super) use speller::Speller;
pub(super) use static_table::StaticTable;
