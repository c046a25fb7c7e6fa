//! Drops bytes out of eight without a branch, by a table of shuffles, on machines that have no instruction for it, as
//! AVX-512 VBMI2 has.
use std::arch::x86_64::{__m128i, _mm_loadl_epi64, _mm_shuffle_epi8, _mm_storel_epi64};

/// For each set of bytes out of eight: their places, in order.
static SHUFFLES: [[u8; 8]; 256] = {
    let mut shuffles = [[0; 8]; 256];
    let mut set = 0_usize;
    while set < 256 {
        let (mut place, mut count) = (0_usize, 0);
        while place < 8 {
            if set >> place & 1 == 1 {
                shuffles[set][count] = place as u8;
                count += 1;
            }
            place += 1;
        }
        set += 1;
    }
    shuffles
};

/// Moves those of the lower eight bytes that have a bit in `kept` to the front. What follows them is unspecified.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn compress(bytes: __m128i, kept: u8) -> __m128i {
    // SAFETY: the load reads the eight bytes of the array and needs no alignment.
    let shuffle = unsafe { _mm_loadl_epi64(SHUFFLES[usize::from(kept)].as_ptr().cast()) };
    _mm_shuffle_epi8(bytes, shuffle)
}

/// Writes the lower eight bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store8(bytes: __m128i, to: &mut [u8; 8]) {
    // SAFETY: the store fills the eight bytes of the array and needs no alignment.
    unsafe { _mm_storel_epi64(to.as_mut_ptr().cast(), bytes) }
}

#[cfg(test)]
mod tests {
    use std::arch::x86_64::_mm_cvtsi64_si128;

    use super::*;
    use crate::cpu::Level;

    #[test]
    fn the_kept_bytes_are_at_the_front() {
        if !Level::Avx2.is_available() {
            return;
        }
        let bytes = [17, 2, 255, 0, 99, 128, 6, 51];
        for kept in 0..=255_u8 {
            let want = (0..8).filter(|place| kept >> place & 1 == 1).map(|place| bytes[place]);
            let mut found = [0; 8];
            // SAFETY: the features of the level have been checked.
            unsafe { store8(compress(_mm_cvtsi64_si128(i64::from_le_bytes(bytes)), kept), &mut found) };
            assert!(want.eq(found.into_iter().take(kept.count_ones() as usize)), "{kept}");
        }
    }
}
