//! Fallible growth of vectors and strings. A failed allocation is an error here, whereas the standard library
//! would abort the process. Every buffer that grows with the input of a call grows through these functions.
use std::collections::BinaryHeap;
use std::fmt;

/// An allocation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The number of requested bytes, or `usize::MAX` if it is too large for a `usize`.
    pub bytes: usize,
}

impl OutOfMemory {
    /// The error for an allocation of `count` items.
    #[cold]
    pub fn items<T>(count: usize) -> Self {
        Self { bytes: count.saturating_mul(size_of::<T>()) }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of memory cannot be had", self.bytes)
    }
}

impl std::error::Error for OutOfMemory {}

/// An empty vector with exactly this capacity.
///
/// # Errors
/// If the allocation fails.
pub fn vec<T>(count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|_| OutOfMemory::items::<T>(count))?;
    Ok(vec)
}

/// An empty string with exactly this capacity, in bytes.
///
/// # Errors
/// If the allocation fails.
pub fn string(bytes: usize) -> Result<String, OutOfMemory> {
    let mut string = String::new();
    string.try_reserve_exact(bytes).map_err(|_| OutOfMemory { bytes })?;
    Ok(string)
}

/// A vector of `count` copies of an item.
///
/// # Errors
/// If the allocation fails.
pub fn filled<T: Clone>(item: T, count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut filled = vec(count)?;
    filled.resize(count, item);
    Ok(filled)
}

/// A copy of these items.
///
/// # Errors
/// If the allocation fails.
pub fn copy<T: Copy>(items: &[T]) -> Result<Vec<T>, OutOfMemory> {
    let mut copy = vec(items.len())?;
    copy.extend_from_slice(items);
    Ok(copy)
}

/// A copy of a text.
///
/// # Errors
/// If the allocation fails.
pub fn copy_text(text: &str) -> Result<String, OutOfMemory> {
    let mut copy = string(text.len())?;
    copy.push_str(text);
    Ok(copy)
}

/// Reserves capacity for `more` items. Grows geometrically, so that pushing items one by one stays cheap.
///
/// # Errors
/// If the allocation fails. The vector does not change then.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    if vec.capacity() - vec.len() >= more { Ok(()) } else { grow(vec, more) }
}

#[cold]
#[inline(never)]
fn grow<T>(vec: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    vec.try_reserve(more).map_err(|_| OutOfMemory::items::<T>(vec.len().saturating_add(more)))
}

/// As [`reserve`], for `more` bytes of a string.
///
/// # Errors
/// As [`reserve`].
#[inline]
pub fn reserve_text(text: &mut String, more: usize) -> Result<(), OutOfMemory> {
    if text.capacity() - text.len() >= more { Ok(()) } else { grow_text(text, more) }
}

#[cold]
#[inline(never)]
fn grow_text(text: &mut String, more: usize) -> Result<(), OutOfMemory> {
    text.try_reserve(more).map_err(|_| OutOfMemory { bytes: text.len().saturating_add(more) })
}

/// As [`reserve`], for a priority queue.
///
/// # Errors
/// As [`reserve`].
#[inline]
pub fn reserve_queue<T: Ord>(queue: &mut BinaryHeap<T>, more: usize) -> Result<(), OutOfMemory> {
    if queue.capacity() - queue.len() >= more { Ok(()) } else { grow_queue(queue, more) }
}

#[cold]
#[inline(never)]
fn grow_queue<T: Ord>(queue: &mut BinaryHeap<T>, more: usize) -> Result<(), OutOfMemory> {
    queue.try_reserve(more).map_err(|_| OutOfMemory::items::<T>(queue.len().saturating_add(more)))
}

/// Resizes a vector. New elements are copies of `item`.
///
/// # Errors
/// As [`reserve`].
pub fn resize<T: Clone>(vec: &mut Vec<T>, length: usize, item: T) -> Result<(), OutOfMemory> {
    reserve(vec, length.saturating_sub(vec.len()))?;
    vec.resize(length, item);
    Ok(())
}

/// Appends an item to a vector.
///
/// # Errors
/// As [`reserve`].
#[inline]
pub fn push<T>(vec: &mut Vec<T>, item: T) -> Result<(), OutOfMemory> {
    reserve(vec, 1)?;
    vec.push(item);
    Ok(())
}

/// Appends items to a vector.
///
/// # Errors
/// As [`reserve`].
#[inline]
pub fn extend<T: Copy>(vec: &mut Vec<T>, items: &[T]) -> Result<(), OutOfMemory> {
    reserve(vec, items.len())?;
    vec.extend_from_slice(items);
    Ok(())
}

/// Appends a text to a string.
///
/// # Errors
/// As [`reserve`].
#[inline]
pub fn push_text(text: &mut String, more: &str) -> Result<(), OutOfMemory> {
    reserve_text(text, more.len())?;
    text.push_str(more);
    Ok(())
}

/// Collects the items of an iterator.
///
/// # Errors
/// The first error of the iterator, or of an allocation.
pub fn collect<T, E: From<OutOfMemory>>(items: impl IntoIterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let items = items.into_iter();
    let mut collected = vec(items.size_hint().0)?;
    for item in items {
        push(&mut collected, item?)?;
    }
    Ok(collected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than half of the address space, which no allocator provides.
    const TOO_MUCH: usize = isize::MAX as usize;

    #[test]
    fn a_failed_allocation_is_an_error_and_changes_nothing() {
        assert_eq!(vec::<u32>(TOO_MUCH), Err(OutOfMemory { bytes: usize::MAX }));
        assert_eq!(string(TOO_MUCH), Err(OutOfMemory { bytes: TOO_MUCH }));
        assert!(filled(0_u8, TOO_MUCH).is_err());
        let mut numbers = vec![1, 2, 3];
        assert!(reserve(&mut numbers, TOO_MUCH).is_err() && resize(&mut numbers, TOO_MUCH, 0).is_err());
        assert_eq!(numbers, [1, 2, 3]);
        let mut text = "abc".to_owned();
        assert!(reserve_text(&mut text, TOO_MUCH).is_err());
        assert_eq!(text, "abc");
        let mut queue = BinaryHeap::from([1, 2]);
        assert!(reserve_queue(&mut queue, TOO_MUCH).is_err() && queue.len() == 2);
        assert!(reserve_queue(&mut queue, 100).is_ok() && queue.capacity() >= 102);
        let endless = std::iter::repeat_n(Ok::<u8, OutOfMemory>(7), TOO_MUCH);
        assert!(collect(endless).is_err());
    }

    #[test]
    fn results_are_those_of_the_standard_library() {
        let (mut grown, mut text) = (Vec::new(), String::new());
        for number in 0..10_000_u32 {
            push(&mut grown, number).unwrap();
            push_text(&mut text, "ab").unwrap();
        }
        extend(&mut grown, &[7, 8]).unwrap();
        resize(&mut grown, 10_004, 9).unwrap();
        let all: Vec<u32> = (0..10_000).chain([7, 8, 9, 9]).collect();
        assert_eq!((&grown, text), (&all, "ab".repeat(10_000)));
        assert_eq!(copy(&all).unwrap(), all);
        assert_eq!(copy_text("xyz").unwrap(), "xyz");
        assert_eq!(filled('a', 3).unwrap(), ['a'; 3]);
        assert_eq!(collect(all.iter().map(|&item| Ok::<u32, OutOfMemory>(item))).unwrap(), all);
        let stops = [Ok(1), Err(OutOfMemory { bytes: 2 }), Ok(3)];
        assert_eq!(collect(stops), Err(OutOfMemory { bytes: 2 }));
    }
}
