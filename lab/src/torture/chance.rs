//! Reproducible random numbers.

/// SplitMix64 (Steele et al. 2014): enough for choosing moments and lengths.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `[0, 1)`.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a whole number below `end`; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((self.fraction() * end as f64) as u64).min(end.saturating_sub(1))
    }

    /// Returns one of several values, of which there is at least one.
    pub(super) fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_alone_and_cover_their_range() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            (0..100).map(|_| chance.below(7)).collect::<Vec<u64>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for value in 0..7 {
            assert!(draw(1).contains(&value));
        }
        assert_eq!(Chance::new(0).below(0), 0);
    }
}
