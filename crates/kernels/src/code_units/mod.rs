//! Code units of one, two or four bytes, a character each, to UTF-8 and back.
//!
//! What is all ASCII is narrowed sixteen units at a time, runs of three-byte characters are written
//! eight at a time, and everything else takes the same steps for every character whatever its
//! length, so that nothing is mispredicted where scripts mix.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86;

use std::mem::MaybeUninit;

use crate::cpu::{self, Level};
use crate::try_alloc::{self, OutOfMemory};

/// Units that one round reads; what they become waits in the first-level cache.
const BLOCK: usize = 512;

/// Units that are looked at together.
const GROUP: usize = 16;
const HALF: usize = GROUP / 2;

/// Groups that are looked at to guess the length of a long text.
const SAMPLES: usize = 64;

/// An unsigned number that holds a code unit.
pub trait CodeUnit: Copy + Into<u32> {
    /// The lowest bits of a code point, which are all where the unit is wide enough.
    fn of(code_point: u32) -> Self;
}

impl CodeUnit for u8 {
    #[inline]
    fn of(code_point: u32) -> Self {
        code_point as u8
    }
}

impl CodeUnit for u16 {
    #[inline]
    fn of(code_point: u32) -> Self {
        code_point as u16
    }
}

impl CodeUnit for u32 {
    #[inline]
    fn of(code_point: u32) -> Self {
        code_point
    }
}

/// The least code units that hold every character of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// One byte, and all below 128.
    Ascii,
    /// One byte.
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
}

/// Appends code units to a text, up to the first that is no character (a surrogate, or above
/// U+10FFFF); how many these are.
///
/// # Errors
/// Where there is no memory for them; some may have been appended.
pub fn append_code_units<U: CodeUnit>(text: &mut String, units: &[U]) -> Result<usize, OutOfMemory> {
    append(cpu::level(), text, units)
}

fn append<U: CodeUnit>(level: Level, text: &mut String, units: &[U]) -> Result<usize, OutOfMemory> {
    // SAFETY: `encode` gives whole characters in UTF-8, and nothing else is appended.
    let bytes = unsafe { text.as_mut_vec() };
    let mut encoded = [0; 4 * BLOCK];
    let mut done = 0;
    for block in units.chunks(BLOCK) {
        let (read, written) = encode(level, block, &mut encoded);
        try_alloc::extend(bytes, &encoded[..written])?;
        done += read;
        if read < block.len() {
            break;
        }
    }
    Ok(done)
}

/// About how many bytes code units become, from a look at some of them; seldom too few.
pub fn guess_length<U: CodeUnit>(units: &[U]) -> usize {
    if units.len() < SAMPLES * GROUP {
        return units.iter().map(|&unit| length(unit.into())).sum();
    }
    let sampled = units.chunks_exact(units.len() / SAMPLES).map(|part| &part[..GROUP]);
    let length: usize = sampled.clone().flatten().map(|&unit| length(unit.into())).sum();
    // A sixteenth more, for what the sample does not show.
    let average = (length << 8) / (sampled.len() * GROUP);
    (average + average / 16) * units.len().div_ceil(1 << 8)
}

/// UTF-8 of a block of units up to the first that is no character; units read and bytes written.
fn encode<U: CodeUnit>(level: Level, units: &[U], encoded: &mut [u8; 4 * BLOCK]) -> (usize, usize) {
    match level {
        #[cfg(target_arch = "x86_64")]
        _ if cpu::moves_bytes(level) => {
            // SAFETY: the features of the level, and the one beyond it, were found to be there in this very arm.
            unsafe { x86::encode(units, encoded) }
        }
        _ => encode_portable(units, encoded),
    }
}

fn encode_portable<U: CodeUnit>(units: &[U], encoded: &mut [u8; 4 * BLOCK]) -> (usize, usize) {
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
                at = encode_characters(half, encoded, at);
            }
        } else {
            let (read, at) = encode_one_by_one(group, encoded, at);
            return (i * GROUP + read, at);
        }
    }
    let (read, at) = encode_one_by_one(rest, encoded, at);
    (groups.len() * GROUP + read, at)
}

