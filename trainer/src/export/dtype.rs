//! Storage formats of a bundle's tensors.

use std::collections::BTreeMap;

use clap::ValueEnum;
use espalier_core::bundle::pack;
use espalier_core::caption::detectors::{POINTS, WEIGHTS};
use espalier_core::weights::{HostTensor, Tensors, q8};

use super::pieces;

/// How tensors of a bundle are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportDtype {
    /// int8 with one scale per output channel.
    Q8,
    /// The same with 63 levels in the encoders, compressed: a third fewer bytes.
    Q6,
    /// 32-bit floats.
    Fp32,
}

/// A stored file of tensors.
pub(super) struct Stored {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// Name of its data type.
    pub(super) dtype: &'static str,
    /// Length of the uncompressed content, if the file is deflated.
    pub(super) unpacked: Option<u64>,
}

impl Stored {
    /// Returns a file that is stored uncompressed.
    pub(super) fn plain(dtype: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            dtype,
            unpacked: None,
        }
    }

    /// Returns a file that is stored deflated.
    pub(super) fn packed(dtype: &'static str, content: &[u8]) -> Self {
        Self {
            bytes: pack(content),
            dtype,
            unpacked: Some(content.len() as u64),
        }
    }
}

/// Kernels of inverted residuals with fewer values than this keep 8 bits.
const SMALL: usize = 1 << 15;
/// Embeddings of at least this width take the levels of the encoders: the errors of single values
/// cancel out in a cosine. Narrower ones keep 8 bits.
const WIDE: usize = 256;

/// Returns the largest quantised value of a kernel of inverted residuals for `q6`; `None` for other
/// tensors.
///
/// The sensitivity of each layer was measured on EfficientNet-Lite0, layer by layer, as the
/// divergence of the classifier's probabilities from those of 32-bit floats. Depthwise and small
/// kernels are the most sensitive, and they are few. A residual block tolerates large errors, above
/// all in its first convolution; a block without a skip connection does not, because its errors are
/// not bypassed.
fn kernel(name: &str, tensor: &HostTensor, encoder: &Tensors) -> Option<i8> {
    let layer = name.strip_prefix("visual._")?.strip_suffix(".weight")?;
    if tensor.shape.len() != 4 {
        return None;
    }
    if tensor.shape[1] == 1 || tensor.data.len() < SMALL {
        return Some(q8::Q8);
    }
    let Some((block, convolution)) = layer.rsplit_once('.') else {
        return Some(q8::Q5);
    };
    let side = |convolution: &str, dim: usize| {
        let name = format!("visual._{block}.{convolution}.weight");
        encoder.tensors.get(&name).map(|kernel| kernel.shape[dim])
    };
    let is_added = side("_expand_conv", 1) == side("_project_conv", 0);
    Some(match (convolution, is_added) {
        ("_expand_conv", true) => q8::Q5,
        ("_project_conv", false) => q8::Q7,
        _ => q8::Q6,
    })
}

impl ExportDtype {
    /// Its name in a manifest, and the largest quantised value of an encoder matrix; `None` if
    /// matrices stay in 32-bit floats.
    fn levels(self) -> (&'static str, Option<i8>) {
        match self {
            Self::Q8 => ("q8", Some(q8::Q8)),
            Self::Q6 => ("q6", Some(q8::Q6)),
            Self::Fp32 => ("f32", None),
        }
    }

    /// Writes a file of tensors; with few levels, deflating reduces its size.
    fn file(
        self,
        tensors: &Tensors,
        most: impl Fn(&str, &HostTensor) -> Option<i8>,
    ) -> anyhow::Result<Stored> {
        let (dtype, content) = (self.levels().0, tensors.write(most)?);
        Ok(match self {
            Self::Q6 => Stored::packed(dtype, &content),
            Self::Q8 | Self::Fp32 => Stored::plain(dtype, content),
        })
    }

    /// Writes a file of embeddings, `[count, d_embed]` each.
    pub(super) fn embeddings(self, tensors: &Tensors) -> anyhow::Result<Stored> {
        let is_narrow = |t: &HostTensor| t.shape.get(1).is_none_or(|width| *width < WIDE);
        match self {
            Self::Q6 if tensors.tensors.values().any(is_narrow) => Self::Q8.embeddings(tensors),
            _ => self.file(tensors, |_, _| self.levels().1),
        }
    }

    /// Writes the detectors of statements: their weights and points as embeddings are, their biases in 32-bit floats.
    pub(super) fn detectors(self, tensors: &Tensors) -> anyhow::Result<Stored> {
        let most = match self {
            Self::Q6 => Self::Q8.levels().1,
            other => other.levels().1,
        };
        self.file(tensors, |name, _| {
            most.filter(|_| [WEIGHTS, POINTS].contains(&name))
        })
    }

    /// Returns the files of an encoder.
    pub(super) fn encoder(self, tensors: Tensors) -> anyhow::Result<Vec<Stored>> {
        let most = self.levels().1;
        let chosen: BTreeMap<String, i8> = tensors
            .tensors
            .iter()
            .filter(|(name, tensor)| q8::is_worth_quantising(name, tensor))
            .filter_map(|(name, tensor)| {
                let for_kernel = match self {
                    Self::Q6 => kernel(name, tensor, &tensors),
                    Self::Q8 | Self::Fp32 => None,
                };
                Some((name.clone(), for_kernel.or(most)?))
            })
            .collect();
        let bytes = |name: &str, t: &HostTensor| {
            t.data.len() * if chosen.contains_key(name) { 1 } else { 4 }
        };
        let stored = |piece: &Tensors| self.file(piece, |name, _| chosen.get(name).copied());
        let pieces = pieces::of_tensors(tensors, pieces::PIECE, bytes);
        pieces.iter().map(stored).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_of_a_kernel_depend_on_its_position() {
        let kernels = [
            ("_blocks.8._expand_conv", [480, 80, 1, 1], Some(q8::Q6)),
            ("_blocks.8._project_conv", [112, 480, 1, 1], Some(q8::Q7)),
            ("_blocks.9._depthwise_conv", [672, 1, 5, 5], Some(q8::Q8)),
            ("_blocks.9._expand_conv", [672, 112, 1, 1], Some(q8::Q5)),
            ("_blocks.9._project_conv", [112, 672, 1, 1], Some(q8::Q6)),
            ("_blocks.1._expand_conv", [96, 16, 1, 1], Some(q8::Q8)),
            ("_conv_head", [1280, 320, 1, 1], Some(q8::Q5)),
            ("xstem.stages.0.down", [64, 32, 3, 3], None),
        ];
        let tensor = |shape: [usize; 4]| HostTensor {
            shape: shape.to_vec(),
            data: vec![0.5; shape.iter().product()],
        };
        let name = |layer: &str| format!("visual.{layer}.weight");
        let encoder = Tensors {
            tensors: kernels
                .map(|(layer, shape, _)| (name(layer), tensor(shape)))
                .into(),
            metadata: BTreeMap::new(),
        };
        for (layer, _, most) in kernels {
            let name = name(layer);
            let found = kernel(&name, &encoder.tensors[&name], &encoder);
            assert_eq!(found, most, "{name}");
        }
    }
}
