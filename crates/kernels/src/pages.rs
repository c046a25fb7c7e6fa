//! New memory, prefaulted before it is written.
//!
//! The first write to a page costs more than everything else that is written to it: it traps into the system,
//! which finds a page and clears it. One request for many pages is cheaper, and shortly before they are written
//! they are still cached; large pages need fewer traps. All requests are best effort: they change time and how
//! much memory is resident, never a result.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::try_alloc::{self, OutOfMemory};

/// The size of a large page, where there are any.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Pages are at least this large.
pub(crate) const SMALL_PAGE: usize = 4 << 10;

/// Bytes that are prefaulted at a time: they are still cached when they are written.
pub const PREFAULT_BYTES: usize = 128 << 10;

/// Less is not worth a system call.
const MIN_PREFAULT: usize = 4 * SMALL_PAGE;

/// Prefaults memory that is about to be written, up to [`PREFAULT_BYTES`] of it; a large page that begins among
/// these and lies within the memory is requested as a whole. The contents stay as they are. Best effort; returns
/// whether it was honoured.
#[inline]
pub fn prefault<T>(memory: &mut [MaybeUninit<T>]) -> bool {
    prefault_shared(std::ptr::from_mut(memory))
}

/// As [`prefault`], for memory that other threads may write at the same time.
#[inline]
pub fn prefault_shared<T>(memory: *mut [MaybeUninit<T>]) -> bool {
    let (start, size) = (memory.addr(), memory.len().saturating_mul(size_of::<T>()));
    size >= MIN_PREFAULT && prefault_part(start, size)
}

#[cold]
fn prefault_part(start: usize, size: usize) -> bool {
    let part = size.min(PREFAULT_BYTES);
    let before = start.wrapping_neg() % LARGE_PAGE;
    if before < part && before + LARGE_PAGE <= size {
        LargePages::for_pages(1).request(start + before);
    }
    populate(start, part)
}

/// Appends items to a vector, and prefaults the pages of its spare capacity as it reaches them.
///
/// # Errors
/// If the allocation fails; the vector is as it was.
#[inline]
pub fn extend<T: Copy>(vec: &mut Vec<T>, items: &[T]) -> Result<(), OutOfMemory> {
    try_alloc::extend(vec, items)?;
    let end = vec.as_ptr().addr() + size_of_val(vec.as_slice());
    if end % PREFAULT_BYTES < size_of_val(items) {
        prefault_spare(vec);
    }
    Ok(())
}

#[cold]
fn prefault_spare<T>(vec: &mut Vec<T>) {
    prefault(vec.spare_capacity_mut());
}

/// Fills memory with zeros, prefaulting it on the way.
pub fn zeros(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let mut rest = &mut *memory;
    while !rest.is_empty() {
        prefault(rest);
        let (part, following) = rest.split_at_mut(rest.len().min(PREFAULT_BYTES));
        part.fill(MaybeUninit::new(0));
        rest = following;
    }
    // SAFETY: all of them were written.
    unsafe { &mut *(std::ptr::from_mut(memory) as *mut [u8]) }
}

/// Appends `count` zeros to a vector.
///
/// # Errors
/// If the allocation fails; the vector is as it was.
pub fn extend_zeros(bytes: &mut Vec<u8>, count: usize) -> Result<(), OutOfMemory> {
    try_alloc::reserve(bytes, count)?;
    zeros(&mut bytes.spare_capacity_mut()[..count]);
    // SAFETY: the capacity was reserved, and all of them were written.
    unsafe { bytes.set_len(bytes.len() + count) };
    Ok(())
}

/// Requests large pages as long as they come fast. A virtual machine may have returned free memory to its host; to
/// get a large page back takes several milliseconds, far longer than the small ones that would do as well.
pub(crate) struct LargePages {
    is_wanted: bool,
}

/// A large page that takes longer is slow: small ones in its place take half of that.
const MAX_TIME: Duration = Duration::from_millis(1);

/// After a slow one, this many large pages are not requested.
const SKIPPED: u32 = 64;

/// How many more large pages are not to be requested.
static TO_SKIP: AtomicU32 = AtomicU32::new(0);

impl LargePages {
    /// For memory whose size is a multiple of large pages.
    pub(crate) fn for_memory(layout: Layout) -> Self {
        let is_whole = layout.align() == LARGE_PAGE;
        if is_whole { Self::for_pages(layout.size() / LARGE_PAGE) } else { Self { is_wanted: false } }
    }

    /// For this many of them.
    fn for_pages(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let less = |left: u32| (left > 0).then(|| left.saturating_sub(count));
        Self { is_wanted: TO_SKIP.fetch_update(Relaxed, Relaxed, less).is_err() }
    }

    /// Prefaults memory and has it written. A large page begins nowhere in it but at its start.
    pub(crate) fn write<T>(
        &mut self,
        memory: &mut [MaybeUninit<T>],
        write: impl FnOnce(&mut [MaybeUninit<T>], bool),
    ) {
        let start = memory.as_ptr().addr();
        if start.is_multiple_of(LARGE_PAGE) {
            self.request(start);
        }
        let is_prefaulted = prefault(memory);
        write(memory, is_prefaulted);
    }