/// Characters go to a place in the block; where the next one goes.
#[inline]
fn encode_characters<U: CodeUnit>(half: &[U; HALF], encoded: &mut [u8; 4 * BLOCK], at: usize) -> usize {
    let are_long = |&unit: &U| (0x800..0x1_0000).contains(&unit.into());
    let mut end = at;
    // More than two bytes a unit are needed for three bytes of UTF-8.
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

fn encode_one_by_one<U: CodeUnit>(
    units: &[U],
    encoded: &mut [u8; 4 * BLOCK],
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

/// A character goes to a place in the block, with what is left of four bytes behind it; where the
/// next one goes. It never takes more room than four bytes a unit.
#[inline]
fn encode_character(character: u32, encoded: &mut [u8; 4 * BLOCK], at: usize) -> usize {
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
    at + length(character)
}

/// The first byte is the lowest.
#[inline]
fn three_bytes(character: u32) -> u32 {
    0x80_80e0 | character >> 12 | (character >> 6 & 0x3f) << 8 | (character & 0x3f) << 16
}

/// Bytes of a character in UTF-8.
#[inline]
fn length(character: u32) -> usize {
    1 + usize::from(character >= 0x80) + usize::from(character >= 0x800) + usize::from(character >= 0x1_0000)
}

#[inline]
fn is_character(unit: u32) -> bool {
    unit ^ 0xd800 >= 0x800 && unit < 0x11_0000
}

/// Bytes that are measured twice while they are in the first-level cache.
const MEASURED: usize = 8 << 10;

/// How many characters a text has, and how wide they are.
pub fn measure(text: &str) -> (usize, Width) {
    measure_at(cpu::level(), text)
}

fn measure_at(level: Level, text: &str) -> (usize, Width) {
    let (characters, largest) = match level {
        #[cfg(target_arch = "x86_64")]
        _ if cpu::moves_bytes(level) => {
            // SAFETY: the features of the level were found to be there in this very arm.
            unsafe { x86::measure(text.as_bytes()) }
        }
        _ => measure_portable(text.as_bytes()),
    };
    // In UTF-8 larger characters begin with larger bytes; 0xc4 begins U+0100.
    let width = match largest {
        0..0x80 => Width::Ascii,
        0x80..0xc4 => Width::One,
        0xc4..0xf0 => Width::Two,
        _ => Width::Four,
    };
    (characters, width)
}

/// How many characters begin in these bytes, and the largest of them.
fn measure_portable(bytes: &[u8]) -> (usize, u8) {
    let (mut characters, mut largest) = (0, 0);
    for part in bytes.chunks(MEASURED) {
        largest = part.iter().fold(largest, |largest, &byte| byte.max(largest));
        // Every byte but a continuation begins a character.
        characters += part.iter().filter(|&&byte| byte as i8 >= -0x40).count();
    }
    (characters, largest)
}

/// Characters that are decoded one by one after some that are not ASCII, before it is tried again
/// whether the next ones are.
const TRIED: usize = 32;

/// Writes the characters of a text to the front of `units`, which are wide enough for them; how many
/// were written: all characters, unless there are fewer units.
pub fn fill_code_units<U: CodeUnit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    fill(cpu::level(), text, units)
}

fn fill<U: CodeUnit>(level: Level, text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let (read, written) = match level {
        #[cfg(target_arch = "x86_64")]
        _ if cpu::moves_bytes(level) => {
            // SAFETY: the features of the level, and the one beyond it, were found to be there in this very arm.
            unsafe { x86::fill(text.as_bytes(), units) }
        }
        _ => (0, 0),
    };
    written + fill_portable(&text[read..], &mut units[written..])
}

fn fill_portable<U: CodeUnit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let (mut text, mut at) = (text, 0);
    while !text.is_empty() && at < units.len() {
        if let Some((group, rest)) = ascii_group(text)
            && let Some(places) = units.get_mut(at..at + GROUP)
        {
            for (place, &byte) in places.iter_mut().zip(group) {
                place.write(U::of(byte.into()));
            }
            (text, at) = (rest, at + GROUP);
            continue;
        }
        let mut characters = text.chars();
        for (place, character) in units[at..].iter_mut().take(TRIED).zip(&mut characters) {
            place.write(U::of(character.into()));
            at += 1;
        }
        text = characters.as_str();
    }
    at
}

