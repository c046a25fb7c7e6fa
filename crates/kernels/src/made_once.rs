//! A value that is made when it is needed first.
//!
//! Nobody waits for another thread that is making it. A process that was forked meanwhile would wait for ever, as that
//! thread is not there; and a thread that waits with Python's lock would hang both where the other needs that lock.
//! The price: several threads may make the value at once, and what the first of them made stays; the rest is freed.
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A place for such a value.
pub struct MadeOnce<T> {
    /// Null, or a box, which stays as it is as long as this does.
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
    /// A place without a value.
    pub const fn new() -> Self {
        Self { made: AtomicPtr::new(ptr::null_mut()), owned: PhantomData }
    }

    /// The value, if it was made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: what stands there is null or a box, which only dropping this value drops; it was complete before it was
        // put there, which the load sees.
        unsafe { self.made.load(Ordering::Acquire).as_ref() }
    }

    /// The value, if it was made, to change it.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as in `get`, and nobody else has this value.
        unsafe { self.made.get_mut().as_mut() }
    }

    /// Takes the value out: it is made again when it is needed again.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let made = std::mem::replace(self.made.get_mut(), ptr::null_mut());
        // SAFETY: it is null or a box, and who holds this value alone may take it.
        (!made.is_null()).then(|| *unsafe { Box::from_raw(made) })
    }
}

// What one thread makes may be dropped by another.
impl<T: Send + Sync> MadeOnce<T> {
    /// The value, which `make` makes where there is none.
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
                // SAFETY: this box was made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(own) });
                first
            }
        };
        // SAFETY: as in `get`.
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
    fn it_is_made_when_it_is_asked_for() {
        let place = MadeOnce::default();
        assert_eq!(format!("{place:?}"), "MadeOnce(None)");
        assert_eq!(*place.get_or_make(|| 7), 7);
        assert_eq!(*place.get_or_make(|| unreachable!("it is there")), 7);
        assert_eq!(place.get(), Some(&7));
    }

    #[test]
    fn it_can_be_changed_copied_and_taken_out() {
        let mut place = MadeOnce::from(vec![1]);
        place.get_mut().unwrap().push(2);
        let mut copy = place.clone();
        assert_eq!((copy.take(), copy.take(), copy.get_mut()), (Some(vec![1, 2]), None, None));
        assert_eq!(copy.clone().get_or_make(|| vec![3]), &[3]);
        assert_eq!(place.get(), Some(&vec![1, 2]));
    }

    #[test]
    fn threads_that_need_it_at_once_get_the_same_and_all_else_is_dropped() {
        const THREADS: usize = 4;
        for _ in 0..200 {
            let (place, barrier) = (MadeOnce::default(), Barrier::new(THREADS));
            let (made, alive) = (AtomicUsize::new(0), Arc::new(()));
            let seen: Vec<usize> = std::thread::scope(|scope| {
                let ask = || {
                    barrier.wait();
                    let make = || (made.fetch_add(1, Ordering::Relaxed), Arc::clone(&alive));
                    ptr::from_ref(place.get_or_make(make)).addr()
                };
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(seen.windows(2).all(|two| two[0] == two[1]));
            assert_eq!(Arc::strong_count(&alive), 2);
            drop(place);
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    }
}
