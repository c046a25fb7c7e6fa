//! Packing: distributes pieces of text over windows of equal length by best fit, which leaves little space unused.
//!
//! In: the length of each piece. Out: the number of each piece's window. No piece is cut.
use std::collections::BTreeMap;

use tokenmill_kernels::try_alloc;

use crate::error::{Error, Result};
use crate::watch::{Ticker, Watch};

/// The window of each piece, by best fit: the longest pieces first, each into the window with the least free space
/// that it fits into, or into a new one. Of windows with equal free space, the one that reached it last is taken.
/// Windows are numbered in the order of their first pieces in the input. Cost: n log n.
///
/// # Errors
/// An argument error for a piece that is longer than a window.
pub fn best_fit(lengths: &[usize], window: usize, watch: &dyn Watch) -> Result<Vec<usize>> {
    let mut order = try_alloc::collect((0..lengths.len()).map(Result::Ok))?;
    order.sort_unstable_by_key(|&piece: &usize| (std::cmp::Reverse(lengths[piece]), piece));
    let mut ticker = Ticker::new(watch);
    let mut windows = 0;
    let mut window_of = try_alloc::filled(0, lengths.len())?;
    // Windows by their free space.
    let mut by_space: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for piece in order {
        ticker.spend(16)?;
        let length = lengths[piece];
        if length > window {
            let reason = format!("a piece of {length} ids does not fit into a window of {window}");
            return Err(Error::argument(reason));
        }
        let found = by_space.range_mut(length..).next().and_then(|(&space, of_space)| {
            let window = of_space.pop()?;
            Some((space, window, of_space.is_empty()))
        });
        let (space, chosen) = if let Some((space, chosen, is_last)) = found {
            if is_last {
                by_space.remove(&space);
            }
            (space, chosen)
        } else {
            windows += 1;
            (window, windows - 1)
        };
        window_of[piece] = chosen;
        if space > length {
            try_alloc::push(by_space.entry(space - length).or_default(), chosen)?;
        }
    }
    // Windows are renumbered in the order of the pieces.
    let mut number_of = try_alloc::filled(None, windows)?;
    let mut next = 0;
    for window in &mut window_of {
        let number = number_of[*window].unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        number_of[*window] = Some(number);
        *window = number;
    }
    Ok(window_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn each_piece_takes_the_window_with_the_least_room_for_it() {
        let windows = best_fit(&[3, 7, 2, 6, 4, 10], 10, &Unwatched).expect("all fit");
        assert_eq!(windows, [0, 0, 1, 2, 2, 3]);
    }

    #[test]
    fn a_piece_that_is_too_long_is_refused() {
        assert!(best_fit(&[3, 11], 10, &Unwatched).is_err());
        assert_eq!(best_fit(&[], 10, &Unwatched).expect("nothing"), []);
    }

    #[test]
    fn no_window_is_too_full_and_no_two_could_be_one() {
        let mut state = 1_u64;
        let lengths: Vec<usize> = (0..2000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1 + (state >> 33) as usize % 64
            })
            .collect();
        let windows = best_fit(&lengths, 64, &Unwatched).expect("all fit");
        let mut sums = vec![0; windows.iter().max().map_or(0, |last| last + 1)];
        for (&window, length) in windows.iter().zip(&lengths) {
            sums[window] += length;
        }
        assert!(sums.iter().all(|&sum| sum <= 64));
        sums.sort_unstable();
        assert!(sums[0] + sums[1] > 64, "two windows would have fitted into one");
    }
}
