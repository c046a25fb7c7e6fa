//! Prefetches: memory is loaded into a cache before it is needed.
//!
//! In come addresses, and nothing goes out: a prefetch changes no result and never dereferences, so that even a
//! dangling address is harmless. On machines other than x86-64 nothing happens.

/// Prefetches memory that is read later, a little at a time while other work goes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Prefetcher {
    /// Where the next cache line begins.
    at: usize,
    /// Up to here everything should be prefetched by now.
    due: usize,
    end: usize,
    /// Bytes for each unit of the other work.
    rate: usize,
}

/// Bytes of a cache line.
const LINE: usize = 64;

impl Prefetcher {
    /// Of these items, which need not live until they are prefetched. [`Self::paced`] says how fast; before that
    /// nothing is.
    pub fn new<T>(items: &[T]) -> Self {
        let at = items.as_ptr().addr();
        Self { at, due: at, end: at + size_of_val(items), rate: 0 }
    }

    /// How many of these bytes are before those of `later`, which is the rest of them.
    pub fn bytes_before(self, later: Self) -> usize {
        later.at.saturating_sub(self.at).min(self.end.saturating_sub(self.at))
    }

    /// The first `bytes` of them at most, spread evenly over `work` units of other work.
    #[must_use]
    pub fn paced(self, bytes: usize, work: usize) -> Self {
        let end = self.end.min(self.at.saturating_add(bytes));
        Self { end, rate: bytes.div_ceil(work.max(1)), ..self }
    }

    /// Prefetches the share of `work` units into the second-level cache.
    #[inline]
    pub fn prefetch(&mut self, work: usize) {
        self.due = self.end.min(self.due.saturating_add(work.saturating_mul(self.rate)));
        while self.at < self.due {
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
                // SAFETY: SSE is part of x86-64; the address is only a hint, and any may be given.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::without_provenance(self.at)) }
            }
            self.at += LINE;
        }
    }
}

/// Prefetches the cache line of `items[index]`, if there is such an item.
#[inline]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; the pointer is that of a live item, and is only a hint.
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
