//! Short rows of numbers whose neighbours merge, the lowest product first, until none do.
//!
//! Every place keeps what it would merge to with its right neighbour, above the number of the place: the lowest
//! of these is the leftmost merge with the lowest product. They stand in one or two vectors. Which places
//! are left is a word of bits.
//!
//! A merge waits for the look-ups of the one before, and these go to memory that need not be near. So several
//! rows are merged side by side: all of them ask, and then all of them look.
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::cpu::Level;
use crate::merge_table::{MergeTable, NO_MERGE};

/// Bits for a place.
const PLACE: u32 = 4;

/// The most numbers of a row.
pub const LONGEST: usize = 1 << PLACE;

/// What is left of a row: in front, and how much.
pub type Merged = ([u32; LONGEST], usize);

/// In place of a merge where there is none; it is above all of them.
const NONE: u32 = NO_MERGE << PLACE;

/// Merges rows of at most [`LONGEST`] bytes each, by a table in which every product is above its parts.
/// Numbers of longer rows are left out.
#[inline]
pub fn merge_rows<const K: usize>(level: Level, table: &MergeTable, rows: [&[u8]; K]) -> [Merged; K] {
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
/// - `load`: from an array, one for each place;
/// - `lowest`: the lowest of them;
/// - `set`: another one at the place of a bit, at none for the lowest bit.
///
/// A place is a bit. The first one stands for what is before a row and the last one for what is behind:
/// there nothing merges. Whether a merge is at an edge cannot be foretold, so there is no branch for it.
macro_rules! define {
    ($(#[$attribute:meta])* $name:ident, $merges:ty) => {
        $(#[$attribute])*
        pub(super) fn $name<const K: usize>(table: &MergeTable, rows: [&[u8]; K]) -> [Merged; K] {
            // A bit of `going` for each row.
            const { assert!(K <= 32) };
            let mut symbols = [[NO_MERGE; 32]; K];
            let mut places = [1u32 << (LONGEST + 1) | 1; K];
            let mut merges = [<$merges>::load(&[NONE; LONGEST]); K];
            let mut asked = [(0, 0, [Asked::default(); 2]); K];
            let mut going = 0u32;
            for row in 0..K {
                let bytes = &rows[row][..rows[row].len().min(LONGEST)];
                places[row] |= ((1 << bytes.len()) - 1) << 1;
                for (symbol, &byte) in symbols[row][1..].iter_mut().zip(bytes) {
                    *symbol = u32::from(byte);
                }
                let mut first = [NONE; LONGEST];
                for ((place, merge), pair) in (0..).zip(&mut first).zip(bytes.windows(2)) {
                    *merge = table.get_bytes(pair[0], pair[1]) << PLACE | place;
                }
                merges[row] = <$merges>::load(&first);
                going |= 1 << row;
            }
            while going != 0 {
                for row in 0..K {
                    if going >> row & 1 == 0 {
                        continue;
                    }
                    let lowest = merges[row].lowest();
                    if lowest >= NONE {
                        going &= !(1 << row);
                        continue;
                    }
                    let product = lowest >> PLACE;
                    let at = 2u32 << (lowest % LONGEST as u32);
                    // `x & -x` is the lowest bit of `x`, and `-x` has all bits from it upwards.
                    let behind = places[row] & (at << 1).wrapping_neg();
                    let gone = behind & behind.wrapping_neg();
                    places[row] &= !gone;
                    let behind = behind & !gone;
                    let after = behind & behind.wrapping_neg();
                    let before = 1u32 << (places[row] & (at - 1) | 1).ilog2();
                    let symbols = &mut symbols[row];
                    symbols[at.trailing_zeros() as usize % 32] = product;
                    let left = symbols[before.trailing_zeros() as usize % 32];
                    let right = symbols[after.trailing_zeros() as usize % 32];
                    merges[row].set(gone, NONE);
                    asked[row] = (at, before, [table.ask(product, right), table.ask(left, product)]);
                }
                for row in 0..K {
                    if going >> row & 1 == 0 {
                        continue;
                    }
                    let (at, before, [right, left]) = asked[row];
                    let place = |bit: u32| (bit >> 1).trailing_zeros() % 32;
                    merges[row].set(at, table.get_asked(right) << PLACE | place(at));
                    merges[row].set(before, table.get_asked(left) << PLACE | place(before));
                }
            }
            std::array::from_fn(|row| {
                let (mut merged, mut length) = ([0; LONGEST], 0);
                let mut left = places[row] & ((1 << LONGEST) - 1) << 1;
                while left != 0 {
                    merged[length % LONGEST] = symbols[row][left.trailing_zeros() as usize % 32];
                    length += 1;
                    left &= left - 1;
                }
                (merged, length)
            })
        }
    };
}
use define;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;

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

    fn check<const K: usize>(table: &MergeTable, rows: [&[u8]; K]) {
        for level in cpu::available() {
            for (row, (merged, length)) in rows.iter().zip(merge_rows(level, table, rows)) {
                assert_eq!(merged[..length], plain(table, row), "{level}: {row:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn rows_merge_as_the_rule_says(
            merges in prop::collection::vec((0..40_usize, 0..40_usize), 0..120),
            rows in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=LONGEST), 8),
        ) {
            // Bytes 0 to 5, and then products.
            let mut table = MergeTable::with_capacity(merges.len());
            let mut symbols: Vec<u32> = (0..6).collect();
            let mut product = 300;
            for (left, right) in merges {
                if table.insert(symbols[left % symbols.len()], symbols[right % symbols.len()], product) {
                    symbols.push(product);
                    product += 7;
                }
            }
            let rows: [&[u8]; 8] = std::array::from_fn(|row| &rows[row][..]);
            check(&table, rows);
            check(&table, [rows[0]]);
            check(&table, [rows[1], rows[2]]);
        }
    }
}
