//! Prefaults new memory before it is written.
//!
//! The first write to a page costs more than all other writes to it: it traps into the kernel, which finds a free
//! page and clears it. One request for many pages is cheaper. The pages are requested shortly before they are
//! written, so that they are still cached by then. Large pages cause fewer traps. All requests are best effort:
//! they change the time and the amount of resident memory, never a result.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::try_alloc::{self, OutOfMemory};

/// The size of a large page, if the system has any.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// The smallest size of a page.
pub(crate) const SMALL_PAGE: usize = 4 << 10;

/// The number of bytes that are prefaulted at a time: few enough that they are still cached when they are written.
pub const PREFAULT_BYTES: usize = 128 << 10;

/// Less memory is not worth a system call.
const MIN_PREFAULT: usize = 4 * SMALL_PAGE;

/// Prefaults the first [`PREFAULT_BYTES`] of memory that is about to be written. If a large page begins among
/// these and ends within the memory, the whole large page is requested. The contents do not change. Best effort;
/// returns whether the system prefaulted the memory.
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

/// Appends items to a vector, and prefaults pages of its spare capacity as the vector grows into them.
///
/// # Errors
/// If the allocation fails. The vector does not change then.
#[inline]
pub fn extend<T: Copy>(vec: &mut Vec<T>, items: &[T]) -> Result<(), OutOfMemory> {
    reserve(vec, items.len())?;
    vec.extend_from_slice(items);
    Ok(())
}

/// Reserves capacity for `more` items that are about to be appended, and prefaults pages as [`extend`] does.
///
/// # Errors
/// If the allocation fails. The vector does not change then.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    try_alloc::reserve(vec, more)?;
    let size = more * size_of::<T>();
    let end = vec.as_ptr().addr() + size_of_val(vec.as_slice()) + size;
    if end % PREFAULT_BYTES < size {
        prefault_spare(vec);
    }
    Ok(())
}

#[cold]
fn prefault_spare<T>(vec: &mut Vec<T>) {
    prefault(vec.spare_capacity_mut());
}

/// Fills memory with zeros, and prefaults each part before it is filled.
pub fn zeros(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let mut rest = &mut *memory;
    while !rest.is_empty() {
        prefault(rest);
        let (part, following) = rest.split_at_mut(rest.len().min(PREFAULT_BYTES));
        part.fill(MaybeUninit::new(0));
        rest = following;
    }
    // SAFETY: the loop has written every byte of `memory`, and the new reference takes over its exclusive borrow.
    unsafe { &mut *(std::ptr::from_mut(memory) as *mut [u8]) }
}

/// Appends `count` zeros to a vector.
///
/// # Errors
/// If the allocation fails. The vector does not change then.
pub fn extend_zeros(bytes: &mut Vec<u8>, count: usize) -> Result<(), OutOfMemory> {
    try_alloc::reserve(bytes, count)?;
    zeros(&mut bytes.spare_capacity_mut()[..count]);
    // SAFETY: the capacity was reserved, and the `count` bytes after the length were written.
    unsafe { bytes.set_len(bytes.len() + count) };
    Ok(())
}

/// Requests large pages as long as the system provides them fast. A virtual machine may have returned free memory
/// to its host. Then it takes several milliseconds to get a large page back, much longer than for small pages: without
/// this a first pass over 10 MB in many languages to a list takes 1.15 to 1.20 times as long there.
pub(crate) struct LargePages {
    is_wanted: bool,
}

/// A large page that takes longer than this is slow. Small pages in its place take half of this time.
const MAX_TIME: Duration = Duration::from_millis(1);

/// The number of large pages that are not requested after a slow one.
const SKIPPED: u32 = 64;

/// The number of large pages that are still to be skipped.
static TO_SKIP: AtomicU32 = AtomicU32::new(0);

impl LargePages {
    /// For memory of this layout. Large pages are requested only if its size is a multiple of them.
    pub(crate) fn for_memory(layout: Layout) -> Self {
        let is_whole = layout.align() == LARGE_PAGE;
        if is_whole { Self::for_pages(layout.size() / LARGE_PAGE) } else { Self { is_wanted: false } }
    }

    /// For `count` large pages.
    fn for_pages(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let less = |left: u32| (left > 0).then(|| left.saturating_sub(count));
        Self { is_wanted: TO_SKIP.fetch_update(Relaxed, Relaxed, less).is_err() }
    }

    /// Prefaults memory and lets `write` write it. `write` is told whether the memory was prefaulted. A large page
    /// may begin at the start of the memory, but not inside it.
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

    /// Requests the large page that begins at `start`.
    fn request(&mut self, start: usize) {
        if self.is_wanted {
            let before = Instant::now();
            advise(start, LARGE_PAGE);
            populate(start, SMALL_PAGE);
            self.took(before.elapsed());
        }
    }

    /// Records how long a large page took.
    fn took(&mut self, time: Duration) {
        if time > MAX_TIME {
            self.is_wanted = false;
            TO_SKIP.store(SKIPPED, Relaxed);
        }
    }
}

/// Asks for large pages in a range of addresses. Its size must be a multiple of a large page. Best effort.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise(start: usize, size: usize) {
    // SAFETY: this advice neither reads nor writes memory. The contents of the range do not change, so it does not
    // matter who owns it.
    let _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(start), size, libc::MADV_HUGEPAGE) };
}

/// Prefaults the pages of a range of addresses for writing. Returns false on older systems, which do not support
/// this.
#[cfg(all(target_os = "linux", not(miri)))]
#[cold]
fn populate(start: usize, size: usize) -> bool {
    let first = start / SMALL_PAGE * SMALL_PAGE;
    let size = (start + size).next_multiple_of(SMALL_PAGE) - first;
    // SAFETY: the pages are faulted in as if written. Their contents do not change, so it does not matter who owns
    // them.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(first), size, libc::MADV_POPULATE_WRITE) == 0 }
}

#[cfg(any(not(target_os = "linux"), miri))]
fn advise(_start: usize, _size: usize) {}

#[cfg(any(not(target_os = "linux"), miri))]
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
        // SAFETY: all elements have been written above.
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
        // SAFETY: all elements have been written above.
        assert!((0..1 << 20).all(|number| unsafe { memory[number as usize].assume_init() } == number));
    }
}
