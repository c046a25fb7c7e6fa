//! How inputs of the three widths are laid out: their bytes, lanes and positions.
//!
//! The first byte of an input has position 1. Position 0 is before it and the last position is after all bytes:
//! nothing merges at either, so that every byte has two neighbours.
use crate::merge_table::NO_MERGE;

/// The low bits of a candidate, which hold its position; its product is above them.
pub(super) const POSITION_BITS: u32 = 6;

/// Candidates are below this.
pub(super) const NO_CANDIDATE: u32 = NO_MERGE << POSITION_BITS;

macro_rules! layout {
    ($name:ident, $input:ty, $bits:ty, $lanes:expr, $longest:expr, $length:expr) => {
        pub(super) mod $name {
            /// The bytes of an input, and how many they are.
            pub(in crate::batch_merge) type Input = $input;

            /// The most bytes of an input.
            pub(in crate::batch_merge) const LONGEST: usize = $longest;

            /// Numbers in the vectors of an input.
            pub(in crate::batch_merge) const LANES: usize = $lanes;

            /// The symbols that remain, at the front, and how many they are.
            pub(in crate::batch_merge) type Merged = ([u32; LANES], usize);

            /// A bit for each position.
            pub(in crate::batch_merge) type Bits = $bits;

            pub(in crate::batch_merge) const POSITIONS: usize = Bits::BITS as usize;
            /// The position after all bytes. Inputs that are done write there.
            pub(in crate::batch_merge) const DUMMY: usize = POSITIONS - 1;

            /// The symbols at all positions, with space for all lanes.
            pub(in crate::batch_merge) type Symbols =
                [u32; if POSITIONS > LANES { POSITIONS } else { LANES + 1 }];

            /// How many bytes an input has.
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

/// Up to 62 bytes, and their number in the last byte of the array.
#[derive(Debug, Clone, Copy)]
pub struct WidestInput(pub(super) [u8; widest::LANES]);

impl Default for WidestInput {
    fn default() -> Self {
        Self([0; widest::LANES])
    }
}
