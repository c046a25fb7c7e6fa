//! Merges of short byte strings, several side by side: the pair of neighbours with the lowest product merges
//! first, until none does.
//!
//! In come inputs of up to 62 bytes and a table in which every product is above all bytes; out go the symbols that
//! remain of each. Neither the level nor the number of inputs changes a result.
//!
//! Every position has a candidate: what it would merge to with its right neighbour, above the number of the
//! position. So the lowest candidate is the leftmost merge with the lowest product. The candidates of an input are
//! in one vector or a few, and a word of bits says which positions remain.
//!
//! A merge waits for the lookups of the one before, which go to memory that is often not cached. So several inputs
//! are merged side by side: first all of them prefetch, then all of them probe. They go on until the last one is
//! done: when each is done cannot be predicted, and a mispredicted branch costs more than steps that change
//! nothing.
//!
//! Inputs are [`Narrow`], [`Wide`] or [`Widest`]: the same loop, with vectors of another size.
mod layout;
mod merge_loop;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use self::layout::WidestInput;
use self::layout::{narrow, wide, widest};
use crate::cpu::Level;
use crate::merge_table::MergeTable;

/// How many bytes an input may have.
pub trait Width {
    /// The bytes of an input, and how many they are.
    type Input: Copy + Default;
    /// What remains of an input.
    type Merged;

    /// The most bytes of an input.
    const LONGEST: usize;

    /// Merges each input by a table in which every product is above all bytes.
    fn merge<const K: usize>(level: Level, table: &MergeTable, inputs: [Self::Input; K])
    -> [Self::Merged; K];

    /// The symbols that remain.
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
                        // SAFETY: the guard of this arm has checked the features of the level.
                        unsafe { x86::avx512::$merge(table, inputs) }
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 if Level::Avx2.is_available() => {
                        // SAFETY: the guard of this arm has checked the features of the level.
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
    /// Inputs that are [keys](crate::short_table::key_at): the lowest four bits of the highest byte are the
    /// length.
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
    /// Inputs of [up to 62 bytes](widest_input): as many positions as a word has bits.
    Widest,
    widest,
    merge_widest
);

/// The wide input of some bytes.
///
/// # Panics
/// If there are more than it may have.
#[inline]
pub fn wide_input(bytes: &[u8]) -> <Wide as Width>::Input {
    let mut input = [0; wide::LANES];
    input[..wide::LONGEST][..bytes.len()].copy_from_slice(bytes);
    input[wide::LANES - 1] = bytes.len() as u8;
    input
}

/// The widest input of some bytes.
///
/// # Panics
/// If there are more than it may have.
#[inline]
pub fn widest_input(bytes: &[u8]) -> WidestInput {
    let mut input = WidestInput::default();
    input.0[..widest::LONGEST][..bytes.len()].copy_from_slice(bytes);
    input.0[widest::LANES - 1] = bytes.len() as u8;
    input
}