/// The first bytes of a text, if they are ASCII, and what comes behind.
#[inline]
fn ascii_group(text: &str) -> Option<(&[u8; GROUP], &str)> {
    let group = text.as_bytes().first_chunk::<GROUP>()?;
    let is_ascii = group.iter().fold(0, |all, &byte| all | byte) < 0x80;
    is_ascii.then(|| (group, &text[GROUP..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The plain twin.
    fn append_one_by_one<U: CodeUnit>(text: &mut String, units: &[U]) -> usize {
        for (i, &unit) in units.iter().enumerate() {
            match char::from_u32(unit.into()) {
                Some(char) => text.push(char),
                None => return i,
            }
        }
        units.len()
    }

    fn assert_twins_agree<U: CodeUnit>(units: &[U]) {
        let mut plain = "é".to_owned();
        let count = append_one_by_one(&mut plain, units);
        for level in cpu::available() {
            let mut text = "é".to_owned();
            assert_eq!(append(level, &mut text, units).unwrap(), count, "{level}");
            assert_eq!(text.as_bytes(), plain.as_bytes(), "{level}");
        }
        assert_measures_and_goes_back(&plain);
    }

    fn units_of<U: CodeUnit>(level: Level, text: &str, count: usize) -> Vec<u32> {
        let mut units = vec![MaybeUninit::<U>::zeroed(); count];
        let written = fill(level, text, &mut units);
        // SAFETY: zeros are units, and what was written is one.
        units[..written].iter().map(|unit| unsafe { unit.assume_init() }.into()).collect()
    }

    fn assert_measures_and_goes_back(text: &str) {
        let plain: Vec<u32> = text.chars().map(u32::from).collect();
        let width = match plain.iter().max() {
            None | Some(0..0x80) => Width::Ascii,
            Some(0x80..0x100) => Width::One,
            Some(0x100..0x1_0000) => Width::Two,
            Some(_) => Width::Four,
        };
        for level in cpu::available() {
            assert_eq!(measure_at(level, text), (plain.len(), width), "{level}");
            for count in [plain.len(), plain.len() + 1, plain.len() / 2] {
                let plain = &plain[..plain.len().min(count)];
                assert_eq!(units_of::<u32>(level, text, count), plain, "{level}");
                if width <= Width::Two {
                    assert_eq!(units_of::<u16>(level, text, count), plain, "{level}");
                }
                if width <= Width::One {
                    assert_eq!(units_of::<u8>(level, text, count), plain, "{level}");
                }
            }
        }
    }

    /// Runs of one kind of unit each, so that groups of every mixture occur.
    fn runs() -> impl Strategy<Value = Vec<u32>> {
        let unit = prop_oneof![
            8 => 0..0x80_u32,
            4 => 0x80..0x800_u32,
            4 => 0x800..0xd800_u32,
            2 => 0xe000..0x1_0000_u32,
            2 => 0x1_0000..0x11_0000_u32,
            1 => 0xd800..0xe000_u32,
            1 => 0x11_0000..=u32::MAX,
        ];
        let run = (unit, 1..40_usize).prop_map(|(first, length)| {
            (0..length as u32).map(move |i| first.saturating_add(i % 7)).collect::<Vec<_>>()
        });
        proptest::collection::vec(run, 0..60).prop_map(|runs| runs.concat())
    }

    proptest! {
        #[test]
        fn units_of_every_width_become_the_same_text(units in runs()) {
            assert_twins_agree(&units);
            assert_twins_agree(&units.iter().map(|&unit| unit as u16).collect::<Vec<_>>());
            assert_twins_agree(&units.iter().map(|&unit| unit as u8).collect::<Vec<_>>());
            let characters: Vec<u32> = units.into_iter().filter(|&unit| is_character(unit)).collect();
            assert_twins_agree(&characters);
        }
    }

    #[test]
    fn every_unit_agrees_at_every_place_of_a_group() {
        for unit in (0..0x11_0010).chain([u32::MAX - 1, u32::MAX]) {
            let mut units = ['a' as u32; 2 * GROUP + 3];
            units[unit as usize % units.len()] = unit;
            assert_twins_agree(&units);
        }
    }

    #[test]
    fn sizes_around_the_limits_agree() {
        let around = |at: usize| at.saturating_sub(GROUP + 1)..=at + GROUP + 1;
        for size in [0, BLOCK, 2 * BLOCK, GROUP * SAMPLES].into_iter().flat_map(around) {
            for units in [['a'; 3], ['é'; 3], ['語'; 3], ['😀'; 3], ['a', '語', 'é']] {
                let units: Vec<u32> = units.into_iter().cycle().take(size).map(u32::from).collect();
                assert_twins_agree(&units);
            }
        }
    }
}
