//! Arrays that hash tables keep their buckets in: of fixed length, and in large pages where they are large.
//!
//! In come a length and the item that fills it; out goes a slice. Small arrays are from the allocator; large ones
//! have pages of their own, which go back to the system when they are dropped.
use std::alloc::Layout;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::pages::{LARGE_PAGE, LargePages, PREFAULT_BYTES, SMALL_PAGE};
use crate::try_alloc::OutOfMemory;

/// An array of fixed length. If its size is a multiple of a large page, it is in large pages where the system has
/// them: random reads then miss the TLB less often.
pub(crate) struct Table<T> {
    items: NonNull<T>,
    len: usize,
}

// SAFETY: a table owns its items, as a boxed slice does.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// `count` times the same item.
    ///
    /// # Panics
    /// If they would take more than half of the address space.
    pub(crate) fn filled(item: T, count: usize) -> Self {
        let made = Self::made(count, |places, _| {
            places.fill(MaybeUninit::new(item));
        });
        made.unwrap_or_else(|_| Self::allocation_failed(count))
    }

    /// A table that `write` writes completely, a part at a time. It is told whether a part is known to be zeros.
    fn made(count: usize, write: impl Fn(&mut [MaybeUninit<T>], bool)) -> Result<Self, OutOfMemory> {
        let Some(layout) = Self::layout(count) else {
            return Ok(Self { items: NonNull::dangling(), len: count });
        };
        let Some(items) = allocate(layout).map(NonNull::cast::<T>) else {
            return Err(OutOfMemory::items::<T>(count));
        };
        // SAFETY: the allocation has `count` items, is aligned for them and shared with nobody; the type says that
        // they are not initialised.
        let places =
            unsafe { std::slice::from_raw_parts_mut(items.cast::<MaybeUninit<T>>().as_ptr(), count) };
        let mut large = LargePages::for_memory(layout);
        for places in places.chunks_mut((PREFAULT_BYTES / size_of::<T>().max(1)).max(1)) {
            large.write(places, |places, is_prefaulted| write(places, is_prefaulted && is_mapped(layout)));
        }
        Ok(Self { items, len: count })
    }

    /// The end of the process, as for other allocations that do not depend on the input of a call.
    fn allocation_failed(count: usize) -> Self {
        match Self::layout(count) {
            Some(layout) => std::alloc::handle_alloc_error(layout),
            None => Self { items: NonNull::dangling(), len: count },
        }
    }
}

/// A type of which all bytes zero is a valid value.
///
/// # Safety
/// It is.
pub(crate) unsafe trait Zeroable: Copy {}

impl<T: Zeroable> Table<T> {
    /// `count` times the item that is all zeros, which new pages are already.
    ///
    /// # Panics
    /// As [`Self::filled`].
    pub(crate) fn zeros(count: usize) -> Self {
        Self::try_zeros(count).unwrap_or_else(|_| Self::allocation_failed(count))
    }

    /// As [`Self::zeros`].
    ///
    /// # Errors
    /// If the allocation fails.
    ///
    /// # Panics
    /// As [`Self::filled`].
    pub(crate) fn try_zeros(count: usize) -> Result<Self, OutOfMemory> {
        Self::made(count, |places, are_zeros| {
            if !are_zeros {
                places.fill(MaybeUninit::zeroed());
            }
        })
    }
}

impl<T> Table<T> {
    /// `None` if no memory is needed.
    fn layout(count: usize) -> Option<Layout> {
        const { assert!(align_of::<T>() <= SMALL_PAGE) };
        let layout = Layout::array::<T>(count).expect("a table of this size has no place in memory");
        let is_whole = layout.size().is_multiple_of(LARGE_PAGE);
        let align = if is_whole { layout.align().max(LARGE_PAGE) } else { layout.align() };
        let layout = layout.align_to(align).expect("large pages are far smaller than half of all addresses");
        Some(layout).filter(|layout| layout.size() > 0)
    }

