//! How the tensors of a bundle are stored.

use espalier_core::bundle::pack;
use espalier_core::weights::{HostTensor, Tensors, q8};

use super::pieces;
use crate::cli::ExportDtype;

/// A file of tensors as it is stored.
pub(super) struct Stored {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// Word for what it holds.
    pub(super) dtype: &'static str,
    /// Length of its content where that was deflated.
    pub(super) unpacked: Option<u64>,
}

impl Stored {
    /// A file that is stored as it is.
    pub(super) fn plain(dtype: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            dtype,
            unpacked: None,
        }
    }
}

/// Kernels of inverted residuals with fewer numbers than this keep 8 bits.
const SMALL: usize = 1 << 15;

/// Whether 63 levels are too few for a tensor. Of an EfficientNet-Lite these are the depthwise
/// kernels and the narrow convolutions of the first blocks: a fourteenth of its numbers, and most of
/// what `q6` would lose.
fn needs_eight_bits(name: &str, tensor: &HostTensor) -> bool {
    let is_kernel = name.starts_with("visual._") && tensor.shape.len() == 4;
    is_kernel && (tensor.shape[1] == 1 || tensor.data.len() < SMALL)
}

impl ExportDtype {
    /// Its word in a manifest, and the largest value of a matrix of a tower; none where that stays in
    /// 32-bit floats.
    fn levels(self) -> (&'static str, Option<i8>) {
        match self {
            Self::Q8 => ("q8", Some(q8::Q8)),
            Self::Q6 => ("q6", Some(q8::Q6)),
            Self::Fp32 => ("f32", None),
        }
    }

    /// A file of embeddings. They are few and every answer rests on them: never fewer than 8 bits.
    pub(super) fn embeddings(self, tensors: &Tensors) -> anyhow::Result<Stored> {
        let (dtype, most) = match self {
            Self::Q6 => Self::Q8.levels(),
            other => other.levels(),
        };
        Ok(Stored::plain(dtype, tensors.write(|_, _| most)?))
    }

    /// The files of a tower.
    pub(super) fn tower(self, tensors: Tensors) -> anyhow::Result<Vec<Stored>> {
        let (dtype, most) = self.levels();
        let rounded = |name: &str, t: &HostTensor| {
            let most = most.filter(|_| q8::worthwhile(name, t))?;
            let fine = needs_eight_bits(name, t);
            Some(if fine { q8::Q8 } else { most })
        };
        let bytes = |name: &str, t: &HostTensor| t.data.len() * rounded(name, t).map_or(4, |_| 1);
        let stored = |piece: &Tensors| {
            let content = piece.write(rounded)?;
            // Only few levels leave anything that deflating saves.
            Ok(match self {
                Self::Q6 => Stored {
                    bytes: pack(&content),
                    dtype,
                    unpacked: Some(content.len() as u64),
                },
                Self::Q8 | Self::Fp32 => Stored::plain(dtype, content),
            })
        };
        let pieces = pieces::of_tensors(tensors, pieces::PIECE, bytes);
        pieces.iter().map(stored).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depthwise_and_small_kernels_keep_eight_bits() {
        let tensor = |shape: [usize; 4]| HostTensor {
            shape: shape.to_vec(),
            data: vec![0.5; shape.iter().product()],
        };
        let fine = |name, shape| needs_eight_bits(name, &tensor(shape));
        assert!(fine(
            "visual._blocks.9._depthwise_conv.weight",
            [1152, 1, 5, 5]
        ));
        assert!(fine("visual._blocks.1._expand_conv.weight", [96, 16, 1, 1]));
        assert!(!fine("visual._conv_head.weight", [1280, 320, 1, 1]));
        assert!(!fine("visual.stem.stages.0.down.weight", [64, 32, 3, 3]));
    }
}
