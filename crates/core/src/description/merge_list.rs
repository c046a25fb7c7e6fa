//! The merges of a vocabulary, in the order of their ranks.
use tokenmill_kernels::image::{Array, ImageError, ImageReader, ImageWriter, InImage};

use crate::ids::TokenId;

/// Two neighbours that become one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Merge {
    /// The left one.
    pub left: TokenId,
    /// The right one.
    pub right: TokenId,
    /// The merged token.
    pub result: TokenId,
}

impl Merge {
    fn of([left, right, result]: [TokenId; 3]) -> Self {
        Self { left, right, result }
    }

    /// Its three tokens: left, right, result.
    pub fn ids(self) -> [TokenId; 3] {
        [self.left, self.right, self.result]
    }
}

/// Merges in the order of their ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeList(Array<[TokenId; 3]>);

impl MergeList {
    /// The number of merges.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there no merges?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The merges, lowest rank first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Merge> + DoubleEndedIterator + Clone + '_ {
        self.0.iter().map(|&ids| Merge::of(ids))
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}

impl FromIterator<Merge> for MergeList {
    fn from_iter<I: IntoIterator<Item = Merge>>(merges: I) -> Self {
        Self(merges.into_iter().map(Merge::ids).collect())
    }
}

impl From<Vec<Merge>> for MergeList {
    fn from(merges: Vec<Merge>) -> Self {
        merges.into_iter().collect()
    }
}

impl Extend<Merge> for MergeList {
    fn extend<I: IntoIterator<Item = Merge>>(&mut self, merges: I) {
        self.0.to_mut().extend(merges.into_iter().map(Merge::ids));
    }
}

impl InImage for MergeList {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.0);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        image.array().map(Self)
    }
}
