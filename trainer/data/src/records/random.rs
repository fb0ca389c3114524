//! Random numbers as a pure function of seed, purpose, epoch and index.
//!
//! Every draw comes from ChaCha8 keyed by `(seed, purpose, epoch, index)`. Any sample of any epoch
//! can therefore be reproduced alone, on any machine, with any number of workers. The code does not
//! rely on the value stability of another crate's distributions: the stream cipher is fixed by its
//! specification, and the rest is implemented below.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Purpose of the random numbers; streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Order of the units of an epoch.
    Units = 1,
    /// Order of the records of a group of units.
    Group = 2,
    /// Choice of the box and augmentation of one sample.
    Sample = 3,
    /// Contents of one synthetic record.
    Synthetic = 4,
    /// Choice of the patches that a training step processes.
    Patches = 5,
    /// Choice of the ancestor (hypernym) that replaces a phrase.
    Hypernym = 6,
    /// Choice of the records that an epoch takes from a weighted source.
    Weight = 7,
    /// Starting positions of the points of a figure.
    Figure = 8,
    /// Texts of the labels of a training step.
    Labels = 9,
    /// Pairs of texts of a training step.
    Order = 10,
    /// Outlier images of a training step.
    Outliers = 11,
    /// Augmentation of an image whose features are precomputed.
    View = 12,
    /// Features drawn from a classifier for a training step.
    SyntheticFeatures = 13,
    /// Nouns of a training step and their phrasing.
    Nouns = 14,
    /// Labels that are held out and taught in a round of an evaluation, and their images.
    Teach = 15,
    /// Images that an evaluation puts side by side.
    Pairs = 16,
    /// Seeds of the lanes of a dataset.
    Lanes = 17,
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Creates the stream of `(seed, purpose, epoch, index)`.
    ///
    /// The ChaCha8 key is these four numbers, 64 bits each, little-endian, in this order; the
    /// nonce is 0.
    pub fn new(seed: u64, purpose: Purpose, epoch: u64, index: u64) -> Self {
        let mut key = [0_u8; 32];
        let words = [seed, purpose as u64, epoch, index];
        for (bytes, word) in key.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws uniformly from [0, 1): a multiple of 2^-24, so exact in f32.
    pub fn uniform(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 / 16_777_216.0
    }

    /// Draws uniformly from `0..n` without bias (Lemire 2019, "Fast random integer generation in an
    /// interval"); returns 0 when `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        let mut product = u64::from(self.0.next_u32()) * u64::from(n);
        if (product as u32) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u32) < threshold {
                product = u64::from(self.0.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    /// Shuffles by Fisher-Yates, from the last element to the second.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // Units and groups are far smaller than 2^32.
            let other = self.below(u32::try_from(last + 1).unwrap_or(u32::MAX)) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of these numbers changes the order of every resumed run. They were computed with
    /// another implementation, from the definition of ChaCha with 8 rounds.
    #[test]
    fn the_streams_are_those_of_the_first_release() {
        let mut random = Random::new(7, Purpose::Sample, 2, 11);
        let draws: Vec<u32> = (0..4).map(|_| random.below(1000)).collect();
        assert_eq!(draws, [914, 420, 134, 108]);
        let mut items: Vec<u32> = (0..8).collect();
        Random::new(0, Purpose::Units, 0, 0).shuffle(&mut items);
        assert_eq!(items, [3, 0, 5, 7, 6, 4, 1, 2]);
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut random = Random::new(1, Purpose::Group, 0, 0);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[random.below(6) as usize] += 1;
        }
        for count in counts {
            assert!((9_500..10_500).contains(&count), "{counts:?}");
        }
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn uniform_stays_below_one_and_has_mean_a_half() {
        let mut random = Random::new(1, Purpose::Sample, 0, 3);
        let draws: Vec<f32> = (0..20_000).map(|_| random.uniform()).collect();
        assert!(draws.iter().all(|&u| (0.0..1.0).contains(&u)));
        let mean = draws.iter().sum::<f32>() / draws.len() as f32;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn purposes_epochs_and_indices_give_different_streams() {
        let first = |p, e, i| Random::new(3, p, e, i).below(u32::MAX);
        let base = first(Purpose::Sample, 0, 0);
        assert_ne!(base, first(Purpose::Group, 0, 0));
        assert_ne!(base, first(Purpose::Sample, 1, 0));
        assert_ne!(base, first(Purpose::Sample, 0, 1));
    }
}
