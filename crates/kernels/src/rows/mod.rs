//! Short rows of numbers whose neighbours merge, the lowest product first, until none do.
//!
//! Every place keeps what it would merge to with its right neighbour, above the number of the place: the lowest
//! of these is the leftmost merge with the lowest product. They stand in one vector or in a few. Which places
//! are left is a word of bits.
//!
//! A merge waits for the look-ups of the one before, and these go to memory that need not be near. So several
//! rows are merged side by side: all of them ask, and then all of them look. They go on together until the
//! last is done: when a row is done cannot be foretold, and a branch that is foretold wrongly costs more than steps
//! that change nothing.
//!
//! Rows are [`Narrow`], [`Wide`] or [`Widest`]: the same lines for all, with vectors of another size.
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::cpu::Level;
use crate::merge_table::{MergeTable, NO_MERGE};

/// How many bytes a row may have.
pub trait Width {
    /// The bytes of a row, and how many they are.
    type Row: Copy + Default;
    /// What is left of a row.
    type Merged;

    /// The most bytes of a row.
    const LONGEST: usize;

    /// Merges rows of bytes by a table in which every product is above all bytes.
    fn merge<const K: usize>(level: Level, table: &MergeTable, rows: [Self::Row; K]) -> [Self::Merged; K];

    /// What is left of one.
    fn left(merged: &Self::Merged) -> &[u32];
}

