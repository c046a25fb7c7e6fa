//! Places where a pretoken may be cut before it is merged: no token holds what stands on both sides.
//!
//! Whatever merging makes is a token with the bytes that it stands for. So where no token has the
//! character before a place and the one behind it side by side, nothing is ever merged across.
//! `docs/merging.md` has the proof. Pretokens of Chinese and Thai fall into segments of about two
//! characters, which repeat as whole pretokens do not.
use std::ops::Range;

use tokenmill_kernels::end_of_repeat;

/// The characters that stand side by side in some token.
#[derive(Debug)]
pub(super) struct Cuts {
    /// A bit for two bytes that stand beside each other in a token: where both are characters, and
    /// where the token has only a part of a character there.
    bytes: Vec<u64>,
    /// Two bits for each pair of whole characters. A place that has both by accident is not cut.
    chars: Vec<u64>,
    shift: u32,
}

/// A character, as far as bytes look like one: a byte that begins one, and of those that continue
/// one as many as the first asks for. A text that is cut need not be UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit {
    bytes: u32,
    length: usize,
}

#[inline]
fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Bytes of a character, at most.
const LONGEST: usize = 4;

impl Unit {
    /// The one that begins here, and whether the text ended before it did.
    #[inline]
    fn first(text: &[u8]) -> (Self, bool) {
        // Whole characters of two and three bytes by one look, where one more byte is behind them.
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
        let mut unit = Self { bytes: u32::from(first), length: 1 };
        while unit.length < length {
            match text.get(unit.length) {
                Some(&byte) if continues(byte) => {
                    unit.bytes |= u32::from(byte) << (8 * unit.length);
                    unit.length += 1;
                }
                Some(_) => break,
                None => return (unit, true),
            }
        }
        (unit, false)
    }
}

impl Cuts {
    /// The first place behind `from` at which the text may be cut, or its end. `from` is one, too,
    /// or the start.
    #[inline]
    pub(super) fn next(&self, text: &[u8], from: usize) -> usize {
        let rest = text.get(from..).unwrap_or_default();
        // As long as all is ASCII a character is a byte.
        let mut at = 1;
        while let Some(&[before, after]) = rest.get(at - 1..).and_then(<[u8]>::first_chunk)
            && (before | after).is_ascii()
        {
            if !self.is_joined(before, after) {
                return from + at;
            }
            at = if before == after { end_of_repeat(rest, at, 1) } else { at + 1 };
        }
        let (mut left, _) = Unit::first(rest.get(at - 1..).unwrap_or_default());
        at = at - 1 + left.length;
        while at < rest.len() {
            if continues(rest[at]) {
                // No character ends here: one begins again with the next byte that can.
                at += rest[at..].iter().take_while(|&&byte| continues(byte)).count();
                left = Unit { bytes: 0, length: 0 };
                continue;
            }
            let (right, _) = Unit::first(&rest[at..]);
            if left.length > 0 && self.may_cut(left, right, rest[at - 1], rest[at]) {
                return from + at;
            }
            at += right.length;
            left = right;
        }
        text.len()
    }

    /// As [`Self::next`], of as many as there is room for in `ends`; says how many.
    #[inline]
    pub(super) fn next_ones(&self, text: &[u8], from: usize, ends: &mut [usize]) -> usize {
        let (mut from, mut count) = (from, 0);
        'segments: while count < ends.len() && from < text.len() {
            let (mut left, _) = Unit::first(&text[from..]);
            let mut at = from + left.length;
            // From a cut the character behind it need not be read again.
            while left.length > 1 && at < text.len() && !continues(text[at]) {
                let (right, _) = Unit::first(&text[at..]);
                if self.may_cut(left, right, text[at - 1], text[at]) {
                    (ends[count], from) = (at, at);
                    count += 1;
                    if count == ends.len() {
                        break 'segments;
                    }
                }
                at += right.length;
                left = right;
            }
            from = self.next(text, from);
            ends[count] = from;
            count += 1;
        }
        count
    }

    #[inline]
    fn may_cut(&self, left: Unit, right: Unit, before: u8, after: u8) -> bool {
        if self.is_joined(before, after) {
            return false;
        }
        // Of characters of one byte all is known.
        left.length.max(right.length) == 1
            || !self.bits_of(key(left, right)).iter().all(|bit| self.chars[bit / 64] >> (bit % 64) & 1 == 1)
    }

    #[inline]
    fn is_joined(&self, before: u8, after: u8) -> bool {
        let (word, bit) = bit_of(before, after);
        self.bytes[word] >> bit & 1 == 1
    }

    #[inline]
    fn bits_of(&self, pair: u64) -> [usize; 2] {
        let mixed = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = mixed ^ mixed >> 29;
        let first = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        [(first >> self.shift) as usize, (first.rotate_left(27) >> self.shift) as usize]
    }

    pub(super) fn memory(&self) -> usize {
        8 * (self.bytes.capacity() + self.chars.capacity())
    }
}

