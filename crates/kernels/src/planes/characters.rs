//! Class bytes of characters that are not all ASCII, by their code points.
use super::{BLOCK, WINDOW};
use crate::cpu::Level;

/// Code points that have a place in the table: those of at most three bytes.
pub(super) const NEAR: usize = 1 << 16;
/// A vector routine reads four bytes for one.
pub(super) const BEHIND: usize = 3;

/// Which classes characters are in.
#[derive(Debug, Clone)]
pub struct CharacterClasses {
    near: Box<[u8]>,
}

impl CharacterClasses {
    /// `of` says the class byte of each code point, surrogates too.
    ///
    /// Cost: some hundred microseconds, and as many bytes as there are code points below 2^16.
    pub fn new(of: impl Fn(u32) -> u8) -> Self {
        let mut near = vec![0; NEAR + BEHIND];
        near.iter_mut().zip(0..NEAR as u32).for_each(|(class, code_point)| *class = of(code_point));
        Self { near: near.into() }
    }

    /// The class bytes of the characters that begin at `leads`, in order. The window is valid UTF-8 from each of them on,
    /// else a class byte means nothing, nor do those behind as many as there are leads. `far` says them for code points
    /// from 2^16 to 2^21.
    #[inline]
    pub fn classify(
        &self,
        level: Level,
        window: &[u8; WINDOW],
        leads: u64,
        far: impl Fn(u32) -> u8,
        out: &mut [u8; BLOCK],
    ) {
        match level {
            #[cfg(target_arch = "x86_64")]
            _ if crate::cpu::moves_bytes(level) => {
                // SAFETY: the features of the level, and the one beyond it, were found to be there in this very arm.
                let mut others = unsafe { super::x86::classify_avx512(&self.near, window, leads, out) };
                while others != 0 {
                    let character = others.trailing_zeros();
                    let at = lowest_but(leads, character).trailing_zeros() as usize;
                    out[character as usize % BLOCK] = far(code_point(window, at % BLOCK));
                    others &= others - 1;
                }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                let mut code_points = [0; BLOCK];
                // SAFETY: the features of the level were found to be there in this very arm.
                unsafe { super::x86::code_points(window, leads, &mut code_points) };
                self.look_up(&code_points[..leads.count_ones() as usize], far, out);
            }
            _ => {
                let mut code_points = [0; BLOCK];
                super::portable::code_points(window, leads, &mut code_points);
                self.look_up(&code_points[..leads.count_ones() as usize], far, out);
            }
        }
    }

    fn look_up(&self, code_points: &[u32], far: impl Fn(u32) -> u8, out: &mut [u8; BLOCK]) {
        for (class, &code_point) in out.iter_mut().zip(code_points) {
            *class = match self.near[..NEAR].get(code_point as usize) {
                Some(&class) => class,
                None => far(code_point),
            };
        }
    }
}

/// The bits of a word but for so many of the lowest.
#[cfg(target_arch = "x86_64")]
fn lowest_but(bits: u64, count: u32) -> u64 {
    (0..count).fold(bits, |bits, _| bits & bits.wrapping_sub(1))
}

#[cfg(target_arch = "x86_64")]
fn code_point(window: &[u8; WINDOW], at: usize) -> u32 {
    let mut code_points = [0; BLOCK];
    super::portable::code_points(window, 1 << at, &mut code_points);
    code_points[0]
}

/// Characters that begin in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Characters {
    /// The bytes at which they begin: all but the continuation bytes.
    pub leads: u64,
    /// The first of them, as many as there is room for.
    pub taken: u64,
}

/// The characters that begin in the bytes of `valid`, at most `room` of them taken. Puts where each of these begins,
/// behind `from`, into `out`; what stands there behind as many as there are means nothing.
#[inline]
pub fn characters(
    level: Level,
    window: &[u8; WINDOW],
    valid: u64,
    room: usize,
    from: u8,
    out: &mut [u8; BLOCK],
) -> Characters {
    match level {
        #[cfg(target_arch = "x86_64")]
        _ if crate::cpu::moves_bytes(level) => {
            // SAFETY: the features of the level, and the one beyond it, were found to be there in this very arm.
            unsafe { super::x86::characters_avx512(window, valid, room, from, out) }
        }
        _ => {
            let leads = super::leads(level, window) & valid;
            let mut rest = leads;
            for place in out.iter_mut().take(room.min(leads.count_ones() as usize)) {
                *place = from.wrapping_add(rest.trailing_zeros() as u8);
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
                window[BLOCK - 1..BLOCK - 1 + bytes.len()].copy_from_slice(bytes);
                window[2..2 + bytes.len()].copy_from_slice(bytes);
                let mut found = [0; BLOCK];
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
            room in 0..=BLOCK,
            from in 0..190_u8,
        ) {
            let classes = CharacterClasses::new(class_of);
            let mut window = [b'x'; WINDOW];
            let end = text.floor_char_boundary(WINDOW);
            window[..end].copy_from_slice(&text.as_bytes()[..end]);
            let text = std::str::from_utf8(&window).unwrap();
            let valid = if all { u64::MAX } else { valid };
            let begins = text.char_indices().filter(|&(at, _)| at < BLOCK && valid >> at & 1 == 1);
            let begins: Vec<(usize, char)> = begins.collect();
            let taken = &begins[..room.min(begins.len())];
            let bits = |begins: &[(usize, char)]| begins.iter().fold(0, |bits, (at, _)| bits | 1 << at);
            for level in cpu::available() {
                let mut places = [0; BLOCK];
                let found = characters(level, &window, valid, room, from, &mut places);
                prop_assert_eq!(found, Characters { leads: bits(&begins), taken: bits(taken) }, "{}", level);
                let want: Vec<u8> = taken.iter().map(|&(at, _)| from + at as u8).collect();
                prop_assert_eq!(&places[..taken.len()], &want, "{}", level);
                let mut found = [0; BLOCK];
                classes.classify(level, &window, bits(taken), class_of, &mut found);
                let want: Vec<u8> = taken.iter().map(|&(_, c)| class_of(u32::from(c))).collect();
                prop_assert_eq!(&found[..taken.len()], &want, "{}", level);
            }
        }
    }
}
