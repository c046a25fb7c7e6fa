//! Arrays of fixed length for the buckets of hash tables, in large pages if they are large.
//!
//! In: a length and the item that fills the array, or an array. Out: a slice. Small arrays are allocated by the global
//! allocator. Large arrays get a mapping of their own, which is returned to the system when they are dropped. Those
//! that are parts of an image stay where they are until they are changed.
use std::alloc::Layout;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::image::{Array, Memory, Plain};
use crate::pages::{LARGE_PAGE, LargePages, PREFAULT_BYTES, SMALL_PAGE};
use crate::try_alloc::OutOfMemory;

/// An array of fixed length. If its size is a multiple of a large page, it is in large pages where the system has
/// them. Random reads then miss the TLB less often.
pub(crate) struct Table<T> {
    items: NonNull<T>,
    len: usize,
    /// What the items are a part of; `None` if the table owns them.
    image: Option<Arc<Memory>>,
}

// SAFETY: a table owns its items exclusively, as a boxed slice does, or shares memory that is only read.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: a shared table gives only shared access to its items, as a boxed slice does.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// A table of `count` copies of an item.
    ///
    /// # Panics
    /// If the size would be more than half of the address space.
    pub(crate) fn filled(item: T, count: usize) -> Self {
        let made = Self::made(count, |places, _| {
            places.fill(MaybeUninit::new(item));
        });
        made.unwrap_or_else(|_| Self::allocation_failed(count))
    }

    /// Creates a table that `write` fills, one part at a time. `write` is also told whether a part is known to be
    /// zeros.
    fn made(count: usize, write: impl Fn(&mut [MaybeUninit<T>], bool)) -> Result<Self, OutOfMemory> {
        let Some(layout) = Self::layout(count) else {
            return Ok(Self { items: NonNull::dangling(), len: count, image: None });
        };
        let Some(items) = allocate(layout).map(NonNull::cast::<T>) else {
            return Err(OutOfMemory::items::<T>(count));
        };
        // SAFETY: the allocation has space for `count` items, is aligned for them, and is not shared. The items
        // need not be initialised, because their type is `MaybeUninit`.
        let places =
            unsafe { std::slice::from_raw_parts_mut(items.cast::<MaybeUninit<T>>().as_ptr(), count) };
        let mut large = LargePages::for_memory(layout);
        for places in places.chunks_mut((PREFAULT_BYTES / size_of::<T>().max(1)).max(1)) {
            large.write(places, |places, is_prefaulted| write(places, is_prefaulted && is_mapped(layout)));
        }
        Ok(Self { items, len: count, image: None })
    }

    /// Ends the process, as for other failed allocations whose size does not depend on the input of a call.
    fn allocation_failed(count: usize) -> Self {
        match Self::layout(count) {
            Some(layout) => std::alloc::handle_alloc_error(layout),
            None => Self { items: NonNull::dangling(), len: count, image: None },
        }
    }

    /// Makes items that are a part of an image its own, by a copy.
    #[cold]
    fn own(&mut self) {
        let next = std::cell::Cell::new(0);
        let copied = Self::made(self.len, |places, _| {
            let (from, to) = (next.get(), next.get() + places.len());
            for (place, &item) in places.iter_mut().zip(&self[from..to]) {
                place.write(item);
            }
            next.set(to);
        });
        *self = copied.unwrap_or_else(|_| Self::allocation_failed(self.len));
    }
}

/// The items of an array that is a part of an image stay there.
impl<T: Plain> From<Array<T>> for Table<T> {
    fn from(array: Array<T>) -> Self {
        if let Some(image) = array.image() {
            let items = NonNull::from(&*array).cast();
            return Self { items, len: array.len(), image: Some(Arc::clone(image)) };
        }
        let mut table = match array.first() {
            Some(&item) => Self::filled(item, array.len()),
            None => return Self { items: NonNull::dangling(), len: 0, image: None },
        };
        table.copy_from_slice(&array);
        table
    }
}

/// A type for which zero bytes are a valid value.
///
/// # Safety
/// A value of the type whose bytes are all zero must be valid.
pub(crate) unsafe trait Zeroable: Copy {}

