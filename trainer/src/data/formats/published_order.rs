//! The order in which TensorFlow Datasets keeps the examples of a split, for benchmarks whose test
//! pictures are a range of it (notation 6.1): by the MD5 of the split's name and the example's key,
//! read as one large number. Which examples `train[10000:15000]` holds follows from file names
//! alone.

use std::ops::Range;

use md5::{Digest, Md5};

/// Test pictures that are a range of a split in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Name of the benchmark.
    pub dataset: &'static str,
    /// Split that is cut, as its authors name it.
    pub split: &'static str,
    /// Pictures of the whole split.
    pub whole: usize,
    /// Those that are judged, by their places.
    pub range: Range<usize>,
}

/// Every benchmark of this kind. Percents of a split are rounded to the nearest example.
pub const SLICES: [Slice; 3] = [
    Slice {
        dataset: "eurosat",
        split: "train",
        whole: 27_000,
        range: 10_000..15_000,
    },
    Slice {
        dataset: "resisc45",
        split: "train",
        whole: 31_500,
        range: 6_300..31_500,
    },
    Slice {
        dataset: "clevr",
        split: "validation",
        whole: 15_000,
        range: 0..5_000,
    },
];

impl Slice {
    /// The slice of a benchmark, if it is one of them.
    #[must_use]
    pub fn of(dataset: &str) -> Option<&'static Self> {
        SLICES.iter().find(|slice| slice.dataset == dataset)
    }

    /// As TensorFlow Datasets writes it.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}[{}:{}]", self.split, self.range.start, self.range.end)
    }

    /// The judged ones of all items in their order.
    pub fn cut<T>(&self, items: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
        let hashed = |item: T| {
            let mut hash = Md5::new();
            hash.update(self.split);
            hash.update(key(&item));
            (<[u8; 16]>::from(hash.finalize()), item)
        };
        let mut items: Vec<_> = items.into_iter().map(hashed).collect();
        items.sort_by_key(|(hash, _)| *hash);
        let judged = items.into_iter().skip(self.range.start);
        judged
            .take(self.range.len())
            .map(|(_, item)| item)
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
            whole: 3,
            range: 1..3,
        };
        let cut = slice.cut(vec!["alpha", "beta", "gamma"], |k| (*k).to_owned());
        assert_eq!(cut, ["gamma", "alpha"]);
    }

    #[test]
    fn slices_lie_within_their_split() {
        for slice in &SLICES {
            assert!(slice.range.end <= slice.whole && !slice.range.is_empty());
        }
        assert_eq!(
            Slice::of("eurosat").map(Slice::words).as_deref(),
            Some("train[10000:15000]")
        );
        assert_eq!(Slice::of("food101"), None);
    }
}
