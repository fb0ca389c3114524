//! Tensors as pickles describe them: a view of a storage with strides.

use espalier_io::disk::dtype::Number;

/// Maximum size of one tensor; the largest table of token embeddings has a twentieth of it.
const MAX_NUMBERS: usize = 1 << 31;

/// Maximum size of a tensor that repeats numbers of its storage, as `expand` does. Weights never do,
/// and a few bytes could ask for gigabytes.
const MAX_REPEATED: usize = 1 << 20;

/// A sequence of numbers that several tensors can share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Name of its file in the archive.
    pub key: String,
    /// Storage format of the numbers.
    pub number: Number,
    /// Count of the numbers.
    pub len: usize,
}

/// A tensor: the numbers of a storage at `offset` plus multiples of `strides`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorView {
    /// Storage of its numbers.
    pub storage: Storage,
    /// Index of its first number in the storage.
    pub offset: usize,
    /// Lengths of its dimensions.
    pub shape: Vec<usize>,
    /// Steps between neighbours along each dimension.
    pub strides: Vec<usize>,
}

impl TensorView {
    /// Checks that a tensor lies inside its storage.
    pub(super) fn checked(self) -> Result<Self, String> {
        let outside = || {
            format!(
                "a tensor of shape {:?}, strides {:?} and offset {} does not lie inside its \
                 storage of {} numbers",
                self.shape, self.strides, self.offset, self.storage.len
            )
        };
        if self.shape.len() != self.strides.len() {
            return Err(outside());
        }
        let numbers = self
            .shape
            .iter()
            .try_fold(1_usize, |n, side| n.checked_mul(*side))
            .filter(|n| *n <= MAX_NUMBERS && *n <= self.storage.len.max(MAX_REPEATED))
            .ok_or_else(outside)?;
        if numbers > 0 {
            let sides = self.shape.iter().zip(&self.strides);
            let last = sides
                .map(|(side, stride)| (side - 1).checked_mul(*stride))
                .try_fold(self.offset, |at, step| at.checked_add(step?));
            if last.is_none_or(|last| last >= self.storage.len) {
                return Err(outside());
            }
        }
        Ok(self)
    }

    /// Returns whether its numbers are contiguous in row-major order.
    fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        let sides = self.shape.iter().zip(&self.strides).rev();
        for (side, stride) in sides.filter(|(side, _)| **side != 1) {
            if *stride != expected {
                return false;
            }
            expected *= side;
        }
        true
    }

    /// Returns the numbers of the tensor in row-major order, taken from those of its storage.
    ///
    /// # Errors
    /// A message if there is not enough memory.
    pub fn gather(&self, storage: &[f32]) -> Result<Vec<f32>, String> {
        let numbers: usize = self.shape.iter().product();
        let mut out = Vec::new();
        out.try_reserve_exact(numbers)
            .map_err(|e| format!("{numbers} numbers: {e}"))?;
        if numbers == 0 {
            return Ok(out);
        }
        if self.is_contiguous() {
            out.extend_from_slice(&storage[self.offset..self.offset + numbers]);
            return Ok(out);
        }
        let mut index = vec![0; self.shape.len()];
        let mut position = self.offset;
        for _ in 0..numbers {
            out.push(storage[position]);
            // Increment the index; the last dimension changes fastest.
            for dim in (0..index.len()).rev() {
                index[dim] += 1;
                // A dimension of length 1 may have any stride, so both sums may wrap.
                position = position.wrapping_add(self.strides[dim]);
                if index[dim] < self.shape[dim] {
                    break;
                }
                position = position.wrapping_sub(self.strides[dim].wrapping_mul(self.shape[dim]));
                index[dim] = 0;
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(offset: usize, shape: &[usize], strides: &[usize]) -> TensorView {
        TensorView {
            storage: Storage {
                key: "0".into(),
                number: Number::F32,
                len: 6,
            },
            offset,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
        }
    }

    #[test]
    fn strides_are_honoured() {
        let numbers = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let of = |v: TensorView| v.checked().unwrap().gather(&numbers).unwrap();
        assert_eq!(of(view(0, &[2, 3], &[3, 1])), numbers);
        assert_eq!(
            of(view(0, &[3, 2], &[1, 3])),
            [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
        );
        assert_eq!(of(view(1, &[2], &[4])), [1.0, 5.0]);
        assert_eq!(of(view(2, &[3], &[0])), [2.0; 3]);
        assert_eq!(of(view(5, &[], &[])), [5.0]);
        assert_eq!(of(view(4, &[2, 1], &[1, usize::MAX])), [4.0, 5.0]);
        assert_eq!(of(view(0, &[0, 9], &[9, 9])), [0.0; 0]);
    }

    #[test]
    fn a_tensor_outside_its_storage_is_refused() {
        for v in [
            view(0, &[7], &[1]),
            view(1, &[2, 3], &[3, 1]),
            view(6, &[], &[]),
            view(0, &[2], &[usize::MAX]),
            view(0, &[usize::MAX, 2], &[0, 0]),
            view(0, &[1 << 40], &[0]),
            view(0, &[(1 << 20) + 1], &[0]),
            view(0, &[2], &[1, 1]),
        ] {
            let message = v.clone().checked().unwrap_err();
            assert!(message.contains("does not lie inside"), "{v:?}: {message}");
        }
    }
}
