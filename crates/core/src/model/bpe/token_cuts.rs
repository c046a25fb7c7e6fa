//! Cuts: places where a pretoken may be divided before it is merged, because no token extends across them.
//!
//! In: the tokens that merging makes, then a pretoken. Out: the places where its segments end. A place that a merge
//! spans must never be a cut; a place that no merge spans may be missed.
//!
//! Every merge makes a token whose bytes are in the text. So if no token has the character before a place next to
//! the one after it, nothing ever merges across that place. `docs/merging.md` has the proof. Pretokens of Chinese
//! and Thai fall into segments of about two characters, which repeat more often than whole pretokens.
use std::ops::Range;

use tokenmill_kernels::image::{Array, ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::planes::{ASCII_OFFSETS, PLANE_BITS, bit_positions};
use tokenmill_kernels::{AsciiPairs, cpu, end_of_repeat};

use super::byte_pairs::BytePairs;

/// The characters that are adjacent in some token.
#[derive(Debug)]
pub struct TokenCuts {
    /// Adjacent bytes in a token, if both are whole characters or if the token has only a part of a character
    /// there.
    bytes: BytePairs,
    /// Those of `bytes` that are both ASCII.
    ascii: AsciiPairs,
    /// A Bloom filter of pairs of adjacent whole characters, two bits each. If it wrongly says yes, a cut is
    /// missed.
    chars: Array<u64>,
    shift: u32,
}

/// The bytes of a character, or what looks like one in a text that is not UTF-8: a byte that begins a character,
/// and as many continuation bytes as it announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CharBytes {
    bytes: u32,
    length: usize,
}

#[inline]
fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The bytes of ASCII that are looked at together, without a branch for each, and how many make that worth it.
const BLOCK: usize = 16;
const WORTH_A_BLOCK: usize = 4;

/// The number of bytes before the first one that is not ASCII.
#[inline]
fn ascii_prefix(block: &[u8; BLOCK]) -> usize {
    let high_bits = u128::from_le_bytes(*block) & u128::from_ne_bytes([0x80; BLOCK]);
    high_bits.trailing_zeros() as usize / 8
}

/// The largest number of bytes of a character.
const MAX_LENGTH: usize = 4;

impl CharBytes {
    /// The first character of the text, and whether the text ends inside it.
    #[inline]
    fn first(text: &[u8]) -> (Self, bool) {
        // Characters of two and three bytes take a single read if at least four bytes are left.
        if let Some(&bytes) = text.first_chunk() {
            let word = u32::from_le_bytes(bytes);
            if word & 0xC0_C0F0 == 0x80_80E0 {
                return (Self { bytes: word & 0xFF_FFFF, length: 3 }, false);
            }
            if word & 0xC0E0 == 0x80C0 {
                return (Self { bytes: word & 0xFFFF, length: 2 }, false);
            }
        }
        Self::first_by_bytes(text)
    }

    fn first_by_bytes(text: &[u8]) -> (Self, bool) {
        let Some(&first) = text.first() else { return (Self { bytes: 0, length: 0 }, true) };
        let length = match first {
            0..0xc0 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
        };
        let mut char = Self { bytes: u32::from(first), length: 1 };
        while char.length < length {
            match text.get(char.length) {
                Some(&byte) if continues(byte) => {
                    char.bytes |= u32::from(byte) << (8 * char.length);
                    char.length += 1;
                }
                Some(_) => break,
                None => return (char, true),
            }
        }
        (char, false)
    }
}

impl TokenCuts {
    /// The first cut after `from`, or the end of the text. `from` is a cut, too, or the start.
    #[inline]
    pub fn next(&self, text: &[u8], from: usize) -> usize {
        let rest = text.get(from..).unwrap_or_default();
        // As long as all bytes are ASCII, a character is a byte.
        let mut at = 1;
        while let Some(&[before, after]) = rest.get(at - 1..).and_then(<[u8]>::first_chunk)
            && (before | after).is_ascii()
        {
            if !self.bytes.contains(before, after) {
                return from + at;
            }
            at = if before == after { end_of_repeat(rest, at, 1) } else { at + 1 };
        }
        let (mut left, _) = CharBytes::first(rest.get(at - 1..).unwrap_or_default());
        at = at - 1 + left.length;
        while at < rest.len() {
            if continues(rest[at]) {
                // The character is incomplete: the next one begins at the next byte that can begin one.
                at += rest[at..].iter().take_while(|&&byte| continues(byte)).count();
                left = CharBytes { bytes: 0, length: 0 };
                continue;
            }
            let (right, _) = CharBytes::first(&rest[at..]);
            if left.length > 0 && self.may_cut(left, right, rest[at - 1], rest[at]) {
                return from + at;
            }
            at += right.length;
            left = right;
        }
        text.len()
    }

