//! Embeddings on the host: one block of memory, row by row.

/// Points of one width, row major.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    width: usize,
    data: Vec<f32>,
}

impl Points {
    /// Returns the points from concatenated rows; an incomplete last row is dropped.
    pub fn new(width: usize, mut data: Vec<f32>) -> Self {
        let complete = data.len().checked_div(width).unwrap_or(0) * width;
        data.truncate(complete);
        Self { width, data }
    }

    /// Returns the points from separate rows of one width.
    pub fn from_rows(rows: &[Vec<f32>]) -> Self {
        Self::new(rows.first().map_or(0, Vec::len), rows.concat())
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.data.len().checked_div(self.width).unwrap_or(0)
    }

    /// Returns whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of coordinates of a point.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns all coordinates, row by row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// Returns all coordinates, row by row, without a copy.
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }

    /// Returns a point.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.data[index * self.width..(index + 1) * self.width]
    }

    /// Returns all points in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        // Width 0 implies that there is no data.
        self.data.chunks_exact(self.width.max(1))
    }

    /// Returns the points at the given indices, in that order; an index may repeat.
    pub fn select(&self, indices: &[usize]) -> Self {
        let data = indices.iter().flat_map(|index| self.row(*index)).copied();
        Self {
            width: self.width,
            data: data.collect(),
        }
    }

    /// Returns the index of the first row with a value that is not finite.
    pub fn first_not_finite(&self) -> Option<usize> {
        let index = self.data.iter().position(|v| !v.is_finite())?;
        index.checked_div(self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_coordinates() {
        let points = Points::from_rows(&[vec![1.0, 2.0], vec![3.0, 4.0]]);
        assert_eq!((points.len(), points.width()), (2, 2));
        assert_eq!(points.row(1), [3.0, 4.0]);
        assert_eq!(points.rows().count(), 2);
        let selected = points.select(&[1, 1, 0]);
        assert_eq!(selected.data(), [3.0, 4.0, 3.0, 4.0, 1.0, 2.0]);
        assert_eq!(points.first_not_finite(), None);
        let broken = Points::new(2, vec![1.0, 2.0, f32::NAN, 0.0]);
        assert_eq!(broken.first_not_finite(), Some(1));
    }

    #[test]
    fn an_empty_set_has_no_rows() {
        let none = Points::from_rows(&[]);
        assert!(none.is_empty() && none.rows().next().is_none());
        assert_eq!(none.first_not_finite(), None);
    }
}