macro_rules! width {
    (
        $(#[$attribute:meta])* $width:ident, $name:ident, $row:ty, $bits:ty, $lanes:expr, $longest:expr, $length:expr,
        $avx512:ident, $avx2:ident, $portable:ident
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        pub struct $width;

        impl Width for $width {
            type Row = $name::Row;
            type Merged = $name::Merged;

            const LONGEST: usize = $name::LONGEST;

            #[inline]
            fn merge<const K: usize>(
                level: Level,
                table: &MergeTable,
                rows: [Self::Row; K],
            ) -> [Self::Merged; K] {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 if Level::Avx512.is_available() => {
                        // SAFETY: the guard of this arm has checked the features of the level.
                        unsafe { x86::$avx512(table, rows) }
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 if Level::Avx2.is_available() => {
                        // SAFETY: the guard of this arm has checked the features of the level.
                        unsafe { x86::$avx2(table, rows) }
                    }
                    _ => portable::$portable(table, rows),
                }
            }

            #[inline]
            fn left((symbols, count): &Self::Merged) -> &[u32] {
                &symbols[..*count]
            }
        }

        mod $name {
            pub(super) type Row = $row;

            pub(super) const LONGEST: usize = $longest;

            /// Numbers in the vectors of a row.
            pub(super) const LANES: usize = $lanes;

            /// What is left: in front, and how much.
            pub(super) type Merged = ([u32; LANES], usize);

            /// A bit for each place.
            pub(super) type Bits = $bits;

            /// The first byte of a row is at place 1. At place 0 is what is before it, and what is behind it is at
            /// the last place: there nothing merges.
            pub(super) const PLACES: usize = Bits::BITS as usize;
            pub(super) const BEHIND: usize = PLACES - 1;

            /// The numbers at all places, and room for those of all lanes.
            pub(super) type Symbols = [u32; if PLACES > LANES { PLACES } else { LANES + 1 }];

            /// How many bytes a row has.
            #[inline]
            pub(super) fn length(row: &Row) -> u32 {
                let length: fn(&Row) -> u32 = $length;
                length(row) % LANES as u32
            }
        }
    };
}

width!(
    /// Rows of [keys](crate::short_table::key_at), of which the lowest four bits of the highest byte are the length.
    Narrow,
    narrow,
    crate::short_table::Key,
    u32,
    16,
    crate::short_table::SHORT,
    |row| (row >> 120) as u32,
    merge_narrow_avx512,
    merge_narrow_avx2,
    merge_narrow_portable
);

width!(
    /// [Rows of twice as many bytes](wide_row).
    Wide,
    wide,
    [u8; 32],
    u64,
    32,
    31,
    |row| u32::from(row[LANES - 1]),
    merge_wide_avx512,
    merge_wide_avx2,
    merge_wide_portable
);

width!(
    /// [Rows of four times as many](widest_row): all that a word has bits for.
    Widest,
    widest,
    super::WidestRow,
    u64,
    64,
    62,
    |row| u32::from(row.0[LANES - 1]),
    merge_widest_avx512,
    merge_widest_avx2,
    merge_widest_portable
);

/// The wide row of some bytes.
///
/// # Panics
/// Where they are more than it may have.
#[inline]
pub fn wide_row(bytes: &[u8]) -> <Wide as Width>::Row {
    let mut row = [0; wide::LANES];
    row[..wide::LONGEST][..bytes.len()].copy_from_slice(bytes);
    row[wide::LANES - 1] = bytes.len() as u8;
    row
}

/// Bytes, and how many they are behind them.
#[derive(Debug, Clone, Copy)]
pub struct WidestRow([u8; widest::LANES]);

impl Default for WidestRow {
    fn default() -> Self {
        Self([0; widest::LANES])
    }
}

/// The widest row of some bytes.
///
/// # Panics
/// Where they are more than it may have.
#[inline]
pub fn widest_row(bytes: &[u8]) -> WidestRow {
    let mut row = WidestRow::default();
    row.0[..widest::LONGEST][..bytes.len()].copy_from_slice(bytes);
    row.0[widest::LANES - 1] = bytes.len() as u8;
    row
}

/// Bits for a place: the number of one is below a merge.
const PLACE: u32 = 6;

/// Merges are below this.
const NONE: u32 = NO_MERGE << PLACE;

/// The same for all levels and widths, with `$find`, which says what a pair of the table merges to if it stands in these
/// slots, and with the merges in vectors of the type `$merges`:
/// - `default`: of no row yet;
/// - `begin`: the merges of the bytes of a row, which become its symbols; a place without one has [`NONE`] or more;
/// - `lowest`: the lowest of them;
/// - `set`: another one at a place. At one that is of no byte there is none, so that it may be put or not;
/// - `left`: the symbols at those of the bytes' places that are left.
macro_rules! define {
    ($(#[$attribute:meta])* $name:ident, $width:ident, $merges:ty, $find:ident) => {
        $(#[$attribute])*
        pub(in crate::rows) fn $name<const K: usize>(
            table: &MergeTable,
            rows: [$width::Row; K],
        ) -> [$width::Merged; K] {
            const ONE: $width::Bits = 1;
            const PLACES: usize = $width::PLACES;
            const BEHIND: usize = $width::BEHIND;
            let mut symbols: [$width::Symbols; K] = [[NO_MERGE; _]; K];
            let mut places = [0; K];
            let mut merges = [<$merges>::default(); K];
            let mut asked = [(0, 0, [Asked::default(); 2]); K];
            for row in 0..K {
                let length = $width::length(&rows[row]);
                places[row] = ONE << BEHIND | (2 << length) - ONE;
                merges[row] = <$merges>::begin(table.grid(), &rows[row], length, &mut symbols[row]);
                // Lanes that are no bytes may have put something there.
                symbols[row][BEHIND] = NO_MERGE;
            }
            loop {
                let mut lowest_of_all = NONE;
                for row in 0..K {
                    let lowest = merges[row].lowest();
                    lowest_of_all = lowest_of_all.min(lowest);
                    // A row that is done has its steps behind all places.
                    let at = if lowest < NONE { lowest % PLACES as u32 } else { BEHIND as u32 };
                    let product = lowest >> PLACE;
                    let up_to = ONE << at ^ (ONE << at) - 1;
                    // `x & -x` is the lowest bit of `x`.
                    let behind = places[row] & !up_to;
                    let gone = behind & behind.wrapping_neg();
                    places[row] ^= gone;
                    let after = (behind ^ gone).trailing_zeros();
                    let before = (places[row] & up_to >> 1 | ONE).ilog2();
                    let symbols = &mut symbols[row];
                    symbols[at as usize % PLACES] = product;
                    let left = symbols[before as usize % PLACES];
                    let right = symbols[after as usize % PLACES];
                    merges[row].set(gone.trailing_zeros(), NONE);
                    asked[row] = (at, before, [table.ask(product, right), table.ask(left, product)]);
                }
                if lowest_of_all == NONE {
                    break;
                }
                for row in 0..K {
                    let (at, before, pairs) = asked[row];
                    let [right, left] = pairs.map(|pair| {
                        let slots = table.slots(pair);
                        let found = $find(slots, pair.key);
                        // No branch for each of both: most pairs are not there, and nearly all buckets have room.
                        let may_be_behind = (found == NO_MERGE) & (slots[SLOTS - 1] != EMPTY);
                        if may_be_behind { table.get_behind(pair) } else { found }
                    });
                    merges[row].set(at, right << PLACE | at);
                    merges[row].set(before, left << PLACE | before);
                }
            }
            std::array::from_fn(|row| <$merges>::left(&symbols[row], places[row] ^ ONE << BEHIND))
        }
    };
}
use define;

/// The symbols at the places that are left, without a branch at each.
#[inline]
fn one_by_one<const LANES: usize>(symbols: &[u32], places: u64) -> ([u32; LANES], usize) {
    let (mut merged, mut length) = ([0; LANES], 0);
    for (place, &symbol) in (1..LANES).zip(&symbols[1..]) {
        merged[length % LANES] = symbol;
        length += (places >> place & 1) as usize;
    }
    (merged, length)
}
