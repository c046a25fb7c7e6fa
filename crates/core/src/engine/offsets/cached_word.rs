//! How the cache stores the ids of a word, each with its span in the word.
//!
//! In: ids and spans. Out: the numbers of an entry of the cache, and from these the ids and spans again.
use tokenmill_kernels::short_table::SHORT;
use tokenmill_kernels::try_alloc::{self, OutOfMemory};

use crate::ids::TokenId;
use crate::span::Span;

/// A flag in the first number of a cached word: one of its ids stands for text other than its token's, as the unknown
/// token does. The cache does not keep that text, so where it is needed the word is spelled again.
const HAS_SURFACE: u32 = 1 << 31;

/// An id of a word, with the span of the word that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdInWord {
    pub(super) id: TokenId,
    /// In bytes of the word.
    pub(super) start: u8,
    pub(super) end: u8,
    /// The number of its pretoken less that of the id before it: 0 for a token that continues one.
    pub(super) pretoken_delta: u8,
}

impl IdInWord {
    /// `None` if a number is too large.
    pub(super) fn new(id: TokenId, (start, end): (usize, usize), pretoken_delta: usize) -> Option<Self> {
        debug_assert!(start <= end, "a span does not end before it starts");
        let small = |number: usize| u8::try_from(number).ok();
        Some(Self { id, start: small(start)?, end: small(end)?, pretoken_delta: small(pretoken_delta)? })
    }

    /// Its span in a text in which the word starts at byte `at`.
    #[inline]
    pub(super) fn span(self, at: usize) -> Span {
        Span { start: at + usize::from(self.start), end: at + usize::from(self.end) }
    }
}

/// How the ids of a cached word are written as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A number for each id, if the word has at most [`SHORT`] bytes: most such words have no more ids than an entry
    /// holds. From the lowest bit on: the id, the start and the length of its span, the pretoken delta,
    /// [`BEGINS_WORD`], [`HAS_SURFACE`].
    Short,
    /// Two numbers for each id. The first has a byte each for the start and the end of its span and for the pretoken
    /// delta, and [`HAS_SURFACE`] above them; the second is the id.
    Long,
}

/// A flag in the first number of each [`Form::Short`], and in no other of its numbers.
const BEGINS_WORD: u32 = 1 << 30;

const ID_BITS: u32 = 21;
const START_BITS: u32 = 4;
const LENGTH_BITS: u32 = 4;
const LENGTH_SHIFT: u32 = ID_BITS + START_BITS;
const DELTA_SHIFT: u32 = LENGTH_SHIFT + LENGTH_BITS;

const _: () = {
    assert!(SHORT < 1 << START_BITS && SHORT < 1 << LENGTH_BITS, "the numbers of a short word fit");
    assert!(1 << (DELTA_SHIFT + 1) == BEGINS_WORD, "the flags are above the delta, which has one bit");
};

/// The lowest `count` bits of a number from bit `shift` on.
#[inline]
fn bits(number: u32, shift: u32, count: u32) -> u32 {
    number >> shift & ((1 << count) - 1)
}

impl Form {
    pub(super) fn of_word(length: usize) -> Self {
        if length <= SHORT { Self::Short } else { Self::Long }
    }

    /// Appends an id. Returns false if it cannot be written; the numbers have no meaning then.
    pub(super) fn push(self, item: IdInWord, numbers: &mut Vec<u32>) -> Result<bool, OutOfMemory> {
        let IdInWord { id, start, end, pretoken_delta } = item;
        match self {
            Self::Short => {
                let (length, delta) = (end - start, pretoken_delta);
                let fits =
                    id < 1 << ID_BITS && start < 1 << START_BITS && length < 1 << LENGTH_BITS && delta <= 1;
                let [start, length, delta] = [start, length, delta].map(u32::from);
                let begins = if numbers.is_empty() { BEGINS_WORD } else { 0 };
                let number = id | start << ID_BITS | length << LENGTH_SHIFT | delta << DELTA_SHIFT | begins;
                try_alloc::push(numbers, number)?;
                Ok(fits)
            }
            Self::Long => {
                let rest = u32::from_le_bytes([start, end, pretoken_delta, 0]);
                try_alloc::extend(numbers, &[rest, id])?;
                Ok(true)
            }
        }
    }

