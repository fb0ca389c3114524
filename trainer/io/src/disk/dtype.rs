//! Conversion of stored numbers to `f32`.

use half::{bf16, f16};
use safetensors::Dtype;

/// Storage format of the numbers of a tensor, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// 32-bit floats.
    F32,
    /// 64-bit floats; rounded to 32 bits.
    F64,
    /// IEEE half precision.
    F16,
    /// bfloat16: 16 bits with the range of `f32`.
    Bf16,
    /// Integers and booleans of this many bytes: counters, positions, masks.
    Whole(usize),
}

impl Number {
    /// Returns the bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::F16 | Self::Bf16 => 2,
            Self::Whole(bytes) => bytes,
        }
    }

    /// Returns the format of a safetensors entry; `None` for formats that are not read.
    pub fn of(dtype: Dtype) -> Option<Self> {
        Some(match dtype {
            Dtype::F32 => Self::F32,
            Dtype::F64 => Self::F64,
            Dtype::F16 => Self::F16,
            Dtype::BF16 => Self::Bf16,
            Dtype::I64 | Dtype::U64 => Self::Whole(8),
            Dtype::I32 | Dtype::U32 => Self::Whole(4),
            Dtype::I16 | Dtype::U16 => Self::Whole(2),
            Dtype::I8 | Dtype::U8 | Dtype::BOOL => Self::Whole(1),
            _ => return None,
        })
    }

    /// Decodes bytes to numbers; an incomplete number at the end is dropped.
    ///
    /// # Errors
    /// A message for integers, because weights are never stored as integers.
    pub fn decode(self, bytes: &[u8]) -> Result<Vec<f32>, String> {
        Ok(match self {
            Self::F32 => numbers(bytes, f32::from_le_bytes),
            Self::F64 => numbers(bytes, |b| f64::from_le_bytes(b) as f32),
            Self::F16 => numbers(bytes, |b| f16::from_le_bytes(b).to_f32()),
            Self::Bf16 => numbers(bytes, |b| bf16::from_le_bytes(b).to_f32()),
            Self::Whole(_) => return Err("expected floats, found integers".into()),
        })
    }
}

fn numbers<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| read(*b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_float_format_is_read() {
        assert_eq!(Number::F32.decode(&1.5_f32.to_le_bytes()), Ok(vec![1.5]));
        assert_eq!(Number::F64.decode(&1.5_f64.to_le_bytes()), Ok(vec![1.5]));
        assert_eq!(Number::F16.decode(&[0, 0x3e]), Ok(vec![1.5]));
        assert_eq!(Number::Bf16.decode(&[0xc0, 0x3f]), Ok(vec![1.5]));
        assert!(Number::Whole(8).decode(&[0; 8]).is_err());
    }
}
