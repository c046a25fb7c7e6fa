//! The mutable state of one call, and the list in which it rests between calls.
use std::sync::{Arc, Mutex};

use crate::aligned::Rewritten;
use crate::model::Scratch;
use crate::pattern::WalkRoom;

use super::cache::{Budget, Learnt};
use super::chunk::{Chunk, Others};

/// What one call holds alone while it encodes.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) scratch: Scratch,
    /// What normalization rewrites.
    pub(super) normalized: [Rewritten; 2],
    /// What pre-tokenization rewrites, a text for each step.
    pub(super) pretokenized: Vec<Rewritten>,
    /// What the split of a text writes to; away while it does.
    pub(super) walk_room: Option<Box<WalkRoom>>,
    pub(super) chunk: Chunk,
    pub(super) learnt: Learnt,
}

impl Worker {
    fn new(budget: &Arc<Budget>) -> Self {
        Self {
            scratch: Scratch::default(),
            normalized: Default::default(),
            pretokenized: Vec::new(),
            walk_room: None,
            chunk: Chunk::default(),
            learnt: Learnt::new(budget),
        }
    }

    /// Heap bytes of what a text may make large.
    pub(super) fn memory(&self) -> usize {
        let texts = self.normalized.iter().chain(&self.pretokenized);
        let texts: usize = texts.map(Rewritten::memory).sum();
        self.scratch.memory() + texts + self.chunk.others.memory()
    }
}

/// At most this much scratch rests; a worker that grew larger on some text is cut down.
const RESTING_BYTES: usize = 1 << 20;

/// As many workers may rest. One for which there is no place loses what it learnt, and threads that share a tokenizer
/// would make and lose workers with every call, and leave holes in memory: some machines run so many threads.
const PLACES: usize = 64;

/// Workers at rest. Taking and returning one never waits: a place that another thread is just
/// using (or was using when the process forked) is passed over, and an empty list makes a new
/// worker. Nothing that a worker holds changes a result.
#[derive(Debug)]
pub(super) struct Workers {
    places: [Mutex<Option<Box<Worker>>>; PLACES],
    budget: Arc<Budget>,
}

impl Workers {
    /// What they learn takes so many bytes at most, together.
    pub(super) fn new(cache_bytes: usize) -> Self {
        Self { places: std::array::from_fn(|_| Mutex::default()), budget: Arc::new(Budget::new(cache_bytes)) }
    }

    /// What they have learnt.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Runs `work` with a worker of its own.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        let mut worker = self.take();
        let result = work(&mut worker);
        if worker.memory() > RESTING_BYTES {
            worker.scratch = Scratch::default();
            worker.normalized = Default::default();
            worker.pretokenized = Vec::new();
            worker.chunk.others = Others::default();
        }
        worker.learnt.report();
        self.put_back(worker);
        result
    }

    fn take(&self) -> Box<Worker> {
        let resting = self.places.iter().find_map(|place| place.try_lock().ok()?.take());
        resting.unwrap_or_else(|| Box::new(Worker::new(&self.budget)))
    }

    fn put_back(&self, worker: Box<Worker>) {
        for place in &self.places {
            if let Ok(mut place) = place.try_lock()
                && place.is_none()
            {
                *place = Some(worker);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_worked_at_once_rest_together() {
        let workers = Workers::new(1 << 20);
        let resting = || workers.places.iter().filter(|place| place.lock().unwrap().is_some()).count();
        let taken: Vec<_> = (0..=PLACES).map(|_| workers.take()).collect();
        assert_eq!(resting(), 0);
        for worker in taken {
            workers.put_back(worker);
        }
        assert_eq!(resting(), PLACES);
        workers.with(|_| assert_eq!(resting(), PLACES - 1));
        assert_eq!(resting(), PLACES);
    }
}
