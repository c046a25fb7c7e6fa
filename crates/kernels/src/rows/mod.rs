//! Short rows of numbers whose neighbours merge, the lowest product first, until none do.
//!
//! Every place keeps what it would merge to with its right neighbour, above the number of the place: the lowest
//! of these is the leftmost merge with the lowest product. They stand in one or two vectors. Which places
//! are left is a word of bits.
//!
//! A merge waits for the look-ups of the one before, and these go to memory that need not be near. So several
//! rows are merged side by side: all of them ask, and then all of them look. They go on together until the
//! last is done: when a row is done cannot be foretold, and a branch that is foretold wrongly costs more than steps
//! that change nothing.
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::cpu::Level;
use crate::merge_table::{MergeTable, NO_MERGE};
use crate::short_table::{Key, SHORT};

/// The most bytes of a row.
pub const LONGEST: usize = SHORT;

/// Numbers in a vector, or in two.
const LANES: usize = LONGEST + 1;

/// What is left of a row: in front, and how much.
pub type Merged = ([u32; LANES], usize);

/// Bits for a place. The first byte of a row is at place 1. At place 0 is what is before it, and what is behind it
/// is at [`BEHIND`]: there nothing merges.
const PLACE: u32 = 5;
const PLACES: usize = 1 << PLACE;
const BEHIND: u32 = LONGEST as u32 + 2;

/// Merges are below this; the number of their place is in the lowest bits.
const NONE: u32 = NO_MERGE << PLACE;

/// The numbers at all places.
type Symbols = [u32; PLACES];

/// Merges rows of bytes, as [`short_table::key_at`](crate::short_table::key_at) gives them, by a table in which
/// every product is above its parts and above all bytes. Only the lowest four bits of a key's highest byte are its length.
#[inline]
pub fn merge_rows<const K: usize>(level: Level, table: &MergeTable, rows: [Key; K]) -> [Merged; K] {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if Level::Avx512.is_available() => {
            // SAFETY: the features of the level were found to be there in this very arm.
            unsafe { x86::merge_rows_avx512(table, rows) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if Level::Avx2.is_available() => {
            // SAFETY: the features of the level were found to be there in this very arm.
            unsafe { x86::merge_rows_avx2(table, rows) }
        }
        _ => portable::merge_rows_portable(table, rows),
    }
}

/// The same for all levels, with the merges in vectors of the type `$merges`:
/// - `default`: of no row yet;
/// - `begin`: the merges of the bytes of a row, which become its symbols; a place without one has [`NONE`] or more;
/// - `lowest`: the lowest of them;
/// - `set`: another one at a place; at none where the place is that of no byte;
/// - `find`: what a pair of the table merges to, if it stands in these slots;
/// - `left`: the symbols at the places that are left.
macro_rules! define {
    ($(#[$attribute:meta])* $name:ident, $merges:ty) => {
        $(#[$attribute])*
        pub(super) fn $name<const K: usize>(table: &MergeTable, rows: [Key; K]) -> [Merged; K] {
            let mut symbols = [[NO_MERGE; PLACES]; K];
            let mut places = [0; K];
            let mut merges = [<$merges>::default(); K];
            let mut asked = [(0, 0, [Asked::default(); 2]); K];
            for row in 0..K {
                let length = (rows[row] >> 120) as u32 % LANES as u32;
                places[row] = 1u32 << BEHIND | (2 << length) - 1;
                merges[row] = <$merges>::begin(table.grid(), rows[row], length, &mut symbols[row]);
            }
            loop {
                let mut lowest_of_all = NONE;
                for row in 0..K {
                    let lowest = merges[row].lowest();
                    lowest_of_all = lowest_of_all.min(lowest);
                    // A row that is done has its steps behind all places.
                    let at = if lowest < NONE { lowest % PLACES as u32 } else { PLACES as u32 - 1 };
                    let product = lowest >> PLACE;
                    let up_to = 1 << at ^ (1 << at) - 1;
                    // `x & -x` is the lowest bit of `x`.
                    let behind = places[row] & !up_to;
                    let gone = behind & behind.wrapping_neg();
                    places[row] ^= gone;
                    let after = (behind ^ gone).trailing_zeros();
                    let before = (places[row] & up_to >> 1 | 1).ilog2();
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
                        let found = <$merges>::find(slots, pair.key);
                        // No branch for each of both: most pairs are not there, and nearly all buckets have room.
                        let may_be_behind = (found == NO_MERGE) & (slots[SLOTS - 1] != EMPTY);
                        if may_be_behind { table.get_behind(pair) } else { found }
                    });
                    merges[row].set(at, right << PLACE | at);
                    merges[row].set(before, left << PLACE | before);
                }
            }
            std::array::from_fn(|row| <$merges>::left(&symbols[row], places[row]))
        }
    };
}
use define;

/// The symbols at the places that are left, without a branch at each.
#[inline]
fn one_by_one(symbols: &Symbols, places: u32) -> Merged {
    let (mut merged, mut length) = ([0; LANES], 0);
    for (place, &symbol) in (1..=LONGEST).zip(&symbols[1..]) {
        merged[length % LANES] = symbol;
        length += (places >> place & 1) as usize;
    }
    (merged, length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;
    use crate::short_table::key_at;

    /// As the rule is written.
    fn plain(table: &MergeTable, bytes: &[u8]) -> Vec<u32> {
        let mut row: Vec<u32> = bytes.iter().copied().map(u32::from).collect();
        loop {
            let merges = row.windows(2).enumerate();
            let merges = merges.map(|(place, pair)| (table.get(pair[0], pair[1]), place));
            match merges.min() {
                Some((product, place)) if product != NO_MERGE => {
                    row.splice(place..place + 2, [product]);
                }
                _ => return row,
            }
        }
    }

    fn check<const K: usize>(table: &MergeTable, rows: [&[u8]; K], mark: Key) {
        for level in cpu::available() {
            let keys = rows.map(|row| if row.is_empty() { 0 } else { key_at(row, 0, row.len()) | mark });
            for (row, (merged, length)) in rows.iter().zip(merge_rows(level, table, keys)) {
                assert_eq!(merged[..length], plain(table, row), "{level}: {row:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn rows_merge_as_the_rule_says(
            merges in prop::collection::vec((0..40_usize, 0..40_usize), 0..120),
            rows in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=LONGEST), 8),
            mark in 0..16_u8,
        ) {
            // Bytes 0 to 5, and then products.
            let mut table = MergeTable::with_capacity(0);
            let mut symbols: Vec<u32> = (0..6).collect();
            let mut product = 300;
            for (left, right) in merges {
                if table.insert(symbols[left % symbols.len()], symbols[right % symbols.len()], product) {
                    symbols.push(product);
                    product += 7;
                }
            }
            let mark = Key::from(mark) << 124;
            let rows: [&[u8]; 8] = std::array::from_fn(|row| &rows[row][..]);
            check(&table, rows, mark);
            check(&table, [rows[0]], mark);
            check(&table, [rows[1], rows[2]], mark);
        }
    }

    #[test]
    fn the_highest_numbers_merge_too() {
        let mut table = MergeTable::with_capacity(2);
        assert!(table.insert(255, 255, NO_MERGE - 2) && table.insert(NO_MERGE - 2, 254, NO_MERGE - 1));
        check(&table, [&[255; LONGEST], &[255, 255, 254], &[254, 255, 255], &[0]], 0);
    }
}
