//! Prefetching: loads memory into a cache before it is needed.
//!
//! In: addresses. Out: nothing. A prefetch never changes a result and never dereferences its address,
//! so even a dangling address is harmless. Only x86-64 is supported; on other machines nothing happens.

/// Prefetches memory that is read later, a few cache lines at a time while other work is done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Prefetcher {
    /// The address of the next cache line.
    at: usize,
    /// Memory before this address should have been prefetched by now.
    due: usize,
    end: usize,
    /// The number of bytes per unit of the other work.
    rate: usize,
}

/// The bytes of a cache line.
const LINE: usize = 64;

impl Prefetcher {
    /// A prefetcher for these items, which need not live until they are prefetched. It prefetches nothing until
    /// [`Self::paced`] sets its rate.
    pub fn new<T>(items: &[T]) -> Self {
        let at = items.as_ptr().addr();
        Self { at, due: at, end: at + size_of_val(items), rate: 0 }
    }

    /// The number of bytes that this prefetcher covers before the start of `later`, which covers the rest of the
    /// same memory.
    pub fn bytes_before(self, later: Self) -> usize {
        later.at.saturating_sub(self.at).min(self.end.saturating_sub(self.at))
    }

    /// Limits the prefetcher to its first `bytes` bytes and spreads these evenly over `work` units of other work.
    #[must_use]
    pub fn paced(self, bytes: usize, work: usize) -> Self {
        let end = self.end.min(self.at.saturating_add(bytes));
        Self { end, rate: bytes.div_ceil(work.max(1)), ..self }
    }

    /// Prefetches the bytes that belong to the next `work` units into the second-level cache.
    #[inline]
    pub fn prefetch(&mut self, work: usize) {
        self.due = self.end.min(self.due.saturating_add(work.saturating_mul(self.rate)));
        while self.at < self.due {
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
                // SAFETY: SSE is part of x86-64. A prefetch accepts any address, as it never dereferences it.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::without_provenance(self.at)) }
            }
            self.at += LINE;
        }
    }
}

/// Prefetches the cache line of `items[index]`. Does nothing if there is no such item.
#[inline]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64. A prefetch accepts any address, and this one is of a live item.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_prefetched_in_order_up_to_the_end() {
        let items = [0_u32; 100];
        let all = Prefetcher::new(&items);
        assert_eq!(all.bytes_before(Prefetcher::new(&items[30..])), 120);
        assert_eq!(all.paced(130, 1).bytes_before(Prefetcher::new(&items[90..])), 130);
        let mut prefetcher = all.paced(400, 40);
        prefetcher.prefetch(1);
        assert_eq!(all.bytes_before(prefetcher), LINE);
        prefetcher.prefetch(5);
        assert_eq!(all.bytes_before(prefetcher), LINE);
        prefetcher.prefetch(1);
        assert_eq!(all.bytes_before(prefetcher), 2 * LINE);
        prefetcher.prefetch(usize::MAX);
        assert_eq!((all.bytes_before(prefetcher), prefetcher.bytes_before(prefetcher)), (400, 0));
        Prefetcher::default().prefetch(usize::MAX);
    }

    #[test]
    fn a_prefetcher_keeps_its_pace() {
        let items = [0_u8; 10_000];
        let all = Prefetcher::new(&items);
        let mut prefetcher = all.paced(items.len(), items.len());
        for done in 1..=3_000 {
            prefetcher.prefetch(3);
            let prefetched = all.bytes_before(prefetcher);
            assert!((3 * done..3 * done + LINE).contains(&prefetched), "{prefetched} after {}", 3 * done);
        }
    }
}
