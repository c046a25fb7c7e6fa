//! Memory by the page. The first touch of a page costs more than all that is written to it: the system is called, finds
//! a page and clears it. It is cheaper to ask for many at once, shortly before they are written to, while what was
//! cleared is near; and large pages are few.

use std::alloc::Layout;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::try_alloc::{self, OutOfMemory};

/// What large pages are here, where there are any.
const LARGE_PAGE: usize = 2 << 20;

/// All pages begin at multiples of this.
const SMALL_PAGE: usize = 4 << 10;

/// Bytes that are brought at once: they are near still when they are written to.
pub const PART: usize = 128 << 10;

/// Less is not worth a call.
const FEW: usize = 4 * SMALL_PAGE;

/// Asks for the pages of memory that is about to be written to, up to [`PART`] bytes of it; where a large page begins
/// among these, and all of it is in the memory, for that. Pages that are there stay as they are, and nothing is read or
/// written here. It is a wish, and says whether it was granted. That changes time, and how much stands in memory: a large page
/// is there as a whole.
#[inline]
pub fn bring<T>(memory: &mut [MaybeUninit<T>]) -> bool {
    bring_shared(std::ptr::from_mut(memory))
}

/// [`bring`] for memory that others may write to meanwhile.
#[inline]
pub fn bring_shared<T>(memory: *mut [MaybeUninit<T>]) -> bool {
    let (start, size) = (memory.addr(), memory.len().saturating_mul(size_of::<T>()));
    size >= FEW && bring_part(start, size)
}

#[cold]
fn bring_part(start: usize, size: usize) -> bool {
    let part = size.min(PART);
    let before = start.wrapping_neg() % LARGE_PAGE;
    if before < part && before + LARGE_PAGE <= size {
        Large::for_pages(1).bring(start + before);
    }
    populate(start, part)
}

/// Puts items behind those of a vector, and brings the pages that come next when it comes to new ones.
///
/// # Errors
/// Where there is no memory for them; the vector is as it was.
#[inline]
pub fn extend<T: Copy>(vec: &mut Vec<T>, items: &[T]) -> Result<(), OutOfMemory> {
    try_alloc::extend(vec, items)?;
    let end = vec.as_ptr().addr() + size_of_val(vec.as_slice());
    if end % PART < size_of_val(items) {
        bring_next(vec);
    }
    Ok(())
}

#[cold]
fn bring_next<T>(vec: &mut Vec<T>) {
    bring(vec.spare_capacity_mut());
}

/// Fills memory with zeros, and brings its pages meanwhile.
pub fn zeros(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let mut rest = &mut *memory;
    while !rest.is_empty() {
        bring(rest);
        let (part, behind) = rest.split_at_mut(rest.len().min(PART));
        part.fill(MaybeUninit::new(0));
        rest = behind;
    }
    // SAFETY: all of them were written.
    unsafe { &mut *(std::ptr::from_mut(memory) as *mut [u8]) }
}

/// Puts so many zeros behind the bytes of a vector.
///
/// # Errors
/// Where there is no memory for them; the vector is as it was.
pub fn extend_zeros(bytes: &mut Vec<u8>, count: usize) -> Result<(), OutOfMemory> {
    try_alloc::reserve(bytes, count)?;
    zeros(&mut bytes.spare_capacity_mut()[..count]);
    // SAFETY: there is room for so many more, and all of them were written.
    unsafe { bytes.set_len(bytes.len() + count) };
    Ok(())
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
        let made = Self::made(count, |places, _| {
            places.fill(MaybeUninit::new(item));
        });
        made.unwrap_or_else(|_| Self::cannot_be_had(count))
    }

    /// A table that `write` writes a part at a time, all of it; it is told whether a part is zeros as yet, in pages that have
    /// come.
    fn made(count: usize, write: impl Fn(&mut [MaybeUninit<T>], bool)) -> Result<Self, OutOfMemory> {
        let Some(layout) = Self::layout(count) else {
            return Ok(Self { items: NonNull::dangling(), len: count });
        };
        let Some(items) = allocate(layout).map(NonNull::cast::<T>) else {
            return Err(OutOfMemory::items::<T>(count));
        };
        // SAFETY: the allocation has room for `count` items, is aligned for them, and nobody else's; that they are not
        // initialised is said.
        let places =
            unsafe { std::slice::from_raw_parts_mut(items.cast::<MaybeUninit<T>>().as_ptr(), count) };
        let mut large = Large::for_memory(layout);
        for places in places.chunks_mut((PART / size_of::<T>().max(1)).max(1)) {
            large.write(places, |places, have_come| write(places, have_come && is_mapped(layout)));
        }
        Ok(Self { items, len: count })
    }

    /// There is no memory for a table of what does not depend on the input of a call.
    fn cannot_be_had(count: usize) -> Self {
        match Self::layout(count) {
            Some(layout) => std::alloc::handle_alloc_error(layout),
            None => Self { items: NonNull::dangling(), len: count },
        }
    }
}

