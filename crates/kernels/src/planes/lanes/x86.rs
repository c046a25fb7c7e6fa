//! Eight words in one vector of 512 bits, or in two of 256.
//!
//! Only code that [`run_avx512`] or [`run_avx2`] runs can make values of these types, and their callers have checked
//! that the CPU has the features. A method of an operator trait cannot enable features itself, so each is unsafe
//! inside, and is inlined into one of the two functions, which enable them.
#![expect(clippy::inline_always, reason = "an operator that is not inlined is a call for each instruction")]
use std::arch::x86_64::{
    __m256i, __m512i, _mm_cvtsi32_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_blend_epi32,
    _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_or_si256,
    _mm256_permute4x64_epi64, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_sll_epi64, _mm256_srl_epi64,
    _mm256_storeu_si256, _mm256_xor_si256, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_and_si512,
    _mm512_loadu_si512, _mm512_maskz_set1_epi64, _mm512_or_si512, _mm512_set1_epi64, _mm512_sll_epi64,
    _mm512_srl_epi64, _mm512_storeu_si512, _mm512_test_epi64_mask, _mm512_testn_epi64_mask, _mm512_xor_si512,
};
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use super::words::{LaneCode, Lanes};
use crate::planes::layout::LANES;

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl")]
pub(super) fn run_avx512<C: LaneCode>(code: C) -> C::Output {
    code.run::<Wide>()
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn run_avx2<C: LaneCode>(code: C) -> C::Output {
    code.run::<Halves>()
}

/// Eight words in one vector.
#[derive(Clone, Copy)]
struct Wide(__m512i);

/// The first four words, and the last four.
#[derive(Clone, Copy)]
struct Halves(__m256i, __m256i);

/// The last word of `before`, followed by the first three of `half`.
#[inline(always)]
fn moved_on(half: __m256i, before: __m256i) -> __m256i {
    // SAFETY: the instructions only read their operands, and the CPU has AVX2 wherever [`Halves`] are used.
    unsafe {
        let (moved, last) = (
            _mm256_permute4x64_epi64::<0b10_01_00_00>(half),
            _mm256_permute4x64_epi64::<0b11_11_11_11>(before),
        );
        _mm256_blend_epi32::<0b11>(moved, last)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident: $wide:ident, $halves:ident;)+) => {
        $(impl $operator for Wide {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the instruction only reads its operands, and the CPU has AVX-512 wherever this type is used.
                Self(unsafe { $wide(self.0, other.0) })
            }
        }

        impl $operator for Halves {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the instructions only read their operands, and the CPU has AVX2 wherever this type is used.
                unsafe { Self($halves(self.0, other.0), $halves(self.1, other.1)) }
            }
        })+
    };
}

operators! {
    BitAnd bitand: _mm512_and_si512, _mm256_and_si256;
    BitOr bitor: _mm512_or_si512, _mm256_or_si256;
    BitXor bitxor: _mm512_xor_si512, _mm256_xor_si256;
}

macro_rules! shifts {
    ($($operator:ident $method:ident: $wide:ident, $halves:ident;)+) => {
        $(impl $operator<u32> for Wide {
            type Output = Self;

            #[inline(always)]
            fn $method(self, distance: u32) -> Self {
                // SAFETY: the instruction only reads its operands, and the CPU has AVX-512 wherever this type is used.
                Self(unsafe { $wide(self.0, _mm_cvtsi32_si128(distance.cast_signed())) })
            }
        }

        impl $operator<u32> for Halves {
            type Output = Self;

            #[inline(always)]
            fn $method(self, distance: u32) -> Self {
                // SAFETY: the instructions only read their operands, and the CPU has AVX2 wherever this type is used.
                unsafe {
                    let distance = _mm_cvtsi32_si128(distance.cast_signed());
                    Self($halves(self.0, distance), $halves(self.1, distance))
                }
            }
        })+
    };
}

shifts! {
    Shl shl: _mm512_sll_epi64, _mm256_sll_epi64;
    Shr shr: _mm512_srl_epi64, _mm256_srl_epi64;
}

