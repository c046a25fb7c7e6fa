//! A vector of numbers whose parts are completed by threads in any order.
//!
//! In: parts, each with its index. Out: the vector with the parts in the order of their indices. A part is
//! copied to the vector as soon as all parts before it are written, while other threads still work on later parts.
//! Its buffer is then reused while it is still cached, so the result is the only new memory that the threads
//! touch.
use std::collections::BTreeMap;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::PoisonError;
#[cfg(not(all(loom, test)))]
use std::sync::{Mutex, MutexGuard};

#[cfg(all(loom, test))]
use loom::sync::{Mutex, MutexGuard};

use crate::pages;
use crate::try_alloc::{self, OutOfMemory};

/// Collects the parts 0, 1, 2, ... and appends them to the items of a vector.
pub struct ReorderBuffer {
    /// The memory of the vector.
    start: NonNull<u32>,
    capacity: usize,
    queue: Mutex<Queue>,
}

struct Queue {
    /// The number of items that are written or reserved for a thread that is about to write them.
    length: usize,
    /// The index of the next part.
    next: usize,
    /// Parts that were completed before one of their predecessors.
    early: BTreeMap<usize, Vec<u32>>,
    /// The first part that exceeds the capacity, and all parts after it.
    overflow: Vec<Vec<u32>>,
    /// Empty buffers for reuse.
    spare: Vec<Vec<u32>>,
}

// SAFETY: this value owns the memory. Only `put` writes to it, after reserving a range for one thread under the
// lock, and only `finish` reads it, which owns the value.
unsafe impl Send for ReorderBuffer {}
// SAFETY: as above: threads that share the value write to disjoint ranges, and none of them reads.
unsafe impl Sync for ReorderBuffer {}

impl ReorderBuffer {
    /// Appends the parts to `vec`. Up to its capacity every part is copied only once.
    pub fn append_to(vec: Vec<u32>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        let start = NonNull::new(vec.as_mut_ptr()).unwrap_or(NonNull::dangling());
        let queue = Queue {
            length: vec.len(),
            next: 0,
            early: BTreeMap::new(),
            overflow: Vec::new(),
            spare: Vec::new(),
        };
        Self { start, capacity: vec.capacity(), queue: Mutex::new(queue) }
    }

    /// The threads of one call share the lock. Each holds it only briefly and never needs the interpreter while it
    /// does.
    #[allow(clippy::disallowed_methods)] // it lives for one call, of which nothing is left in a forked child
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code panics while it holds the lock, and the queue is valid at all times.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer for a part. It has capacity if a buffer can be reused.
    pub fn spare(&self) -> Vec<u32> {
        self.queue().spare.pop().unwrap_or_default()
    }

    /// Adds the part with this index. Each index must be added only once.
    pub fn put(&self, index: usize, part: Vec<u32>) {
        let mut queue = self.queue();
        queue.early.insert(index, part);
        while let index = queue.next
            && let Some(mut part) = queue.early.remove(&index)
        {
            queue.next += 1;
            let at = queue.length;
            if part.len() > self.capacity - at || !queue.overflow.is_empty() {
                queue.overflow.push(part);
                continue;
            }
            queue.length += part.len();
            // Other threads need not wait for the copy.
            drop(queue);
            // SAFETY: the memory has `capacity` items, and this range was reserved for this part alone. The items
            // need not be initialised, because their type is `MaybeUninit`.
            let target = unsafe {
                let start = self.start.cast::<MaybeUninit<u32>>().as_ptr();
                std::slice::from_raw_parts_mut(start.add(at), part.len())
            };
            let step = pages::PREFAULT_BYTES / size_of::<u32>();
            let steps = (at..).step_by(step).zip(target.chunks_mut(step)).zip(part.chunks(step));
            for ((at, target), items) in steps {
                pages::prefault_shared(self.memory_from(at));
                for (place, &item) in target.iter_mut().zip(items) {
                    place.write(item);
                }
            }
            part.clear();
            queue = self.queue();
            queue.spare.push(part);
        }
    }

    /// The memory from item `at` to the end of the capacity. It is not limited to a part, as a large page may
    /// extend beyond one.
    fn memory_from(&self, at: usize) -> *mut [MaybeUninit<u32>] {
        let start = self.start.as_ptr().cast::<MaybeUninit<u32>>();
        ptr::slice_from_raw_parts_mut(start.wrapping_add(at), self.capacity - at)
    }