    /// Repeats [`Self::next`] until `ends` is full, or nearly so, or the text ends; returns the number of ends written,
    /// which is 0 only at the end of the text.
    #[inline]
    pub fn next_batch(&self, text: &[u8], from: usize, ends: &mut [usize]) -> usize {
        let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) else { return 0 };
        let mut count = 0;
        // The character before the place.
        let (mut left, _) = CharBytes::first(rest);
        let mut at = from + left.length;
        while at < text.len() && count < ends.len() {
            let before = text[at - 1];
            if let Some(block) = text[at..].first_chunk::<BLOCK>()
                && before.is_ascii()
                && let ascii @ WORTH_A_BLOCK.. = ascii_prefix(block)
            {
                if *block == [before; BLOCK] && self.bytes.contains(before, before) {
                    at = end_of_repeat(text, at, 1);
                    left = CharBytes { bytes: u32::from(before), length: 1 };
                    continue;
                }
                if ascii == BLOCK
                    && ends.len() >= PLANE_BITS
                    && let Some(block) = text[at..].first_chunk()
                {
                    let Some(out) = ends[count..].first_chunk_mut() else { return count };
                    let (cuts, length) = self.write_ascii_cuts((before, block), at, out);
                    (count, at) = (count + cuts, at + length);
                    left = CharBytes { bytes: u32::from(block[length - 1]), length: 1 };
                    continue;
                }
                let mut cuts = self.cuts_before(before, block) & ((1 << ascii) - 1);
                while cuts != 0 && count < ends.len() {
                    ends[count] = at + cuts.trailing_zeros() as usize;
                    count += 1;
                    cuts &= cuts - 1;
                }
                at += ascii;
                left = CharBytes { bytes: u32::from(block[ascii - 1]), length: 1 };
                continue;
            }
            if left.length == 3 {
                // A run of characters of three bytes, as in Chinese. The one before it may be cut off.
                let start = at;
                while count < ends.len()
                    && let Some(&bytes) = text[at..].first_chunk()
                    && let word = u32::from_le_bytes(bytes)
                    && word & 0xC0_C0F0 == 0x80_80E0
                {
                    let right = CharBytes { bytes: word & 0xFF_FFFF, length: 3 };
                    ends[count] = at;
                    count +=
                        usize::from(self.may_cut_wide(left, right, (left.bytes >> 16) as u8, word as u8));
                    (at, left) = (at + 3, right);
                }
                if at > start {
                    continue;
                }
            }
            if continues(text[at]) {
                // The character is incomplete: the next one begins at the next byte that can begin one.
                at += text[at..].iter().take_while(|&&byte| continues(byte)).count();
                left = CharBytes { bytes: 0, length: 0 };
                continue;
            }
            let (right, _) = CharBytes::first(&text[at..]);
            // Where the cuts are cannot be predicted, so the code does not branch on it.
            ends[count] = at;
            count += usize::from(left.length > 0 && self.may_cut(left, right, before, text[at]));
            at += right.length;
            left = right;
        }
        if count < ends.len() {
            ends[count] = text.len();
            count += 1;
        }
        count
    }

    /// Bit `i` is set if there is a cut before byte `i` of a block in which this byte and all before it are ASCII;
    /// other bits have no meaning.
    #[inline]
    fn cuts_before(&self, before: u8, block: &[u8; BLOCK]) -> u32 {
        // The byte before each byte: the loop is unrolled, without a case for the first.
        let lefts = (u128::from_le_bytes(*block) << 8 | u128::from(before)).to_le_bytes();
        let mut cuts = 0;
        for i in 0..BLOCK {
            cuts |= u32::from(!self.bytes.contains(lefts[i], block[i])) << i;
        }
        cuts
    }

    /// Writes the cuts before the bytes of a block, which begins at `at`, up to the first byte that is not ASCII.
    /// Returns how many cuts and how many bytes that are.
    ///
    /// Never inlined: the loop over other characters is faster without it.
    #[inline(never)]
    fn write_ascii_cuts(
        &self,
        (before, block): (u8, &[u8; PLANE_BITS]),
        at: usize,
        ends: &mut [usize; PLANE_BITS],
    ) -> (usize, usize) {
        let level = cpu::level();
        let mut cuts = self.ascii.missing(level, before, block);
        let mut length = PLANE_BITS;
        if !block.is_ascii() {
            length = block.iter().take_while(|byte| byte.is_ascii()).count();
            cuts &= (1 << length) - 1;
        }
        bit_positions(level, cuts, at, &ASCII_OFFSETS, ends);
        (cuts.count_ones() as usize, length)
    }

    /// Is there a cut between these two bytes, whatever surrounds them? `false` for bytes that are not ASCII.
    #[inline]
    pub(super) fn between_ascii(&self, before: u8, after: u8) -> bool {
        (before | after).is_ascii() && !self.bytes.contains(before, after)
    }

    #[inline]
    fn may_cut(&self, left: CharBytes, right: CharBytes, before: u8, after: u8) -> bool {
        // For two characters of one byte each the pair of bytes is enough.
        if left.length.max(right.length) == 1 {
            return !self.bytes.contains(before, after);
        }
        self.may_cut_wide(left, right, before, after)
    }

    /// As [`Self::may_cut`], unless both characters have one byte.
    #[inline]
    fn may_cut_wide(&self, left: CharBytes, right: CharBytes, before: u8, after: u8) -> bool {
        let [first, second] =
            bits_of(key(left, right), self.shift).map(|bit| self.chars[bit / 64] >> (bit % 64) & 1);
        (u64::from(self.bytes.contains(before, after)) | first & second) == 0
    }

    /// Heap bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.memory() + self.ascii.memory() + self.chars.memory()
    }
}

