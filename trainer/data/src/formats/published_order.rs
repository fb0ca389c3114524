//! The order in which TensorFlow Datasets stores the examples of a split, for benchmarks whose test
//! images are a range of it (notation 6.1). Examples are sorted by the MD5 of the split's name and
//! the example's key, read as one large number. The contents of `train[10000:15000]` therefore
//! follow from file names alone.

use std::ops::Range;

use md5::{Digest, Md5};

/// Test images that are a range of a split in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Name of the benchmark.
    pub dataset: &'static str,
    /// The split that is sliced, as its authors name it.
    pub split: &'static str,
    /// Number of images of the whole split.
    pub split_size: usize,
    /// Positions of the test images.
    pub range: Range<usize>,
}

/// All benchmarks of this kind. Percentages of a split are rounded to the nearest example.
pub const SLICES: [Slice; 3] = [
    Slice {
        dataset: "eurosat",
        split: "train",
        split_size: 27_000,
        range: 10_000..15_000,
    },
    Slice {
        dataset: "resisc45",
        split: "train",
        split_size: 31_500,
        range: 6_300..31_500,
    },
    Slice {
        dataset: "clevr",
        split: "validation",
        split_size: 15_000,
        range: 0..5_000,
    },
];

impl Slice {
    /// Returns the slice of a benchmark, if it is one of them.
    pub fn of(dataset: &str) -> Option<&'static Self> {
        SLICES.iter().find(|slice| slice.dataset == dataset)
    }

    /// Formats the slice as TensorFlow Datasets writes it.
    pub fn description(&self) -> String {
        format!("{}[{}:{}]", self.split, self.range.start, self.range.end)
    }

    /// Selects the slice from all items, in the order of TensorFlow Datasets.
    pub fn select<T>(&self, items: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
        let hashed = |item: T| {
            let mut hash = Md5::new();
            hash.update(self.split);
            hash.update(key(&item));
            (<[u8; 16]>::from(hash.finalize()), item)
        };
        let mut items: Vec<_> = items.into_iter().map(hashed).collect();
        items.sort_by_key(|(hash, _)| *hash);
        let sorted = items.into_iter().map(|(_, item)| item);
        sorted
            .skip(self.range.start)
            .take(self.range.len())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_by_the_hash_of_split_and_key() {
        // `printf trainbeta | md5sum` and so on: beta 0fc9.., gamma 368a.., alpha c0f9...
        let slice = Slice {
            dataset: "",
            split: "train",
            split_size: 3,
            range: 1..3,
        };
        let selected = slice.select(vec!["alpha", "beta", "gamma"], |k| (*k).to_owned());
        assert_eq!(selected, ["gamma", "alpha"]);
    }

    #[test]
    fn slices_lie_within_their_split() {
        for slice in &SLICES {
            assert!(slice.range.end <= slice.split_size && !slice.range.is_empty());
        }
        assert_eq!(
            Slice::of("eurosat").map(Slice::description).as_deref(),
            Some("train[10000:15000]")
        );
        assert_eq!(Slice::of("food101"), None);
    }
}
