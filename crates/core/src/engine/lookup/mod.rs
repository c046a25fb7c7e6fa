//! Pretokens to ids: through a cache, in batches, and by the model where the cache misses.
//!
//! In: text without added tokens, and the split that cuts it. Out: ids into a sink. The way of a pretoken:
//!
//! 1. `keys`: its key. 2. `batch`: the lookup of the key, with others, while entries are prefetched. 3. `cache`: a hit, whose
//!    ids are copied; or a miss, which may be spelled at once. 4. `miss_queue`: the miss waits, is looked up in the `static_table`, and is merged together with
//!    others. 5. `cache` again: the ids are inserted, if `admission` lets them in.
//!
//! Nothing here knows an engine, added tokens, or threads; a cache belongs to one worker, and never changes a result.
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
