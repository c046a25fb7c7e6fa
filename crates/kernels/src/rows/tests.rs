//! Rows of all widths, at every level and so many side by side, against the rule as it is written.
use proptest::prelude::*;

use super::*;
use crate::cpu;
use crate::short_table::{Key, key_at};

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
        if rows.iter().all(|row| row.len() <= narrow::LONGEST) {
            let keys = rows.map(|row| if row.is_empty() { 0 } else { key_at(row, 0, row.len()) | mark });
            for (row, merged) in rows.iter().zip(Narrow::merge(level, table, keys)) {
                assert_eq!(Narrow::left(&merged), plain(table, row), "{level}: {row:?}");
            }
        }
        if rows.iter().all(|row| row.len() <= wide::LONGEST) {
            for (row, merged) in rows.iter().zip(Wide::merge(level, table, rows.map(wide_row))) {
                assert_eq!(Wide::left(&merged), plain(table, row), "wide, {level}: {row:?}");
            }
        }
        for (row, merged) in rows.iter().zip(Widest::merge(level, table, rows.map(widest_row))) {
            assert_eq!(Widest::left(&merged), plain(table, row), "widest, {level}: {row:?}");
        }
    }
}

/// Merges of bytes 0 to 5, and of their products.
fn table(merges: Vec<(usize, usize)>) -> MergeTable {
    let mut table = MergeTable::with_capacity(0);
    let mut symbols: Vec<u32> = (0..6).collect();
    for (left, right) in merges {
        // In any order: some rank below their parts.
        let product = 300 + 7 * ((symbols.len() * 37 % 127) as u32);
        if table.insert(symbols[left % symbols.len()], symbols[right % symbols.len()], product) {
            symbols.push(product);
        }
    }
    table
}

proptest! {
    #[test]
    fn rows_merge_as_the_rule_says(
        merges in prop::collection::vec((0..40_usize, 0..40_usize), 0..120),
        rows in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=narrow::LONGEST), 8),
        long in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=wide::LONGEST), 8),
        longest in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=widest::LONGEST), 8),
        mark in 0..16_u8,
    ) {
        let table = table(merges);
        let mark = Key::from(mark) << 124;
        for rows in [rows, long, longest] {
            let rows: [&[u8]; 8] = std::array::from_fn(|row| &rows[row][..]);
            check(&table, rows, mark);
            check(&table, [rows[0]], mark);
            check(&table, [rows[1], rows[2]], mark);
        }
    }
}

#[test]
fn the_highest_numbers_merge_too() {
    let mut table = MergeTable::with_capacity(2);
    assert!(table.insert(255, 255, NO_MERGE - 2) && table.insert(NO_MERGE - 2, 254, NO_MERGE - 1));
    check(&table, [&[255; narrow::LONGEST], &[255, 255, 254], &[254, 255, 255], &[0]], 0);
    check(&table, [&[255; wide::LONGEST], &[255; wide::LONGEST - 1], &[], &[255; 17]], 0);
    check(&table, [&[255; widest::LONGEST], &[255; widest::LONGEST - 1], &[0; 48], &[255; 33]], 0);
}

/// Lanes behind the last byte are no bytes, though they have zeros.
#[test]
fn nothing_merges_behind_the_last_byte() {
    let mut table = MergeTable::with_capacity(2);
    assert!(table.insert(7, 0, 300) && table.insert(0, 0, 301));
    for length in 0..=widest::LONGEST {
        check(&table, [&vec![7; length][..], &[7, 0], &vec![0; length]], 0);
    }
}

#[test]
#[should_panic(expected = "out of range")]
fn more_bytes_than_a_row_has_are_none() {
    wide_row(&[0; wide::LONGEST + 1]);
}

#[test]
#[should_panic(expected = "out of range")]
fn more_bytes_than_the_widest_row_has_are_none() {
    widest_row(&[0; widest::LONGEST + 1]);
}