impl InImage for TokenCuts {
    fn write(&self, image: &mut ImageWriter) {
        self.bytes.write(image);
        image.array(&self.chars);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        let (bytes, chars) = (BytePairs::read(image)?, image.array::<u64>()?);
        if !chars.len().is_power_of_two() {
            return Err(ImageError::Inconsistent("cuts have another number of words"));
        }
        let shift = shift_of(chars.len());
        Ok(Self { ascii: bytes.ascii(), bytes, chars, shift })
    }
}

/// Collects the adjacent characters in the tokens that merging makes.
#[derive(Debug)]
pub struct TokenCutsBuilder {
    /// As in [`TokenCuts`].
    bytes: BytePairs,
    /// Pairs of whole characters.
    pairs: Vec<u64>,
}

impl TokenCutsBuilder {
    pub(crate) fn new() -> Self {
        Self { bytes: BytePairs::new(), pairs: Vec::new() }
    }

    /// Adds a text of which no place may be a cut.
    pub(crate) fn add_text(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        let (mut left, _) = CharBytes::first(rest);
        while rest.len() > left.length {
            rest = &rest[left.length..];
            let (right, _) = CharBytes::first(rest);
            if left.length.max(right.length) > 1 {
                self.pairs.push(key(left, right));
            } else {
                self.bytes.insert(left.bytes as u8, right.bytes as u8);
            }
            left = right;
        }
    }

    /// Adds a token whose two parts meet at `join`. Parts that are not bytes must be added, too.
    pub(super) fn add(&mut self, token: &[u8], join: usize) {
        // At every other place the parts contain the same characters as the token. But a character that extends
        // beyond the join looks different in the parts, so the places around the join are added as well.
        let reach = if token[join - 1].is_ascii() { 0 } else { MAX_LENGTH - 1 };
        self.add_places(token, join.saturating_sub(reach).max(1)..(join + reach + 1).min(token.len()));
    }

    /// Marks some places inside a token as no cuts: adds the two characters around each, or the two bytes if one of
    /// the characters may extend outside the token.
    fn add_places(&mut self, token: &[u8], places: Range<usize>) {
        for place in places.filter(|&place| !continues(token[place])) {
            let (right, is_open) = CharBytes::first(&token[place..]);
            let start = token[..place].iter().rposition(|&byte| !continues(byte));
            let left = start.map(|start| CharBytes::first(&token[start..place]).0);
            match left {
                // There are more continuation bytes than the first byte announces: no text is cut after them.
                Some(left) if start.is_some_and(|start| start + left.length < place) => {}
                Some(left) if !is_open && left.length.max(right.length) > 1 => {
                    self.pairs.push(key(left, right));
                }
                _ => self.bytes.insert(token[place - 1], token[place]),
            }
        }
    }