/// Where the characters of tokens meet that merging makes.
pub(super) struct Borders {
    /// As in [`Cuts`].
    bytes: Vec<u64>,
    /// Pairs of whole characters.
    pairs: Vec<u64>,
}

impl Borders {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; 1 << 10], pairs: Vec::new() }
    }

    /// Puts those of a token whose two parts meet at `join`. Parts that are not bytes are put, too.
    pub(super) fn put_joined(&mut self, token: &[u8], join: usize) {
        // Of every other place the parts tell all that the token would. Where a character goes on behind the join,
        // places around it look another way than in the parts.
        let reach = if token[join - 1].is_ascii() { 0 } else { LONGEST - 1 };
        self.put(token, join.saturating_sub(reach).max(1)..(join + reach + 1).min(token.len()));
    }

    /// Puts those of some places inside a token that a text may be cut at, but for this token: the two characters
    /// around it, or the two bytes where one of the characters may go on outside the token.
    fn put(&mut self, token: &[u8], places: Range<usize>) {
        for place in places.filter(|&place| !continues(token[place])) {
            let (right, is_open) = Unit::first(&token[place..]);
            let start = token[..place].iter().rposition(|&byte| !continues(byte));
            let left = start.map(|start| Unit::first(&token[start..place]).0);
            match left {
                // More bytes that continue than the first one asks for: no text is cut behind them.
                Some(left) if start.is_some_and(|start| start + left.length < place) => {}
                Some(left) if !is_open && left.length.max(right.length) > 1 => {
                    self.pairs.push(key(left, right));
                }
                _ => {
                    let (word, bit) = bit_of(token[place - 1], token[place]);
                    self.bytes[word] |= 1 << bit;
                }
            }
        }
    }

    /// What is cut where none of these tokens has to stay whole.
    pub(super) fn cuts(self) -> Cuts {
        let Self { bytes, mut pairs } = self;
        pairs.sort_unstable();
        pairs.dedup();
        let bits = (pairs.len() * 16).next_power_of_two().trailing_zeros().max(6);
        let mut cuts = Cuts { bytes, chars: vec![0; 1 << (bits - 6)], shift: 64 - bits };
        for pair in pairs {
            for bit in cuts.bits_of(pair) {
                cuts.chars[bit / 64] |= 1 << (bit % 64);
            }
        }
        cuts
    }
}

#[inline]
fn key(left: Unit, right: Unit) -> u64 {
    u64::from(left.bytes) << 32 | u64::from(right.bytes)
}

#[inline]
fn bit_of(before: u8, after: u8) -> (usize, u32) {
    (usize::from(before) << 2 | usize::from(after >> 6), u32::from(after & 63))
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
            let (mut every, mut joined) = (Borders::new(), Borders::new());
            for (token, join) in products(&joins).iter().filter(|(token, _)| token.len() < 1000) {
                every.put(token, 1..token.len());
                joined.put_joined(token, *join);
            }
            let (every, cuts) = (every.cuts(), joined.cuts());
            prop_assert_eq!((cuts.bytes, cuts.chars), (every.bytes, every.chars));
        }

        #[test]
        fn characters_are_taken_at_once_as_byte_by_byte(
            text in prop::collection::vec(prop_oneof![0..=255_u8, 0x80..=0xBF_u8, 0xE0..=0xF0_u8], 0..6),
        ) {
            prop_assert_eq!(Unit::first(&text), Unit::first_by_bytes(&text));
        }
    }
}
