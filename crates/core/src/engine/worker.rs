//! The mutable state of one call, and the list in which it rests between calls.
use std::sync::Mutex;

use crate::aligned::Rewritten;
use crate::model::Scratch;

/// What one call holds alone while it encodes.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) scratch: Scratch,
    /// What normalization rewrites.
    pub(super) normalized: [Rewritten; 2],
    /// What pre-tokenization rewrites, a text for each step.
    pub(super) pretokenized: Vec<Rewritten>,
}

impl Worker {
    fn memory(&self) -> usize {
        let texts = self.normalized.iter().chain(&self.pretokenized);
        self.scratch.memory() + texts.map(Rewritten::memory).sum::<usize>()
    }
}

/// At most this much scratch rests; a worker that grew larger on some text is cut down.
const RESTING_BYTES: usize = 1 << 20;

/// Workers at rest. Taking and returning one never waits: a place that another thread is just
/// using (or was using when the process forked) is passed over, and an empty list makes a new
/// worker. Nothing that a worker holds changes a result.
#[derive(Debug, Default)]
pub(super) struct Workers {
    places: [Mutex<Option<Box<Worker>>>; 8],
}

impl Workers {
    /// Runs `work` with a worker of its own.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        let mut worker = self.take();
        let result = work(&mut worker);
        if worker.memory() > RESTING_BYTES {
            *worker = Worker::default();
        }
        self.put_back(worker);
        result
    }

    fn take(&self) -> Box<Worker> {
        self.places.iter().find_map(|place| place.try_lock().ok()?.take()).unwrap_or_default()
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
