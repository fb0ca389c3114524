//! Image features held in memory.

use std::fmt;

use half::f16;
use half::slice::HalfFloatSliceExt;

/// Pooled features of images, one row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// Number of rows.
    pub count: usize,
    /// Number of values per row.
    pub width: usize,
    /// `[count, width]`, row by row.
    pub values: Vec<f32>,
}

/// All feature rows of a dataset in half precision: 216,000 rows of 1,280 numbers take 553 MB.
pub struct FeatureRows {
    width: usize,
    count: usize,
    /// Blocks of rows, each with the index of its first row. There is one block per file, which
    /// avoids the memory peak of copying all rows.
    blocks: Vec<(usize, Vec<f16>)>,
}

impl fmt::Debug for FeatureRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {} numbers", self.count, self.width)
    }
}

impl FeatureRows {
    /// Creates an empty table; `width` is at least 1.
    pub fn new(width: usize) -> Self {
        Self {
            width: width.max(1),
            count: 0,
            blocks: Vec::new(),
        }
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of values per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Appends rows and returns the index of the first one. An incomplete last row is dropped.
    pub fn push(&mut self, mut values: Vec<f16>) -> usize {
        let (first, rows) = (self.count, values.len() / self.width);
        values.truncate(rows * self.width);
        if rows > 0 {
            self.blocks.push((first, values));
            self.count += rows;
        }
        first
    }

    /// Returns a row; empty if the row does not exist.
    pub fn row(&self, index: usize) -> &[f16] {
        let block = self.blocks.partition_point(|(first, _)| *first <= index);
        let Some((first, values)) = block.checked_sub(1).map(|block| &self.blocks[block]) else {
            return &[];
        };
        let from = (index - first) * self.width;
        values.get(from..from + self.width).unwrap_or_default()
    }

    /// Returns the given rows in `f32`, in that order; a missing row is all zeros.
    pub fn gather(&self, rows: &[u32]) -> Features {
        let mut values = vec![0.0; rows.len() * self.width];
        for (row, into) in rows.iter().zip(values.chunks_exact_mut(self.width)) {
            let from = self.row(*row as usize);
            if from.len() == into.len() {
                from.convert_to_f32_slice(into);
            }
        }
        Features {
            count: rows.len(),
            width: self.width,
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(values: &[f32]) -> Vec<f16> {
        values.iter().map(|v| f16::from_f32(*v)).collect()
    }

    #[test]
    fn gather_returns_rows_in_the_requested_order() {
        let mut rows = FeatureRows::new(2);
        assert_eq!(rows.push(half(&[1.0, 2.0, 3.0, 4.0])), 0);
        assert_eq!(rows.push(Vec::new()), 2);
        assert_eq!(rows.push(half(&[5.0, 6.0])), 2);
        assert_eq!((rows.count(), rows.width()), (3, 2));
        let found = rows.gather(&[2, 0, 1]);
        assert_eq!(found.values, [5.0, 6.0, 1.0, 2.0, 3.0, 4.0]);
        assert!(rows.row(3).is_empty());
        assert_eq!(rows.gather(&[7]).values, [0.0, 0.0]);
    }

    #[test]
    fn a_table_is_described_by_its_size() {
        let mut rows = FeatureRows::new(2);
        // The last number is no whole row.
        assert_eq!(rows.push(half(&[1.0])), 0);
        assert_eq!(rows.push(half(&[1.0, 2.0, 3.0])), 0);
        assert!(rows.blocks.iter().all(|(_, values)| !values.is_empty()));
        assert_eq!(format!("{rows:?}"), "1 rows of 2 numbers");
    }
}
