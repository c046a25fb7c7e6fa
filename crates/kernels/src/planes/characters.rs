//! Text that is not all ASCII: finds where its characters begin, and looks up the class byte of each by its code
//! point.
//!
//! In: a window of UTF-8, of which the caller says which bytes are valid. Out: masks of the bytes that
//! begin a character, offsets and class bytes. Invalid UTF-8 gives unspecified classes, but never causes a read
//! outside of the window or the table.
use super::layout::{BMP, Characters, GATHER_PADDING, PLANE_BITS, WINDOW};
use super::leads;
use crate::cpu::Level;

/// The classes of every character.
#[derive(Debug)]
pub struct CharacterClasses {
    /// The class byte of each code point in the Basic Multilingual Plane, and padding.
    bmp: Box<[u8]>,
}

impl CharacterClasses {
    /// `of` gives the class byte of a code point. It is called for surrogates too.
    ///
    /// Cost: a few hundred microseconds, and 64 kB of memory.
    pub fn new(of: impl Fn(u32) -> u8) -> Self {
        let mut bmp = vec![0; BMP + GATHER_PADDING];
        bmp.iter_mut().zip(0..BMP as u32).for_each(|(class, code_point)| *class = of(code_point));
        Self { bmp: bmp.into() }
    }

    /// Writes the class bytes of the characters that begin at `leads` to the front of `out`, in order.
    /// `supplementary` gives the class byte of a code point from 2^16 to 2^21. The rest of `out` is unspecified,
    /// and so is the class of a character that is not valid UTF-8.
    #[inline]
    pub fn classify(
        &self,
        level: Level,
        window: &[u8; WINDOW],
        leads: u64,
        supplementary: impl Fn(u32) -> u8,
        out: &mut [u8; PLANE_BITS],
    ) {
        match level {
            #[cfg(target_arch = "x86_64")]
            _ if crate::cpu::has_byte_compress(level) => {
                // SAFETY: `has_byte_compress` has checked that the CPU has the features of the AVX-512 level and
                // VBMI2, which include all that the function enables.
                let beyond = unsafe { super::x86::classify_avx512(&self.bmp, window, leads, out) };
                classify_beyond(beyond, (window, leads), supplementary, out);
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
                let beyond = unsafe { super::x86::classify_avx2(&self.bmp, window, leads, out) };
                classify_beyond(beyond, (window, leads), supplementary, out);
            }
            _ => {
                let mut code_points = [0; PLANE_BITS];
                super::portable::code_points(window, leads, &mut code_points);
                self.look_up(&code_points[..leads.count_ones() as usize], supplementary, out);
            }
        }
    }

    fn look_up(&self, code_points: &[u32], supplementary: impl Fn(u32) -> u8, out: &mut [u8; PLANE_BITS]) {
        for (class, &code_point) in out.iter_mut().zip(code_points) {
            *class = match self.bmp[..BMP].get(code_point as usize) {
                Some(&class) => class,
                None => supplementary(code_point),
            };
        }
    }
}

/// Writes the classes of the characters in `beyond`, whose code points are from 2^16 on.
#[cfg(target_arch = "x86_64")]
#[inline]
fn classify_beyond(
    mut beyond: u64,
    (window, leads): (&[u8; WINDOW], u64),
    supplementary: impl Fn(u32) -> u8,
    out: &mut [u8; PLANE_BITS],
) {
    while beyond != 0 {
        let character = beyond.trailing_zeros();
        let at = without_lowest(leads, character).trailing_zeros() as usize;
        out[character as usize % PLANE_BITS] = supplementary(code_point(window, at % PLANE_BITS));
        beyond &= beyond - 1;
    }
}

/// The word without its lowest `count` set bits.
#[cfg(target_arch = "x86_64")]
fn without_lowest(bits: u64, count: u32) -> u64 {
    (0..count).fold(bits, |bits, _| bits & bits.wrapping_sub(1))
}

#[cfg(target_arch = "x86_64")]
fn code_point(window: &[u8; WINDOW], at: usize) -> u32 {
    let mut code_points = [0; PLANE_BITS];
    super::portable::code_points(window, 1 << at, &mut code_points);
    code_points[0]
}

