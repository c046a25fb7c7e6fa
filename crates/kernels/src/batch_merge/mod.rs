//! Merges short byte strings, several at a time, by the rule of byte-pair encoding: of all pairs of adjacent
//! symbols, the one with the lowest product merges first, until no pair merges. The product of a pair is the
//! symbol to which it merges.
//!
//! In: inputs of up to 62 bytes and a table whose products are all above 255. Out: the symbols that remain
//! of each input. Neither the level (the instruction set, see [`Level`]) nor the number of inputs changes a
//! result.
//!
//! Every position of an input has a candidate: the product of its symbol and the next one in the high bits, the
//! position in the low bits. The lowest candidate is therefore the leftmost merge with the lowest product. The
//! candidates of an input are in a few vectors, and a word of bits says which positions remain.
//!
//! A merge has to wait for the lookups that follow the previous merge, and these often miss the cache. So several
//! inputs are merged side by side: first the buckets of all inputs are prefetched, then all of them are probed.
//! The loop runs until the last input is done. When an input is done cannot be predicted, and a mispredicted
//! branch would cost more than the steps in which it does not change any more.
//!
//! Inputs are [`Narrow`], [`Wide`] or [`Widest`]. The loop is the same for all, with other vectors.
mod merge_loop;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use self::merge_loop::WidestInput;
use self::merge_loop::{narrow, wide, widest};
use crate::cpu::Level;
use crate::merge_table::MergeTable;

/// The size class of an input.
pub trait Width {
    /// The bytes of an input together with their number.
    type Input: Copy + Default;
    /// The symbols that remain of an input.
    type Merged;

    /// The most bytes of an input.
    const LONGEST: usize;

    /// Merges each input. All products of the table must be above 255.
    fn merge<const K: usize>(level: Level, table: &MergeTable, inputs: [Self::Input; K])
    -> [Self::Merged; K];

    /// The symbols that remain of an input.
    fn symbols(merged: &Self::Merged) -> &[u32];
}

macro_rules! width {
    ($(#[$attribute:meta])* $width:ident, $layout:ident, $merge:ident) => {
        $(#[$attribute])*
        #[derive(Debug)]
        pub struct $width;

        impl Width for $width {
            type Input = $layout::Input;
            type Merged = $layout::Merged;

            const LONGEST: usize = $layout::LONGEST;

            #[inline]
            fn merge<const K: usize>(
                level: Level,
                table: &MergeTable,
                inputs: [Self::Input; K],
            ) -> [Self::Merged; K] {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 if Level::Avx512.is_available() => {
                        // SAFETY: the guard of this match arm has checked that the CPU has the features of the
                        // AVX-512 level, which include all that the function enables.
                        unsafe { x86::avx512::$merge(table, inputs) }
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 if Level::Avx2.is_available() => {
                        // SAFETY: the guard of this match arm has checked that the CPU has the features of the
                        // AVX2 level, which include all that the function enables.
                        unsafe { x86::avx2::$merge(table, inputs) }
                    }
                    _ => portable::$merge(table, inputs),
                }
            }

            #[inline]
            fn symbols((symbols, count): &Self::Merged) -> &[u32] {
                &symbols[..*count]
            }
        }
    };
}

width!(
    /// Inputs that are [keys](crate::short_table::key_at). Their length is in the lowest four bits of the highest
    /// byte.
    Narrow,
    narrow,
    merge_narrow
);

width!(
    /// Inputs of [up to 31 bytes](wide_input).
    Wide,
    wide,
    merge_wide
);

width!(
    /// Inputs of [up to 62 bytes](widest_input), so that every position has a bit in a word.
    Widest,
    widest,
    merge_widest
);

/// Makes a wide input of these bytes.
///
/// # Panics
/// If there are more than [`Width::LONGEST`] bytes.
#[inline]
pub fn wide_input(bytes: &[u8]) -> <Wide as Width>::Input {
    let mut input = [0; wide::LANES];
    input[..wide::LONGEST][..bytes.len()].copy_from_slice(bytes);
    input[wide::LANES - 1] = bytes.len() as u8;
    input
}

/// Makes a widest input of these bytes.
///
/// # Panics
/// If there are more than [`Width::LONGEST`] bytes.
#[inline]
pub fn widest_input(bytes: &[u8]) -> WidestInput {
    let mut input = WidestInput::default();
    input.0[..widest::LONGEST][..bytes.len()].copy_from_slice(bytes);
    input.0[widest::LANES - 1] = bytes.len() as u8;
    input
}
