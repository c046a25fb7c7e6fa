//! Asking for memory before it is needed.

/// Memory that is read later, brought near a little at a time while other work goes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead {
    /// The next line that is brought begins here.
    at: usize,
    /// All before this place should have been: less than a line before that, or behind it.
    due: usize,
    end: usize,
    /// Bytes for each unit of the other work.
    rate: usize,
}

/// Bytes that come together.
const LINE: usize = 64;

impl Ahead {
    /// These items. They need not live until they are brought: nothing is read but by the machine, which asks nobody.
    pub fn of<T>(items: &[T]) -> Self {
        let at = items.as_ptr().addr();
        Self { at, due: at, end: at + size_of_val(items), rate: 0 }
    }

    /// How many bytes of these come before `later` does, which is the rest of them.
    pub fn bytes_before(self, later: Self) -> usize {
        later.at.saturating_sub(self.at).min(self.end.saturating_sub(self.at))
    }

    /// At most so many bytes of them, to be brought while so much other work goes on.
    #[must_use]
    pub fn first(self, bytes: usize, work: usize) -> Self {
        let end = self.end.min(self.at.saturating_add(bytes));
        Self { end, rate: bytes.div_ceil(work.max(1)), ..self }
    }

    /// Brings the next of them into the second-level cache, as many as go with this part of the work.
    #[inline]
    pub fn bring(&mut self, work: usize) {
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

/// Brings the line of `items[index]` near, where the machine knows how. Changes nothing else.
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
    fn what_is_ahead_comes_in_order_and_ends() {
        let items = [0_u32; 100];
        let all = Ahead::of(&items);
        assert_eq!(all.bytes_before(Ahead::of(&items[30..])), 120);
        assert_eq!(all.first(130, 1).bytes_before(Ahead::of(&items[90..])), 130);
        let mut ahead = all.first(400, 40);
        ahead.bring(1);
        assert_eq!(all.bytes_before(ahead), LINE);
        ahead.bring(5);
        assert_eq!(all.bytes_before(ahead), LINE);
        ahead.bring(1);
        assert_eq!(all.bytes_before(ahead), 2 * LINE);
        ahead.bring(usize::MAX);
        assert_eq!((all.bytes_before(ahead), ahead.bytes_before(ahead)), (400, 0));
        Ahead::default().bring(usize::MAX);
    }

    #[test]
    fn what_is_brought_stays_as_far_ahead() {
        let items = [0_u8; 10_000];
        let all = Ahead::of(&items);
        let mut ahead = all.first(items.len(), items.len());
        for done in 1..=3_000 {
            ahead.bring(3);
            let brought = all.bytes_before(ahead);
            assert!((3 * done..3 * done + LINE).contains(&brought), "{brought} after {}", 3 * done);
        }
    }
}
