//! The loop that merges several inputs side by side. Its source is shared by all levels and sizes.
//!
//! An input has a position for each byte. The first byte has position 1. Position 0 is before the first byte and
//! the last position is after the last byte. Nothing merges at these two positions, and with them every byte has
//! two neighbours.
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

/// Defines functions that merge inputs: `name: layout in Candidates`. The module that invokes it must have a
/// function `find`, which looks a key up in the slots of a bucket. `Candidates` has the candidates of one input in
/// vectors, and these functions:
/// - `none`: no candidate at any position;
/// - `begin`: the first candidates of an input, of which the bytes become its symbols. A position without a
///   candidate has a value of at least [`NO_CANDIDATE`];
/// - `lowest`: the lowest candidate;
/// - `set`: changes the candidate of a position. It may do nothing at positions that have no byte;
/// - `remaining`: the symbols at the remaining positions, and their number.
///
/// [`NO_CANDIDATE`]: super::merge_loop::NO_CANDIDATE
macro_rules! merge_functions {
    (#[$attribute:meta] $($name:ident: $layout:ident in $candidates:ty),+) => {
        $(#[$attribute]
        pub(in crate::batch_merge) fn $name<const K: usize>(
            table: &$crate::merge_table::MergeTable,
            inputs: [$crate::batch_merge::merge_loop::$layout::Input; K],
        ) -> [$crate::batch_merge::merge_loop::$layout::Merged; K] {
            use $crate::batch_merge::merge_loop::{$layout, NO_CANDIDATE, POSITION_BITS};
            use $crate::merge_table::{EMPTY_SLOT, NO_MERGE, PairProbe, SLOTS};

            const ONE: $layout::Bits = 1;
            const POSITIONS: usize = $layout::POSITIONS;
            const DUMMY: usize = $layout::DUMMY;
            let mut symbols: [$layout::Symbols; K] = [[NO_MERGE; _]; K];
            // A bit for each position that remains.
            let mut remaining = [0; K];
            let mut candidates = [<$candidates>::none(); K];
            let mut probes = [(0, 0, [PairProbe::default(); 2]); K];
            for i in 0..K {
                let length = $layout::length(&inputs[i]);
                remaining[i] = ONE << DUMMY | (2 << length) - ONE;
                candidates[i] = <$candidates>::begin(table.byte_pairs(), &inputs[i], length, &mut symbols[i]);
                // `begin` may have written there, as it stores whole vectors.
                symbols[i][DUMMY] = NO_MERGE;
            }
            loop {
                let mut lowest_of_all = NO_CANDIDATE;
                for i in 0..K {
                    let lowest = candidates[i].lowest();
                    lowest_of_all = lowest_of_all.min(lowest);
                    // An input that is done continues at the dummy position, where nothing changes.
                    let at = if lowest < NO_CANDIDATE { lowest % POSITIONS as u32 } else { DUMMY as u32 };
                    let product = lowest >> POSITION_BITS;
                    let up_to = ONE << at ^ (ONE << at) - 1;
                    // `x & -x` is the lowest set bit of `x`.
                    let following = remaining[i] & !up_to;
                    let gone = following & following.wrapping_neg();
                    remaining[i] ^= gone;
                    let after = (following ^ gone).trailing_zeros();
                    let before = (remaining[i] & up_to >> 1 | ONE).ilog2();
                    let symbols = &mut symbols[i];
                    symbols[at as usize % POSITIONS] = product;
                    let left = symbols[before as usize % POSITIONS];
                    let right = symbols[after as usize % POSITIONS];
                    candidates[i].set(gone.trailing_zeros(), NO_CANDIDATE);
                    probes[i] = (at, before, [table.start_probe(product, right), table.start_probe(left, product)]);
                }
                if lowest_of_all == NO_CANDIDATE {
                    break;
                }
                for i in 0..K {
                    let (at, before, pairs) = probes[i];
                    let [right, left] = pairs.map(|pair| {
                        let slots = table.slots(pair);
                        let found = find(slots, pair.key);
                        // One branch for two conditions, which is rarely taken: most pairs do not merge, but
                        // nearly all buckets have a free slot.
                        let may_be_further = (found == NO_MERGE) & (slots[SLOTS - 1] != EMPTY_SLOT);
                        if may_be_further { table.probe_next(pair) } else { found }
                    });
                    candidates[i].set(at, right << POSITION_BITS | at);
                    candidates[i].set(before, left << POSITION_BITS | before);
                }
            }
            std::array::from_fn(|i| <$candidates>::remaining(&symbols[i], remaining[i] ^ ONE << DUMMY))
        })+
    };
}
pub(super) use merge_functions;

/// Packs the symbols at the remaining positions without a branch for each position.
#[inline]
pub(super) fn pack_one_by_one<const LANES: usize>(symbols: &[u32], positions: u64) -> ([u32; LANES], usize) {
    let (mut packed, mut length) = ([0; LANES], 0);
    for (position, &symbol) in (1..LANES).zip(&symbols[1..]) {
        packed[length % LANES] = symbol;
        length += (positions >> position & 1) as usize;
    }
    (packed, length)
}
