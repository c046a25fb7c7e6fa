//! A filter for the tokens that a pretoken becomes only by the rule for whole pretokens: merging its bytes gives
//! something else.
//!
//! In: these tokens, then pretokens. Out: whether a pretoken may be one of them. There are false positives but no
//! false negatives. There are few such tokens and every long pretoken is tested, so most tests must end here,
//! without a lookup in the vocabulary.

use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};

/// The number of bits, as a power of two. A few hundred tokens leave nearly all bits clear.
const BITS: u32 = 14;

/// The filter.
#[derive(Debug)]
pub(super) struct WholeOnlyFilter(Box<[u64; 1 << (BITS - 6)]>);

impl WholeOnlyFilter {
    /// The filter of these tokens; `None` if there are none.
    pub(super) fn new<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut filter = None;
        for token in tokens {
            let Self(words) = filter.get_or_insert_with(|| Self(Box::new([0; _])));
            let bit = bit_of(token);
            words[bit / 64] |= 1 << (bit % 64);
        }
        filter
    }

    /// May the pretoken be one of the tokens?
    #[inline]
    pub(super) fn may_hold(&self, pretoken: &[u8]) -> bool {
        let bit = bit_of(pretoken);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// Small enough to be copied.
impl InImage for WholeOnlyFilter {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.0[..]);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        image.copy().map(Self)
    }
}

/// The bit of a pretoken: a hash of its length and the bytes at both ends.
#[inline]
fn bit_of(bytes: &[u8]) -> usize {
    let (first, last) = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(&first), Some(&last)) => (u64::from_le_bytes(first), u64::from_le_bytes(last)),
        _ => (bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)), 0),
    };
    let mixed =
        (first ^ last.rotate_left(23) ^ (bytes.len() as u64) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (64 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_held_and_little_else() {
        assert!(WholeOnlyFilter::new(std::iter::empty()).is_none());
        let tokens: Vec<String> = (0..500).map(|n| format!("{n}{}", "xyz".repeat(n % 12))).collect();
        let filter = WholeOnlyFilter::new(tokens.iter().map(String::as_bytes)).unwrap();
        assert!(tokens.iter().all(|token| filter.may_hold(token.as_bytes())));
        let others = (0..10_000).map(|n| format!("{}{n}", "abc".repeat(n % 9)));
        let held = others.filter(|other| filter.may_hold(other.as_bytes())).count();
        assert!(held < 500, "{held} of 10,000 are none of them");
        assert!(filter.memory() > 0 && !filter.may_hold(b""));
    }
}
