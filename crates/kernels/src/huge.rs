//! Memory by the large page: the first touch of each page costs a microsecond, and large pages are few.

/// What large pages are here, where there are any.
const PAGE: usize = 2 << 20;

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

/// As `vec![item; count]`.
pub fn filled<T: Copy>(item: T, count: usize) -> Vec<T> {
    let mut vec = with_capacity(count);
    vec.resize(count, item);
    vec
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
    fn vectors_are_what_they_are_elsewhere() {
        for count in [0, 1, 1000, PAGE / 4, PAGE, 3 * PAGE + 17] {
            assert_eq!(filled(0x0101_0101_u32, count), vec![0x0101_0101_u32; count]);
            let room = with_capacity::<u64>(count);
            assert!(room.is_empty() && room.capacity() >= count);
        }
        assert!(with_capacity::<()>(usize::MAX).is_empty());
    }
}
