//! What an engine holds in memory.
use super::Engine;
use super::lookup::DEFAULT_CACHE_BYTES;
use super::worker::Workers;

/// Heap bytes of an engine by what they are for, and what its cache did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Ids and bytes, both ways.
    pub vocabulary: usize,
    /// The tables of the model.
    pub model: usize,
    /// The static table of pretokens that are tokens.
    pub static_table: usize,
    /// The pretoken caches of all workers.
    pub caches: usize,
    /// What these may take.
    pub cache_bytes: usize,
    /// How often a pretoken was looked up, in calls that have ended.
    pub lookups: u64,
    /// How often the cache missed, and the model was asked.
    pub misses: u64,
}

impl Engine {
    /// What is held now. Cost: none to speak of.
    pub fn memory_usage(&self) -> MemoryUsage {
        let budget = self.workers.budget();
        let ((cache_bytes, caches), (lookups, misses)) = (budget.bytes(), budget.lookups());
        MemoryUsage {
            vocabulary: self.stages.vocabulary.memory(),
            model: self.stages.model.memory(),
            static_table: self.static_table.memory(),
            caches,
            cache_bytes,
            lookups,
            misses,
        }
    }

    /// The same engine, whose workers may cache this many bytes together; the default is 32 MiB. That
    /// changes how fast it is and nothing else.
    #[must_use]
    pub fn with_cache_bytes(self, bytes: Option<usize>) -> Self {
        Self { workers: Workers::new(bytes.unwrap_or(DEFAULT_CACHE_BYTES)), ..self }
    }
}
