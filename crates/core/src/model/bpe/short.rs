//! Merging the bytes of a short pretoken, all on the stack.
//!
//! Every place keeps what it would merge to with its right neighbour, above the number of the place:
//! the lowest of these numbers is the leftmost merge of lowest rank. The search looks at all places
//! of the row, in vectors; places never move, they are chained.
use tokenmill_kernels::{MergeTable, NO_MERGE};

/// Bits for a place.
const PLACE: u32 = 4;

/// No place follows, or none stands before.
const END: u8 = u8::MAX;

/// Merges 1 to N bytes, N being at most 16; what is left stands in front of `row`, and the result is
/// how many that are.
#[inline]
pub(super) fn merge<const N: usize>(table: &MergeTable, bytes: &[u8], row: &mut [u32; N]) -> usize {
    const { assert!(N <= 1 << PLACE) };
    let bytes = &bytes[..bytes.len().min(N)];
    // Numbers stay positive, so that vectors without unsigned comparison do.
    let merge = |product: u32, place: usize| (product << PLACE) as i32 | place as i32;
    let none = merge(NO_MERGE, 0);
    let mut merges = [none; N];
    let mut next = [END; N];
    let mut previous = [END; N];
    for (place, &byte) in bytes.iter().enumerate() {
        row[place] = u32::from(byte);
    }
    for (place, pair) in bytes.windows(2).enumerate() {
        merges[place] = merge(table.get_bytes(pair[0], pair[1]), place);
        next[place] = place as u8 + 1;
        previous[place + 1] = place as u8;
    }
    loop {
        let lowest = merges.iter().copied().fold(none, i32::min);
        if lowest >= none {
            break;
        }
        let lowest = lowest.cast_unsigned();
        let product = lowest >> PLACE;
        let at = lowest as usize % N.next_power_of_two();
        let gone = usize::from(next[at]);
        let (before, after) = (usize::from(previous[at]), usize::from(next[gone]));
        row[at] = product;
        merges[gone] = none;
        merges[at] = none;
        next[at] = after as u8;
        if after < N {
            previous[after] = at as u8;
            merges[at] = merge(table.get_product(product, row[after]), at);
        }
        if before < N {
            merges[before] = merge(table.get_product(row[before], product), before);
        }
    }
    let mut length = 0;
    let mut at = 0;
    while at < N {
        row[length] = row[at];
        length += 1;
        at = usize::from(next[at]);
    }
    length.min(bytes.len())
}