/// Takes the characters that begin at a byte in `valid`, at most `limit` of them. Writes `base` plus the offset of
/// each to the front of `out`. The rest of `out` is unspecified.
#[inline]
pub fn take_characters(
    level: Level,
    window: &[u8; WINDOW],
    valid: u64,
    limit: usize,
    base: u8,
    out: &mut [u8; PLANE_BITS],
) -> Characters {
    match level {
        #[cfg(target_arch = "x86_64")]
        _ if crate::cpu::has_byte_compress(level) => {
            // SAFETY: `has_byte_compress` has checked that the CPU has the features of the AVX-512 level and
            // VBMI2, which include all that the function enables.
            unsafe { super::x86::take_characters_avx512(window, valid, limit, base, out) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 if level.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
            unsafe { super::x86::take_characters_avx2(window, valid, limit, base, out) }
        }
        _ => {
            let leads = leads(level, window) & valid;
            let mut rest = leads;
            for offset in out.iter_mut().take(limit.min(leads.count_ones() as usize)) {
                *offset = base.wrapping_add(rest.trailing_zeros() as u8);
                rest &= rest.wrapping_sub(1);
            }
            Characters { leads, taken: leads & !rest }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;

    fn class_of(code_point: u32) -> u8 {
        (code_point.wrapping_mul(0x9E37_79B9) >> 24) as u8
    }

    #[test]
    fn every_character_has_its_class_at_every_level() {
        let classes = CharacterClasses::new(class_of);
        for level in cpu::available() {
            let mut buffer = [0; 4];
            for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
                let bytes = c.encode_utf8(&mut buffer).as_bytes();
                let mut window = [b'A'; WINDOW];
                window[PLANE_BITS - 1..PLANE_BITS - 1 + bytes.len()].copy_from_slice(bytes);
                window[2..2 + bytes.len()].copy_from_slice(bytes);
                let mut found = [0; PLANE_BITS];
                classes.classify(level, &window, 1 << 63 | 0b101, class_of, &mut found);
                let class = class_of(u32::from(c));
                assert_eq!(found[..3], [class_of(65), class, class], "{level}: {c:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn characters_are_found_and_classified_at_every_level(
            text in "\\PC{0,67}|[a-zéüя中😀]{67}|[中文字]{40}|[а-я ]{40}",
            valid: u64,
            all: bool,
            limit in 0..=PLANE_BITS,
            base in 0..190_u8,
        ) {
            let classes = CharacterClasses::new(class_of);
            let mut window = [b'x'; WINDOW];
            let end = text.floor_char_boundary(WINDOW);
            window[..end].copy_from_slice(&text.as_bytes()[..end]);
            let text = std::str::from_utf8(&window).unwrap();
            let valid = if all { u64::MAX } else { valid };
            let begins = text.char_indices().filter(|&(at, _)| at < PLANE_BITS && valid >> at & 1 == 1);
            let begins: Vec<(usize, char)> = begins.collect();
            let taken = &begins[..limit.min(begins.len())];
            let bits = |begins: &[(usize, char)]| begins.iter().fold(0, |bits, (at, _)| bits | 1 << at);
            for level in cpu::available() {
                let mut offsets = [0; PLANE_BITS];
                let found = take_characters(level, &window, valid, limit, base, &mut offsets);
                prop_assert_eq!(found, Characters { leads: bits(&begins), taken: bits(taken) }, "{}", level);
                let want: Vec<u8> = taken.iter().map(|&(at, _)| base + at as u8).collect();
                prop_assert_eq!(&offsets[..taken.len()], &want, "{}", level);
                let mut found = [0; PLANE_BITS];
                classes.classify(level, &window, bits(taken), class_of, &mut found);
                let want: Vec<u8> = taken.iter().map(|&(_, c)| class_of(u32::from(c))).collect();
                prop_assert_eq!(&found[..taken.len()], &want, "{}", level);
            }
        }
    }
}