    pub(crate) fn finish(self) -> TokenCuts {
        let Self { bytes, mut pairs } = self;
        pairs.sort_unstable();
        pairs.dedup();
        let bits = (pairs.len() * 16).next_power_of_two().max(64);
        let mut chars = vec![0; bits / 64];
        let shift = shift_of(chars.len());
        for bit in pairs.into_iter().flat_map(|pair| bits_of(pair, shift)) {
            chars[bit / 64] |= 1 << (bit % 64);
        }
        TokenCuts { ascii: bytes.ascii(), bytes, chars: chars.into(), shift }
    }
}

/// A hash shifted right by this is the number of a bit in `words` words, a power of two.
fn shift_of(words: usize) -> u32 {
    64 - (words * 64).trailing_zeros()
}

/// The bits of a pair of characters.
#[inline]
fn bits_of(pair: u64, shift: u32) -> [usize; 2] {
    let mixed = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = mixed ^ mixed >> 29;
    let first = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    [(first >> shift) as usize, (first.rotate_left(27) >> shift) as usize]
}

#[inline]
fn key(left: CharBytes, right: CharBytes) -> u64 {
    u64::from(left.bytes) << 32 | u64::from(right.bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tokens that are merged from bytes and from one another: two numbers for each, of the tokens before it.
    fn products(joins: &[(usize, usize)]) -> Vec<(Vec<u8>, usize)> {
        let mut tokens: Vec<Vec<u8>> =
            "aé漢\u{10400}\u{85}".bytes().chain([0xF1, 0xE3]).map(|byte| vec![byte]).collect();
        let mut products = Vec::new();
        for &(left, right) in joins {
            let parts = [&tokens[left % tokens.len()], &tokens[right % tokens.len()]];
            products.push((parts.map(Vec::as_slice).concat(), parts[0].len()));
            tokens.extend(products.last().map(|(token, _)| token.clone()));
        }
        products
    }

    proptest! {
        #[test]
        fn joins_tell_of_all_places(joins in prop::collection::vec((0..50_usize, 0..50_usize), 0..40)) {
            let (mut every, mut joined) = (TokenCutsBuilder::new(), TokenCutsBuilder::new());
            for (token, join) in products(&joins).iter().filter(|(token, _)| token.len() < 1000) {
                every.add_places(token, 1..token.len());
                joined.add(token, *join);
            }
            let (every, cuts) = (every.finish(), joined.finish());
            prop_assert_eq!((cuts.bytes, cuts.chars), (every.bytes, every.chars));
        }

        #[test]
        fn a_batch_has_the_cuts_that_are_found_one_by_one(
            joins in prop::collection::vec((0..50_usize, 0..50_usize), 0..40),
            text in prop::collection::vec(
                prop_oneof![9 => Just(vec![b'a']), 9 => Just(vec![b' ']), 2 => prop::collection::vec(any::<u8>(), 1),
                    1 => Just("漢é".as_bytes().to_vec())],
                0..300,
            ),
            size in prop_oneof![1..9_usize, 60..200_usize],
        ) {
            let mut builder = TokenCutsBuilder::new();
            for (token, join) in products(&joins).iter().filter(|(token, _)| token.len() < 1000) {
                builder.add(token, *join);
            }
            let (cuts, text) = (builder.finish(), text.concat());
            let next = |from: &usize| Some(cuts.next(&text, *from)).filter(|end| end > from);
            let want: Vec<usize> = std::iter::successors(Some(0), next).skip(1).collect();
            let (mut found, mut ends) = (Vec::new(), vec![0; size]);
            loop {
                let count = cuts.next_batch(&text, found.last().copied().unwrap_or_default(), &mut ends);
                if count == 0 {
                    break;
                }
                found.extend_from_slice(&ends[..count]);
            }
            prop_assert_eq!(found, want);
        }

        #[test]
        fn characters_are_taken_at_once_as_byte_by_byte(
            text in prop::collection::vec(prop_oneof![0..=255_u8, 0x80..=0xBF_u8, 0xE0..=0xF0_u8], 0..6),
        ) {
            prop_assert_eq!(CharBytes::first(&text), CharBytes::first_by_bytes(&text));
        }
    }
}
