//! Hash maps and sets for the contents of files. The seed differs in each process, so no file can
//! be built to collide.
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;
pub(crate) type Set<T> = HashSet<T, RandomState>;

/// An empty map with capacity for `entries` entries.
pub(crate) fn map_for<K, V>(entries: usize) -> Map<K, V> {
    Map::with_capacity_and_hasher(entries, RandomState::default())
}
