//! Compares the merges of all sizes of inputs, at every level and several at a time, with the plain rule.
use proptest::prelude::*;

use super::*;
use crate::cpu;
use crate::merge_table::NO_MERGE;
use crate::short_table::{Key, key_at};

/// The rule of byte-pair encoding, one merge at a time.
fn plain(table: &MergeTable, bytes: &[u8]) -> Vec<u32> {
    let mut symbols: Vec<u32> = bytes.iter().copied().map(u32::from).collect();
    loop {
        let merges = symbols.windows(2).enumerate();
        let merges = merges.map(|(at, pair)| (table.get(pair[0], pair[1]), at));
        match merges.min() {
            Some((product, at)) if product != NO_MERGE => {
                symbols.splice(at..at + 2, [product]);
            }
            _ => return symbols,
        }
    }
}

fn check<const K: usize>(table: &MergeTable, inputs: [&[u8]; K], mark: Key) {
    for level in cpu::available() {
        if inputs.iter().all(|input| input.len() <= narrow::LONGEST) {
            let keys =
                inputs.map(|input| if input.is_empty() { 0 } else { key_at(input, 0, input.len()) | mark });
            for (input, merged) in inputs.iter().zip(Narrow::merge(level, table, keys)) {
                assert_eq!(Narrow::symbols(&merged), plain(table, input), "{level}: {input:?}");
            }
        }
        if inputs.iter().all(|input| input.len() <= wide::LONGEST) {
            for (input, merged) in inputs.iter().zip(Wide::merge(level, table, inputs.map(wide_input))) {
                assert_eq!(Wide::symbols(&merged), plain(table, input), "wide, {level}: {input:?}");
            }
        }
        for (input, merged) in inputs.iter().zip(Widest::merge(level, table, inputs.map(widest_input))) {
            assert_eq!(Widest::symbols(&merged), plain(table, input), "widest, {level}: {input:?}");
        }
    }
}

/// A table of merges of the bytes 0 to 5 and of their products.
fn table(merges: Vec<(usize, usize)>) -> MergeTable {
    let mut table = MergeTable::with_capacity(0);
    let mut symbols: Vec<u32> = (0..6).collect();
    for (left, right) in merges {
        // Products are numbered in no order, so some are below the products of which they are made.
        let product = 300 + 7 * ((symbols.len() * 37 % 127) as u32);
        if table.insert(symbols[left % symbols.len()], symbols[right % symbols.len()], product) {
            symbols.push(product);
        }
    }
    table
}

proptest! {
    #[test]
    fn inputs_merge_as_the_rule_says(
        merges in prop::collection::vec((0..40_usize, 0..40_usize), 0..120),
        short in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=narrow::LONGEST), 8),
        long in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=wide::LONGEST), 8),
        longest in prop::collection::vec(prop::collection::vec(0..6_u8, 0..=widest::LONGEST), 8),
        mark in 0..16_u8,
    ) {
        let table = table(merges);
        let mark = Key::from(mark) << 124;
        for inputs in [short, long, longest] {
            let inputs: [&[u8]; 8] = std::array::from_fn(|i| &inputs[i][..]);
            check(&table, inputs, mark);
            check(&table, [inputs[0]], mark);
            check(&table, [inputs[1], inputs[2]], mark);
        }
    }
}

#[test]
fn the_highest_symbols_merge_too() {
    let mut table = MergeTable::with_capacity(2);
    assert!(table.insert(255, 255, NO_MERGE - 2) && table.insert(NO_MERGE - 2, 254, NO_MERGE - 1));
    check(&table, [&[255; narrow::LONGEST], &[255, 255, 254], &[254, 255, 255], &[0]], 0);
    check(&table, [&[255; wide::LONGEST], &[255; wide::LONGEST - 1], &[], &[255; 17]], 0);
    check(&table, [&[255; widest::LONGEST], &[255; widest::LONGEST - 1], &[0; 48], &[255; 33]], 0);
}

/// Lanes after the last byte contain zeros, which must not be read as bytes.
#[test]
fn nothing_merges_after_the_last_byte() {
    let mut table = MergeTable::with_capacity(2);
    assert!(table.insert(7, 0, 300) && table.insert(0, 0, 301));
    for length in 0..=widest::LONGEST {
        check(&table, [&vec![7; length][..], &[7, 0], &vec![0; length]], 0);
    }
}

#[test]
#[should_panic(expected = "out of range")]
fn a_wide_input_of_too_many_bytes_panics() {
    wide_input(&[0; wide::LONGEST + 1]);
}

#[test]
#[should_panic(expected = "out of range")]
fn a_widest_input_of_too_many_bytes_panics() {
    widest_input(&[0; widest::LONGEST + 1]);
}