    /// Requests the large page that begins here.
    fn request(&mut self, start: usize) {
        if self.is_wanted {
            let before = Instant::now();
            advise(start, LARGE_PAGE);
            populate(start, SMALL_PAGE);
            self.took(before.elapsed());
        }
    }

    /// Notes how long a large page took.
    fn took(&mut self, time: Duration) {
        if time > MAX_TIME {
            self.is_wanted = false;
            TO_SKIP.store(SKIPPED, Relaxed);
        }
    }
}

/// Requests large pages for a range of addresses that is a multiple of them. Best effort.
#[cfg(target_os = "linux")]
fn advise(start: usize, size: usize) {
    // SAFETY: the call neither reads nor writes memory, and the contents of the range stay as they are, whoever
    // owns it.
    let _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(start), size, libc::MADV_HUGEPAGE) };
}

/// Prefaults the pages of a range of addresses for writing. Fails on older systems, which have no such request.
#[cfg(target_os = "linux")]
#[cold]
fn populate(start: usize, size: usize) -> bool {
    let first = start / SMALL_PAGE * SMALL_PAGE;
    let size = (start + size).next_multiple_of(SMALL_PAGE) - first;
    // SAFETY: pages are faulted in as by a write, and their contents stay as they are, whoever owns them.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(first), size, libc::MADV_POPULATE_WRITE) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: usize, _size: usize) {}

#[cfg(not(target_os = "linux"))]
fn populate(_start: usize, _size: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    #[test]
    fn after_a_slow_large_page_none_is_requested() {
        let large = Layout::from_size_align(2 * LARGE_PAGE, LARGE_PAGE).expect("a layout");
        let small = Layout::from_size_align(2 * LARGE_PAGE, SMALL_PAGE).expect("a layout");
        assert!(!LargePages::for_memory(small).is_wanted);
        let mut pages = LargePages { is_wanted: true };
        pages.took(MAX_TIME);
        assert!(pages.is_wanted);
        pages.took(MAX_TIME * 2);
        assert!(!pages.is_wanted && !LargePages::for_memory(large).is_wanted);
        TO_SKIP.store(u32::MAX, Relaxed);
        let without = Table::filled([3_u64; 8], 1 << 16);
        TO_SKIP.store(0, Relaxed);
        assert!(without.iter().all(|&item| item == [3; 8]));
    }

    #[test]
    fn vectors_grow_as_they_would() {
        for (capacity, step) in [(0, 1), (10, 3), (1 << 16, 1000), (1 << 18, 70_001), (3, 40_000)] {
            let mut vec = Vec::with_capacity(capacity);
            let mut want: Vec<u32> = Vec::new();
            while want.len() < 1 << 18 {
                let items: Vec<u32> = (want.len() as u32..).take(step).collect();
                extend(&mut vec, &items).unwrap();
                want.extend(&items);
            }
            assert!(vec == want, "{capacity} {step}");
        }
        let mut nothing = vec![(); 3];
        extend(&mut nothing, &[(); 1 << 20]).unwrap();
        assert_eq!(nothing.len(), 3 + (1 << 20));
    }

    #[test]
    fn zeros_are_written() {
        let mut memory = vec![MaybeUninit::new(7); 3 * PREFAULT_BYTES + 17];
        let (zeros, rest) = memory.split_at_mut(2 * PREFAULT_BYTES + 5);
        assert!(zeros_of(zeros) && zeros_of(&mut rest[..9]) && zeros_of(&mut []));
        // SAFETY: all of them were written.
        assert!(rest[9..].iter().all(|byte| unsafe { byte.assume_init() } == 7));
        let mut bytes = vec![7; 3];
        extend_zeros(&mut bytes, 1 << 20).unwrap();
        extend_zeros(&mut bytes, 0).unwrap();
        assert!(
            bytes.len() == 3 + (1 << 20) && bytes[..3] == [7; 3] && bytes[3..].iter().all(|&byte| byte == 0)
        );
        assert!(extend_zeros(&mut bytes, isize::MAX as usize).is_err() && bytes.len() == 3 + (1 << 20));
    }

    fn zeros_of(memory: &mut [MaybeUninit<u8>]) -> bool {
        let length = memory.len();
        let bytes = zeros(memory);
        bytes.len() == length && bytes.iter().all(|&byte| byte == 0)
    }

    #[test]
    fn prefaulting_keeps_the_contents() {
        let mut memory: Vec<MaybeUninit<u32>> = (0..1 << 20).map(MaybeUninit::new).collect();
        prefault(&mut memory);
        prefault(&mut memory[1..5000]);
        prefault(&mut memory[..0]);
        for start in (0..memory.len()).step_by(PREFAULT_BYTES / 16) {
            prefault(&mut memory[start..]);
        }
        // SAFETY: all of them were written above.
        assert!((0..1 << 20).all(|number| unsafe { memory[number as usize].assume_init() } == number));
    }
}
