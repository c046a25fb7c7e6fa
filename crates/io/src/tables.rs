//! Maps and sets of what a file holds: fast, and with another seed in each process, so that no file is made to be slow.
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;
pub(crate) type Set<T> = HashSet<T, RandomState>;

/// An empty map with room for so many entries.
pub(crate) fn map_for<K, V>(entries: usize) -> Map<K, V> {
    Map::with_capacity_and_hasher(entries, RandomState::default())
}