impl<T: Zeroable> Table<T> {
    /// A table of `count` items whose bytes are all zero. New pages are zero already and are not written.
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
    /// `None` if the table needs no memory.
    fn layout(count: usize) -> Option<Layout> {
        const { assert!(align_of::<T>() <= SMALL_PAGE) };
        let layout = Layout::array::<T>(count).expect("a table of this size has no place in memory");
        let is_whole = layout.size().is_multiple_of(LARGE_PAGE);
        let align = if is_whole { layout.align().max(LARGE_PAGE) } else { layout.align() };
        let layout = layout.align_to(align).expect("large pages are far smaller than half of all addresses");
        Some(layout).filter(|layout| layout.size() > 0)
    }

    /// The heap bytes of this table; 0 for a part of an image.
    pub(crate) fn memory(&self) -> usize {
        if self.image.is_some() { 0 } else { self.len * size_of::<T>() }
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        const { assert!(!std::mem::needs_drop::<T>()) };
        if self.image.is_none()
            && let Some(layout) = Self::layout(self.len)
        {
            // SAFETY: the items were allocated with the layout for this length, and nothing borrows them any more.
            unsafe { free(self.items.cast(), layout) }
        }
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: there are `len` items, all of them initialised, and they live as long as this borrow, in memory that
        // is owned or kept by `image`.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.image.is_some() {
            self.own();
        }
        // SAFETY: there are `len` items, all of them initialised, and they live as long as this borrow, which is
        // exclusive. They are not those of an image any more.
        unsafe { std::slice::from_raw_parts_mut(self.items.as_ptr(), self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A table of at least this many bytes gets a mapping of its own, which is returned to the system when the table
/// is dropped. An allocator would keep the memory, and with many threads and growing tables most of it would stay
/// unused.
#[cfg(all(target_os = "linux", not(fuzzing), not(miri)))]
const MIN_MAPPED: usize = 128 << 10;

/// Does memory of this layout get a mapping of its own? Such memory is zero at first.
#[cfg(all(target_os = "linux", not(fuzzing), not(miri)))]
fn is_mapped(layout: Layout) -> bool {
    layout.size() >= MIN_MAPPED
}

/// Allocates memory for a layout, whose size must be above zero. The memory is uninitialised unless it [is
/// mapped](is_mapped).
#[cfg(all(target_os = "linux", not(fuzzing), not(miri)))]
fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    if !is_mapped(layout) {
        // SAFETY: the size of the layout is above zero.
        return NonNull::new(unsafe { std::alloc::alloc(layout) });
    }
    // The mapping is larger than requested if the alignment is larger than a page, so that an aligned start exists
    // in it.
    let more = if layout.align() > SMALL_PAGE { layout.align() } else { 0 };
    let size = layout.size().checked_add(more)?;
    // SAFETY: this maps new pages at an address that the system chooses, so it does not affect any other memory.
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
    // SAFETY: both ranges are unused parts of the mapping and consist of whole pages. For the second this is so
    // because only a size that is a multiple of a large page comes with an alignment above a page.
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

/// Frees memory that [`allocate`] returned.
///
/// # Safety
/// `start` must come from [`allocate`] with this layout, and nothing may use the memory any more.
#[cfg(all(target_os = "linux", not(fuzzing), not(miri)))]
unsafe fn free(start: NonNull<u8>, layout: Layout) {
    if is_mapped(layout) {
        // SAFETY: the caller guarantees that the pages come from `allocate` with this layout and that nothing uses
        // them any more.
        unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
    } else {
        // SAFETY: the caller guarantees that the memory comes from this allocator with this layout.
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
    }
}

/// Under fuzzing and in Miri all memory comes from the allocator: sanitizers do not check other mappings, and Miri
/// cannot free a part of one.
#[cfg(not(all(target_os = "linux", not(fuzzing), not(miri))))]
fn is_mapped(_layout: Layout) -> bool {
    false
}

#[cfg(not(all(target_os = "linux", not(fuzzing), not(miri))))]
fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: the size of the layout is above zero.
    NonNull::new(unsafe { std::alloc::alloc(layout) })
}

#[cfg(not(all(target_os = "linux", not(fuzzing), not(miri))))]
unsafe fn free(start: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller guarantees that the memory comes from this allocator with this layout.
    unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: 0 is a valid `u32`.
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