macro_rules! by_words {
    ($($lanes:ident),+) => {
        $(impl BitAnd<u64> for $lanes {
            type Output = Self;

            #[inline(always)]
            fn bitand(self, word: u64) -> Self {
                self & Self::splat(word)
            }
        }

        impl Not for $lanes {
            type Output = Self;

            #[inline(always)]
            fn not(self) -> Self {
                self ^ Self::splat(u64::MAX)
            }
        })+
    };
}

by_words!(Wide, Halves);

impl Lanes for Wide {
    #[inline(always)]
    fn splat(word: u64) -> Self {
        // SAFETY: the instruction only reads its operands, and the CPU has AVX-512 wherever this type is used.
        Self(unsafe { _mm512_set1_epi64(word.cast_signed()) })
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: the instruction only reads its operands, and the CPU has AVX-512 wherever this type is used.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn previous(self, first: u64) -> Self {
        let first = Self::splat(first);
        // SAFETY: the instruction only reads its operands, and the CPU has AVX-512 wherever this type is used.
        Self(unsafe { _mm512_alignr_epi64::<7>(self.0, first.0) })
    }

    #[inline(always)]
    fn is_zero(self) -> Self {
        // SAFETY: the instruction only reads its operands, and the CPU has AVX-512 wherever this type is used.
        Self(unsafe { _mm512_maskz_set1_epi64(_mm512_testn_epi64_mask(self.0, self.0), -1) })
    }

    #[inline(always)]
    fn highest_bits(self) -> u32 {
        let highest = Self::splat(1 << 63);
        // SAFETY: the instruction only reads its operands, and the CPU has AVX-512 wherever this type is used.
        u32::from(unsafe { _mm512_test_epi64_mask(self.0, highest.0) })
    }

    #[inline(always)]
    fn to_array(self) -> [u64; LANES] {
        let mut words = [0; LANES];
        // SAFETY: the store fills the 64 bytes of the array and needs no alignment. The CPU has AVX-512
        // wherever this type is used.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) }
        words
    }

    #[inline(always)]
    fn load(words: &[u64; LANES]) -> Self {
        // SAFETY: the load reads the 64 bytes of the array and needs no alignment. The CPU has AVX-512
        // wherever this type is used.
        Self(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }
}

impl Lanes for Halves {
    #[inline(always)]
    fn splat(word: u64) -> Self {
        // SAFETY: the instructions only read their operands, and the CPU has AVX2 wherever this type is used.
        let half = unsafe { _mm256_set1_epi64x(word.cast_signed()) };
        Self(half, half)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: the instructions only read their operands, and the CPU has AVX2 wherever this type is used.
        unsafe { Self(_mm256_add_epi64(self.0, other.0), _mm256_add_epi64(self.1, other.1)) }
    }

    #[inline(always)]
    fn previous(self, first: u64) -> Self {
        let first = Self::splat(first);
        Self(moved_on(self.0, first.0), moved_on(self.1, self.0))
    }

    #[inline(always)]
    fn is_zero(self) -> Self {
        // SAFETY: the instructions only read their operands, and the CPU has AVX2 wherever this type is used.
        unsafe {
            let zero = _mm256_setzero_si256();
            Self(_mm256_cmpeq_epi64(self.0, zero), _mm256_cmpeq_epi64(self.1, zero))
        }
    }

    #[inline(always)]
    fn highest_bits(self) -> u32 {
        // SAFETY: the instructions only read their operands, and the CPU has AVX2 wherever this type is used.
        let (low, high) = unsafe {
            (_mm256_movemask_pd(_mm256_castsi256_pd(self.0)), _mm256_movemask_pd(_mm256_castsi256_pd(self.1)))
        };
        (low | high << 4).cast_unsigned()
    }

    #[inline(always)]
    fn to_array(self) -> [u64; LANES] {
        let mut words = [0_u64; LANES];
        // SAFETY: the stores fill the first and the last 32 bytes of the array and need no alignment. The CPU has AVX2
        // wherever this type is used.
        unsafe {
            _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0);
            _mm256_storeu_si256(words.as_mut_ptr().add(LANES / 2).cast(), self.1);
        }
        words
    }

    #[inline(always)]
    fn load(words: &[u64; LANES]) -> Self {
        let start = words.as_ptr();
        // SAFETY: the loads read the first and the last 32 bytes of the array and need no alignment. The CPU has AVX2
        // wherever this type is used.
        unsafe { Self(_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(LANES / 2).cast())) }
    }
}
