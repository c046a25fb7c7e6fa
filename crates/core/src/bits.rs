//! Sets of indices, one bit for each.
use tokenmill_kernels::image::{Array, ImageError, ImageReader, ImageWriter, InImage};

/// A set of indices. Indices after the last known one are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits(Array<u64>);

impl Bits {
    #[inline]
    pub(crate) fn contains(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Heap bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// The indices at which the items are true.
impl FromIterator<bool> for Bits {
    fn from_iter<I: IntoIterator<Item = bool>>(items: I) -> Self {
        let mut words = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            if index % 64 == 0 {
                words.push(0);
            }
            words[index / 64] |= u64::from(item) << (index % 64);
        }
        Self(words.into())
    }
}

impl InImage for Bits {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.0);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        image.array().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_that_were_given() {
        for count in [0, 1, 63, 64, 65, 200] {
            let bits: Bits = (0..count).map(|index| index % 3 == 0).collect();
            assert!((0..300).all(|index| bits.contains(index) == (index < count && index % 3 == 0)));
        }
    }
}
