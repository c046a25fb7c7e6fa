//! Random numbers, for random segmentations and texts.
//!
//! In: a seed. Out: numbers, which must be the same on every machine and in every version. This is SplitMix64: one
//! addition and one mixing of 64 bits for each number.

/// A generator, made from a seed.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The numbers that belong to `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, each as likely as the others; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The upper half of a product with 64 random bits. Products whose lower half is below 2^64 mod `bound` are
        // drawn again: without them each number has the same count of products.
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if bound == 0 || product as u64 >= bound || product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number from 0 up to 1, 1 not included, in steps of 2^-53.
    #[allow(clippy::cast_precision_loss)] // 53 bits are what an f64 holds exactly
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_numbers() {
        // The first outputs of SplitMix64 for the seed 1234567, as its authors print them.
        let mut random = Random::new(1_234_567);
        let first: [u64; 3] = std::array::from_fn(|_| random.bits());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_below_a_bound_are_equally_likely() {
        let mut random = Random::new(3);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        // Half of the products are drawn again here.
        let bound = (1 << 63) + 1;
        assert!((0..1000).all(|_| random.below(bound) < bound));
    }

    #[test]
    fn chances_are_kept_within_what_is_likely() {
        let mut random = Random::new(7);
        let hits = (0..100_000).filter(|_| random.chance(0.25)).count();
        assert!((24_500..25_500).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| random.chance(1.0) && !random.chance(0.0)));
    }
}
