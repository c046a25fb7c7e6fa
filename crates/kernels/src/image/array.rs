//! Arrays that are owned, or are parts of an image.
//!
//! In: a vector, or a part of an image. Out: a slice. An array that is changed becomes an owned one first: an image is
//! never written.
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use super::memory::Memory;

/// A type whose values are only their bytes, so that they can be read from a file and written to one.
///
/// # Safety
/// All bytes of the type belong to its value, none are padding, and all bit patterns are valid.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($number:ty),*) => {$(
        // SAFETY: a number has no padding, and all its bit patterns are valid.
        unsafe impl Plain for $number {}
    )*};
}

plain!(u8, u16, u32, u64, u128, f32, f64);

// SAFETY: an array has no padding between its items, which are plain.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// An array that is owned, or is a part of an image.
pub struct Array<T: Plain> {
    items: NonNull<T>,
    len: usize,
    owner: Owner,
}

/// What keeps the items of an array in memory.
enum Owner {
    /// They are those of a vector with this capacity.
    Vec {
        capacity: usize,
    },
    Image(Arc<Memory>),
}

// SAFETY: the array owns its items as a vector does, or shares memory that is only read. Items may be sent.
unsafe impl<T: Plain> Send for Array<T> {}
// SAFETY: a shared array gives only shared access to its items.
unsafe impl<T: Plain> Sync for Array<T> {}

impl<T: Plain> Array<T> {
    /// The part of an image that begins at a byte. `None` if the image ends within it, or if no item can begin there.
    pub(super) fn of_image(image: &Arc<Memory>, start: usize, len: usize) -> Option<Self> {
        let end = len.checked_mul(size_of::<T>())?.checked_add(start)?;
        let items = NonNull::from(image.bytes().get(start..end)?).cast::<T>();
        items.is_aligned().then(|| Self { items, len, owner: Owner::Image(Arc::clone(image)) })
    }

    /// Heap bytes held; 0 for a part of an image.
    pub fn memory(&self) -> usize {
        match self.owner {
            Owner::Vec { capacity } => capacity * size_of::<T>(),
            Owner::Image(_) => 0,
        }
    }

    /// What the items are a part of, if they are not owned.
    pub(crate) fn image(&self) -> Option<&Arc<Memory>> {
        match &self.owner {
            Owner::Vec { .. } => None,
            Owner::Image(image) => Some(image),
        }
    }

    /// The items as a vector. A part of an image is copied.
    pub fn into_vec(self) -> Vec<T> {
        match self.owner {
            Owner::Vec { capacity } => {
                let array = ManuallyDrop::new(self);
                // SAFETY: the items are those of a vector with this length and capacity, and the array, which owned
                // them, is not dropped.
                unsafe { Vec::from_raw_parts(array.items.as_ptr(), array.len, capacity) }
            }
            Owner::Image(_) => self.to_vec(),
        }
    }

    /// Appends items, without taking the vector out where they fit.
    #[inline]
    pub fn extend_from_slice(&mut self, items: &[T]) {
        let fits = matches!(self.owner, Owner::Vec { capacity } if capacity - self.len >= items.len());
        if !fits {
            self.to_mut().extend_from_slice(items);
            return;
        }
        // SAFETY: the vector has capacity for `items.len()` more items after its last one, which nothing else may access
        // while the array is borrowed exclusively.
        unsafe {
            let end = self.items.as_ptr().add(self.len);
            end.copy_from_nonoverlapping(items.as_ptr(), items.len());
        }
        self.len += items.len();
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.extend_from_slice(&[item]);
    }

    /// The items as a vector that may be changed, even in length.
    #[inline]
    pub fn to_mut(&mut self) -> ArrayMut<'_, T> {
        let vec = std::mem::take(self).into_vec();
        ArrayMut { array: self, vec }
    }
}

impl<T: Plain> Drop for Array<T> {
    fn drop(&mut self) {
        if let Owner::Vec { capacity } = self.owner {
            // SAFETY: the items are those of a vector with this length and capacity, and nothing borrows them any more.
            drop(unsafe { Vec::from_raw_parts(self.items.as_ptr(), self.len, capacity) });
        }
    }
}

