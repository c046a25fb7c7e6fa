//! Code units to UTF-8 and back without vector instructions: the twin of the vector routines, also used on machines
//! without them. The compiler turns the ASCII loops into 128-bit vectors.
use std::mem::MaybeUninit;

use super::unit::CodeUnit;
use crate::utf8::LAST_CONTINUATION;

/// Units that are encoded at a time, so that the result stays in the first-level cache.
pub(super) const BATCH_UNITS: usize = 512;

/// Units that are handled together.
pub(super) const GROUP: usize = 16;
pub(super) const HALF: usize = GROUP / 2;

pub(super) fn encode_portable<U: CodeUnit>(
    units: &[U],
    encoded: &mut [u8; 4 * BATCH_UNITS],
) -> (usize, usize) {
    encode_by_halves(units, encoded, encode_characters)
}

/// Encodes ASCII in groups, and other characters with `encode_half`, which writes them at a place of the buffer and
/// returns where the next one goes.
#[inline(always)]
#[allow(clippy::inline_always)] // compiled with the features of the caller
pub(super) fn encode_by_halves<U: CodeUnit>(
    units: &[U],
    encoded: &mut [u8; 4 * BATCH_UNITS],
    encode_half: impl Fn(&[U; HALF], &mut [u8; 4 * BATCH_UNITS], usize) -> usize,
) -> (usize, usize) {
    let (groups, rest) = units.as_chunks::<GROUP>();
    let mut at = 0;
    for (i, group) in groups.iter().enumerate() {
        let all = group.iter().fold(0, |all, &unit| all | unit.into());
        if all < 0x80 {
            for (byte, &unit) in encoded[at..at + GROUP].iter_mut().zip(group) {
                *byte = unit.into() as u8;
            }
            at += GROUP;
        } else if all < 0x800 || group.iter().all(|&unit| is_character(unit.into())) {
            for half in group.as_chunks::<HALF>().0 {
                at = encode_half(half, encoded, at);
            }
        } else {
            let (read, at) = encode_one_by_one(group, encoded, at);
            return (i * GROUP + read, at);
        }
    }
    let (read, at) = encode_one_by_one(rest, encoded, at);
    (groups.len() * GROUP + read, at)
}

/// Writes the characters at `at`, and returns where the next one goes.
#[inline]
fn encode_characters<U: CodeUnit>(half: &[U; HALF], encoded: &mut [u8; 4 * BATCH_UNITS], at: usize) -> usize {
    let are_long = |&unit: &U| (0x800..0x1_0000).contains(&unit.into());
    let mut end = at;
    // Units of one byte have no characters of three.
    if size_of::<U>() > 1 && half.iter().all(are_long) {
        for &unit in half {
            encoded[end..end + 4].copy_from_slice(&three_bytes(unit.into()).to_le_bytes());
            end += 3;
        }
        return end;
    }
    for &unit in half {
        end = encode_character(unit.into(), encoded, end);
    }
    end
}

pub(super) fn encode_one_by_one<U: CodeUnit>(
    units: &[U],
    encoded: &mut [u8; 4 * BATCH_UNITS],
    mut at: usize,
) -> (usize, usize) {
    for (i, &unit) in units.iter().enumerate() {
        if !is_character(unit.into()) {
            return (i, at);
        }
        at = encode_character(unit.into(), encoded, at);
    }
    (units.len(), at)
}

/// Writes a character at `at`, and returns where the next one goes. Four bytes are written whatever its length, so
/// the buffer has four for each unit.
#[inline]
fn encode_character(character: u32, encoded: &mut [u8; 4 * BATCH_UNITS], at: usize) -> usize {
    let bytes = match character {
        0..0x80 => character,
        0x80..0x800 => 0x80c0 | character >> 6 | (character & 0x3f) << 8,
        0x800..0x1_0000 => three_bytes(character),
        _ => {
            0x8080_80f0
                | character >> 18
                | (character >> 12 & 0x3f) << 8
                | (character >> 6 & 0x3f) << 16
                | (character & 0x3f) << 24
        }
    };
    encoded[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
    at + utf8_length(character)
}

/// The first byte is the lowest.
#[inline]
fn three_bytes(character: u32) -> u32 {
    0x80_80e0 | character >> 12 | (character >> 6 & 0x3f) << 8 | (character & 0x3f) << 16
}

/// Bytes of a character in UTF-8.
#[inline]
pub(super) fn utf8_length(character: u32) -> usize {
    1 + usize::from(character >= 0x80) + usize::from(character >= 0x800) + usize::from(character >= 0x1_0000)
}

/// Is it a code point, and no surrogate?
#[inline]
pub(super) fn is_character(unit: u32) -> bool {
    unit ^ 0xd800 >= 0x800 && unit < 0x11_0000
}

/// Bytes between the two passes of [`measure_portable`]: they stay in the first-level cache.
const MEASURED: usize = 8 << 10;

/// How many characters begin in these bytes, and the largest byte.
pub(super) fn measure_portable(bytes: &[u8]) -> (usize, u8) {
    let (mut characters, mut largest) = (0, 0);
    for part in bytes.chunks(MEASURED) {
        largest = part.iter().fold(largest, |largest, &byte| byte.max(largest));
        characters += part.iter().filter(|&&byte| byte as i8 > LAST_CONTINUATION).count();
    }
    (characters, largest)
}

/// After a group that is not all ASCII, this many characters are decoded one by one before the next group is
/// tried.
const RETRY_AFTER: usize = 32;

pub(super) fn fill_portable<U: CodeUnit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let (mut text, mut at) = (text, 0);
    while !text.is_empty() && at < units.len() {
        if let Some((group, rest)) = ascii_group(text)
            && let Some(units) = units.get_mut(at..at + GROUP)
        {
            for (unit, &byte) in units.iter_mut().zip(group) {
                unit.write(U::of(byte.into()));
            }
            (text, at) = (rest, at + GROUP);
            continue;
        }
        let mut characters = text.chars();
        for (unit, character) in units[at..].iter_mut().take(RETRY_AFTER).zip(&mut characters) {
            unit.write(U::of(character.into()));
            at += 1;
        }
        text = characters.as_str();
    }
    at
}

/// The first bytes of a text, if they are ASCII, and the rest.
#[inline]
fn ascii_group(text: &str) -> Option<(&[u8; GROUP], &str)> {
    let group = text.as_bytes().first_chunk::<GROUP>()?;
    let is_ascii = group.iter().fold(0, |all, &byte| all | byte) < 0x80;
    is_ascii.then(|| (group, &text[GROUP..]))
}
