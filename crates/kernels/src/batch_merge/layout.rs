//! The layout of the three sizes of inputs: bytes, lanes and positions.
//!
//! The first byte of an input has position 1. Position 0 is before the first byte and the last position is after
//! the last byte. Nothing merges at these two positions, and with them every byte has two neighbours.
use crate::merge_table::NO_MERGE;

/// The number of low bits of a candidate, which are its position. Its product is in the bits above.
pub(super) const POSITION_BITS: u32 = 6;

/// All candidates are below this.
pub(super) const NO_CANDIDATE: u32 = NO_MERGE << POSITION_BITS;

macro_rules! layout {
    ($name:ident, $input:ty, $bits:ty, $lanes:expr, $longest:expr, $length:expr) => {
        pub(super) mod $name {
            /// The bytes of an input together with their number.
            pub(in crate::batch_merge) type Input = $input;

            /// The most bytes of an input.
            pub(in crate::batch_merge) const LONGEST: usize = $longest;

            /// The number of 32-bit lanes in the vectors of an input.
            pub(in crate::batch_merge) const LANES: usize = $lanes;

            /// The symbols that remain, at the front of the array, and their number.
            pub(in crate::batch_merge) type Merged = ([u32; LANES], usize);

            /// A bit for each position.
            pub(in crate::batch_merge) type Bits = $bits;

            pub(in crate::batch_merge) const POSITIONS: usize = Bits::BITS as usize;
            /// The position after all bytes. Inputs that are done write to it.
            pub(in crate::batch_merge) const DUMMY: usize = POSITIONS - 1;

            /// The symbols at all positions, with space for a store of all lanes from position 1 on.
            pub(in crate::batch_merge) type Symbols =
                [u32; if POSITIONS > LANES { POSITIONS } else { LANES + 1 }];

            /// The number of bytes of an input.
            #[inline]
            pub(in crate::batch_merge) fn length(input: &Input) -> u32 {
                let length: fn(&Input) -> u32 = $length;
                length(input) % LANES as u32
            }
        }
    };
}

layout!(narrow, crate::short_table::Key, u32, 16, crate::short_table::SHORT, |input| (input >> 120) as u32);
layout!(wide, [u8; 32], u64, 32, 31, |input| u32::from(input[LANES - 1]));
layout!(widest, super::WidestInput, u64, 64, 62, |input| u32::from(input.0[LANES - 1]));

/// Up to 62 bytes. Their number is in the last byte of the array.
#[derive(Debug, Clone, Copy)]
pub struct WidestInput(pub(super) [u8; widest::LANES]);

impl Default for WidestInput {
    fn default() -> Self {
        Self([0; widest::LANES])
    }
}
