//! Many short strings, stored in one.
use std::ops::Index;

/// Concatenated strings, with the end of each.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    text: String,
    /// The end of each string.
    ends: Vec<u32>,
}

impl Texts {
    /// An empty list with capacity for `count` strings of `bytes` bytes in all.
    pub(crate) fn with_capacity(count: usize, bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), ends: Vec::with_capacity(count) }
    }

    /// # Panics
    /// If the total length exceeds 4 GiB; files are much shorter.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(u32::try_from(self.text.len()).expect("texts of less than 4 GiB"));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Total length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }
}

impl Index<usize> for Texts {
    type Output = str;

    #[inline]
    fn index(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[place] as usize]
    }
}
