//! Rows of numbers that threads make in any order, joined in the order of their numbers.
//!
//! A row whose turn has come is copied to its place while others are still made, and its memory is used again: it
//! is near then, and what the threads touch for the first time is the result alone.
use std::collections::BTreeMap;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::pages;
use crate::try_alloc::{self, OutOfMemory};

/// Rows 0, 1, 2, ... behind what a vector holds already.
pub struct InOrder {
    /// The memory of that vector.
    start: NonNull<u32>,
    capacity: usize,
    turns: Mutex<Turns>,
}

struct Turns {
    /// Items that are there, or that somebody is about to write.
    length: usize,
    /// The row whose turn it is.
    next: usize,
    /// Rows that came before their turn.
    early: BTreeMap<usize, Vec<u32>>,
    /// Rows for which there was no more room, and all behind them.
    beyond: Vec<Vec<u32>>,
    /// Memory to be used again.
    idle: Vec<Vec<u32>>,
}

// SAFETY: the memory is this value's own. It is written to only in parts that `put` has given out under the lock, each
// to one thread, and read only by `finish`, which nobody else can be beside.
unsafe impl Send for InOrder {}
// SAFETY: as above.
unsafe impl Sync for InOrder {}

impl InOrder {
    /// Rows go behind what is in `vec`; as long as it has room for them nothing is copied twice.
    pub fn behind(vec: Vec<u32>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        let start = NonNull::new(vec.as_mut_ptr()).unwrap_or(NonNull::dangling());
        let turns = Turns {
            length: vec.len(),
            next: 0,
            early: BTreeMap::new(),
            beyond: Vec::new(),
            idle: Vec::new(),
        };
        Self { start, capacity: vec.capacity(), turns: Mutex::new(turns) }
    }

    /// What the threads of one call share; each holds it for a few moves, and none needs the interpreter meanwhile.
    #[allow(clippy::disallowed_methods)] // it lives for one call, of which nothing is left in a forked child
    fn turns(&self) -> MutexGuard<'_, Turns> {
        // Nothing panics while it is held, and what it guards is sound at any time.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty row to fill, perhaps with room.
    pub fn empty(&self) -> Vec<u32> {
        self.turns().idle.pop().unwrap_or_default()
    }

    /// Puts a row. Each number is put once.
    pub fn put(&self, number: usize, row: Vec<u32>) {
        let mut turns = self.turns();
        turns.early.insert(number, row);
        while let number = turns.next
            && let Some(mut row) = turns.early.remove(&number)
        {
            turns.next += 1;
            let at = turns.length;
            if row.len() > self.capacity - at || !turns.beyond.is_empty() {
                turns.beyond.push(row);
                continue;
            }
            turns.length += row.len();
            // Whose turn is next need not wait for the copy.
            drop(turns);
            // SAFETY: there is room for `capacity` items, and those from `at` on were given to this row alone; that they are
            // not initialised is said.
            let places = unsafe {
                let start = self.start.cast::<MaybeUninit<u32>>().as_ptr();
                std::slice::from_raw_parts_mut(start.add(at), row.len())
            };
            let part = pages::PART / size_of::<u32>();
            let parts = (at..).step_by(part).zip(places.chunks_mut(part)).zip(row.chunks(part));
            for ((at, places), items) in parts {
                pages::bring_shared(self.room_from(at));
                for (place, &item) in places.iter_mut().zip(items) {
                    place.write(item);
                }
            }
            row.clear();
            turns = self.turns();
            turns.idle.push(row);
        }
    }

    /// The memory of an item and of all behind it: a large page has room for the rows of others, too.
    fn room_from(&self, at: usize) -> *mut [MaybeUninit<u32>] {
        let start = self.start.as_ptr().cast::<MaybeUninit<u32>>();
        ptr::slice_from_raw_parts_mut(start.wrapping_add(at), self.capacity - at)
    }

    /// The vector with all rows up to the first that was not put.
    ///
    /// # Errors
    /// Where there is no memory for the rows that the vector had no room for.
    pub fn finish(mut self) -> Result<Vec<u32>, OutOfMemory> {
        let turns = self.turns.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (length, beyond) = (turns.length, std::mem::take(&mut turns.beyond));
        let start = std::mem::replace(&mut self.start, NonNull::dangling());
        let capacity = std::mem::take(&mut self.capacity);
        // SAFETY: these are the parts of a vector, and nobody owns it any more: what is left is an empty one. All items
        // up to the length were written: by that vector, or by calls of `put`, which have returned, as this is the only
        // reference.
        let mut vec = unsafe { Vec::from_raw_parts(start.as_ptr(), length, capacity) };
        try_alloc::reserve(&mut vec, beyond.iter().map(Vec::len).sum())?;
        for row in beyond {
            vec.extend_from_slice(&row);
        }
        Ok(vec)
    }
}

impl Drop for InOrder {
    fn drop(&mut self) {
        // SAFETY: these are the parts of a vector that nobody else owns; items need not be dropped.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) });
    }
}

impl fmt::Debug for InOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns = self.turns();
        f.debug_struct("InOrder").field("length", &turns.length).field("next", &turns.next).finish()
    }
}

#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use proptest::prelude::*;

    use super::*;

    fn joined(rows: &[Vec<u32>]) -> Vec<u32> {
        std::iter::once(7).chain(rows.concat()).collect()
    }

    fn begin(room: usize) -> InOrder {
        let mut vec = Vec::with_capacity(1 + room);
        vec.push(7);
        InOrder::behind(vec)
    }

    proptest! {
        #[test]
        fn rows_are_joined_in_order_however_they_come(
            rows in prop::collection::vec(prop::collection::vec(0..9_u32, 0..20), 0..20),
            order in any::<prop::sample::Index>(),
            room in 0..250_usize,
        ) {
            let all = begin(room);
            let mut left: Vec<usize> = (0..rows.len()).collect();
            while !left.is_empty() {
                let number = left.remove(order.index(left.len()));
                let mut row = all.empty();
                prop_assert!(row.is_empty());
                row.extend_from_slice(&rows[number]);
                all.put(number, row);
            }
            prop_assert_eq!(all.finish().unwrap(), joined(&rows));
        }
    }

    #[test]
    fn threads_may_put_them() {
        let rows: Vec<Vec<u32>> = (0..5000).map(|n| vec![n; n as usize * 7 % 300]).collect();
        for room in [0, 300_000, 1 << 20] {
            let (all, next) = (begin(room), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while let number = next.fetch_add(1, Relaxed)
                            && let Some(own) = rows.get(number)
                        {
                            let mut row = all.empty();
                            row.extend_from_slice(own);
                            all.put(number, row);
                        }
                    });
                }
            });
            assert_eq!(all.finish().unwrap(), joined(&rows));
        }
    }

    #[test]
    fn what_is_not_finished_is_given_back() {
        let all = begin(10);
        all.put(1, vec![1]);
        all.put(0, vec![5; 3]);
        all.put(3, vec![2]);
        assert_eq!(format!("{all:?}"), "InOrder { length: 5, next: 2 }");
        assert_eq!(all.finish().unwrap(), [7, 5, 5, 5, 1]);
        drop(begin(10));
    }
}
