//! The sum of the vectors of all blocks, the same to the last bit for any number of threads.
//!
//! In: a vector for each block, in any order. Out: their sum, by the pairs of blocks, then by pairs of pairs. A vector is
//! added as soon as the other one of its pair is there, so that few are held at a time.
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// A sum that vectors are still added to.
#[derive(Debug)]
pub(super) struct TreeSum {
    /// The sums that wait for the other one of their pair. Node 1 is the sum of all; those below node `n` are `2n` and
    /// `2n + 1`.
    waiting: Mutex<Vec<Option<Vec<f64>>>>,
    blocks: usize,
}

impl TreeSum {
    /// For `blocks` blocks, a power of two.
    pub(super) fn new(blocks: usize) -> Self {
        debug_assert!(blocks.is_power_of_two());
        Self { waiting: Mutex::new(vec![None; 2 * blocks]), blocks }
    }

    /// Adds the vector of a block. All have the same length.
    #[allow(clippy::disallowed_methods)] // held for an exchange alone, by threads that end with the call
    pub(super) fn add(&self, block: usize, mut sum: Vec<f64>) {
        let mut node = self.blocks + block;
        while node > 1 {
            // The lock is not held while numbers are added.
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(other) = waiting[node ^ 1].take() else {
                waiting[node] = Some(sum);
                return;
            };
            drop(waiting);
            // The sum of two numbers does not depend on their order.
            sum.iter_mut().zip(&other).for_each(|(sum, other)| *sum += other);
            node /= 2;
        }
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)[1] = Some(sum);
    }

    /// The sum of all blocks.
    pub(super) fn finish(self) -> Result<Vec<f64>> {
        let mut waiting = self.waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
        waiting[1].take().ok_or_else(|| Error::internal("a block was not added"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_blocks_changes_no_bit() {
        let vector = |block: usize| (0..50).map(|i| 1.0 / (block * 50 + i + 1) as f64).collect::<Vec<f64>>();
        let sum = |order: &[usize]| {
            let sum = TreeSum::new(8);
            for &block in order {
                sum.add(block, vector(block));
            }
            sum.finish().unwrap()
        };
        let want = sum(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(want, sum(&[7, 6, 5, 4, 3, 2, 1, 0]));
        assert_eq!(want, sum(&[3, 0, 6, 1, 7, 4, 2, 5]));
        let plain: f64 = (0..8).map(|block| vector(block)[0]).sum();
        assert!((want[0] - plain).abs() < 1e-12);
    }
}