impl<T: Plain> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: there are `len` items, which are initialised and live as long as their owner does. No one writes them
        // through a shared reference. Those of an image may change if another process writes to its file in place,
        // against what the documentation of `Image::map` asks for; any bytes are valid items.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T: Plain> From<Vec<T>> for Array<T> {
    fn from(vec: Vec<T>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        let owner = Owner::Vec { capacity: vec.capacity() };
        let items = NonNull::from(vec.as_mut_slice()).cast();
        Self { items, len: vec.len(), owner }
    }
}

impl<T: Plain> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<T: Plain> Default for Array<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

/// Clones of a part of an image share it.
impl<T: Plain> Clone for Array<T> {
    fn clone(&self) -> Self {
        match &self.owner {
            Owner::Vec { .. } => self.to_vec().into(),
            Owner::Image(image) => {
                Self { items: self.items, len: self.len, owner: Owner::Image(Arc::clone(image)) }
            }
        }
    }
}

impl<T: Plain + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Plain + Eq> Eq for Array<T> {}

impl<T: Plain + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The items of an array while they are changed. They are put back when this is dropped.
pub struct ArrayMut<'a, T: Plain> {
    array: &'a mut Array<T>,
    vec: Vec<T>,
}

impl<T: Plain> Deref for ArrayMut<'_, T> {
    type Target = Vec<T>;

    #[inline]
    fn deref(&self) -> &Vec<T> {
        &self.vec
    }
}

impl<T: Plain> DerefMut for ArrayMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.vec
    }
}

impl<T: Plain> Drop for ArrayMut<'_, T> {
    #[inline]
    fn drop(&mut self) {
        *self.array = std::mem::take(&mut self.vec).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_a_vector() {
        let mut array: Array<u32> = (0..10).collect();
        let before = array.clone();
        {
            let mut items = array.to_mut();
            items.push(10);
            items[0] = 7;
        }
        assert_eq!((array.len(), array[0], array[10], before.len(), before[0]), (11, 7, 10, 10, 0));
        (11..2000).for_each(|number| array.push(number));
        array.extend_from_slice(&[]);
        array.extend_from_slice(&[2000, 2001]);
        assert!(array[1..] == (1..2002).collect::<Vec<u32>>()[..]);
        array.to_mut().truncate(11);
        assert!(array != before && array.memory() >= 44 && format!("{array:?}").starts_with("[7, 1"));
        let vec = array.into_vec();
        assert_eq!(vec.len(), 11);
        let empty = Array::<[u8; 3]>::default();
        assert_eq!((empty.len(), empty.memory()), (0, 0));
    }

    #[test]
    fn a_part_of_an_image_is_shared_until_it_is_changed() {
        let image = Arc::new(Memory::copied((0..=255).collect::<Vec<u8>>().as_slice()).unwrap());
        let mut array = Array::<u32>::of_image(&image, 64, 3).unwrap();
        assert_eq!(*array, [0x4342_4140, 0x4746_4544, 0x4b4a_4948].map(u32::from_le));
        let shared = array.clone();
        assert_eq!((shared.as_ptr(), shared.memory()), (array.as_ptr(), 0));
        array.to_mut().truncate(1);
        let mut longer = shared.clone();
        longer.push(7);
        assert_eq!((array.len(), shared.len(), longer.len(), longer[3]), (1, 3, 4, 7));
        drop(image);
        assert_eq!(shared.iter().count(), 3);
        let image = Arc::new(Memory::copied(&[0; 100]).unwrap());
        for (start, len) in [(65, 1), (64, 10), (100, 1), (usize::MAX, 1), (0, usize::MAX)] {
            assert!(Array::<u32>::of_image(&image, start, len).is_none(), "{start} {len}");
        }
        assert_eq!(Array::<u32>::of_image(&image, 96, 1).unwrap().len(), 1);
    }
}