/// A type that has a value of which all bytes are zero.
///
/// # Safety
/// It has one.
pub unsafe trait Zero: Copy {}

impl<T: Zero> Table<T> {
    /// `count` times the item that is all zeros: pages that are new have these already.
    ///
    /// # Panics
    /// As [`Self::filled`].
    pub fn zeros(count: usize) -> Self {
        Self::try_zeros(count).unwrap_or_else(|_| Self::cannot_be_had(count))
    }

    /// As [`Self::zeros`].
    ///
    /// # Errors
    /// Where there is no memory for them.
    ///
    /// # Panics
    /// As [`Self::filled`].
    pub fn try_zeros(count: usize) -> Result<Self, OutOfMemory> {
        Self::made(count, |places, are_zeros| {
            if !are_zeros {
                places.fill(MaybeUninit::zeroed());
            }
        })
    }
}

impl<T> Table<T> {
    /// `None` where no memory is needed.
    fn layout(count: usize) -> Option<Layout> {
        const { assert!(align_of::<T>() <= SMALL_PAGE) };
        let layout = Layout::array::<T>(count).expect("a table of this size has no place in memory");
        let is_whole = layout.size().is_multiple_of(LARGE_PAGE);
        let align = if is_whole { layout.align().max(LARGE_PAGE) } else { layout.align() };
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

/// Has memory of this layout pages of its own? Those are zeros at first.
#[cfg(all(target_os = "linux", not(fuzzing)))]
fn is_mapped(layout: Layout) -> bool {
    layout.size() >= MAPPED
}

/// Memory of a layout that has a size above zero; what is in it is not known, unless it [is mapped](is_mapped).
#[cfg(all(target_os = "linux", not(fuzzing)))]
fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    if !is_mapped(layout) {
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
    if is_mapped(layout) {
        // SAFETY: these pages are nobody else's, says the caller.
        unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
    } else {
        // SAFETY: it is of this allocator and layout, says the caller.
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
    }
}

/// Sanitizers know the allocator, and not what is mapped beside it.
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
    // SAFETY: it is of this allocator and layout, says the caller.
    unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
}

/// Large pages as long as they come fast. A virtual machine may have given back to its host what was free, and fetches a
/// large page from there in several milliseconds, far longer than the small ones that would do as well.
struct Large {
    is_wanted: bool,
}

/// A large page that takes longer is dear: small ones in its place take half of that.
const FAIR: Duration = Duration::from_millis(1);

/// So many large pages are done without after one that was dear.
const WITHOUT: u32 = 64;

/// Large pages that are still to be done without.
static TO_DO_WITHOUT: AtomicU32 = AtomicU32::new(0);

impl Large {
    /// Those of memory that is whole large pages.
    fn for_memory(layout: Layout) -> Self {
        let is_whole = layout.align() == LARGE_PAGE;
        if is_whole { Self::for_pages(layout.size() / LARGE_PAGE) } else { Self { is_wanted: false } }
    }

    /// So many.
    fn for_pages(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let less = |left: u32| (left > 0).then(|| left.saturating_sub(count));
        Self { is_wanted: TO_DO_WITHOUT.fetch_update(Relaxed, Relaxed, less).is_err() }
    }

    /// Has memory written, of which no large page has its first byte but where it begins.
    fn write<T>(&mut self, memory: &mut [MaybeUninit<T>], write: impl FnOnce(&mut [MaybeUninit<T>], bool)) {
        let start = memory.as_ptr().addr();
        if start.is_multiple_of(LARGE_PAGE) {
            self.bring(start);
        }
        let have_come = bring(memory);
        write(memory, have_come);
    }

    /// Brings one that begins here.
    fn bring(&mut self, start: usize) {
        if self.is_wanted {
            let before = Instant::now();
            advise(start, LARGE_PAGE);
            populate(start, SMALL_PAGE);
            self.took(before.elapsed());
        }
    }

