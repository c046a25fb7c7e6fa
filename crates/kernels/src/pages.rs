//! Prefaults new memory before it is written.
//!
//! The first write to a page costs more than all other writes to it: it traps into the kernel, which finds a free
//! page and clears it. One request for many pages is cheaper. The pages are requested shortly before they are
//! written, so that they are still cached by then. Large pages cause fewer traps. All requests are best effort:
//! they change the time and the amount of resident memory, never a result.

use std::mem::MaybeUninit;

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
        advise_large(start + before, LARGE_PAGE);
    }
    populate(start, part)
}

/// Appends items to a vector, and prefaults pages of its spare capacity as the vector grows into them.
///
/// # Errors
/// If the allocation fails. The vector does not change then.
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

/// Asks for large pages in a range of addresses. Best effort. The first write to a large page, or the first
/// [`prefault`] in it, then brings all of it.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn advise_large(start: usize, size: usize) {
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
pub(crate) fn advise_large(_start: usize, _size: usize) {}

#[cfg(any(not(target_os = "linux"), miri))]
fn populate(_start: usize, _size: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

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