    /// The ids of a cached word.
    pub(super) fn ids(self, numbers: &[u32]) -> impl Iterator<Item = IdInWord> {
        let (short, long) = match self {
            Self::Short => (numbers, &[][..]),
            Self::Long => (&[][..], numbers),
        };
        let short = short.iter().map(|&number| {
            let Span { start, end } = short_span(number, 0);
            let pretoken_delta = bits(number, DELTA_SHIFT, 1) as u8;
            IdInWord { id: short_id(number), start: start as u8, end: end as u8, pretoken_delta }
        });
        short.chain(Self::long_ids(long))
    }

    /// The ids of a cached word of [`Self::Long`].
    #[inline]
    pub(super) fn long_ids(numbers: &[u32]) -> impl ExactSizeIterator<Item = IdInWord> + Clone {
        numbers.as_chunks::<2>().0.iter().map(|&[rest, id]| {
            let [start, end, pretoken_delta, _] = rest.to_le_bytes();
            IdInWord { id, start, end, pretoken_delta }
        })
    }
}

/// The id in a number of [`Form::Short`].
#[inline]
pub(super) fn short_id(number: u32) -> TokenId {
    bits(number, 0, ID_BITS)
}

/// Is this number of [`Form::Short`] the first of its word?
#[inline]
pub(super) fn begins_word(number: u32) -> bool {
    number & BEGINS_WORD != 0
}

/// The span in a number of [`Form::Short`], in a text in which the word starts at byte `at`.
#[inline]
pub(super) fn short_span(number: u32, at: usize) -> Span {
    let start = at + bits(number, ID_BITS, START_BITS) as usize;
    Span { start, end: start + bits(number, LENGTH_SHIFT, LENGTH_BITS) as usize }
}

/// Does a cached word have an id whose text is not in the cache?
pub(super) fn has_surface(numbers: &[u32]) -> bool {
    numbers.first().is_some_and(|first| first & HAS_SURFACE != 0)
}

/// Says that a word has an id whose text is not in the cache.
pub(super) fn set_surface(numbers: &mut [u32]) {
    if let Some(first) = numbers.first_mut() {
        *first |= HAS_SURFACE;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            length in 1..40_usize,
            parts in prop::collection::vec(
                (prop_oneof![0..1_u32 << 22, any::<u32>()], 0..40_usize, 0..40_usize, 0..3_usize),
                1..9,
            ),
            at in 0..1_usize << 40,
        ) {
            let form = Form::of_word(length);
            let (mut items, mut numbers, mut fits) = (Vec::new(), Vec::new(), true);
            for (id, one, other, delta) in parts {
                let (one, other) = (one.min(length), other.min(length));
                let item = IdInWord::new(id, (one.min(other), one.max(other)), delta).unwrap();
                fits &= form.push(item, &mut numbers).unwrap();
                items.push(item);
            }
            let small = items.iter().all(|item| item.id < 1 << 21 && item.pretoken_delta <= 1);
            prop_assert_eq!(fits, form == Form::Long || small);
            if fits {
                for surface in [false, true] {
                    if surface {
                        set_surface(&mut numbers);
                    }
                    prop_assert_eq!(has_surface(&numbers), surface);
                    prop_assert_eq!(form.ids(&numbers).collect::<Vec<_>>(), &items[..]);
                    if form == Form::Long {
                        continue;
                    }
                    for (i, (&number, item)) in numbers.iter().zip(&items).enumerate() {
                        prop_assert_eq!((short_id(number), short_span(number, at)), (item.id, item.span(at)));
                        prop_assert_eq!(begins_word(number), i == 0);
                    }
                }
            }
        }
    }

    #[test]
    fn spans_beyond_byte_255_are_not_written() {
        assert_eq!(IdInWord::new(7, (256, 256), 0), None);
        assert_eq!(IdInWord::new(7, (0, 256), 0), None);
        assert_eq!(IdInWord::new(7, (0, 1), 256), None);
    }
}
