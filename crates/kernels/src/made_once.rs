//! A cell whose value is created when it is first needed, without waiting.
//!
//! In: a function that creates the value. Out: a reference, which is the same for all threads. No thread
//! ever waits for another thread that is creating the value. In a forked process such a wait would never end,
//! because the other thread does not exist there. And a thread that waits while it holds Python's lock would
//! deadlock with a thread that needs this lock. The price is that several threads may create the value at the same
//! time: the first one to finish wins, and the other values are dropped.
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicPtr, Ordering};

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicPtr, Ordering};

/// A cell that creates its value on demand and never waits.
pub struct MadeOnce<T> {
    /// Null, or the pointer of a box. Once it is not null, only `&mut self` replaces it.
    made: AtomicPtr<T>,
    owned: PhantomData<Box<T>>,
}

impl<T> Default for MadeOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for MadeOnce<T> {
    fn from(value: T) -> Self {
        Self { made: AtomicPtr::new(Box::into_raw(Box::new(value))), owned: PhantomData }
    }
}

impl<T: Clone> Clone for MadeOnce<T> {
    fn clone(&self) -> Self {
        self.get().map_or_else(Self::new, |made| made.clone().into())
    }
}

impl<T> MadeOnce<T> {
    /// A cell without a value.
    #[cfg(not(all(loom, test)))]
    pub const fn new() -> Self {
        Self { made: AtomicPtr::new(ptr::null_mut()), owned: PhantomData }
    }

    /// The same for loom, whose pointers are not made by a `const fn`.
    #[cfg(all(loom, test))]
    fn new() -> Self {
        Self { made: AtomicPtr::new(ptr::null_mut()), owned: PhantomData }
    }

    /// The value, if it has been created.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: the pointer is null or comes from a box, which is freed only through `&mut self`. The acquire
        // load makes the whole value visible.
        unsafe { self.made.load(Ordering::Acquire).as_ref() }
    }

    /// A mutable reference to the value, if it has been created.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: the pointer is null or comes from a box, and this is the only reference to the cell. So a relaxed
        // load is enough, too: whoever gave that reference has made the value visible.
        unsafe { self.made.load(Ordering::Relaxed).as_mut() }
    }

    /// Removes the value. It is created again when it is needed again.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let made = self.made.load(Ordering::Relaxed);
        self.made.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the pointer is not null, so it comes from a box, and this is the only reference to the cell. The
        // cell no longer has the pointer.
        (!made.is_null()).then(|| *unsafe { Box::from_raw(made) })
    }
}

// `T: Send` because a thread may drop a value that another thread has created.
impl<T: Send + Sync> MadeOnce<T> {
    /// The value. If there is none, `make` creates it.
    #[inline]
    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        match self.get() {
            Some(made) => made,
            None => self.put(make()),
        }
    }

    #[cold]
    fn put(&self, value: T) -> &T {
        let own = Box::into_raw(Box::new(value));
        let before = self.made.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire);
        let stays = match before {
            Ok(_) => own,
            Err(first) => {
                // SAFETY: this box was made above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(own) });
                first
            }
        };
        // SAFETY: the pointer comes from a box that is in the cell now, and it is freed only through `&mut self`.
        unsafe { &*stays }
    }
}

impl<T> Drop for MadeOnce<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: fmt::Debug> fmt::Debug for MadeOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MadeOnce").field(&self.get()).finish()
    }
}

#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn the_value_is_made_when_it_is_first_needed() {
        let cell = MadeOnce::default();
        assert_eq!(format!("{cell:?}"), "MadeOnce(None)");
        assert_eq!(*cell.get_or_make(|| 7), 7);
        assert_eq!(*cell.get_or_make(|| unreachable!("it is there")), 7);
        assert_eq!(cell.get(), Some(&7));
    }

    #[test]
    fn the_value_can_be_changed_cloned_and_taken() {
        let mut cell = MadeOnce::from(vec![1]);
        cell.get_mut().unwrap().push(2);
        let mut copy = cell.clone();
        assert_eq!((copy.take(), copy.take(), copy.get_mut()), (Some(vec![1, 2]), None, None));
        assert_eq!(copy.clone().get_or_make(|| vec![3]), &[3]);
        assert_eq!(cell.get(), Some(&vec![1, 2]));
    }

    #[test]
    fn threads_that_need_it_at_once_get_one_value_and_the_others_are_dropped() {
        const THREADS: usize = 4;
        for _ in 0..200 {
            let (cell, barrier) = (MadeOnce::default(), Barrier::new(THREADS));
            let (made, alive) = (AtomicUsize::new(0), Arc::new(()));
            let seen: Vec<usize> = std::thread::scope(|scope| {
                let read = || {
                    barrier.wait();
                    let make = || (made.fetch_add(1, Ordering::Relaxed), Arc::clone(&alive));
                    ptr::from_ref(cell.get_or_make(make)).addr()
                };
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(read)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(seen.windows(2).all(|two| two[0] == two[1]));
            assert_eq!(Arc::strong_count(&alive), 2);
            drop(cell);
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    }
}

/// Every order in which the steps of some threads can happen, as `make sanitize only=loom` runs them.
#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(all(loom, test))]
mod every_order {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A value that loom watches: reading one that its maker has not finished, or that is freed already, ends the
    /// model.
    struct Watched(UnsafeCell<usize>, #[expect(dead_code)] std::sync::Arc<()>);

    // SAFETY: it is only written before it is shared.
    unsafe impl Sync for Watched {}

    fn read(cell: &MadeOnce<Watched>, own: usize, alive: &std::sync::Arc<()>) -> usize {
        let made = cell.get_or_make(|| {
            let value = UnsafeCell::new(0);
            // SAFETY: nobody else has it yet.
            value.with_mut(|value| unsafe { *value = own });
            Watched(value, std::sync::Arc::clone(alive))
        });
        // SAFETY: nobody writes to it any more.
        made.0.with(|value| unsafe { *value })
    }

    #[test]
    fn all_threads_see_one_finished_value_and_the_others_are_dropped() {
        loom::model(|| {
            let (cell, alive) = (Arc::new(MadeOnce::new()), std::sync::Arc::new(()));
            let others: Vec<_> = [1, 2]
                .map(|own| {
                    let (cell, alive) = (Arc::clone(&cell), std::sync::Arc::clone(&alive));
                    thread::spawn(move || read(&cell, own, &alive))
                })
                .into();
            let own = read(&cell, 3, &alive);
            let seen: Vec<_> = others.into_iter().map(|other| other.join().unwrap()).collect();
            assert!((1..=3).contains(&own) && seen == [own, own], "{own} {seen:?}");
            assert_eq!(std::sync::Arc::strong_count(&alive), 2);
            drop(cell);
            assert_eq!(std::sync::Arc::strong_count(&alive), 1);
        });
    }

    #[test]
    fn a_value_is_seen_finished_or_not_at_all() {
        loom::model(|| {
            let (cell, alive) = (Arc::new(MadeOnce::new()), std::sync::Arc::new(()));
            let maker = {
                let (cell, alive) = (Arc::clone(&cell), std::sync::Arc::clone(&alive));
                thread::spawn(move || read(&cell, 7, &alive))
            };
            // SAFETY: nobody writes to a value that is in the cell.
            let seen = cell.get().map(|made| made.0.with(|value| unsafe { *value }));
            assert!(seen.is_none_or(|seen| seen == 7));
            maker.join().unwrap();
        });
    }
}