    /// Returns the vector with all parts up to the first missing one.
    ///
    /// # Errors
    /// If the allocation for parts beyond the capacity fails.
    pub fn finish(mut self) -> Result<Vec<u32>, OutOfMemory> {
        let queue = self.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (length, overflow) = (queue.length, std::mem::take(&mut queue.overflow));
        let start = std::mem::replace(&mut self.start, NonNull::dangling());
        let capacity = std::mem::take(&mut self.capacity);
        // SAFETY: pointer and capacity are those of the vector. Nothing else owns its memory, as an empty vector
        // was left in `self`. All items up to `length` were initialised by the vector or by calls of `put`. These
        // have returned, as this method owns the value.
        let mut vec = unsafe { Vec::from_raw_parts(start.as_ptr(), length, capacity) };
        try_alloc::reserve(&mut vec, overflow.iter().map(Vec::len).sum())?;
        for part in overflow {
            vec.extend_from_slice(&part);
        }
        Ok(vec)
    }
}

impl Drop for ReorderBuffer {
    fn drop(&mut self) {
        // SAFETY: pointer and capacity are those of a vector that nothing else owns. Its items need not be
        // dropped, so the length is 0.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) });
    }
}

impl fmt::Debug for ReorderBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.queue();
        f.debug_struct("ReorderBuffer").field("length", &queue.length).field("next", &queue.next).finish()
    }
}

#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use proptest::prelude::*;

    use super::*;

    fn joined(parts: &[Vec<u32>]) -> Vec<u32> {
        std::iter::once(7).chain(parts.concat()).collect()
    }

    fn begin(capacity: usize) -> ReorderBuffer {
        let mut vec = Vec::with_capacity(1 + capacity);
        vec.push(7);
        ReorderBuffer::append_to(vec)
    }

    proptest! {
        #[test]
        fn parts_are_joined_in_order_however_they_come(
            parts in prop::collection::vec(prop::collection::vec(0..9_u32, 0..20), 0..20),
            order in any::<prop::sample::Index>(),
            capacity in 0..250_usize,
        ) {
            let all = begin(capacity);
            let mut left: Vec<usize> = (0..parts.len()).collect();
            while !left.is_empty() {
                let index = left.remove(order.index(left.len()));
                let mut part = all.spare();
                prop_assert!(part.is_empty());
                part.extend_from_slice(&parts[index]);
                all.put(index, part);
            }
            prop_assert_eq!(all.finish().unwrap(), joined(&parts));
        }
    }

    #[test]
    fn threads_may_put_parts() {
        let parts: Vec<Vec<u32>> = (0..5000).map(|n| vec![n; n as usize * 7 % 300]).collect();
        for capacity in [0, 300_000, 1 << 20] {
            let (all, next) = (begin(capacity), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while let index = next.fetch_add(1, Relaxed)
                            && let Some(own) = parts.get(index)
                        {
                            let mut part = all.spare();
                            part.extend_from_slice(own);
                            all.put(index, part);
                        }
                    });
                }
            });
            assert_eq!(all.finish().unwrap(), joined(&parts));
        }
    }

    #[test]
    fn an_unfinished_buffer_frees_its_memory() {
        let all = begin(10);
        all.put(1, vec![1]);
        all.put(0, vec![5; 3]);
        all.put(3, vec![2]);
        assert_eq!(format!("{all:?}"), "ReorderBuffer { length: 5, next: 2 }");
        assert_eq!(all.finish().unwrap(), [7, 5, 5, 5, 1]);
        drop(begin(10));
    }
}

/// Every order in which the steps of some threads can happen, as `make sanitize only=loom` runs them.
#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(all(loom, test))]
mod every_order {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn parts_come_in_order_whoever_puts_them_first() {
        // Capacity for none, for some and for all of the parts after the first item.
        for capacity in [1, 3, 7] {
            loom::model(move || {
                let mut begun = Vec::with_capacity(capacity);
                begun.push(0);
                let buffer = Arc::new(ReorderBuffer::append_to(begun));
                let parts: [&'static [(usize, &[u32])]; 2] = [&[(1, &[3])], &[(0, &[1, 2]), (2, &[4, 5, 6])]];
                let threads = parts.map(|parts| {
                    let buffer = Arc::clone(&buffer);
                    thread::spawn(move || {
                        for (index, items) in parts {
                            let mut part = buffer.spare();
                            part.extend_from_slice(items);
                            buffer.put(*index, part);
                        }
                    })
                });
                for thread in threads {
                    thread.join().unwrap();
                }
                let buffer = Arc::try_unwrap(buffer).expect("the threads have ended");
                assert_eq!(buffer.finish().unwrap(), [0, 1, 2, 3, 4, 5, 6]);
            });
        }
    }
}
