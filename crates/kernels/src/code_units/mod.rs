//! Code units of one, two or four bytes, one for each character, to UTF-8 and back.
//!
//! In: the code units of a string or valid UTF-8. Out: the other form. Nothing is written beyond the memory
//! that the caller gives. A unit that is no character (a surrogate, or above U+10FFFF) ends the conversion and is
//! never replaced.
//!
//! ASCII is narrowed sixteen units at a time and runs of three-byte characters are written eight at a time.
//! Everything else takes the same steps whatever the length of a character, so that mixed scripts cause no
//! mispredicted branches.
#![allow(unsafe_code)]

mod portable;
mod unit;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::mem::MaybeUninit;

use self::portable::{BATCH_UNITS, GROUP, encode_portable, fill_portable, measure_portable, utf8_length};
pub use self::unit::{CodeUnit, UnitWidth};
use crate::cpu::{self, Level};
use crate::try_alloc::{self, OutOfMemory};

/// Groups that are sampled to guess the length of a long text.
const SAMPLES: usize = 64;

/// Appends code units to a text, up to the first that is no character (a surrogate, or above U+10FFFF). Returns the
/// number of units appended.
///
/// # Errors
/// If the allocation fails; some may have been appended.
pub fn append_code_units<U: CodeUnit>(text: &mut String, units: &[U]) -> Result<usize, OutOfMemory> {
    append(cpu::level(), text, units)
}

fn append<U: CodeUnit>(level: Level, text: &mut String, units: &[U]) -> Result<usize, OutOfMemory> {
    // SAFETY: `encode` gives whole characters in UTF-8, and nothing else is appended.
    let bytes = unsafe { text.as_mut_vec() };
    let mut encoded = [0; 4 * BATCH_UNITS];
    let mut done = 0;
    for batch in units.chunks(BATCH_UNITS) {
        let (read, written) = encode(level, batch, &mut encoded);
        try_alloc::extend(bytes, &encoded[..written])?;
        done += read;
        if read < batch.len() {
            break;
        }
    }
    Ok(done)
}

/// Estimates the UTF-8 length of code units from samples. The estimate is rarely too low.
pub fn guess_length<U: CodeUnit>(units: &[U]) -> usize {
    if units.len() < SAMPLES * GROUP {
        return units.iter().map(|&unit| utf8_length(unit.into())).sum();
    }
    let sampled = units.chunks_exact(units.len() / SAMPLES).map(|part| &part[..GROUP]);
    let length: usize = sampled.clone().flatten().map(|&unit| utf8_length(unit.into())).sum();
    // A sixteenth is added, for what the samples miss.
    let average = (length << 8) / (sampled.len() * GROUP);
    (average + average / 16) * units.len().div_ceil(1 << 8)
}

/// Encodes a batch of units, up to the first that is no character. Returns units read and bytes written.
fn encode<U: CodeUnit>(level: Level, units: &[U], encoded: &mut [u8; 4 * BATCH_UNITS]) -> (usize, usize) {
    match level {
        #[cfg(target_arch = "x86_64")]
        _ if cpu::has_byte_compress(level) => {
            // SAFETY: the guard of this arm has checked the features of the level, and VBMI2.
            unsafe { x86::encode(units, encoded) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 if level.is_available() => {
            // SAFETY: the guard of this arm has checked the features of the level.
            unsafe { x86::encode_avx2(units, encoded) }
        }
        _ => encode_portable(units, encoded),
    }
}

/// The number of characters of a text, and the width of the widest.
pub fn measure(text: &str) -> (usize, UnitWidth) {
    measure_at(cpu::level(), text)
}

fn measure_at(level: Level, text: &str) -> (usize, UnitWidth) {
    let (characters, largest) = match level {
        #[cfg(target_arch = "x86_64")]
        _ if cpu::has_byte_compress(level) => {
            // SAFETY: the guard of this arm has checked the features of the level.
            unsafe { x86::measure(text.as_bytes()) }
        }
        _ => measure_portable(text.as_bytes()),
    };
    // Larger code points have larger lead bytes; 0xc4 is that of U+0100.
    let width = match largest {
        0..0x80 => UnitWidth::Ascii,
        0x80..0xc4 => UnitWidth::One,
        0xc4..0xf0 => UnitWidth::Two,
        _ => UnitWidth::Four,
    };
    (characters, width)
}

/// Writes the characters of a text to the front of `units`, which are wide enough for them. Returns the number
/// written: all characters, unless there are fewer units.
pub fn fill_code_units<U: CodeUnit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    fill(cpu::level(), text, units)
}

fn fill<U: CodeUnit>(level: Level, text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let (read, written) = match level {
        #[cfg(target_arch = "x86_64")]
        _ if cpu::has_byte_compress(level) => {
            // SAFETY: the guard of this arm has checked the features of the level, and VBMI2.
            unsafe { x86::fill(text.as_bytes(), units) }
        }
        _ => (0, 0),
    };
    written + fill_portable(&text[read..], &mut units[written..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::portable::is_character;
    use super::*;

    /// The reference: one character at a time.
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
            None | Some(0..0x80) => UnitWidth::Ascii,
            Some(0x80..0x100) => UnitWidth::One,
            Some(0x100..0x1_0000) => UnitWidth::Two,
            Some(_) => UnitWidth::Four,
        };
        for level in cpu::available() {
            assert_eq!(measure_at(level, text), (plain.len(), width), "{level}");
            for count in [plain.len(), plain.len() + 1, plain.len() / 2] {
                let plain = &plain[..plain.len().min(count)];
                assert_eq!(units_of::<u32>(level, text, count), plain, "{level}");
                if width <= UnitWidth::Two {
                    assert_eq!(units_of::<u16>(level, text, count), plain, "{level}");
                }
                if width <= UnitWidth::One {
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
    fn every_unit_agrees_at_every_position_of_a_group() {
        for unit in (0..0x11_0010).chain([u32::MAX - 1, u32::MAX]) {
            let mut units = ['a' as u32; 2 * GROUP + 3];
            units[unit as usize % units.len()] = unit;
            assert_twins_agree(&units);
        }
    }

    #[test]
    fn sizes_around_the_limits_agree() {
        let around = |at: usize| at.saturating_sub(GROUP + 1)..=at + GROUP + 1;
        for size in [0, BATCH_UNITS, 2 * BATCH_UNITS, GROUP * SAMPLES].into_iter().flat_map(around) {
            for units in [['a'; 3], ['é'; 3], ['語'; 3], ['😀'; 3], ['a', '語', 'é']] {
                let units: Vec<u32> = units.into_iter().cycle().take(size).map(u32::from).collect();
                assert_twins_agree(&units);
            }
        }
    }
}
