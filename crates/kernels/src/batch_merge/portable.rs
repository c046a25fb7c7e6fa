//! The candidates in an array, without vector instructions.
use super::merge_loop::{
    NO_CANDIDATE, POSITION_BITS, merge_functions, narrow, pack_one_by_one, wide, widest,
};
use crate::merge_table::{BytePairs, NO_MERGE, SLOTS, SYMBOL_BITS};

/// The value of a key in these slots. [`NO_MERGE`] if none of the slots has the key.
#[inline]
fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
    let mut found = NO_MERGE;
    for &slot in slots {
        found = if slot >> SYMBOL_BITS == key { slot as u32 & NO_MERGE } else { found };
    }
    found
}

#[derive(Debug, Clone, Copy)]
struct Candidates<const LANES: usize>([u32; LANES]);

impl<const LANES: usize> Candidates<LANES> {
    #[inline]
    fn none() -> Self {
        Self([NO_CANDIDATE; LANES])
    }

    #[inline]
    fn of(byte_pairs: &BytePairs, bytes: &[u8; LANES], length: u32, symbols: &mut [u32]) -> Self {
        let mut candidates = [NO_CANDIDATE; LANES];
        for (position, &byte) in (1..LANES).zip(bytes) {
            symbols[position] = u32::from(byte);
        }
        for (position, pair) in (1..length as usize).zip(bytes.windows(2)) {
            let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
            candidates[position - 1] = byte_pairs[pair] << POSITION_BITS | position as u32;
        }
        Self(candidates)
    }

    #[inline]
    fn lowest(self) -> u32 {
        // Candidates are positive as signed numbers too, so vectors without an unsigned comparison can be used.
        self.0.iter().map(|&candidate| candidate as i32).fold(i32::MAX, i32::min).cast_unsigned()
    }

    #[inline]
    fn set(&mut self, position: u32, candidate: u32) {
        if let Some(lane) = self.0.get_mut((position as usize).wrapping_sub(1)) {
            *lane = candidate;
        }
    }

    #[inline]
    fn remaining(symbols: &[u32], positions: impl Into<u64>) -> ([u32; LANES], usize) {
        pack_one_by_one(symbols, positions.into())
    }
}

impl Candidates<{ narrow::LANES }> {
    #[inline]
    fn begin(
        byte_pairs: &BytePairs,
        input: &narrow::Input,
        length: u32,
        symbols: &mut narrow::Symbols,
    ) -> Self {
        Self::of(byte_pairs, &input.to_le_bytes(), length, symbols)
    }
}

impl Candidates<{ wide::LANES }> {
    #[inline]
    fn begin(byte_pairs: &BytePairs, input: &wide::Input, length: u32, symbols: &mut wide::Symbols) -> Self {
        Self::of(byte_pairs, input, length, symbols)
    }
}

impl Candidates<{ widest::LANES }> {
    #[inline]
    fn begin(
        byte_pairs: &BytePairs,
        input: &widest::Input,
        length: u32,
        symbols: &mut widest::Symbols,
    ) -> Self {
        Self::of(byte_pairs, &input.0, length, symbols)
    }
}

merge_functions!(
    #[inline]
    merge_narrow: narrow in Candidates<{ narrow::LANES }>,
    merge_wide: wide in Candidates<{ wide::LANES }>,
    merge_widest: widest in Candidates<{ widest::LANES }>
);
