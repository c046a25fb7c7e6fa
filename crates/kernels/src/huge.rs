//! Memory by the large page: the first touch of each page costs a microsecond, and large pages are few.

use std::alloc::Layout;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// What large pages are here, where there are any.
const PAGE: usize = 2 << 20;

/// All pages begin at multiples of this.
const SMALL_PAGE: usize = 4 << 10;

/// An empty vector with room for so many items, in large pages where the system has them and there are so many
/// that it pays. What is never written to takes no memory but for the rest of a page.
pub fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let vec: Vec<T> = Vec::with_capacity(capacity);
    let size = capacity.saturating_mul(size_of::<T>());
    if size >= 2 * PAGE {
        advise(vec.as_ptr().addr(), size);
    }
    vec
}

/// Items that stay as many as they are. Whole large pages of them stand in large pages, where the system has them:
/// what is read here and there costs a look at the page tables with each of many small ones.
pub struct Table<T> {
    items: NonNull<T>,
    len: usize,
}

// SAFETY: a table owns its items, and is to them what a boxed slice is.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// `count` times the same item.
    ///
    /// # Panics
    /// Where they would take more than half of all addresses.
    pub fn filled(item: T, count: usize) -> Self {
        let Some(layout) = Self::layout(count) else {
            return Self { items: NonNull::dangling(), len: count };
        };
        let Some(items) = allocate(layout).map(NonNull::cast::<T>) else {
            std::alloc::handle_alloc_error(layout)
        };
        let start = items.as_ptr();
        if layout.align() == PAGE {
            advise(start.addr(), layout.size());
        }
        for place in 0..count {
            // SAFETY: the allocation has room for `count` items and is aligned for them.
            unsafe { start.add(place).write(item) };
        }
        Self { items, len: count }
    }
}

impl<T> Table<T> {
    /// `None` where no memory is needed.
    fn layout(count: usize) -> Option<Layout> {
        const { assert!(align_of::<T>() <= SMALL_PAGE) };
        let layout = Layout::array::<T>(count).expect("a table of this size has no place in memory");
        let is_whole = layout.size().is_multiple_of(PAGE);
        let align = if is_whole { layout.align().max(PAGE) } else { layout.align() };
        let layout = layout.align_to(align).expect("large pages are far smaller than half of all addresses");
        Some(layout).filter(|layout| layout.size() > 0)
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        const { assert!(!std::mem::needs_drop::<T>()) };
        if let Some(layout) = Self::layout(self.len) {
            // SAFETY: the items were allocated with the layout for so many, and nothing borrows them any more.
            unsafe { free(self.items.cast(), layout) }
        }
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: there are so many items, all of them written, and they live as long as this borrow.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.items.as_ptr(), self.len) }
    }
}

impl<T: Copy> Clone for Table<T> {
    fn clone(&self) -> Self {
        let Some(&first) = self.first() else { return Self { items: NonNull::dangling(), len: 0 } };
        let mut table = Self::filled(first, self.len);
        table.copy_from_slice(self);
        table
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A table of so many bytes has pages of its own, which the system has back when it is dropped. An allocator keeps them for
/// what comes, and with many threads and growing tables most of them lie idle.
#[cfg(all(target_os = "linux", not(fuzzing)))]
const MAPPED: usize = 128 << 10;

/// Memory of a layout that has a size above zero; what is in it is not known.
#[cfg(all(target_os = "linux", not(fuzzing)))]
fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() < MAPPED {
        // SAFETY: the size is above zero.
        return NonNull::new(unsafe { std::alloc::alloc(layout) });
    }
    // For more than pages have there is room to begin later.
    let more = if layout.align() > SMALL_PAGE { layout.align() } else { 0 };
    let size = layout.size().checked_add(more)?;
    // SAFETY: new pages where the system likes, which are nobody else's.
    let start = unsafe {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0)
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let before = start.addr().next_multiple_of(layout.align()) - start.addr();
    let behind = more - before;
    // SAFETY: both ends are pages of these, and nothing is in them. The one behind begins with a page where there is one: only
    // tables that are whole large pages have such an alignment.
    unsafe {
        if before > 0 {
            libc::munmap(start, before);
        }
        if behind > 0 {
            libc::munmap(start.byte_add(before + layout.size()), behind);
        }
        NonNull::new(start.byte_add(before).cast())
    }
}

/// Gives memory back.
///
/// # Safety
/// It is that of [`allocate`] for this layout, and nobody uses it any more.
#[cfg(all(target_os = "linux", not(fuzzing)))]
unsafe fn free(start: NonNull<u8>, layout: Layout) {
    if layout.size() < MAPPED {
        // SAFETY: it is of this allocator and layout, says the caller.
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
    } else {
        // SAFETY: these pages are nobody else's, says the caller.
        unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
    }
}

/// Sanitizers know the allocator, and not what is mapped beside it.
#[cfg(not(all(target_os = "linux", not(fuzzing))))]
fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: the size is above zero.
    NonNull::new(unsafe { std::alloc::alloc(layout) })
}

#[cfg(not(all(target_os = "linux", not(fuzzing))))]
unsafe fn free(start: NonNull<u8>, layout: Layout) {
    // SAFETY: it is of this allocator and layout, says the caller.
    unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
}

/// Asks for large pages inside a range of addresses. It is a wish: whether it is granted changes nothing but time.
#[cfg(target_os = "linux")]
fn advise(start: usize, size: usize) {
    let first = start.next_multiple_of(PAGE);
    let size = (start + size).saturating_sub(first) / PAGE * PAGE;
    if size > 0 {
        // SAFETY: the range lies within one allocation of ours. The call reads and writes nothing there, and what
        // the memory holds stays as it is.
        let _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(first), size, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: usize, _size: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_slices() {
        for count in [0, 1, 1000, PAGE / 4, PAGE, 3 * PAGE + 17] {
            let mut table = Table::filled(0x0101_0101_u32, count);
            assert_eq!(*table, vec![0x0101_0101_u32; count]);
            assert_eq!(table.memory(), 4 * count);
            table.iter_mut().zip(0..).for_each(|(item, number)| *item = number);
            let copy = table.clone();
            table.fill(7);
            assert!(copy.iter().copied().eq(0..count as u32));
            assert!(table.iter().all(|&item| item == 7));
        }
        assert!(Table::filled((), 1000).iter().count() == 1000);
        assert_eq!(Table::filled([1_u64; 8], 1 << 15).as_ptr().addr() % PAGE, 0);
    }

    #[test]
    fn vectors_have_the_room_that_they_were_asked_for() {
        for count in [0, 1, 1000, PAGE / 4, PAGE, 3 * PAGE + 17] {
            let room = with_capacity::<u64>(count);
            assert!(room.is_empty() && room.capacity() >= count);
        }
        assert!(with_capacity::<()>(usize::MAX).is_empty());
    }
}
