//! Sets of pairs of bytes: which bytes follow one another in tokens.
use tokenmill_kernels::AsciiPairs;
use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};

/// A set of pairs of bytes, one bit for each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BytePairs(Box<[u64; 1 << 10]>);

impl BytePairs {
    pub(super) fn new() -> Self {
        Self(Box::new([0; 1 << 10]))
    }

    pub(super) fn insert(&mut self, left: u8, right: u8) {
        self.0[word_of(left, right)] |= 1 << (right & 63);
    }

    #[inline]
    pub(super) fn contains(&self, left: u8, right: u8) -> bool {
        self.0[word_of(left, right)] >> (right & 63) & 1 == 1
    }

    /// The pairs of two ASCII characters.
    pub(super) fn ascii(&self) -> AsciiPairs {
        AsciiPairs::new(|left, right| self.contains(left, right))
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// Small enough to be copied.
impl InImage for BytePairs {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.0[..]);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        image.copy().map(Self)
    }
}

#[inline]
fn word_of(left: u8, right: u8) -> usize {
    usize::from(left) << 2 | usize::from(right >> 6)
}