    /// A large page took so long.
    fn took(&mut self, time: Duration) {
        if time > FAIR {
            self.is_wanted = false;
            TO_DO_WITHOUT.store(WITHOUT, Relaxed);
        }
    }
}

/// Asks for large pages in a range of addresses that is made of whole ones. It is a wish, too.
#[cfg(target_os = "linux")]
fn advise(start: usize, size: usize) {
    // SAFETY: the call reads and writes nothing there, and what the range holds stays as it is, whoever's it is.
    let _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(start), size, libc::MADV_HUGEPAGE) };
}

/// Asks for the pages of a range of addresses, to be written to. Older systems know no such wish.
#[cfg(target_os = "linux")]
#[cold]
fn populate(start: usize, size: usize) -> bool {
    let first = start / SMALL_PAGE * SMALL_PAGE;
    let size = (start + size).next_multiple_of(SMALL_PAGE) - first;
    // SAFETY: the pages come as if something were written there, and what they hold stays as it is, whoever's they are.
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

    // SAFETY: it is a number.
    unsafe impl Zero for u32 {}

    #[test]
    fn large_pages_that_come_late_are_not_asked_for_again() {
        let large = Layout::from_size_align(2 * LARGE_PAGE, LARGE_PAGE).expect("a layout");
        let small = Layout::from_size_align(2 * LARGE_PAGE, SMALL_PAGE).expect("a layout");
        assert!(!Large::for_memory(small).is_wanted);
        let mut pages = Large { is_wanted: true };
        pages.took(FAIR);
        assert!(pages.is_wanted);
        pages.took(FAIR * 2);
        assert!(!pages.is_wanted && !Large::for_memory(large).is_wanted);
        TO_DO_WITHOUT.store(u32::MAX, Relaxed);
        let without = Table::filled([3_u64; 8], 1 << 16);
        TO_DO_WITHOUT.store(0, Relaxed);
        assert!(without.iter().all(|&item| item == [3; 8]));
    }

    #[test]
    fn tables_are_slices() {
        for count in [0, 1, 1000, LARGE_PAGE / 4, LARGE_PAGE, 3 * LARGE_PAGE + 17] {
            let mut table = Table::filled(0x0101_0101_u32, count);
            assert_eq!(*table, vec![0x0101_0101_u32; count]);
            assert_eq!(table.memory(), 4 * count);
            table.iter_mut().zip(0..).for_each(|(item, number)| *item = number);
            let copy = table.clone();
            table.fill(7);
            assert!(copy.iter().copied().eq(0..count as u32));
            assert!(table.iter().all(|&item| item == 7));
        }
        for count in [0, 1, 1000, PART / 4 - 1, PART / 4, PART / 4 + 1, LARGE_PAGE, 3 * LARGE_PAGE + 17] {
            assert!(Table::<u32>::zeros(count).iter().eq(std::iter::repeat_n(&0, count)));
        }
        assert!(Table::filled((), 1000).iter().count() == 1000);
        assert_eq!(Table::filled([1_u64; 8], 1 << 15).as_ptr().addr() % LARGE_PAGE, 0);
    }

    #[test]
    fn vectors_grow_as_they_would() {
        for (room, step) in [(0, 1), (10, 3), (1 << 16, 1000), (1 << 18, 70_001), (3, 40_000)] {
            let mut vec = Vec::with_capacity(room);
            let mut want: Vec<u32> = Vec::new();
            while want.len() < 1 << 18 {
                let items: Vec<u32> = (want.len() as u32..).take(step).collect();
                extend(&mut vec, &items).unwrap();
                want.extend(&items);
            }
            assert!(vec == want, "{room} {step}");
        }
        let mut nothing = vec![(); 3];
        extend(&mut nothing, &[(); 1 << 20]).unwrap();
        assert_eq!(nothing.len(), 3 + (1 << 20));
    }

    #[test]
    fn zeros_are_written() {
        let mut memory = vec![MaybeUninit::new(7); 3 * PART + 17];
        let (zeros, rest) = memory.split_at_mut(2 * PART + 5);
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
    fn what_memory_holds_stays() {
        let mut memory: Vec<MaybeUninit<u32>> = (0..1 << 20).map(MaybeUninit::new).collect();
        bring(&mut memory);
        bring(&mut memory[1..5000]);
        bring(&mut memory[..0]);
        for start in (0..memory.len()).step_by(PART / 16) {
            bring(&mut memory[start..]);
        }
        // SAFETY: all of them were written above.
        assert!((0..1 << 20).all(|number| unsafe { memory[number as usize].assume_init() } == number));
    }
}
