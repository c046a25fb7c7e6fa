//! Pretokens to ids: through a cache, in batches, and by the model where the cache misses.
//!
//! In: text without added tokens, and the split that cuts it. Out: ids into a sink. The way of a pretoken:
//!
//! 1. `keys` makes its key.
//! 2. `batch` looks the key up together with others, while their entries are prefetched.
//! 3. `cache` has its ids, which are copied; or it misses, and `speller` may spell the pretoken at once.
//! 4. `miss_queue` holds other misses. Each is looked up in `static_table`, and what is not there is merged together.
//! 5. `cache` gets the ids, if `admission` lets them in.
//!
//! `resolve` runs these steps for one text.
//!
//! Nothing here knows an engine, added tokens, or threads; a cache belongs to one worker, and never changes a
//! result.
mod admission;
mod batch;
mod cache;
mod keys;
mod miss_queue;
mod resolve;
mod speller;
mod static_table;
#[cfg(test)]
mod tests;

pub(super) use batch::{LookupBatch, PREFETCH_BYTES};
pub(super) use cache::{CacheBudget, DEFAULT_CACHE_BYTES, PretokenCache};
pub(super) use keys::key_of;
pub(super) use miss_queue::MissQueue;
pub(super) use resolve::PretokenEncoder;
pub(super) use speller::Speller;
pub(super) use static_table::StaticTable;