    /// Heap bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        const { assert!(!std::mem::needs_drop::<T>()) };
        if let Some(layout) = Self::layout(self.len) {
            // SAFETY: the items were allocated with the layout of their number, and nothing borrows them any more.
            unsafe { free(self.items.cast(), layout) }
        }
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: there are `len` items, all of them written, and they live as long as this borrow.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and this borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.items.as_ptr(), self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A table of at least this many bytes has pages of its own, which go back to the system when it is dropped. An
/// allocator would keep them for later, and with many threads and growing tables most of them would lie idle.
#[cfg(all(target_os = "linux", not(fuzzing)))]
const MIN_MAPPED: usize = 128 << 10;

/// Does memory of this layout have pages of its own? Those are zeros at first.
#[cfg(all(target_os = "linux", not(fuzzing)))]
fn is_mapped(layout: Layout) -> bool {
    layout.size() >= MIN_MAPPED
}

/// Memory of a layout whose size is above zero. It is not initialised, unless it [is mapped](is_mapped).
#[cfg(all(target_os = "linux", not(fuzzing)))]
fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    if !is_mapped(layout) {
        // SAFETY: the size is above zero.
        return NonNull::new(unsafe { std::alloc::alloc(layout) });
    }
    // For a larger alignment than that of pages, the start is chosen within a larger mapping.
    let more = if layout.align() > SMALL_PAGE { layout.align() } else { 0 };
    let size = layout.size().checked_add(more)?;
    // SAFETY: new pages at an address that the system chooses, which nobody else uses.
    let start = unsafe {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0)
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let before = start.addr().next_multiple_of(layout.align()) - start.addr();
    let after = more - before;
    // SAFETY: both ends are unused pages of the mapping. The second one begins at a page, if there is one: only
    // tables whose size is a multiple of large pages have such an alignment.
    unsafe {
        if before > 0 {
            libc::munmap(start, before);
        }
        if after > 0 {
            libc::munmap(start.byte_add(before + layout.size()), after);
        }
        NonNull::new(start.byte_add(before).cast())
    }
}

/// Frees memory.
///
/// # Safety
/// It is from [`allocate`] with this layout, and nobody uses it any more.
#[cfg(all(target_os = "linux", not(fuzzing)))]
unsafe fn free(start: NonNull<u8>, layout: Layout) {
    if is_mapped(layout) {
        // SAFETY: the caller's promise: nobody uses these pages any more.
        unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
    } else {
        // SAFETY: the caller's promise: it is from this allocator, with this layout.
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
    }
}

/// Under fuzzing everything comes from the allocator: sanitizers do not check other mappings.
#[cfg(not(all(target_os = "linux", not(fuzzing))))]
fn is_mapped(_layout: Layout) -> bool {
    false
}

#[cfg(not(all(target_os = "linux", not(fuzzing))))]
fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: the size is above zero.
    NonNull::new(unsafe { std::alloc::alloc(layout) })
}

#[cfg(not(all(target_os = "linux", not(fuzzing))))]
unsafe fn free(start: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise: it is from this allocator, with this layout.
    unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: 0 is one.
    unsafe impl Zeroable for u32 {}

    #[test]
    fn tables_are_slices() {
        for count in [0, 1, 1000, LARGE_PAGE / 4, LARGE_PAGE, 3 * LARGE_PAGE + 17] {
            let mut table = Table::filled(0x0101_0101_u32, count);
            assert_eq!(*table, vec![0x0101_0101_u32; count]);
            assert_eq!(table.memory(), 4 * count);
            table.iter_mut().zip(0..).for_each(|(item, number)| *item = number);
            assert!(table.iter().copied().eq(0..count as u32));
        }
        let part = PREFAULT_BYTES / size_of::<u32>();
        for count in [0, 1, 1000, part - 1, part, part + 1, LARGE_PAGE, 3 * LARGE_PAGE + 17] {
            assert!(Table::<u32>::zeros(count).iter().eq(std::iter::repeat_n(&0, count)));
        }
        assert!(Table::filled((), 1000).iter().count() == 1000);
        assert_eq!(Table::filled([1_u64; 8], 1 << 15).as_ptr().addr() % LARGE_PAGE, 0);
    }
}
